//! Several sources joined into one.

use crate::{Error, Source};
use base::{Access, Micros, TenantId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Sources joined by time: the earliest of the waiting accesses goes first. Accesses with the same
/// time go in the order of the sources.
pub struct Merge {
    sources: Vec<Box<dyn Source>>,
    /// The next access of each source; its time and the index of its source are in `order`.
    waiting: Vec<Option<Result<Access, Error>>>,
    order: BinaryHeap<Reverse<(Micros, usize)>>,
    /// The text of each waiting access' key, because a source only has the text of its last key.
    keys: Vec<Vec<u8>>,
    key: Vec<u8>,
    left: Option<u64>,
}

impl Merge {
    /// Joins `sources`; the result ends after `requests` requests, if given.
    pub fn new(sources: Vec<Box<dyn Source>>, requests: Option<u64>) -> Self {
        let n = sources.len();
        let mut merge = Self {
            sources,
            waiting: (0..n).map(|_| None).collect(),
            order: BinaryHeap::with_capacity(n),
            keys: vec![vec![]; n],
            key: vec![],
            left: requests,
        };
        (0..n).for_each(|at| merge.pull(at, Micros(0)));
        merge
    }

    /// Reads the next access of source `at`; an error is due at once.
    fn pull(&mut self, at: usize, now: Micros) {
        let next = self.sources[at].next();
        self.keys[at].clear();
        self.keys[at].extend_from_slice(self.sources[at].key());
        if let Some(next) = &next {
            let time = next.as_ref().map_or(now, |access| access.time);
            self.order.push(Reverse((time, at)));
        }
        self.waiting[at] = next;
    }
}

impl Source for Merge {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        let Reverse((time, at)) = self.order.pop()?;
        let next = self.waiting[at].take();
        std::mem::swap(&mut self.key, &mut self.keys[at]);
        self.pull(at, time);
        next
    }

    fn key(&self) -> &[u8] {
        &self.key
    }

    fn skipped(&self) -> u64 {
        self.sources.iter().map(Source::skipped).sum()
    }

    fn lost(&self) -> u64 {
        self.sources.iter().map(Source::lost).sum()
    }

    fn cut_off(&self) -> Option<&str> {
        self.sources.iter().find_map(|source| source.cut_off())
    }

    fn tenant_name(&self, tenant: TenantId) -> Option<&str> {
        self.sources.iter().find_map(|source| source.tenant_name(tenant))
    }
}

/// Sources one after another; the time goes on from the end of the previous source.
pub struct Chain {
    sources: VecDeque<Box<dyn Source>>,
    /// Start time of the current source, and time of the last access.
    start: Micros,
    now: Micros,
    skipped: u64,
    lost: u64,
}

impl Chain {
    /// Chains `sources`.
    pub fn new(sources: Vec<Box<dyn Source>>) -> Self {
        Self { sources: sources.into(), start: Micros(0), now: Micros(0), skipped: 0, lost: 0 }
    }
}

impl Source for Chain {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        loop {
            match self.sources.front_mut()?.next() {
                Some(Ok(mut access)) => {
                    access.time = Micros(self.start.0.saturating_add(access.time.0));
                    self.now = access.time;
                    return Some(Ok(access));
                }
                Some(error) => return Some(error),
                // The last source stays, because its key may still be requested.
                None if self.sources.len() == 1 => return None,
                None => {
                    if let Some(done) = self.sources.pop_front() {
                        self.skipped += done.skipped();
                        self.lost += done.lost();
                    }
                    self.start = self.now;
                }
            }
        }
    }

    fn key(&self) -> &[u8] {
        self.sources.front().map_or(&[], |source| source.key())
    }

    fn skipped(&self) -> u64 {
        self.skipped + self.sources.iter().map(Source::skipped).sum::<u64>()
    }

    fn lost(&self) -> u64 {
        self.lost + self.sources.iter().map(Source::lost).sum::<u64>()
    }
}
