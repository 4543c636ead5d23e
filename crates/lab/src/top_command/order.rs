//! The order of the rows: one key for each column.

use super::look::TenantRow;
use std::cmp::Ordering;

/// The column that decides the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    Name,
    Memory,
    Reads,
    Misses,
    #[default]
    Waiting,
    Cost,
}

impl Order {
    /// Every order, with its key: 1 is the first.
    pub(super) const ALL: [Self; 6] =
        [Self::Name, Self::Memory, Self::Reads, Self::Misses, Self::Waiting, Self::Cost];

    /// The word for the order in the help.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Memory => "memory",
            Self::Reads => "reads",
            Self::Misses => "misses",
            Self::Waiting => "waiting",
            Self::Cost => "cost of a miss",
        }
    }

    /// Compares two rows: the larger number first, names by the alphabet.
    pub(super) fn compare(self, a: &TenantRow, b: &TenantRow) -> Ordering {
        let key = |row: &TenantRow| match self {
            Self::Name => 0.0,
            Self::Memory => row.used.unwrap_or_default() as f64,
            Self::Reads => row.reads_per_s.unwrap_or_default(),
            Self::Misses => row.miss_ratio.unwrap_or_default(),
            Self::Waiting => row.wait_ms_per_s.unwrap_or_default(),
            Self::Cost => row.penalty_us.unwrap_or_default(),
        };
        key(b).total_cmp(&key(a)).then_with(|| a.name.cmp(&b.name))
    }
}
