//! Why a read misses. Only one of the causes is cured by memory, so they are told apart.

/// Why a read found nothing: what an unbounded cache would have answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Nobody had written the key. No memory helps; loading it beforehand does.
    NeverSeen,
    /// The item had left to make room: memory helps.
    Evicted,
    /// Its time to live was over: a longer one helps.
    Expired,
    /// A client had removed it.
    Deleted,
    /// The key was written only later, and not because of the read: the reader came before the
    /// writer.
    TooEarly,
}

impl Cause {
    /// Every cause, in the order of reports.
    pub const ALL: [Self; 5] =
        [Self::NeverSeen, Self::Evicted, Self::Expired, Self::Deleted, Self::TooEarly];

    /// The word for it in JSON and metrics.
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
