//! Why a read misses. Causes are kept apart because memory cures only one of them.

/// Why a read found nothing, although an unbounded cache might have answered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The key had never been written. No memory helps; loading it beforehand does.
    NeverSeen,
    /// The item had been evicted: more memory helps.
    Evicted,
    /// The item had reached its time to live: a longer one helps.
    Expired,
    /// A client had removed it.
    Deleted,
    /// The key was written only later, and not because of the read: the read was ahead of the
    /// writer.
    TooEarly,
}

impl Cause {
    /// Every cause, in the order of reports.
    pub const ALL: [Self; 5] =
        [Self::NeverSeen, Self::Evicted, Self::Expired, Self::Deleted, Self::TooEarly];

    /// The name of the cause in JSON and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NeverSeen => "never_seen",
            Self::Evicted => "evicted",
            Self::Expired => "expired",
            Self::Deleted => "deleted",
            Self::TooEarly => "too_early",
        }
    }
}

/// Misses by cause, in the order of [`Cause::ALL`].
pub type Causes = [u64; Cause::ALL.len()];
