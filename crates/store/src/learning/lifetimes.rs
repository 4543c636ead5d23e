//! Learning in the background: lifetimes counted by the shards become a new table of ranks.
//!
//! The thread that holds a shard exclusively counts the lifetimes that ended, by age and class.
//! Readers record their hits (`contents/shared_reads.rs`). There is one set of counters per reader
//! slot, because threads are spread over the slots, shared by all shards. So the counters of a
//! thread stay in its caches. The sweep checks now and then whether it is time to learn. Then it
//! draws a few items in one shard after the other, for the lifetimes that still last. It takes the
//! counts, learns without any shard's lock, and swaps the whole table of ranks, like a change of
//! the pools. While no pool's rank learns, the shards hold no counters, and a request pays one
//! check of a null pointer.
//!
//! Ages are in requests to a shard. They apply to other shards too, because each has approximately
//! the same share of the requests.

use crate::items::item::Ref;
use base::TenantId;
use policy::rank::lhd::{Learner, Lived, Ranks, hit_class, hit_class_of};
use policy::rank::{Lessons, Stamps};
use std::sync::Arc;

/// Ranks learnt from lifetimes.
#[derive(Debug)]
pub(crate) struct Lifetimes {
    pub(crate) learner: Learner,
    pub(crate) ranks: Arc<Ranks>,
    pub(crate) lived: Arc<[Lived]>,
    pub(crate) tenants: usize,
    /// Bytes charged for all of it.
    pub(crate) bytes: u64,
}

impl Lifetimes {
    pub(crate) fn new(tenants: usize, reader_slots: usize) -> Self {
        let bytes = Learner::bytes(tenants) + reader_slots as u64 * Lived::bytes(tenants);
        let (learner, ranks) = (Learner::new(tenants), Arc::new(Ranks::default()));
        let lived = (0..reader_slots).map(|_| Lived::new(tenants)).collect();
        Self { learner, ranks, lived, tenants, bytes }
    }

    /// The counters for a shard.
    pub(crate) fn lives(&self) -> Lives {
        Lives(Arc::clone(&self.lived))
    }
}

/// The counters of all reader slots.
#[derive(Clone, Debug)]
pub(crate) struct Lives(Arc<[Lived]>);

impl Lives {
    /// The counters of one reader slot.
    #[inline]
    pub(crate) fn of(&self, reader_slot: usize) -> &Lived {
        // Reader slots are a power of two.
        &self.0[reader_slot & (self.0.len() - 1)]
    }
}

/// The counters of a reader slot; `None` while no rank learns.
#[inline]
pub(crate) fn lived(lives: Option<&Lives>, reader_slot: usize) -> Option<&Lived> {
    lives.map(|lives| lives.of(reader_slot))
}

/// Counts the lifetime of an item that is removed.
#[inline]
pub(crate) fn record_end(lived: Option<&Lived>, tenant: TenantId, item: Ref, tick: u64) {
    if let Some(lived) = lived {
        let stamps = item.stamps();
        lived.count(tenant, stamps.hit_class(), stamps.age(tick), false);
    }
}

/// Counts the lifetime of an item that is used again at this age: it ended in a hit or unread, and
/// the next one begins.
#[inline]
pub(crate) fn record_use(
    lived: Option<&Lived>,
    tenant: TenantId,
    stamps: Stamps,
    age: u32,
    hit: bool,
) {
    if let Some(lived) = lived {
        lived.count(tenant, stamps.hit_class(), age, hit);
    }
}

/// Notes a write of a resident item in its stamps. A rank that learns from watched keys counts the
/// reads of a key, as its learner does; other ranks count writes as well, as Redis' LFU does.
#[inline]
pub(crate) fn note_write(lessons: Option<Lessons>, stamps: &mut Stamps, tick: u64) {
    if lessons == Some(Lessons::Watched) {
        stamps.used(tick);
    } else {
        stamps.hit(tick);
    }
}

/// Hits from which on an item gets its class at every fourth hit only: one more changes the mean
/// interval little, and a class spans two octaves.
const MANY: u8 = 4;

/// Sets the class of an item after a use at this age; `items` is the number of items.
#[inline]
pub(crate) fn classify(lessons: Option<Lessons>, stamps: &mut Stamps, age: u32, items: usize) {
    match lessons {
        None => {}
        Some(Lessons::Watched) if stamps.hits > MANY && !stamps.hits.is_multiple_of(MANY) => {}
        Some(Lessons::Lifetimes) => stamps.set_hit_class(hit_class(age, items)),
        Some(Lessons::Watched) => stamps.set_hit_class(match stamps.interval_octave() {
            None => 0,
            Some(octave) => hit_class_of(octave, items),
        }),
    }
}
