//! Chooses the keys that a model watches: a fixed share of them, or as many as it may hold.
//!
//! With a limit the rate falls as new keys arrive [1]. The paper drops one hash value at a time.
//! Here an eighth of the keys is dropped at once, so that structures that cannot cheaply forget a
//! single key are rebuilt only once per that many new keys.
//!
//! At a fixed rate, chance decides how many keys are actually drawn: for 10 000 keys, one in a
//! hundred more or fewer. Every miss ratio and every size is off by as much. If a few objects hold
//! much of the bytes, the bytes drawn are off by several times that. A model that is shown all
//! accesses counts both, for all keys and for the drawn ones, each in a bitmap. Estimates are then
//! divided by the share that was actually drawn. The remaining variance is that of misses between
//! keys about their mean, and not about zero (Hájek's estimator).
//!
//! A key is new to a bitmap if its bit is not set. As bits fill up, some new keys count as known. A
//! key found new while a share p of the bits is free therefore stands for 1/p keys (the counting of
//! [2], which needs no correction at the end and allows weights).
//!
//! [1] Waldspurger, Park, Garthwaite, Ahmad. Efficient MRC Construction with SHARDS. FAST '15.
//! [2] Ting. Streamed Approximate Counting of Distinct Elements. KDD '14.

use base::{Access, Filter, Op};

use crate::{Params, Part};

#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    filter: Filter,
    share: f64,
    part: Part,
    keys_max: usize,
    /// Counts of all keys, and of the watched ones. They exist from the first unwatched key on, as
    /// long as the rate is fixed.
    census: Option<[Census; 2]>,
    is_fixed: bool,
}

/// The share actually drawn, divided by the rate; ones if unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drawn {
    /// For reads that are a key's first access: the divisor for misses.
    pub(crate) keys: f64,
    /// For bytes: the divisor for sizes.
    pub(crate) bytes: f64,
}

impl Sampler {
    pub(crate) fn new(params: &Params) -> Self {
        let filter = Filter::with_rate(params.rate);
        let keys_max = params.keys_max.max(8);
        let is_fixed = params.keys_max == usize::MAX;
        let share = params.share / f64::from(params.part.of);
        Self { filter, share, part: params.part, keys_max, census: None, is_fixed }
    }

    /// Whether the key of an access is watched.
    #[inline]
    pub(crate) fn keeps(&mut self, access: &Access) -> bool {
        let keeps = self.watches(access.key);
        if let Some([all, watched]) = &mut self.census {
            all.see(access);
            if keeps {
                watched.see(access);
            }
        } else if !keeps && self.is_fixed {
            self.census = Some([Census::default(), Census::default()]);
        }
        keeps
    }

    /// Whether a key is watched.
    #[inline]
    pub(crate) fn watches(&self, key: u64) -> bool {
        self.filter.keeps(key) && self.part.has(key)
    }

    /// Some accesses are not shown, so keys are no longer counted.
    pub(crate) fn is_not_shown_all(&mut self) {
        self.census = None;
        self.is_fixed = false;
    }

    pub(crate) fn rate(&self) -> f64 {
        self.filter.rate() * self.share
    }

    /// The watched share of its part of the keys.
    pub(crate) fn rate_of_part(&self) -> f64 {
        self.filter.rate()
    }

    /// Continues with the rate of another sampler. Its count of keys is not known here.
    pub(crate) fn resume(&mut self, rate: f64) {
        self.filter = Filter::with_rate(rate);
        self.is_not_shown_all();
    }

    /// The share actually drawn, divided by the rate.
    pub(crate) fn drawn(&self) -> Drawn {
        let Some([all, watched]) = &self.census else { return Drawn { keys: 1.0, bytes: 1.0 } };
        let share = |of: fn(&Census) -> f64| {
            let share = of(watched) / of(all) / self.rate();
            if share.is_finite() && !all.is_full() { share.clamp(0.5, 2.0) } else { 1.0 }
        };
        Drawn { keys: share(|census| census.keys), bytes: share(|census| census.bytes) }
    }

    /// Whether `keys` is above the limit of watched keys.
    #[inline]
    pub(crate) fn is_full(&self, keys: usize) -> bool {
        keys > self.keys_max
    }

    /// Lowers the rate so that, of the given keys, seven eighths of the limit stay. Returns the new
    /// rate divided by the old one.
    pub(crate) fn lower(&mut self, keys: impl Iterator<Item = u64>) -> f64 {
        let mut bits: Vec<u64> = keys.map(Filter::bits).collect();
        let goal = (self.keys_max / 8 * 7).min(bits.len().saturating_sub(1));
        let before = self.filter.threshold();
        if !bits.is_empty() {
            let (_, &mut threshold, _) = bits.select_nth_unstable(goal);
            self.filter = Filter::below(threshold.clamp(1, before));
        }
        self.filter.threshold() as f64 / before as f64
    }

    /// Lowers the rate to `rate`, if it is above. Returns the new rate divided by the old one.
    pub(crate) fn lower_to(&mut self, rate: f64) -> f64 {
        let before = self.filter.threshold();
        let wanted = Filter::with_rate(rate / self.share);
        if wanted.threshold() < before {
            self.filter = wanted;
        }
        self.filter.threshold() as f64 / before as f64
    }

    pub(crate) fn bytes(&self) -> usize {
        self.census.iter().flatten().map(|census| census.words.capacity() * 8).sum()
    }
}

/// Distinct keys and their bytes.
#[derive(Clone, Debug)]
struct Census {
    words: Vec<u64>,
    free: u32,
    keys: f64,
    bytes: f64,
}

impl Default for Census {
    fn default() -> Self {
        let words = vec![0; 1 << (Self::BITS - 6)];
        Self { words, free: 1 << Self::BITS, keys: 0.0, bytes: 0.0 }
    }
}

impl Census {
    /// 128 KiB: it counts a million keys to a thousandth.
    const BITS: u32 = 20;

    /// Counts an access. The low bits of its hash, which choose the bit, are independent of
    /// sampling.
    #[inline]
    fn see(&mut self, access: &Access) {
        let at = access.key & ((1 << Self::BITS) - 1);
        let (word, bit) = (&mut self.words[(at >> 6) as usize], 1 << (at & 63));
        if *word & bit == 0 && access.op != Op::Delete {
            *word |= bit;
            self.count(access);
        }
    }

    fn count(&mut self, access: &Access) {
        let stands_for = f64::from(1 << Self::BITS) / f64::from(self.free);
        self.free -= 1;
        self.keys += if access.op == Op::Get { stands_for } else { 0.0 };
        self.bytes += stands_for * f64::from(access.size);
    }

    /// Whether too few bits are free for a reliable count.
    fn is_full(&self) -> bool {
        self.free < 1 << (Self::BITS - 5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(key: u64) -> Access {
        let key = base::hash::mix(key);
        // A few of the objects hold most of the bytes.
        Access::get(key, 1_000_000 / (1 + (key % 10_000) as u32))
    }

    /// 100 000 keys at a rate of one in ten: the drawn share of the keys is known to within two
    /// thousandths, although some keys share a bit. The drawn share of the bytes is known to within
    /// three hundredths, because a few keys hold most of them.
    #[test]
    fn what_is_drawn_is_counted() {
        let mut sampler = Sampler::new(&Params { rate: 0.1, ..Params::default() });
        let (mut all, mut kept) = ([0.0; 2], [0.0; 2]);
        for key in (0..100_000).chain(0..50_000) {
            let access = get(key);
            let keeps = sampler.keeps(&access);
            if key < 50_000 && all[0] >= 100_000.0 {
                continue;
            }
            for (sum, more) in [1.0, f64::from(access.size)].into_iter().enumerate() {
                all[sum] += more;
                kept[sum] += if keeps { more } else { 0.0 };
            }
        }
        let share = |at: usize| kept[at] / all[at] / sampler.rate();
        let drawn = sampler.drawn();
        assert!((drawn.keys - share(0)).abs() < 0.002, "{drawn:?} for {}", share(0));
        assert!((drawn.bytes - share(1)).abs() < 0.03, "{drawn:?} for {}", share(1));
        assert!((drawn.bytes - drawn.keys).abs() > 0.1, "nothing to tell apart here");
        sampler.is_not_shown_all();
        assert_eq!(sampler.drawn(), Drawn { keys: 1.0, bytes: 1.0 });
    }

    /// Writes are not cold misses, and deletes do not count as keys.
    #[test]
    fn only_first_reads_count_as_keys() {
        let mut sampler = Sampler::new(&Params { rate: 0.5, ..Params::default() });
        for key in 0..10_000 {
            let op = match key % 4 {
                0 => Op::Get,
                1 => Op::Delete,
                _ => Op::Set,
            };
            sampler.keeps(&Access { op, ..get(key) });
        }
        let Some([all, _]) = &sampler.census else { panic!("not all are watched") };
        assert!((all.keys / 2_500.0 - 1.0).abs() < 0.02, "{}", all.keys);
    }
}
