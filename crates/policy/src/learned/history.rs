//! The request history of objects, resident or lately evicted.

use super::trees::FeatureRow;
use base::hash::KeyMap;
use base::{Access, Size};
use std::collections::VecDeque;

/// Number of the latest times between two requests that are remembered for an object.
const GAPS: usize = 3;

/// The request history of one object, resident or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectHistory {
    pub(super) key: u64,
    pub(super) size: Size,
    /// Tick of the last request to it.
    pub(super) last: u64,
    uses: u32,
    /// Ticks between its requests, the latest first; 0 where there was no request.
    gaps: [u32; GAPS],
    /// Tick at which it was drawn, to become a row at its next use; 0 if it was not drawn.
    pub(super) drawn: u64,
}

impl ObjectHistory {
    /// The history of an object at its first request.
    pub(super) const fn new(access: &Access, now: u64) -> Self {
        let Access { key, size, .. } = *access;
        Self { key, size, last: now, uses: 1, gaps: [0; GAPS], drawn: 0 }
    }

    /// Notes another request to the object, which now has this size.
    pub(super) fn use_again(&mut self, size: Size, now: u64) {
        self.gaps.rotate_right(1);
        self.gaps[0] = u32::try_from(now - self.last).unwrap_or(u32::MAX);
        (self.size, self.last, self.drawn) = (size, now, 0);
        self.uses = self.uses.saturating_add(1);
    }

    /// The features that a model sees.
    pub(super) fn row(&self, now: u64) -> FeatureRow {
        let [a, b, c] = self.gaps.map(|gap| gap as f32);
        [(now - self.last) as f32, a, b, c, self.size.as_f32(), self.uses as f32]
    }
}

/// Objects that were evicted lately, the oldest first. An object that came back leaves a gap.
#[derive(Debug, Default)]
pub(super) struct Departed {
    places: KeyMap<u64>,
    pub(super) queue: VecDeque<Option<ObjectHistory>>,
    /// Place of the head of the queue, counted over all entries that were ever pushed.
    first: u64,
}

impl Departed {
    /// Adds an object that was just evicted.
    pub(super) fn push(&mut self, known: ObjectHistory) {
        self.places.insert(known.key, self.first + self.queue.len() as u64);
        self.queue.push_back(Some(known));
    }

    /// Removes an object that comes back.
    pub(super) fn take(&mut self, key: u64) -> Option<ObjectHistory> {
        let place = self.places.remove(&key)?;
        self.queue[(place - self.first) as usize].take()
    }

    /// Forgets the head of the queue; `None` if that object came back.
    pub(super) fn pop(&mut self) -> Option<ObjectHistory> {
        self.first += 1;
        let known = self.queue.pop_front()??;
        self.places.remove(&known.key);
        Some(known)
    }
}
