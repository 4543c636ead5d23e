//! Survey of a trace: requests, keys and bytes.

use crate::progress::Progress;
use base::hash::KeyMap;
use base::{Access, Bytes, Filter, Op, Size};
use load::open::{Options, open_with_part};
use serde::{Deserialize, Serialize};
use trace::Passed;

/// Maximum number of keys kept. A trace with more keys is surveyed by a sample of them.
const KEYS_MAX: usize = 4 << 20;

/// Counts of a whole trace. Keys and bytes are estimates where the keys are too many to keep, or
/// where looking them up would take longer than the rest of the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Survey {
    pub(super) requests: u64,
    pub(super) reads: u64,
    pub(super) keys: u64,
    /// Bytes of all objects, each at its largest size.
    pub(super) footprint: u64,
}

impl Survey {
    /// Reads the trace once, only to survey it.
    pub(super) fn of(name: &str, options: &Options) -> anyhow::Result<Self> {
        let (mut source, part) = open_with_part(name, options)?;
        let progress = Progress::reading("survey", options.limit, part);
        let mut count = source.sample().map_or_else(Count::exactly, |of| Count::of_sample(of.rate));
        while let Some(access) = source.next() {
            count.pass(source.passed());
            count.see(&access?);
            if count.requests.is_multiple_of(1 << 16) {
                progress.add(1 << 16);
            }
        }
        count.pass(source.passed());
        Ok(count.survey())
    }

    /// `count` sizes, spread evenly up to the footprint.
    pub(super) fn sizes(&self, count: u32) -> Vec<Bytes> {
        let size = |step| u128::from(self.footprint) * u128::from(step) / u128::from(count);
        (1..=count).map(|step| Bytes(size(step) as u64)).collect()
    }
}

/// Counters of a survey under way.
pub(super) struct Count {
    requests: u64,
    reads: u64,
    keys: Keys,
    /// Share of the trace's keys that the source shows.
    shown: f64,
}

/// Counts distinct keys.
enum Keys {
    /// The largest size of each key, or of each sampled key where there are too many.
    Exactly(Filter, KeyMap<Size>),
    /// A bitmap that estimates the number of keys.
    Nearly(Bits),
}

impl Count {
    /// Keeps every key and its size, as far as there is room.
    fn exactly() -> Self {
        let keys = Keys::Exactly(Filter::ALL, KeyMap::default());
        Self { requests: 0, reads: 0, keys, shown: 1.0 }
    }

    /// Counts the keys of a sample and scales them to the whole trace.
    pub(super) fn of_sample(rate: f64) -> Self {
        Self { shown: rate, ..Self::exactly() }
    }

    /// Adds requests that were left out of a sample.
    pub(super) const fn pass(&mut self, passed: Passed) {
        self.requests += passed.requests;
        self.reads += passed.reads;
    }

    /// Counts keys beside running models. Where these models sample, keys are only estimated, to a
    /// few thousandths: looking up every key would take longer than the models do.
    pub(super) fn beside(models_sample: bool) -> Self {
        let keys = if models_sample { Keys::Nearly(Bits::new()) } else { return Self::exactly() };
        Self { keys, ..Self::exactly() }
    }

    #[inline]
    pub(super) fn see(&mut self, access: &Access) {
        self.requests += 1;
        self.reads += u64::from(access.op == Op::Get);
        if access.op == Op::Delete {
            return;
        }
        match &mut self.keys {
            Keys::Nearly(bits) => bits.see(access),
            Keys::Exactly(filter, sizes) if filter.keeps(access.key) => {
                let size = sizes.entry(access.key).or_default();
                *size = access.size.max(*size);
                if sizes.len() > KEYS_MAX {
                    *filter = Filter::below(filter.threshold() / 2);
                    sizes.retain(|&key, _| filter.keeps(key));
                }
            }
            Keys::Exactly(..) => {}
        }
    }

    pub(super) fn survey(&self) -> Survey {
        let (keys, bytes) = match &self.keys {
            Keys::Nearly(bits) => (bits.keys, bits.bytes),
            Keys::Exactly(filter, sizes) => {
                let bytes: u64 = sizes.values().map(|&size| u64::from(size)).sum();
                (sizes.len() as f64 / filter.rate(), bytes as f64 / filter.rate())
            }
        };
        let whole = |counted: f64| (counted / self.shown).round() as u64;
        let (keys, footprint) = (whole(keys), whole(bytes));
        Survey { requests: self.requests, reads: self.reads, keys, footprint }
    }
}

/// Estimates the number of distinct keys and their bytes, each at the first size seen, by a bitmap.
/// A key that finds its bit not set while a share p of the bits is free stands for 1/p keys (Ting.
/// Streamed Approximate Counting of Distinct Elements. KDD '14). The bitmap takes a quarter of a
/// megabyte, which stays in the processor's cache. It counts eight million keys to two thousandths,
/// and sixteen million to one in two hundred.
struct Bits {
    words: Vec<u64>,
    free: u64,
    keys: f64,
    bytes: f64,
}

impl Bits {
    const COUNT: u64 = 1 << 21;

    fn new() -> Self {
        let words = vec![0; (Self::COUNT / 64) as usize];
        Self { words, free: Self::COUNT, keys: 0.0, bytes: 0.0 }
    }

    #[inline]
    fn see(&mut self, access: &Access) {
        let at = access.key % Self::COUNT;
        let (word, bit) = (&mut self.words[(at / 64) as usize], 1 << (at % 64));
        if *word & bit == 0 {
            *word |= bit;
            let stands_for = Self::COUNT as f64 / self.free as f64;
            self.free -= 1;
            self.keys += stands_for;
            self.bytes += stands_for * f64::from(access.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The estimate holds for as many keys as there are bits, each seen twice.
    #[test]
    fn bits_count_keys_and_bytes() {
        let mut bits = Bits::new();
        let (mut keys, mut bytes) = (0.0, 0.0);
        for number in 0..Bits::COUNT {
            let access = Access::get(base::hash::mix(number), 1 + (number % 1000) as u32);
            bits.see(&access);
            bits.see(&access);
            (keys, bytes) = (keys + 1.0, bytes + f64::from(access.size));
        }
        assert!((bits.keys / keys - 1.0).abs() < 0.002, "{} for {keys}", bits.keys);
        assert!((bits.bytes / bytes - 1.0).abs() < 0.002, "{} for {bytes}", bits.bytes);
    }
}
