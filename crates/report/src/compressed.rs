//! The values of a tenant under compression.

use serde::{Deserialize, Serialize};

/// Fewer sampled values do not tell how far values shrink.
pub const SAMPLES_MIN: u64 = 32;

/// The compressed values of a tenant, and how far its values shrink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Compressed {
    /// Compressed items.
    pub items: u64,
    /// Bytes of their values, plain.
    pub plain: u64,
    /// Bytes of their values as they are stored.
    pub stored: u64,
    /// Processor time to compress and decompress since the start, in microseconds.
    pub processor_us: f64,
    /// How far sampled values shrink; `None` while there are few samples.
    pub sampled: Option<Shrinks>,
}

/// How far sampled values shrink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shrinks {
    /// Sampled values.
    pub values: u64,
    /// Bytes stored for each plain byte of the values.
    pub values_to: f64,
    /// Memory of all items with compressed values, for each byte with plain ones.
    pub memory_to: f64,
}

impl Compressed {
    /// Bytes stored for each plain byte; 1 without compressed items.
    pub fn ratio(&self) -> f64 {
        if self.plain == 0 { 1.0 } else { self.stored as f64 / self.plain as f64 }
    }

    /// Bytes that compression saves.
    pub const fn saved(&self) -> u64 {
        self.plain.saturating_sub(self.stored)
    }

    /// The compressed values of several tenants.
    pub fn sum<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            items: sum.items + one.items,
            plain: sum.plain + one.plain,
            stored: sum.stored + one.stored,
            processor_us: sum.processor_us + one.processor_us,
            sampled: None,
        })
    }
}
