//! The form of a policy in the live store: draw candidates, score them, evict the lowest rank.
//!
//! The store keeps no order, so every policy there is a [`Rank`] over a sample. A policy's
//! [`Spec`](crate::Spec) says whether it has such a form.

use crate::rank::klru::Klru;
use crate::rank::lhd::Ranks;
use crate::{Choice, Params, Rank};
use std::fmt;
use std::sync::Arc;

/// The method by which a pool of the live store chooses its victims.
#[derive(Clone)]
pub struct Evictor {
    /// Scores candidates; the lowest is evicted.
    pub rank: Arc<dyn Rank>,
    /// Candidates drawn for an eviction. With 0 nothing is evicted, and writes fail when memory is
    /// full.
    pub k: u8,
    /// Whether twice as many are drawn. This stands for candidates kept for later evictions: Redis
    /// keeps sixteen, with about the same effect.
    pub pool: bool,
}

impl Default for Evictor {
    /// K-LRU of 5 candidates with a pool, as in Redis.
    fn default() -> Self {
        Self { rank: Arc::new(Klru), k: 5, pool: true }
    }
}

impl Evictor {
    /// LHD: evicts, of `k` candidates, the one with the fewest expected hits for its bytes. The
    /// store learns the expected hits.
    pub fn lhd(k: u8) -> Self {
        Self { rank: Arc::new(Ranks::default()), k, pool: false }
    }

    /// Uses `rank` with the policy's parameters `k` and `pool`, where it has them.
    pub(crate) fn sampled(rank: Arc<dyn Rank>, params: &Params<'_>) -> Self {
        let k = params.find("k").map_or(1, |k| k.min(f64::from(u8::MAX)) as u8);
        Self { rank, k, pool: params.find("pool").is_some_and(|pool| pool > 0.0) }
    }
}

impl fmt::Debug for Evictor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (k, pool) = (self.k, self.pool);
        if let Some(lessons) = self.rank.learns() {
            // The rank itself is a table of thousands of numbers, so it is left out.
            return write!(f, "{lessons:?} k={k} pool={pool}");
        }
        write!(f, "{:?} k={k} pool={pool}", self.rank)
    }
}

impl Choice {
    /// The form of the policy in the live store.
    ///
    /// # Errors
    /// A sentence that says which part the live store does not support.
    pub fn evictor(&self) -> Result<Evictor, String> {
        if self.has_filter() {
            return Err(format!("'{self}': the live store lets everybody in, without a filter"));
        }
        if let Some(k) = self.param("k").filter(|&k| k > f64::from(u8::MAX)) {
            return Err(format!("'{self}': the live store draws up to 255 candidates, not {k}"));
        }
        let live = self.spec.live.ok_or_else(|| {
            format!(
                "{} has no live form, for it needs an order that the store does not keep: choose \
                 one of {}",
                self.spec.name,
                live_names().join(", ")
            )
        })?;
        Ok(self.with_params(live))
    }
}

/// The names of the policies that have a live form.
pub fn live_names() -> Vec<&'static str> {
    crate::ALL.iter().filter(|spec| spec.live.is_some()).map(|spec| spec.name).collect()
}

#[cfg(test)]
mod tests {
    use super::live_names;
    use crate::parse;

    #[test]
    fn the_live_store_says_what_it_cannot_do() {
        let choice = format!("choose one of {}", live_names().join(", "));
        for (text, answer) in [
            ("arc", "arc has no live form"),
            ("belady", choice.as_str()),
            ("klru+tinylfu", "without a filter"),
            ("klru:300", "up to 255 candidates"),
        ] {
            let error = parse(text).unwrap().evictor().unwrap_err();
            assert!(error.contains(answer), "{error}");
        }
    }

    #[test]
    fn candidates_are_those_of_the_policy() {
        for (text, k, pool) in [
            ("klru", 5, false),
            ("klru:k=16:pool=16", 16, true),
            ("lhd", 32, false),
            ("random", 1, false),
            ("hyperbolic:cost=1", 64, false),
        ] {
            let evictor = parse(text).unwrap().evictor().unwrap();
            assert_eq!((evictor.k, evictor.pool), (k, pool), "{text}");
            assert_eq!(evictor.rank.is_priced(), text.contains("cost"), "{text}");
        }
    }
}
