//! One part of the store: the data that a lock guards.
//!
//! A shard has its items with everything that requests count beside them, and the state that makes
//! room for writes. So a request takes one lock and nothing else, except the byte counters when
//! bytes change. The code here holds the shard exclusively; most reads do not need that
//! (`contents/shared_reads.rs`).

use crate::contents::contents::Contents;
use crate::contents::need::{Need, Reserved};
use crate::contents::shared_reads::ReadBuffer;
use crate::room::room::Room;
use crate::sync::big_reader::Buffered;
use crate::sync::shim::AtomicBool;
use crate::victims::budget::Around;
use crate::victims::pools::Pools;
use crate::{Error, Now};
use std::sync::Arc;

/// One part of the store. A read hit needs only the first lines of the contents.
#[repr(C, align(64))]
pub(crate) struct Shard {
    contents: Contents,
    room: Room,
}

impl Shard {
    /// Creates an empty shard with this number and seed. Its tap holds up to `samples_max` samples,
    /// and `nanos` is the clock for evictions.
    pub(crate) fn new(
        at: usize,
        seed: u64,
        samples_max: usize,
        nanos: fn() -> u64,
        (pools, expires): (Arc<Pools>, Arc<AtomicBool>),
    ) -> Self {
        Self {
            contents: Contents::new(at, seed, samples_max, expires),
            room: Room::new(at, nanos, pools),
        }
    }

    #[inline]
    pub(crate) const fn contents(&self) -> &Contents {
        &self.contents
    }

    #[inline]
    pub(crate) const fn contents_mut(&mut self) -> &mut Contents {
        &mut self.contents
    }

    /// The contents, and the state that makes room in them.
    #[inline]
    pub(crate) const fn parts(&mut self) -> (&mut Contents, &mut Room) {
        (&mut self.contents, &mut self.room)
    }

    /// Reserves the room that a write needs.
    #[inline]
    pub(crate) fn reserve(
        &mut self,
        around: &Around<'_>,
        need: &Need,
        now: Now,
    ) -> Result<Reserved, Error> {
        self.room.reserve(&mut self.contents, around, need, now)
    }
}

impl Buffered for Shard {
    type Buffer = ReadBuffer;

    #[inline]
    fn drain(&mut self, buffer: &mut ReadBuffer, reader_slot: usize) {
        self.contents.drain(buffer, reader_slot);
    }

    #[inline]
    fn count_new_records(&mut self, buffer: &mut ReadBuffer) {
        self.contents.count_new_records(buffer);
    }

    #[inline]
    fn publish(&self, buffer: &mut ReadBuffer) {
        self.contents.publish(buffer);
    }
}
