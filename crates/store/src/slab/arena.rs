//! Where pages come from: memory of the system that no allocator ever sees.
//!
//! A region of addresses is mapped that is far larger than what will be used of it; what is written
//! takes memory, by blocks, and nothing else does. Runs of 2^n pages are cut from its front. One
//! that is given back loses its memory at once and keeps its addresses for the next of its length,
//! so what is resident follows what is charged, whatever sizes come after each other: there is
//! nothing to be fragmented but addresses, and of those there are enough.
//!
//! Large pages of the system are declined: one of them would take memory for the pages around the
//! one that was asked for.

use super::mapping::Mapping;
use crate::sync::Mutex;
use std::ptr::NonNull;
use std::sync::PoisonError;

/// A run of pages in one piece, aligned to the length of a page.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) base: NonNull<u8>,
    order: u32,
}

// SAFETY: the memory has no ties to a thread, and the run has one owner.
unsafe impl Send for Run {}
// SAFETY: shared, it only tells where it is.
unsafe impl Sync for Run {}

#[derive(Debug, Default)]
struct State {
    /// The last is cut from.
    regions: Vec<Mapping>,
    /// Bytes cut from the last.
    cut: usize,
    /// Runs given back, by order.
    free: Vec<Vec<Run>>,
}

/// The pages of a store. Runs must not outlive it.
#[derive(Debug)]
pub(crate) struct Arena {
    page: usize,
    state: Mutex<State>,
}

impl Arena {
    /// An arena of pages of so many bytes, a power of two and a multiple of the system's block.
    pub(crate) fn new(page: u64) -> Self {
        Self { page: page as usize, state: Mutex::new(State::default()) }
    }

    /// A run of at least so many bytes, of any contents; none if the system has no more addresses.
    pub(super) fn take(&self, bytes: u64) -> Option<Run> {
        let order = (bytes as usize).div_ceil(self.page).next_power_of_two().ilog2();
        let len = self.page << order;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = state.free.get_mut(order as usize).and_then(Vec::pop) {
            return Some(run);
        }
        if state.regions.last().is_none_or(|region| region.len() - state.cut < len) {
            state.regions.push(Mapping::new(len, self.page)?);
            state.cut = 0;
        }
        let at = state.cut;
        state.cut += len;
        let base = state.regions.last()?.at(at);
        Some(Run { base, order })
    }

    /// Takes a run back, and gives its memory to the system.
    pub(super) fn give(&self, run: Run) {
        let len = self.page << run.order;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(region) = state.regions.iter().find(|region| region.has(run.base)) {
            region.empty(run.base, len);
        }
        let order = run.order as usize;
        if state.free.len() <= order {
            state.free.resize_with(order + 1, Vec::new);
        }
        state.free[order].push(run);
    }
}
