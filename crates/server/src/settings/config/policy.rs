//! The policies of `maxmemory-policy`.

use store::{Evictable, Evictor};

/// The eviction policy for full memory.
#[derive(Clone, Copy, Debug)]
pub enum Policy {
    /// The policy that the recipe chooses.
    Auto,
    /// No eviction: writes are refused.
    Nobody,
    /// Evicts any item, by a policy with a live form.
    AllKeys(&'static policy::Spec),
    /// Evicts items with an expiry, by a policy with a live form.
    Volatile(&'static policy::Spec),
    /// Evicts the items that expire next.
    VolatileTtl,
}

/// Redis' name for K-LRU with `maxmemory-samples` and a pool of candidates.
pub(super) const LRU: &str = "lru";
pub(super) const ALL_KEYS: &str = "allkeys-";
pub(super) const VOLATILE: &str = "volatile-";
/// The policies that Redis has for items with an expiry.
pub(super) const OF_VOLATILE: [&str; 4] = ["lru", "lfu", "random", "lrm"];
pub(super) const VOLATILE_TTL: &str = "volatile-ttl";

impl Policy {
    /// The names of all policies, as a configuration writes them.
    pub fn names() -> Vec<String> {
        let policies = policy::live_names().into_iter().map(|name| format!("{ALL_KEYS}{name}"));
        let volatile = OF_VOLATILE.map(|name| format!("{VOLATILE}{name}"));
        let others = [VOLATILE_TTL, "noeviction", "auto"].map(String::from);
        policies.chain(volatile).chain(others).collect()
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.to_ascii_lowercase();
        let choice = text.strip_prefix(ALL_KEYS).and_then(|name| policy::parse(name).ok());
        let of_volatile = text.strip_prefix(VOLATILE).filter(|name| OF_VOLATILE.contains(name));
        if let Some(choice) = of_volatile.and_then(|name| policy::parse(name).ok()) {
            return Ok(Self::Volatile(choice.spec));
        }
        match (&*text, choice) {
            ("auto", _) => Ok(Self::Auto),
            (VOLATILE_TTL, _) => Ok(Self::VolatileTtl),
            ("noeviction", _) => Ok(Self::Nobody),
            (_, Some(choice)) if choice.evictor().is_ok() && !text.contains(':') => {
                Ok(Self::AllKeys(choice.spec))
            }
            _ => {
                let known = Self::names().join(", ");
                Err(format!("argument(s) must be one of the following: {known}"))
            }
        }
    }

    /// The policy's name in the configuration.
    pub fn name(self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Nobody => "noeviction".to_owned(),
            Self::AllKeys(spec) => format!("{ALL_KEYS}{}", spec.name),
            Self::Volatile(spec) => format!("{VOLATILE}{}", spec.name),
            Self::VolatileTtl => VOLATILE_TTL.to_owned(),
        }
    }

    /// The items that it may evict.
    pub const fn evictable(self) -> Evictable {
        match self {
            Self::Volatile(_) => Evictable::Volatile,
            Self::VolatileTtl => Evictable::NextToExpire,
            _ => Evictable::Any,
        }
    }

    /// Whether the recipe chooses the policy.
    pub const fn is_auto(self) -> bool {
        matches!(self, Self::Auto)
    }

    /// Whether it evicts anything.
    pub const fn evicts(self) -> bool {
        !matches!(self, Self::Nobody)
    }

    /// The store's evictor for this policy, with `samples` candidates. It takes more of them if the
    /// policy could not choose well among so few.
    pub fn evictor(self, samples: u8) -> Evictor {
        let klru = Evictor { k: samples, ..Evictor::default() };
        match self {
            Self::Auto => klru,
            Self::Nobody => Evictor { k: 0, pool: false, ..klru },
            Self::VolatileTtl => Evictor { pool: false, ..klru },
            // A drawn candidate may have no expiry.
            Self::Volatile(spec) => {
                let live = Self::AllKeys(spec).evictor(samples);
                Evictor { k: live.k.max(samples), ..live }
            }
            Self::AllKeys(spec) if spec.name == LRU => klru,
            Self::AllKeys(spec) => {
                let live = policy::Choice::of(spec).evictor().unwrap_or_default();
                let k = if live.k > 1 { live.k.max(samples) } else { live.k };
                Evictor { k, ..live }
            }
        }
    }
}
