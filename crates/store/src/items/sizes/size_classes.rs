//! The chunks into which pages are cut.
//!
//! Beginning with the smallest, each class is larger by the growth factor, as in memcached, in
//! steps of four bytes. Then each is stretched until its chunks fill the page. If pages are short,
//! a class with fewer than four chunks per page has longer pages, of two or four pages in one
//! piece. Items that do not fit twice into the longest page have no class of their own. Each has a
//! run of pages to itself, charged by OS pages, of which only the written ones take memory.
//!
//! A class is up to a quarter larger than its items, and items of one size may be unlucky. So one
//! class may be *fitted*: its chunks have that size, and its pages are so long that little is left
//! over. Longer items of the class then belong to the next one (`room/tailor.rs`).

use crate::items::sizes::layout::{HEAD, STEP, TAG, chunk_of};
use std::sync::Arc;

/// Most bytes of a chunk for small items: enough for a collection with a key of usual length.
const SMALL: u64 = 128;

/// Bytes of an OS page, the unit in which the system gives memory.
pub(crate) const OS_PAGE: u64 = 4 << 10;
/// Contents up to this many steps find their class in a table.
const STEPS: u64 = 1024;

/// Chunks per page below which a class has longer pages, if there are any.
const SLOTS_MIN: u64 = 4;

/// A fitted page that may not be longer may waste at most one part in this many.
const LEFT_OVER: u64 = 32;
/// An item of a fitted class must take less of a page than before by at least one part in this
/// many.
const WORTH_IT: u64 = 20;

/// The division of a class's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Bytes of a chunk.
    chunk: u64,
    /// Chunks per page.
    slots: u32,
    /// Bytes of a page.
    page: u64,
}

impl Cut {
    /// Cuts a page into as many chunks of at least `contents` bytes as it has room for.
    const fn of(page: u64, contents: u64) -> Self {
        let slots = (page - HEAD) / (contents + TAG);
        Self {
            chunk: if slots == 0 { 0 } else { chunk_of(page, slots) },
            slots: slots as u32,
            page,
        }
    }

    /// Whether items of `contents` bytes waste no more of the page than allowed.
    const fn fits(&self, contents: u64) -> bool {
        let taken = self.slots as u64 * (contents + TAG) + HEAD;
        (self.page - taken) * LEFT_OVER <= self.page
    }
}

/// Data shared by all tenants and shards.
#[derive(Debug)]
struct Common {
    page: u64,
    cuts: Box<[Cut]>,
    /// The class of small contents, by steps.
    small: Box<[u8]>,
}

/// A class with another division of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fit {
    class: usize,
    cut: Cut,
}

impl Fit {
    /// The value without a fitted class.
    const NONE: Self = Self { class: usize::MAX, cut: Cut { chunk: 0, slots: 1, page: 0 } };
}

/// Size classes of a store, or of a tenant in a shard: the smallest first, and at the end the class
/// of large items.
#[derive(Clone, Debug)]
pub(crate) struct SizeClasses {
    common: Arc<Common>,
    fit: Fit,
}

impl SizeClasses {
    /// The classes for pages of `page` to `longest` bytes, powers of two. Chunks begin at `least`
    /// bytes, and each class is larger than the last by `factor`.
    pub(crate) fn new(page: u64, longest: u64, least: u64, factor: f64) -> Self {
        let slots = |page: u64, chunk: u64| (page - HEAD) / (chunk + TAG);
        let mut cuts: Vec<Cut> = vec![];
        let mut size = least.next_multiple_of(STEP);
        while slots(longest, size) >= 2 && cuts.len() < 200 {
            let mut page = page;
            while page < longest && slots(page, size) < SLOTS_MIN {
                page *= 2;
            }
            let slots = slots(page, size);
            let chunk = chunk_of(page, slots);
            cuts.push(Cut { chunk, slots: slots as u32, page });
            size = ((chunk as f64 * factor) as u64).max(chunk + STEP).next_multiple_of(STEP);
        }
        let (last, two) = (cuts.last().map_or(0, |cut| cut.chunk), chunk_of(longest, 2));
        if two > last {
            cuts.push(Cut { chunk: two, slots: 2, page: longest });
        }
        let class = |size| cuts.partition_point(|cut| cut.chunk < size) as u8;
        let small = (0..=STEPS).map(|step| class(step * STEP)).collect();
        let common = Arc::new(Common { page, cuts: cuts.into(), small });
        Self { common, fit: Fit::NONE }
    }

    /// These classes without a fitted one.
    pub(crate) fn unfitted(&self) -> Self {
        Self { common: Arc::clone(&self.common), fit: Fit::NONE }
    }

    /// Whether a class is fitted.
    pub(crate) fn is_fitted(&self) -> bool {
        self.fit != Fit::NONE
    }

    /// These classes with one fitted to contents of `contents` bytes, in pages of up to
    /// `longest`. `None` if that is not worth it.
    pub(crate) fn fitted(&self, class: usize, contents: u64, longest: u64) -> Option<Self> {
        let before = *self.common.cuts.get(class)?;
        let contents = contents.next_multiple_of(STEP);
        let mut cut = Cut::of(before.page, contents);
        while !cut.fits(contents) && 2 * cut.page <= longest {
            cut = Cut::of(2 * cut.page, contents);
        }
        let [old, new] = [before, cut].map(|cut| cut.page / u64::from(cut.slots.max(1)));
        let is_worth_it = self.of(contents) == class && new + new / (WORTH_IT - 1) <= old;
        is_worth_it.then(|| Self { common: Arc::clone(&self.common), fit: Fit { class, cut } })
    }

    #[inline]
    fn cut(&self, class: usize) -> Option<&Cut> {
        if class == self.fit.class { Some(&self.fit.cut) } else { self.common.cuts.get(class) }
    }

    /// Bytes of a page of most classes, which is the shortest.
    pub(crate) fn page(&self) -> u64 {
        self.common.page
    }

    /// Bytes of a page of a class; of the shortest page for the class of large items.
    pub(crate) fn page_of(&self, class: usize) -> u64 {
        self.cut(class).map_or(self.common.page, |cut| cut.page)
    }

    /// Bytes of a page per item of a class: its chunk, its tag, its part of the head.
    pub(crate) fn share(&self, class: usize) -> u64 {
        self.page_of(class) / u64::from(self.slots(class))
    }

    /// The class of items with a run of pages to themselves; all other classes are below it.
    pub(crate) fn large(&self) -> usize {
        self.common.cuts.len()
    }

    /// The class for contents of `contents` bytes.
    #[inline]
    pub(crate) fn of(&self, contents: u64) -> usize {
        let class = match self.common.small.get(contents.div_ceil(STEP) as usize) {
            Some(&class) => class.into(),
            None => self.common.cuts.partition_point(|cut| cut.chunk < contents),
        };
        class + usize::from(class == self.fit.class && contents > self.fit.cut.chunk)
    }

    /// Bytes of a chunk; 0 for the class of large items.
    pub(crate) fn chunk(&self, class: usize) -> u64 {
        self.cut(class).map_or(0, |cut| cut.chunk)
    }

    /// Whether its items are as small as a collection's item.
    pub(crate) fn is_small(&self, class: usize) -> bool {
        self.cut(class).is_some_and(|cut| cut.chunk <= SMALL)
    }

    /// Chunks per page.
    pub(crate) fn slots(&self, class: usize) -> u32 {
        self.cut(class).map_or(1, |cut| cut.slots)
    }

    /// The class of items charged `charge` bytes.
    pub(crate) fn of_charge(&self, charge: u64) -> usize {
        self.common.cuts.partition_point(|cut| cut.chunk < charge)
    }

    /// Whether contents of `a` and of `b` bytes take the same memory.
    #[inline]
    pub(crate) fn are_one(&self, a: u64, b: u64) -> bool {
        self.charge(a) == self.charge(b)
    }

    /// Bytes charged for an item with `contents` bytes of contents: its chunk, or its run.
    #[inline]
    pub(crate) fn charge(&self, contents: u64) -> u64 {
        match self.chunk(self.of(contents)) {
            0 => (contents + HEAD + TAG).next_multiple_of(OS_PAGE),
            chunk => chunk,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chunk that is too small would be overrun, and one of another class would be lost.
    #[test]
    fn every_size_has_the_smallest_chunk_that_holds_it() {
        let cuts = [(4, 4, 1.25), (4, 16, 1.25), (64, 64, 1.08), (1024, 1024, 2.0)];
        for (page, longest, factor) in cuts.into_iter().take(if cfg!(miri) { 1 } else { 4 }) {
            let (page, longest) = (page << 10, longest << 10);
            let classes = SizeClasses::new(page, longest, 48, factor);
            for contents in 1..longest {
                let class = classes.of(contents);
                if class == classes.large() {
                    assert!(contents > classes.chunk(class - 1), "{contents} fits a chunk");
                    assert!(classes.charge(contents) >= contents + HEAD + TAG);
                } else {
                    assert!(contents <= classes.chunk(class), "{contents} in {class}");
                    assert!(class == 0 || contents > classes.chunk(class - 1));
                    assert_eq!(classes.charge(contents), classes.chunk(class));
                }
            }
            for class in 0..classes.large() {
                let (chunk, slots) = (classes.chunk(class), u64::from(classes.slots(class)));
                let page = classes.page_of(class);
                assert!(HEAD + slots * (chunk + TAG) <= page && slots >= 2);
                assert!(HEAD + slots * (chunk + STEP + TAG) > page, "stretched to fill the page");
            }
        }
    }

    /// With pages of a megabyte and memcached's factor there are about as many classes as in
    /// memcached.
    #[test]
    fn there_are_some_forty_classes() {
        let classes = SizeClasses::new(1 << 20, 1 << 20, 48, 1.25);
        assert!((35..=45).contains(&classes.large()), "{}", classes.large());
    }
}
