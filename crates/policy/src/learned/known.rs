//! What is known of an object, and of those that left lately.

use super::trees::Row;
use crate::Access;
use base::Size;
use base::hash::KeyMap;
use std::collections::VecDeque;

/// Times between requests that are remembered of an object.
const GAPS: usize = 3;

/// What is known of an object, resident or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) key: u64,
    pub(super) size: Size,
    /// When it was asked for last.
    pub(super) last: u64,
    uses: u32,
    /// The latest first; 0 where there was none.
    gaps: [u32; GAPS],
    /// When it was drawn, to become a row at its next use; 0 if it was not.
    pub(super) drawn: u64,
}

impl Known {
    /// Of an object asked for first.
    pub(super) const fn new(access: &Access, now: u64) -> Self {
        let Access { key, size, .. } = *access;
        Self { key, size, last: now, uses: 1, gaps: [0; GAPS], drawn: 0 }
    }

    /// It is asked for again, and takes so many bytes now.
    pub(super) fn use_again(&mut self, size: Size, now: u64) {
        self.gaps.rotate_right(1);
        self.gaps[0] = u32::try_from(now - self.last).unwrap_or(u32::MAX);
        (self.size, self.last, self.drawn) = (size, now, 0);
        self.uses = self.uses.saturating_add(1);
    }

    /// What a model sees of it.
    pub(super) fn row(&self, now: u64) -> Row {
        let [a, b, c] = self.gaps.map(|gap| gap as f32);
        [(now - self.last) as f32, a, b, c, self.size.as_f32(), self.uses as f32]
    }
}

/// Who left lately, the oldest first; gaps where one came back.
#[derive(Debug, Default)]
pub(super) struct Departed {
    places: KeyMap<u64>,
    pub(super) queue: VecDeque<Option<Known>>,
    /// Place of the first of the queue, of all that ever were in it.
    first: u64,
}

impl Departed {
    /// Adds one that just left.
    pub(super) fn push(&mut self, known: Known) {
        self.places.insert(known.key, self.first + self.queue.len() as u64);
        self.queue.push_back(Some(known));
    }

    /// Takes out one that comes back.
    pub(super) fn take(&mut self, key: u64) -> Option<Known> {
        let place = self.places.remove(&key)?;
        self.queue[(place - self.first) as usize].take()
    }

    /// Forgets the first of the queue, if it did not come back.
    pub(super) fn pop(&mut self) -> Option<Known> {
        self.first += 1;
        let known = self.queue.pop_front()??;
        self.places.remove(&known.key);
        Some(known)
    }
}
