//! The state of compression between two calls: settings, walks, and the knowledge about values.

use crate::bytes::config::CompressionSettings;
use crate::bytes::stats::ValueSamples;
use crate::compression::counts::Forms;
use crate::compression::decision::Facts;
use crate::compression::dictionary::{Dictionaries, Dictionary};
use crate::compression::octaves::{OCTAVES, Octave, SAMPLES, SAMPLES_BYTES, SAMPLES_MIN, WITHOUT};
use crate::sync::shim::Mutex;
use base::TenantId;
use std::sync::{Arc, Weak};

/// Pages after which the samples are those that there are.
pub(crate) const SAMPLED_LOTS: usize = 128;
/// A walk that changed fewer items than one in this many of the shard rests twice as long as the
/// last one, and another one half as long.
const FEW: u64 = 100;
/// The shortest rest is one access for each of this many items, and the longest one this many
/// accesses for each item.
const REST: u64 = 2;
const REST_MOST: u64 = 32;
/// Retired dictionaries of a tenant from which on no octave is sampled anew.
const RETIRED_MAX: usize = 3;
/// Weight of a lot in the mean price of a byte.
const PRICE_WEIGHT: f64 = 1.0 / 16.0;

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
    /// The shard's count of accesses before which no walk begins, and the accesses until then.
    pub(crate) rests_until: u64,
    pub(crate) rest: u64,
}

/// The knowledge about a tenant's values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) octaves: [Octave; OCTAVES],
    pub(crate) dictionaries: Arc<Dictionaries>,
    /// Numbers of dictionaries that are used no more for new items.
    pub(crate) retired: Vec<u16>,
    /// An item of average use, and the price of a byte, in the pages looked at last.
    pub(crate) average: Option<Facts>,
    /// The form of new values, as the shards know it.
    pub(crate) forms: Forms,
    /// Numbers that a caller holds, because items with them are on their way.
    pub(crate) held: Vec<(u16, Weak<()>)>,
}

/// Values of one tenant that become samples.
#[derive(Debug)]
pub(crate) struct Sampling {
    pub(crate) tenant: TenantId,
    /// Pages looked at.
    pub(crate) lots: usize,
    pub(crate) octaves: [Samples; OCTAVES],
}

/// Samples of one octave.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    pub(crate) values: Vec<Vec<u8>>,
    pub(crate) bytes: usize,
}

/// The next page of a walk through the pages of a shard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    pub(crate) tenant: usize,
    pub(crate) class: usize,
    pub(crate) page: usize,
}

impl Worker {
    /// Ends the rests of all walks, because there is something new to do.
    pub(crate) fn wake(&mut self) {
        for walk in &mut self.walks {
            (walk.rests_until, walk.rest) = (0, 0);
        }
    }
}

impl Walk {
    /// Ends the walk through a shard with this many items and accesses: the next one begins at
    /// once or, the longer the fewer items change, some accesses later.
    pub(crate) fn end(&mut self, items: u64, tick: u64) {
        let is_few = (self.changed as u64) < items / FEW + 1;
        let rest = if is_few { self.rest * 2 } else { self.rest / 2 };
        let least = items / REST + 1;
        let rest = if is_few { rest.clamp(least, items * REST_MOST + 1) } else { rest };
        let rest = if rest < least { 0 } else { rest };
        let credit = self.credit.min(0);
        *self = Self { credit, rests_until: tick + rest, rest, ..Self::default() };
    }
}

impl Known {
    /// Takes over what a lot shows of an item of average use. Prices of lots differ, so the mean
    /// follows them slowly.
    pub(crate) fn note(&mut self, lot: Facts) {
        let before = self.average.map_or(lot.price, |average| average.price);
        let price = before + PRICE_WEIGHT * (lot.price - before);
        self.average = Some(Facts { price, ..lot });
    }
}

impl Known {
    /// Notes which octaves need new samples because their values have changed. Returns whether one
    /// needs them that did not before.
    pub(crate) fn note_decay(&mut self) -> bool {
        self.octaves.iter_mut().filter_map(|octave| octave.note_decay().then_some(())).count() > 0
    }

    /// Whether an octave with a form needs new samples. Nothing is learnt anew while the items of
    /// several retired dictionaries still wait to leave them.
    pub(crate) fn is_due(&self, octave: usize) -> bool {
        self.octaves[octave].is_due && self.retired.len() < RETIRED_MAX
    }

    /// Bytes of the dictionaries that remain if the one with this number is replaced.
    pub(crate) fn remaining_bytes(&self, replaced: u16) -> u64 {
        let bytes = |number: &u16| {
            self.dictionaries.get(*number).ok().flatten().map_or(0, Dictionary::bytes)
        };
        let leave: u64 = self.retired.iter().chain([&replaced]).map(bytes).sum();
        self.dictionaries.bytes().saturating_sub(leave)
    }
}

impl Sampling {
    /// No samples of a tenant.
    pub(crate) fn of(tenant: TenantId) -> Self {
        Self { tenant, lots: 0, octaves: Default::default() }
    }
}

impl Samples {
    /// Whether there are enough samples of an octave, if they may take `most` bytes.
    pub(crate) fn are_enough(&self, octave: usize, most: usize) -> bool {
        let enough = if octave < WITHOUT { SAMPLES } else { SAMPLES_MIN };
        self.values.len() >= enough || self.bytes >= most.min(SAMPLES_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_rests_the_longer_the_less_it_finds() {
        let mut walk = Walk::default();
        let mut rests = vec![];
        for changed in [500, 0, 0, 0, 0, 0, 0, 0, 0, 500, 500, 500, 500, 500, 500, 500, 500] {
            walk.changed = changed;
            walk.end(1_000, 7);
            rests.push(walk.rests_until - 7);
        }
        assert_eq!(rests[..9], [0, 501, 1_002, 2_004, 4_008, 8_016, 16_032, 32_001, 32_001]);
        assert_eq!(rests[9..], [16_000, 8_000, 4_000, 2_000, 1_000, 0, 0, 0]);
    }
}
