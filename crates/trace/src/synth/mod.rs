//! Generators: one file each, and an entry in the list below.
//!
//! A generator is a [`Pattern`]: it chooses the next object. Everything else is common to all
//! generators and is done here: the time of the request, the size of the object, the cost of its
//! miss, and the choice of writes. An object's size, the length of its key and its penalty are
//! drawn from a stream that starts from the object's number, so they never change and need no
//! memory.
//!
//! A generator is written as `zipf:keys=1000000:skew=0.9:size=pareto/0/214.5/0.35`. The same text
//! with the same seed gives the same trace on every machine.

mod combine;
pub mod distribution;
mod sampler;
mod values;

pub use distribution::Distribution;
pub use values::{Param, Values};

use crate::{Access, Charge, Error, Micros, Op, Options, Source, TenantId, Tick, tenant};
use base::{Prng, hash};

/// One step of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The number of the object.
    pub object: u64,
    /// The operation, if the pattern decides it.
    pub op: Option<Op>,
}

impl Draw {
    /// Makes a request for `object`; the parameter `set` decides whether it reads or writes.
    pub const fn of(object: u64) -> Self {
        Self { object, op: None }
    }
}

/// Chooses the objects of a trace.
pub trait Pattern: Send {
    /// The next request; `tick` counts from 0.
    fn draw(&mut self, tick: u64, prng: &mut Prng) -> Draw;

    /// Microseconds from `now` to the next request, where the mean is `mean`. A pattern whose load
    /// changes with time overrides this.
    fn gap_us(&mut self, _now: f64, mean: f64, _prng: &mut Prng) -> f64 {
        mean
    }
}

/// A generator's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name used on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The generator's own parameters, and parameters of [`COMMON`] with another default.
    pub params: &'static [Param],
    /// Builds the pattern.
    pub build: fn(&Values) -> Result<Box<dyn Pattern>, String>,
}

macro_rules! generators {
    ($($name:ident),* $(,)?) => {
        $(pub mod $name;)*
        /// Every generator, in the order of the help.
        pub const ALL: &[&Spec] = &[$(&$name::SPEC,)*];
    };
}

generators! {
    zipf, uniform, cycle, scan, phases, two_phase, periodic, etc, ycsb,
}

/// The parameters of every generator.
pub const COMMON: &[Param] = &[
    Param::new("requests", "1000000", "requests in all"),
    Param::new("seed", "1", "the same seed gives the same trace"),
    Param::new("rate", "1000", "requests a second"),
    Param::new("arrivals", "constant", "constant gaps, or poisson"),
    Param::new("size", "const/512", "bytes of a value: a distribution, drawn once for each object"),
    Param::new(
        "key-size",
        "const/0",
        "least bytes of a key: a distribution; keys are padded to it",
    ),
    Param::new("penalty", "const/0", "microseconds a miss costs: a distribution over the objects"),
    Param::new("ttl", "const/0", "seconds an object lives: a distribution over the objects"),
    Param::new("set", "0", "share of the requests that write"),
    Param::new("delete", "0", "share of the requests that delete"),
    Param::new("tenant", "0", "number of the tenant"),
    Param::new("prefix", "", "beginning of every key"),
];

/// Finds the generator with that name.
///
/// # Errors
/// A sentence that names the known generators.
pub fn find(name: &str) -> Result<&'static Spec, String> {
    ALL.iter().copied().find(|spec| spec.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let known = ALL.iter().map(|spec| spec.name).chain(combine::NAMES.iter().copied());
        let known: Vec<_> = known.collect();
        format!("unknown generator '{name}': choose one of {}", known.join(", "))
    })
}

/// Opens the generator that `text` names, with or without `synth:` before it.
pub fn open(text: &str, options: &Options) -> Result<Box<dyn Source>, Error> {
    let text = text.strip_prefix("synth:").unwrap_or(text);
    let opened = match combine::open(text, options) {
        Some(joined) => joined,
        None => one(text, &[], options).map(|source| Box::new(source) as Box<dyn Source>),
    };
    opened.map_err(|problem| Error::Unusable(format!("generator '{text}': {problem}")))
}

/// Opens one generator; `defaults` apply to parameters that the text omits.
fn one(text: &str, defaults: &[(&str, String)], options: &Options) -> Result<Generated, String> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let spec = find(name)?;
    let mut values = Values::of(spec);
    for (name, value) in defaults {
        values.set(name, value)?;
    }
    let mut said = vec![];
    for part in rest.split(':').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| {
            format!("'{part}' is not a parameter: write name=value, such as seed=7")
        })?;
        let name = name.replace('_', "-");
        values.set(&name, value)?;
        if said.contains(&name) {
            return Err(format!("{name} is said twice: say it once"));
        }
        said.push(name);
    }
    Generated::new(spec, &values, options)
}

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
struct Generated {
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
    fn new(spec: &Spec, values: &Values, options: &Options) -> Result<Self, String> {
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
            return Err("prefix has a comma, a blank or an end of line: leave them out".into());
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
