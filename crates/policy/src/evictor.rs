//! A policy as the live store follows it: draw candidates, score them, the lowest rank goes.
//!
//! The store keeps no order, so whatever runs there is a [`Rank`] over a sample. Which policies
//! have such a form stands in their [`Spec`](crate::Spec).

use crate::rank::klru::Klru;
use crate::rank::lhd::Ranks;
use crate::{Choice, Params, Rank};
use std::fmt;
use std::sync::Arc;

/// How a pool of the live store chooses who leaves.
#[derive(Clone)]
pub struct Evictor {
    /// Scores candidates; the lowest goes.
    pub rank: Arc<dyn Rank>,
    /// Candidates drawn an eviction; 0 evicts nothing, and writes fail when memory is full.
    pub k: u8,
    /// Whether twice as many are drawn, in place of candidates kept for later evictions: Redis
    /// keeps sixteen, which comes to the same.
    pub pool: bool,
}

impl Default for Evictor {
    /// K-LRU of 5 candidates with a pool: what Redis does.
    fn default() -> Self {
        Self { rank: Arc::new(Klru), k: 5, pool: true }
    }
}

impl Evictor {
    /// LHD: of `k` candidates the one leaves that promises the fewest hits for its bytes. The
    /// store learns what to expect.
    pub fn lhd(k: u8) -> Self {
        Self { rank: Arc::new(Ranks::default()), k, pool: false }
    }

    /// `rank` with the `k` and `pool` of a policy, as far as it has them.
    pub(crate) fn sampled(rank: Arc<dyn Rank>, params: &Params<'_>) -> Self {
        let k = params.find("k").map_or(1, |k| k.min(f64::from(u8::MAX)) as u8);
        Self { rank, k, pool: params.find("pool").is_some_and(|pool| pool > 0.0) }
    }
}

impl fmt::Debug for Evictor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (k, pool) = (self.k, self.pool);
        if let Some(lessons) = self.rank.learns() {
            // The rank itself is a table of thousands of numbers.
            return write!(f, "{lessons:?} k={k} pool={pool}");
        }
        write!(f, "{:?} k={k} pool={pool}", self.rank)
    }
}

impl Choice {
    /// How the live store follows the policy.
    ///
    /// # Errors
    /// A sentence that says what the live store cannot do.
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

/// The policies that have a live form.
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
