//! A class fitted to the single size of a tenant's items.
//!
//! Neighbouring classes differ by a quarter. So a fifth of a chunk may be unused, and at the end of
//! a page all but an item's length. For items of many sizes the waste evens out, and more or longer
//! classes would only be harder to balance. But blocks and records of one size can all be unlucky.
//! Then their class is cut to exactly that size, in pages so long that little is left over.
//!
//! ```text
//!   chunks as they were   │ item   · │ item   · │ item   · │    ·   │
//!   fitted                │ item │ item │ item │ item │ item │ item │ item │ … │·│
//! ```
//!
//! The fit is tried while the class is young, when it needs its third, fifth and ninth page. It is
//! made once for each tenant of a shard, until a flush. All items move at once; those that are too
//! long move to the next class. So the contents of an item always determine its class. Nothing is
//! evicted for a fit: if memory is not free, nothing happens.

use crate::bytes::key::hash_of;
use crate::contents::contents::Contents;
use crate::items::item::Ref;
use crate::items::pages::arena::Run;
use crate::items::pages::class::Class;
use crate::items::pages::page::Page;
use crate::items::pages::pages::Pages;
use crate::items::sizes::size_classes::SizeClasses;
use crate::tenant::tenant::TenantShard;
use crate::victims::budget::Around;
use base::TenantId;
use std::sync::atomic::Ordering::Relaxed;

/// Numbers of pages that a class has when a fit is tried, because it needs another.
const TRIED: [usize; 3] = [2, 4, 8];
/// Least number of items that shows their common size.
const ITEMS_MIN: usize = 16;
/// At most one in this many items may be longer than that size.
const LONGER: usize = 16;

/// Least number of fitted pages in a tenant's share of a shard.
const PAGES_MIN: u64 = 64;

impl Pages {
    /// Whether it is time to try to fit a class. Checked at every eviction.
    fn is_due(&self, class: usize) -> bool {
        let held = &self.held[class];
        let pages = held.pages.len();
        held.tried < pages && TRIED.contains(&pages) && held.open.is_empty()
    }

    /// The classes with this one fitted to its items, if these have one size and are nearly all of
    /// the tenant's items here.
    fn fitted(&mut self, class: usize, longest: u64) -> Option<SizeClasses> {
        self.held[class].tried = self.held[class].pages.len();
        let large = self.classes.large();
        let taken = |(at, held): (usize, &Class)| {
            if at == large { held.bytes } else { held.items * self.classes.share(at) }
        };
        let all: u64 = self.held.iter().enumerate().map(taken).sum();
        let is_most = taken((class, &self.held[class])) * 4 >= all * 3;
        let mut contents: Vec<u64> = self.held[class].contents().collect();
        if !is_most || class + 1 >= large || self.classes.is_fitted() || contents.len() < ITEMS_MIN
        {
            return None;
        }
        let most = contents.len() - 1 - contents.len() / LONGER;
        let (_, &mut size, _) = contents.select_nth_unstable(most);
        self.classes.fitted(class, size, longest)
    }

    /// Replaces a class's pages by empty pages of the new classes, and returns the old ones.
    /// Changes nothing if `take` refuses the bytes for them.
    fn exchange(
        &mut self,
        class: usize,
        classes: &SizeClasses,
        take: impl FnOnce(u64) -> bool,
    ) -> Option<Vec<Page>> {
        let chunk = classes.chunk(class);
        let (all, fitting) = {
            let contents = || self.held[class].contents();
            (contents().count(), contents().filter(|&bytes| bytes <= chunk).count())
        };
        let pages = |class: usize, items: usize| items.div_ceil(classes.slots(class) as usize);
        let wanted = [(class, pages(class, fitting)), (class + 1, pages(class + 1, all - fitting))];
        let cost = if all > fitting { self.class_cost(class + 1) } else { 0 };
        let bytes = |(class, pages): (usize, usize)| pages as u64 * classes.page_of(class);
        let of_each = |(class, pages)| std::iter::repeat_n(class, pages);
        let of_each = || wanted.into_iter().flat_map(of_each);
        let take_run = |class| self.arena.take(classes.page_of(class));
        let runs: Vec<Run> = of_each().map_while(take_run).collect();
        let is_all = runs.len() == of_each().count();
        if !is_all || !take(wanted.into_iter().map(bytes).sum::<u64>() + cost) {
            for run in runs {
                self.arena.give(run);
            }
            return None;
        }
        self.classes = classes.clone();
        let held = &mut self.held[class];
        held.eviction_pools = Default::default();
        held.items = 0;
        held.bytes = 0;
        let before = std::mem::take(&mut held.pages);
        for (run, class) in runs.into_iter().zip(of_each()) {
            self.cut(run, class, classes.page_of(class));
        }
        Some(before)
    }
}

impl Class {
    /// The contents of each of its items in bytes.
    fn contents(&self) -> impl Iterator<Item = u64> {
        let of_page = |page: &Page| {
            #[expect(clippy::redundant_closure_for_method_calls, reason = "of any lifetime")]
            let contents = |slot| page.look(slot, |item| item.contents());
            (0..page.slots()).filter_map(contents).collect::<Vec<_>>()
        };
        self.pages.iter().flat_map(of_page)
    }
}

impl TenantShard {
    /// Moves the items of a page of the old class to pages of their new classes, and frees the
    /// page. Returns its bytes.
    fn empty(&mut self, mut page: Page, seed: u64) -> u64 {
        for slot in 0..page.slots() {
            let hash_and_place =
                |item: Ref<'_>| (hash_of(seed, item.db(), item.key()), item.base().addr().get());
            let Some((hash, addr)) = page.look(slot, hash_and_place) else { continue };
            let place = self.table.find_address(hash, addr).expect("every item is in the table");
            let expires = self.table.get(place).expires();
            let copy = self.copy(place, b"", expires);
            page.free(self.table.swap(place, hash, copy));
        }
        let bytes = page.bytes;
        self.pages.in_shard.fetch_sub(bytes, Relaxed);
        self.pages.arena.give(page.into_run());
        bytes
    }
}

/// Fits the class of an item with `bytes` bytes of contents to the items there, if that is worth it
/// and there is memory for it. Items may have moved afterwards.
pub(super) fn tailor_class(contents: &mut Contents, around: &Around<'_>, at: TenantId, bytes: u64) {
    let Around { budget, .. } = around;
    let share = (budget.shards() * contents.tenants.len()) as u64;
    let (seed, counts_sizes) = (contents.seed(), contents.counts_sizes());
    let tenant = contents.tenant_mut(at);
    let class = tenant.pages.classes.of(bytes);
    // Counts by class were made with the old charges.
    let is_counted = counts_sizes || tenant.classes.is_some();
    if !tenant.pages.is_due(class) || is_counted || !budget.balances() {
        return;
    }
    let most = budget.memory.effective().min(tenant.account.max()) / share;
    let longest = (most / PAGES_MIN).min(budget.page_max);
    let Some(classes) = tenant.pages.fitted(class, longest) else { return };
    let account = &tenant.account;
    let take = |bytes| {
        let is_free = budget.memory.try_take(bytes);
        if is_free && !account.try_take(bytes) {
            budget.memory.give(bytes);
            return false;
        }
        is_free
    };
    let Some(before) = tenant.pages.exchange(class, &classes, take) else { return };
    let freed = before.into_iter().map(|page| tenant.empty(page, seed)).sum();
    contents.give(&budget.memory, at, freed);
}

#[cfg(test)]
impl Pages {
    /// Whether a class is fitted.
    pub(crate) fn is_fitted(&self) -> bool {
        self.classes.is_fitted()
    }

    /// Whether an item is in a page of the class that its contents determine.
    pub(crate) fn holds(&self, item: Ref) -> bool {
        let (class, index) = Page::of(item, &self.classes);
        let page = self.held[class].pages.get(index);
        class == self.classes.of(item.contents())
            && page.is_some_and(|page| page.has(item.base().addr().get()))
    }
}
