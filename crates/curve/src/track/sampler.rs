//! Which keys a model watches: a fixed share of them, or as many as it may hold.
//!
//! With a limit the rate falls as new keys come [1]. The paper drops one hash value at a time;
//! here an eighth of the keys goes at once, so that structures that cannot forget a single key
//! cheaply are rebuilt once per that many new keys.
//!
//! [1] Waldspurger, Park, Garthwaite, Ahmad. Efficient MRC Construction with SHARDS. FAST '15.

use base::Filter;

use crate::Params;

#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    filter: Filter,
    share: f64,
    keys_max: usize,
}

impl Sampler {
    pub(crate) fn new(params: &Params) -> Self {
        let keys_max = params.keys_max.max(8);
        Self { filter: Filter::with_rate(params.rate), share: params.share, keys_max }
    }

    #[inline]
    pub(crate) fn keeps(&self, key: u64) -> bool {
        self.filter.keeps(key)
    }

    pub(crate) fn rate(&self) -> f64 {
        self.filter.rate() * self.share
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
}
