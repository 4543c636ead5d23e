//! How a pool chooses its victims: a policy that works on samples, and how many it draws.

use serde::{Serialize, Serializer};
use std::fmt;

/// The policy of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evictor {
    /// Name of a rank policy of the `policy` crate.
    pub policy: &'static str,
    /// Candidates drawn for an eviction.
    pub k: u8,
    /// Whether good candidates are kept from one eviction to the next, as Redis keeps sixteen.
    pub pool: bool,
}

/// Candidates kept between evictions where an [`Evictor`] keeps any.
pub const POOL: u32 = 16;

/// Time of a write that evicts, and what each candidate adds, in microseconds: half a million items
/// in a full store, see docs/results/recipes.md.
const OVERHEAD_US: (f64, f64) = (1.25, 0.2);

impl Evictor {
    /// K-LRU: of `k` items drawn, the one idle longest goes.
    pub const fn klru(k: u8) -> Self {
        Self { policy: "klru", k, pool: false }
    }

    /// LRU: the item idle longest of all goes. The order is kept, so nothing is drawn.
    pub const LRU: Self = Self { policy: "lru", k: 0, pool: false };

    /// LHD: of `k` items drawn, the one goes that promises the fewest hits for its bytes.
    pub const fn lhd(k: u8) -> Self {
        Self { policy: "lhd", k, pool: false }
    }

    /// Of `k` items drawn, the one goes whose bytes earn the least waiting for their time.
    pub const fn gittins(k: u8) -> Self {
        Self { policy: "gittins", k, pool: false }
    }

    /// LFU: the item goes that was used least for its time. Who is drawn is the plant's choice.
    pub const LFU: Self = Self { policy: "lfu", k: 0, pool: false };

    /// Whether it goes by what misses cost.
    pub fn is_priced(self) -> bool {
        let live = policy::parse(&self.to_string()).and_then(|choice| choice.evictor());
        live.is_ok_and(|live| live.rank.is_priced())
    }

    /// What a write that evicts takes, in microseconds: candidates lie in no cache of the
    /// processor, and every one takes about the same.
    pub fn overhead_us(self) -> f64 {
        OVERHEAD_US.0 + OVERHEAD_US.1 * f64::from(self.k)
    }

    /// K-LRU with candidates kept between evictions: what Redis does with K = 5.
    pub const fn klru_pool(k: u8) -> Self {
        Self { policy: "klru", k, pool: true }
    }
}

impl fmt::Display for Evictor {
    /// As `policy::parse` reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.k == 0 {
            return f.pad(self.policy);
        }
        let pool = if self.pool { format!(":pool={POOL}") } else { String::new() };
        f.pad(&format!("{}:k={}{pool}", self.policy, self.k))
    }
}

impl Serialize for Evictor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The simulator and the store read what a plan prints.
    #[test]
    fn its_name_is_a_policy() {
        let lfu = Evictor::LFU;
        let sampled =
            [Evictor::klru(1), Evictor::klru_pool(5), Evictor::lhd(64), Evictor::gittins(64)];
        for evictor in sampled.into_iter().chain([Evictor::LRU, lfu]) {
            let choice = policy::parse(&evictor.to_string()).unwrap();
            assert_eq!(choice.spec.name, evictor.policy);
        }
        assert_eq!(Evictor::klru_pool(5).to_string(), "klru:k=5:pool=16");
    }
}
