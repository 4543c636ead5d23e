//! A pattern with times, sizes, costs and operations: the part that all generators share.

use super::{Distribution, GeneratorSpec, Pattern, Values};
use crate::tenants::tenant;
use crate::{Charge, Error, ReadOptions, Source};
use base::{Access, Micros, Op, Prng, TenantId, Tick, hash};

/// One request in twelve days; at lower rates times exceed the range of exact floats.
const RATE_MIN: f64 = 1e-6;

/// Salts for the values that are drawn once for each object.
const SIZE: u64 = 1;
const KEY_SIZE: u64 = 2;
const PENALTY: u64 = 3;
const TTL: u64 = 4;

/// A distribution over the objects; a constant one needs no sampling.
#[derive(Debug)]
enum PerObject {
    Constant(u64),
    Drawn { distribution: Distribution, seed: u64 },
}

impl PerObject {
    fn new(distribution: Distribution, seed: u64, salt: u64) -> Self {
        match distribution {
            Distribution::Constant(value) => Self::Constant(value.round() as u64),
            distribution => Self::Drawn { distribution, seed: hash::mix(seed ^ hash::mix(salt)) },
        }
    }

    fn of(&self, object: u64) -> u64 {
        match self {
            Self::Constant(value) => *value,
            Self::Drawn { distribution, seed } => {
                distribution.draw(&mut Prng::new(seed ^ hash::mix(object))).round() as u64
            }
        }
    }
}

/// A pattern with times, sizes and operations.
pub(super) struct Generated {
    pattern: Box<dyn Pattern>,
    prng: Prng,
    requests: u64,
    tick: u64,
    now_us: f64,
    gap_us: f64,
    poisson: bool,
    size: PerObject,
    key_size: PerObject,
    penalty: PerObject,
    ttl: PerObject,
    set: f64,
    delete: f64,
    tenant: TenantId,
    prefix: usize,
    key: Vec<u8>,
    charge: Charge,
}

impl Generated {
    pub(super) fn new(
        spec: &GeneratorSpec,
        values: &Values,
        options: &ReadOptions,
    ) -> Result<Self, String> {
        let seed = values.number("seed")?;
        let rate = values.at_least("rate", RATE_MIN)?;
        let per_object = |name: &str, salt| {
            values.distribution(name).map(|found| PerObject::new(found, seed, salt))
        };
        let (set, delete) = (values.share("set")?, values.share("delete")?);
        if set + delete > 1.0 {
            return Err("set and delete are shares of the requests: together at most 1".into());
        }
        let prefix = values.text("prefix").as_bytes();
        if prefix.iter().any(|byte| matches!(byte, b',' | b' ' | b'\n' | b'\r')) {
            return Err("prefix contains a comma, a space or a line end: leave them out".into());
        }
        Ok(Self {
            pattern: (spec.build)(values)?,
            prng: Prng::new(seed),
            requests: values.number("requests")?,
            tick: 0,
            now_us: 0.0,
            gap_us: 1e6 / rate,
            poisson: match values.text("arrivals") {
                "constant" => false,
                "poisson" => true,
                other => return Err(format!("arrivals={other}: write constant or poisson")),
            },
            size: per_object("size", SIZE)?,
            key_size: per_object("key-size", KEY_SIZE)?,
            penalty: per_object("penalty", PENALTY)?,
            ttl: per_object("ttl", TTL)?,
            set,
            delete,
            tenant: tenant(values.number("tenant")?),
            prefix: prefix.len(),
            key: prefix.to_vec(),
            charge: options.charge,
        })
    }

    fn op(&mut self) -> Op {
        if self.set + self.delete == 0.0 {
            return Op::Get;
        }
        match self.prng.unit() {
            u if u <= self.set => Op::Set,
            u if u <= self.set + self.delete => Op::Delete,
            _ => Op::Get,
        }
    }

    /// Writes the object's number after the prefix, padded with zeros to the wanted length.
    fn write_key(&mut self, object: u64) {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(object).as_bytes();
        let wanted = self.key_size.of(object).min(KEY_BYTES_MAX) as usize;
        self.key.truncate(self.prefix);
        self.key.resize(self.prefix.max(wanted.saturating_sub(digits.len())), b'0');
        self.key.extend_from_slice(digits);
    }
}

/// The most bytes to which a key is padded: memcached's limit on keys.
const KEY_BYTES_MAX: u64 = 250;

impl Source for Generated {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        if self.tick == self.requests {
            return None;
        }
        let draw = self.pattern.draw(self.tick, &mut self.prng);
        let op = draw.op.unwrap_or_else(|| self.op());
        self.write_key(draw.object);
        let key_size = self.key.len() as u32;
        let value_size = self.size.of(draw.object);
        let access = Access {
            time: Micros(self.now_us as u64),
            key: hash::bytes(0, &self.key),
            op,
            tenant: self.tenant,
            key_size,
            value_size,
            size: self.charge.size(key_size, value_size),
            ttl: Micros(self.ttl.of(draw.object).saturating_mul(1_000_000)),
            penalty: Micros(self.penalty.of(draw.object)),
            next: Tick::NEVER,
        };
        self.tick += 1;
        let gap = self.pattern.gap_us(self.now_us, self.gap_us, &mut self.prng);
        self.now_us += if self.poisson { -self.prng.unit().ln() * gap } else { gap };
        Some(Ok(access))
    }

    fn key(&self) -> &[u8] {
        &self.key
    }
}
