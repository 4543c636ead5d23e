//! Which keys a model watches: a fixed share of them, or as many as it may hold.
//!
//! With a limit the rate falls as new keys come [1]. The paper drops one hash value at a time;
//! here an eighth of the keys goes at once, so that structures that cannot forget a single key
//! cheaply are rebuilt once per that many new keys.
//!
//! At a fixed rate chance decides how many keys are really drawn, one in a hundred more or less of
//! 10 000, and every miss ratio and every size is off by as much. Where the model is shown all
//! accesses it counts the keys, drawn and all, each in a bitmap (linear counting [2]): estimates
//! are then divided by the share that was drawn. The variance left is that of misses between keys
//! about their mean, and not about zero (Hájek's estimator).
//!
//! [1] Waldspurger, Park, Garthwaite, Ahmad. Efficient MRC Construction with SHARDS. FAST '15.
//! [2] Whang, Vander-Zanden, Taylor. A Linear-Time Probabilistic Counting Algorithm for Database
//!     Applications. TODS 1990.

use base::Filter;

use crate::Params;

#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    filter: Filter,
    share: f64,
    keys_max: usize,
    /// Keys seen, and those of them that are watched; while the rate has not changed, and once a
    /// key was seen that is not watched.
    census: Option<[Bitmap; 2]>,
    is_fixed: bool,
}

impl Sampler {
    pub(crate) fn new(params: &Params) -> Self {
        let filter = Filter::with_rate(params.rate);
        let keys_max = params.keys_max.max(8);
        let is_fixed = params.keys_max == usize::MAX;
        Self { filter, share: params.share, keys_max, census: None, is_fixed }
    }

    /// Whether a key that was accessed is watched.
    #[inline]
    pub(crate) fn keeps(&mut self, key: u64) -> bool {
        let keeps = self.watches(key);
        if let Some([all, watched]) = &mut self.census {
            all.set(key);
            if keeps {
                watched.set(key);
            }
        } else if !keeps && self.is_fixed {
            self.census = Some([Bitmap::default(), Bitmap::default()]);
        }
        keeps
    }

    /// Whether a key is watched.
    #[inline]
    pub(crate) fn watches(&self, key: u64) -> bool {
        self.filter.keeps(key)
    }

    /// Some accesses are not shown: there is no counting of keys.
    pub(crate) fn is_not_shown_all(&mut self) {
        self.census = None;
        self.is_fixed = false;
    }

    pub(crate) fn rate(&self) -> f64 {
        self.filter.rate() * self.share
    }

    /// The share of the keys that was really drawn, by the rate; one where it is not known.
    pub(crate) fn drawn(&self) -> f64 {
        let Some([all, watched]) = &self.census else { return 1.0 };
        match (all.count(), watched.count()) {
            (Some(all), Some(watched)) if all > 0.0 && watched > 0.0 => {
                (watched / all / self.rate()).clamp(0.5, 2.0)
            }
            _ => 1.0,
        }
    }

    /// Whether `keys` are more than may be watched.
    #[inline]
    pub(crate) fn is_full(&self, keys: usize) -> bool {
        keys > self.keys_max
    }

    /// Lowers the rate so that seven eighths of the limit stay of the given keys. Returns the new
    /// rate by the old one.
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

    pub(crate) fn bytes(&self) -> usize {
        self.census.iter().flatten().map(|bitmap| bitmap.words.capacity() * 8).sum()
    }
}

/// Counts distinct keys by the bits that stay zero.
#[derive(Clone, Debug)]
struct Bitmap {
    words: Vec<u64>,
}

impl Default for Bitmap {
    fn default() -> Self {
        Self { words: vec![0; 1 << (Self::BITS - 6)] }
    }
}

impl Bitmap {
    /// 128 KiB: a million keys are counted to a thousandth.
    const BITS: u32 = 20;

    /// The low bits of a hash have nothing to do with its being watched.
    #[inline]
    fn set(&mut self, key: u64) {
        let at = key & ((1 << Self::BITS) - 1);
        self.words[(at >> 6) as usize] |= 1 << (at & 63);
    }

    /// The number of keys, unless they are too many for the bits.
    fn count(&self) -> Option<f64> {
        let bits = f64::from(1 << Self::BITS);
        let zeros: f64 = self.words.iter().map(|word| f64::from(word.count_zeros())).sum();
        (zeros > 0.05 * bits).then(|| bits * (bits / zeros).ln())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With 100 000 keys seen at a rate of one in ten the share drawn is known to within a
    /// thousandth.
    #[test]
    fn keys_drawn_are_counted() {
        let mut sampler = Sampler::new(&Params { rate: 0.1, ..Params::default() });
        let keys = 100_000;
        let drawn: u32 = (0..keys).map(|key| u32::from(sampler.keeps(base::hash::mix(key)))).sum();
        let share = f64::from(drawn) / keys as f64 / sampler.rate();
        assert!((sampler.drawn() - share).abs() < 0.002, "{} for {share}", sampler.drawn());
        assert!((share - 1.0).abs() > 1e-4, "nothing to correct here");
        sampler.is_not_shown_all();
        assert_eq!(sampler.drawn(), 1.0);
    }
}
