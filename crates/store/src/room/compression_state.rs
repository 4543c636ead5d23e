//! The state of compression between two calls: settings, walks, and the knowledge about values.

use crate::bytes::config::CompressionSettings;
use crate::bytes::stats::ValueSamples;
use crate::compression::dictionary::Dictionaries;
use crate::compression::octaves::{OCTAVES, Octave, SAMPLES, SAMPLES_BYTES};
use crate::sync::shim::Mutex;
use base::TenantId;
use std::sync::{Arc, Weak};

/// Pages after which the samples are those that there are.
const SAMPLED_LOTS: usize = 256;

/// The state of compression, beside the shards.
#[derive(Debug, Default)]
pub(crate) struct CompressionState {
    pub(crate) settings: Mutex<CompressionSettings>,
    /// How far sampled values shrink, by tenant.
    pub(crate) samples: Mutex<Vec<ValueSamples>>,
    /// A thread that compresses holds it.
    pub(crate) worker: Mutex<Worker>,
}

/// The walks, and the knowledge about the tenants' values.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    pub(crate) walks: Vec<Walk>,
    pub(crate) next: usize,
    pub(crate) tenants: Vec<Known>,
    pub(crate) sampling: Option<Sampling>,
}

/// The walk through a shard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Walk {
    pub(crate) position: Position,
    /// Items that changed their form in this walk.
    pub(crate) changed: usize,
    /// Bytes that compressed items saved, without those evicted for them.
    pub(crate) credit: i64,
    /// The shard's count of accesses before which no walk begins.
    pub(crate) rests_until: u64,
}

/// The knowledge about a tenant's values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) octaves: [Octave; OCTAVES],
    pub(crate) dictionaries: Arc<Dictionaries>,
    /// Numbers of dictionaries that are used no more for new items.
    pub(crate) retired: Vec<u16>,
    /// Numbers that a caller holds, because items with them are on their way.
    pub(crate) held: Vec<(u16, Weak<()>)>,
}

/// Values of one octave that become samples.
#[derive(Debug)]
pub(crate) struct Sampling {
    pub(crate) tenant: TenantId,
    pub(crate) octave: usize,
    pub(crate) values: Vec<Vec<u8>>,
    pub(crate) bytes: usize,
    pub(crate) lots: usize,
}

/// The next page of a walk through the pages of a shard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    pub(crate) tenant: usize,
    pub(crate) class: usize,
    pub(crate) page: usize,
}

impl Sampling {
    /// Whether there are enough samples.
    pub(crate) fn is_complete(&self) -> bool {
        self.values.len() >= SAMPLES || self.bytes >= SAMPLES_BYTES || self.lots >= SAMPLED_LOTS
    }
}
