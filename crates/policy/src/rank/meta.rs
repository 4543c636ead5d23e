//! The metadata that every rank scores.

use base::Micros;

/// The metadata of a resident item, the same under every policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meta {
    /// Requests since the last one to this item (or since its write).
    pub age: u64,
    /// Requests since it became resident.
    pub life: u64,
    /// Reads since it became resident; saturates where the store has few bits for the count.
    pub hits: u32,
    /// Bytes charged.
    pub size: u32,
    /// The cost of a miss of it; zero where it is unknown.
    pub penalty: Micros,
}

impl Meta {
    /// The relative cost of a miss: one where it is unknown.
    pub fn cost(&self) -> f32 {
        self.penalty.0.max(1) as f32
    }
}
