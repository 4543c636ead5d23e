//! The core workloads of YCSB, A to F [1].
//!
//! ```text
//! A  half reads, half updates              D  0.95 reads of recent records, 0.05 inserts
//! B  0.95 reads, 0.05 updates              E  0.95 scans of 1 to 100 records, 0.05 inserts
//! C  reads                                 F  half reads, half reads followed by an update
//! ```
//!
//! Records are drawn by Zipf's law with exponent 0.99 over ten billion ranks, which a hash spreads
//! over the records, as in YCSB; D counts ranks back from the newest record. A scan is one request
//! for each of its records, in order; a read followed by an update is two requests. A record has
//! ten fields of 100 bytes, and its key is `user` and its number.
//!
//! [1] Cooper, Silberstein, Tam, Ramakrishnan, Sears. Benchmarking cloud serving systems with YCSB.
//! SoCC '10.

use super::sampler::Zipf;
use super::{Draw, GeneratorSpec, Param, Pattern};
use base::{Op, Prng, hash};

/// The registry entry.
pub const SPEC: GeneratorSpec = GeneratorSpec {
    name: "ycsb",
    about: "the core workloads of YCSB, A to F",
    params: &[
        Param::new("workload", "a", "a, b, c, d, e or f"),
        Param::new("keys", "100000", "records at the start"),
        Param::new("skew", "0.99", "exponent of popularity"),
        Param::new("scan", "100", "maximum records in a scan"),
        Param::new("size", "const/1000", "bytes of a record"),
        Param::new("prefix", "user", "start of every key"),
    ],
    build: |values| {
        let mix = match values.text("workload").to_ascii_lowercase().as_str() {
            "a" => Mix { update: 0.5, ..Mix::READS },
            "b" => Mix { update: 0.05, ..Mix::READS },
            "c" => Mix::READS,
            "d" => Mix { insert: 0.05, latest: true, ..Mix::READS },
            "e" => Mix { insert: 0.05, scan: 0.95, ..Mix::READS },
            "f" => Mix { modify: 0.5, ..Mix::READS },
            other => return Err(format!("workload={other}: write one of a, b, c, d, e, f")),
        };
        let (keys, skew) = (values.count("keys")?, values.at_least("skew", 0.0)?);
        Ok(Box::new(Ycsb {
            mix,
            keys,
            scrambled: Zipf::new(RANKS, skew),
            latest: Zipf::new(keys, skew),
            scan_max: values.count("scan")?,
            scan: 0..0,
            update: None,
        }))
    },
};

/// Number of ranks that the hash spreads: YCSB's constant.
const RANKS: u64 = 10_000_000_000;

/// Shares of the operations; the rest reads.
#[derive(Clone, Copy, Debug)]
struct Mix {
    update: f64,
    insert: f64,
    scan: f64,
    modify: f64,
    latest: bool,
}

impl Mix {
    const READS: Self = Self { update: 0.0, insert: 0.0, scan: 0.0, modify: 0.0, latest: false };
}

struct Ycsb {
    mix: Mix,
    keys: u64,
    scrambled: Zipf,
    latest: Zipf,
    scan_max: u64,
    /// The remaining records of a scan.
    scan: std::ops::Range<u64>,
    /// The update that follows a read.
    update: Option<u64>,
}

impl Ycsb {
    fn record(&self, prng: &mut Prng) -> u64 {
        if self.mix.latest {
            self.keys - self.latest.draw(prng)
        } else {
            hash::mix(self.scrambled.draw(prng)) % self.keys
        }
    }
}

impl Pattern for Ycsb {
    fn draw(&mut self, _: u64, prng: &mut Prng) -> Draw {
        let with = |object, op| Draw { object, op: Some(op) };
        if let Some(record) = self.update.take() {
            return with(record, Op::Set);
        }
        if let Some(record) = self.scan.next() {
            return with(record, Op::Get);
        }
        let mut u = prng.unit();
        let mut falls_in = |share: f64| {
            u -= share;
            u <= 0.0 && share > 0.0
        };
        if falls_in(self.mix.insert) {
            self.keys += 1;
            return with(self.keys - 1, Op::Set);
        }
        let (update, scan) = (falls_in(self.mix.update), falls_in(self.mix.scan));
        let modify = falls_in(self.mix.modify);
        let record = self.record(prng);
        if update {
            return with(record, Op::Set);
        }
        if scan {
            let length = 1 + prng.below(self.scan_max);
            self.scan = record + 1..(record + length).min(self.keys);
        } else if modify {
            self.update = Some(record);
        }
        with(record, Op::Get)
    }
}
