//! The choice of victims in a pool: a policy that works on samples, and the number of candidates.

use serde::{Serialize, Serializer};
use std::fmt;

/// The policy of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evictor {
    /// Name of a rank policy of the `policy` crate.
    pub policy: &'static str,
    /// Candidates drawn for an eviction.
    pub k: u8,
    /// Whether good candidates are kept from one eviction to the next: Redis keeps sixteen.
    pub pool: bool,
}

/// Candidates kept between evictions where an [`Evictor`] keeps any.
pub const POOL: u32 = 16;

/// Time of a write that evicts, and the addition for each candidate, in microseconds: half a
/// million items in a full store, see docs/results/recipes.md.
const OVERHEAD_US: (f64, f64) = (1.25, 0.2);

impl Evictor {
    /// K-LRU: evicts, of `k` drawn items, the one idle longest.
    pub const fn klru(k: u8) -> Self {
        Self { policy: "klru", k, pool: false }
    }

    /// LRU: evicts the item idle longest of all. It keeps an order, so it draws nothing.
    pub const LRU: Self = Self { policy: "lru", k: 0, pool: false };

    /// LHD: evicts, of `k` drawn items, the one with the fewest expected hits for its bytes.
    pub const fn lhd(k: u8) -> Self {
        Self { policy: "lhd", k, pool: false }
    }

    /// Gittins: evicts, of `k` drawn items, the one whose bytes save the least waiting over time.
    pub const fn gittins(k: u8) -> Self {
        Self { policy: "gittins", k, pool: false }
    }

    /// LFU: evicts the item with the fewest uses for its age. The plant chooses the candidates.
    pub const LFU: Self = Self { policy: "lfu", k: 0, pool: false };

    /// Whether it ranks by the cost of a miss.
    pub fn is_priced(self) -> bool {
        let live = policy::parse(&self.to_string()).and_then(|choice| choice.evictor());
        live.is_ok_and(|live| live.rank.is_priced())
    }

    /// Time of a write that evicts, in microseconds. Candidates are in no processor cache, and each
    /// adds about the same.
    pub fn overhead_us(self) -> f64 {
        OVERHEAD_US.0 + OVERHEAD_US.1 * f64::from(self.k)
    }

    /// K-LRU with candidates kept between evictions: Redis' eviction with K = 5.
    pub const fn klru_pool(k: u8) -> Self {
        Self { policy: "klru", k, pool: true }
    }
}

impl Evictor {
    /// The policy as `maxmemory-policy` names it, without the number of items that an eviction
    /// compares.
    pub fn setting(&self) -> String {
        let name = match self.policy {
            "klru" => "lru",
            policy => policy,
        };
        format!("allkeys-{name}")
    }
}

impl fmt::Display for Evictor {
    /// The form that `policy::parse` reads.
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

    /// The simulator and the store can read the name that a plan prints.
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
