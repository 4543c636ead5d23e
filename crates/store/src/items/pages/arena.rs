//! The source of pages: memory of the system, without an allocator in between.
//!
//! A region of addresses is mapped that is far larger than the memory it will use. Only written
//! bytes take memory, by the system's pages (OS pages). Pages are cut from the front of one region,
//! and runs of 2^n pages from the front of another. A page that is given back loses its memory and
//! keeps its addresses for the next page or run of its length. So resident memory follows charged
//! memory, whatever the sequence of sizes. Only addresses can be fragmented, and there are enough
//! of them.
//!
//! Losing memory and getting it back costs a page fault for every OS page, thirty times as long as
//! writing it. So a part of the limit stays *warm*: the runs given back last keep their memory for
//! the next request. There usually is one, because pages move between classes, and one large value
//! replaces another. A warm run that is longer than requested loses its end.
//!
//! Huge pages, of 2 MB, replace pages that fill one, which saves one TLB miss per item. Nothing
//! becomes resident that is not charged, and it is done in the background. If a page of a huge page
//! is given back, the huge page is declined from then on; otherwise the system might fill it up
//! again by itself. With a single region, that lasts until all pages are back. Runs have no huge
//! pages, because they come and go. The memory of a page that is removed from a huge page is no
//! longer ours, and the system takes it when it needs some.

use crate::items::pages::mapping::Mapping;
use crate::sync::shim::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::sync::PoisonError;

/// A contiguous run of 2^n pages, aligned to its length, or to a huge page if it is longer.
#[derive(Debug)]
pub(crate) struct Run {
    pub(super) base: NonNull<u8>,
    order: u32,
    /// Bytes at its beginning that may have memory.
    resident: usize,
}

// SAFETY: the memory has no ties to a thread, and the run has one owner.
unsafe impl Send for Run {}
// SAFETY: a shared run only reveals its address.
unsafe impl Sync for Run {}

/// Bytes of a huge page.
const HUGE_PAGE: usize = if cfg!(miri) { 64 << 10 } else { 2 << 20 };
/// Most huge pages that are declined one by one: each may take two entries of the system's list of
/// mappings, which has 65 530.
const DECLINED_MAX: usize = 4096;
/// Most huge pages made at once.
const ACCEPTED_MAX: usize = 16;
/// The part of the limit that stays warm, as a divisor, and its bounds in bytes.
const WARM: usize = 128;
const WARM_MIN: usize = 256 << 10;
const WARM_MAX: usize = 64 << 20;

/// Regions that are cut into runs.
#[derive(Debug, Default)]
struct Front {
    /// Runs are cut from the last region.
    regions: Vec<Mapping>,
    /// Bytes cut from the last region.
    cut: usize,
}

impl Front {
    /// A piece of `len` bytes with this alignment, and whether its region is new because the last
    /// was full.
    fn cut(&mut self, len: usize, align: usize) -> Option<(NonNull<u8>, bool)> {
        let at = self.cut.next_multiple_of(align);
        let is_full = self.regions.last().is_none_or(|region| region.len() < at + len);
        if is_full {
            self.regions.push(Mapping::new(len, align.max(HUGE_PAGE))?);
            self.cut = 0;
        }
        let at = self.cut.next_multiple_of(align);
        self.cut = at + len;
        Some((self.regions.last()?.at(at), is_full))
    }

    /// Returns the memory of a piece to the system.
    fn empty(&self, base: NonNull<u8>, len: usize) {
        if let Some(region) = self.regions.iter().find(|region| region.has(base)) {
            region.empty(base, len);
        }
    }
}

#[derive(Debug, Default)]
struct State {
    pages: Front,
    runs: Front,
    /// Runs without memory, by order.
    free: Vec<Vec<Run>>,
    /// Runs that were given back and still have their memory, by order, then their bytes, and the
    /// most there may be.
    warm: Vec<Vec<Run>>,
    warm_bytes: usize,
    warm_max: usize,
    /// Number of pages in use.
    out: usize,
    /// Offsets of huge pages in the last region of pages: the full ones, which are to be made, and
    /// the declined ones.
    full: Vec<usize>,
    declined: BTreeSet<usize>,
}

impl State {
    /// Cuts a page, or a run of `len` bytes.
    fn cut(&mut self, order: u32, len: usize, page: usize) -> Option<NonNull<u8>> {
        if order > 0 {
            return Some(self.runs.cut(len, len.min(HUGE_PAGE))?.0);
        }
        let (base, is_new) = self.pages.cut(len, page)?;
        if is_new {
            // Huge pages that exist in the previous region stay.
            if let [.., before, _] = &self.pages.regions[..] {
                before.decline(0, before.len() / HUGE_PAGE * HUGE_PAGE);
            }
            self.full.clear();
            self.declined.clear();
        }
        let [from, to] = [self.pages.cut - len, self.pages.cut].map(|at| at / HUGE_PAGE);
        self.full.extend((from..to).map(|huge_page| huge_page * HUGE_PAGE));
        Some(base)
    }

    /// The next piece of memory to be made a huge page, if there is any.
    fn accept(&mut self) -> Option<NonNull<u8>> {
        loop {
            let huge_page = self.full.pop()?;
            if !self.declined.contains(&huge_page) && self.declined.len() < DECLINED_MAX {
                let region = self.pages.regions.last()?;
                region.accept(huge_page, HUGE_PAGE);
                return Some(region.at(huge_page));
            }
        }
    }

    /// Returns the memory of a page to the system, and prevents its huge pages from taking it
    /// again.
    fn cool(&mut self, base: NonNull<u8>, page: usize) {
        if let Some(region) = self.pages.regions.last().filter(|region| region.has(base)) {
            let at = region.offset(base);
            for huge_page in (at / HUGE_PAGE * HUGE_PAGE..at + page).step_by(HUGE_PAGE) {
                if self.declined.len() < DECLINED_MAX && self.declined.insert(huge_page) {
                    region.decline(huge_page, HUGE_PAGE.min(region.len() - huge_page));
                    if self.declined.len() == DECLINED_MAX {
                        region.decline(0, self.pages.cut);
                    }
                }
            }
        }
        self.pages.empty(base, page);
    }

    /// A run that was given back, one with memory if possible.
    fn given_back(&mut self, order: usize) -> Option<Run> {
        if let Some(run) = self.warm.get_mut(order).and_then(Vec::pop) {
            self.warm_bytes -= run.resident;
            return Some(run);
        }
        self.free.get_mut(order).and_then(Vec::pop)
    }

    /// Takes a run back and keeps it warm.
    fn take_back(&mut self, run: Run, page: usize) {
        self.warm_bytes += run.resident;
        push(&mut self.warm, run);
        self.cool_down(page);
    }

    /// Returns memory to the system until the warm memory is within its bound. The longest runs go
    /// first, but pages do while they are more than half of the bound.
    fn cool_down(&mut self, page: usize) {
        while self.warm_bytes > self.warm_max {
            let pages = self.warm.first().map_or(0, |pages| pages.len() * page);
            let coolest = match self.warm.first_mut() {
                Some(first) if 2 * pages > self.warm_max => first.pop(),
                _ => self.warm.iter_mut().rev().find_map(Vec::pop),
            };
            let Some(run) = coolest else { return };
            self.warm_bytes -= run.resident;
            if run.order == 0 {
                self.cool(run.base, page);
            } else {
                self.runs.empty(run.base, run.resident);
            }
            push(&mut self.free, Run { resident: 0, ..run });
        }
    }

    /// Starts anew when all pages are back.
    fn reset(&mut self) {
        let Some(region) = self.pages.regions.pop() else { return };
        region.decline(0, self.pages.cut);
        region.empty(region.at(0), self.pages.cut);
        for runs in [&mut self.free, &mut self.warm] {
            let pages = runs.first_mut().map(std::mem::take).unwrap_or_default();
            self.warm_bytes -= pages.iter().map(|run| run.resident).sum::<usize>();
        }
        self.full.clear();
        self.declined.clear();
        self.pages = Front { regions: vec![region], cut: 0 };
    }
}

fn push(runs: &mut Vec<Vec<Run>>, run: Run) {
    let order = run.order as usize;
    if runs.len() <= order {
        runs.resize_with(order + 1, Vec::new);
    }
    runs[order].push(run);
}

/// The pages of a store. Runs must not outlive it.
#[derive(Debug)]
pub(crate) struct Arena {
    page: usize,
    state: Mutex<State>,
}

impl Arena {
    /// Creates an arena with pages of `page` bytes, a power of two and a multiple of an OS page.
    pub(crate) fn new(page: u64) -> Self {
        Self { page: page as usize, state: Mutex::new(State::default()) }
    }

    /// Sets the most bytes that may be in use, 0 for no limit.
    pub(crate) fn set_limit(&self, limit: u64) {
        let mut state = self.lock();
        let limit = if limit == 0 { usize::MAX } else { limit as usize };
        state.warm_max = (limit / WARM).clamp(WARM_MIN, WARM_MAX);
        state.cool_down(self.page);
    }

    /// Replaces pages by huge pages, a few at a time. Each takes as long as copying it, and readers
    /// of its items wait meanwhile.
    pub(crate) fn maintain(&self) {
        for _ in 0..ACCEPTED_MAX {
            let Some(huge_page) = self.lock().accept() else { return };
            // The system refuses if it was declined in the meantime.
            Mapping::collapse(huge_page, HUGE_PAGE);
        }
    }

    /// Takes a run of at least `bytes` bytes, with any contents; `None` if the system has no more
    /// addresses.
    pub(crate) fn take(&self, bytes: u64) -> Option<Run> {
        let order = (bytes as usize).div_ceil(self.page).next_power_of_two().ilog2();
        let mut state = self.lock();
        let mut run = if let Some(run) = state.given_back(order as usize) {
            run
        } else {
            let base = state.cut(order, self.page << order, self.page)?;
            Run { base, order, resident: 0 }
        };
        state.out += usize::from(order == 0);
        if order > 0 && run.resident > bytes as usize {
            // Memory that is not charged must not stay resident.
            // SAFETY: the end is within the run.
            let end = unsafe { run.base.add(bytes as usize) };
            state.runs.empty(end, run.resident - bytes as usize);
        }
        run.resident = bytes as usize;
        Some(run)
    }

    /// Takes a run back, and returns memory beyond the warm part to the system.
    pub(crate) fn give(&self, run: Run) {
        let mut state = self.lock();
        let is_page = run.order == 0;
        state.out -= usize::from(is_page);
        if is_page && state.out == 0 && state.pages.regions.len() == 1 {
            return state.reset();
        }
        state.take_back(run, self.page);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 16 << 10;

    /// Takes pages and writes to them.
    fn pages(arena: &Arena, count: usize) -> Vec<Run> {
        let take = |_| {
            let run = arena.take(PAGE as u64).unwrap();
            // SAFETY: the page is ours.
            unsafe { run.base.write(7) };
            run
        };
        (0..count).map(take).collect()
    }

    fn give_all(arena: &Arena, runs: impl IntoIterator<Item = Run>) {
        for run in runs {
            arena.give(run);
        }
    }

    /// The first byte of a page; 0 if its memory is gone.
    fn first(base: NonNull<u8>) -> u8 {
        // SAFETY: the address stays mapped as long as the arena exists.
        unsafe { base.read() }
    }

    #[test]
    fn what_is_given_back_loses_its_memory_but_for_what_stays_warm() {
        let arena = Arena::new(PAGE as u64);
        arena.set_limit(1 << 20);
        let warm = WARM_MIN / PAGE;
        let mut taken = pages(&arena, 3 * warm);
        let last: Vec<_> = (0..2 * warm).map(|_| taken.pop().unwrap()).collect();
        let bases: Vec<_> = last.iter().map(|run| run.base).collect();
        give_all(&arena, last);
        if !cfg!(miri) {
            let left = bases.iter().filter(|&&base| first(base) == 7).count();
            assert_eq!(left, warm);
        }
        let again: Vec<_> = (0..warm).map(|_| arena.take(1).unwrap()).collect();
        assert_eq!(arena.lock().warm_bytes, 0, "the warm ones first");
        let more: Vec<_> = (0..warm).map(|_| arena.take(1).unwrap()).collect();
        assert_eq!(arena.lock().pages.cut, 3 * warm * PAGE, "no address is lost");
        give_all(&arena, taken.into_iter().chain(again).chain(more));
        let state = arena.lock();
        assert_eq!((state.pages.cut, state.warm_bytes), (0, 0), "it begins anew");
        assert!(state.free.first().is_none_or(Vec::is_empty));
    }

    /// A run begins at a multiple of its length. The next run of the same length gets its memory,
    /// but keeps only the requested part of it.
    #[test]
    fn a_warm_run_loses_its_end() {
        let arena = Arena::new(PAGE as u64);
        arena.set_limit(1 << 20);
        let (len, at) = (4 * PAGE, |run: &Run, at: usize| run.base.addr().get() + at);
        let one = arena.take(2 * PAGE as u64).unwrap();
        let run = arena.take(len as u64).unwrap();
        assert!(at(&one, 0).is_multiple_of(2 * PAGE) && at(&run, 0).is_multiple_of(len));
        // SAFETY: the run is ours.
        unsafe { run.base.write_bytes(7, len) };
        let base = run.base;
        arena.give(run);
        let run = arena.take((len - PAGE) as u64).unwrap();
        assert_eq!((run.order, run.base), (2, base));
        // SAFETY: the run is ours and was written.
        let ends = [0, len - PAGE - 1, len - 1].map(|at| unsafe { run.base.add(at).read() });
        assert!(cfg!(miri) || ends == [7, 7, 0], "{ends:?}");
        arena.give(run);
        // This is more than may be warm.
        let long = arena.take(2 * WARM_MIN as u64).unwrap();
        arena.give(long);
        assert!(arena.lock().warm_bytes <= WARM_MIN);
        arena.give(one);
    }

    /// A huge page is made when pages fill it, but not after one of them was given back.
    #[test]
    fn huge_pages_are_full() {
        let arena = Arena::new(PAGE as u64);
        arena.set_limit(PAGE as u64);
        arena.lock().warm_max = 0;
        let per_huge_page = HUGE_PAGE / PAGE;
        let mut taken = pages(&arena, 3 * per_huge_page - 1);
        assert_eq!(arena.lock().full, [0, HUGE_PAGE], "the third has a page to go");
        arena.give(taken.swap_remove(per_huge_page));
        assert!(arena.lock().declined.contains(&HUGE_PAGE));
        arena.maintain();
        taken.extend(pages(&arena, 2));
        assert_eq!(arena.lock().full, [2 * HUGE_PAGE], "the page given back came first");
        arena.maintain();
        assert!(arena.lock().full.is_empty());
        assert!(taken.iter().all(|run| first(run.base) == 7), "nothing is lost");
        give_all(&arena, taken);
        assert!(arena.lock().declined.is_empty());
    }
}
