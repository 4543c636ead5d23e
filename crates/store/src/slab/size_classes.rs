//! The chunks that pages are cut into.
//!
//! From the smallest on each class is larger by the growth factor, as in memcached, in steps of
//! four bytes; then each is stretched until its chunks fill the page. A class with fewer than four
//! chunks to a page has longer pages, of two or four in one piece, where pages are short. Below two
//! chunks to the longest there are no classes: what is larger has a run of pages to itself, charged
//! by OS pages, of which only those written take memory.
//!
//! A class is up to a quarter larger than its items, and items of one size may be unlucky. So one
//! class may be *fitted*: its chunks are those of that size, and its pages so long that little is
//! left over. What was of the class and is longer belongs to the next then (`fit.rs`).

use super::page::{HEAD, STEP, TAG, chunk_of};
use std::sync::Arc;

/// Bytes of a small item: a collection with a key of usual length.
const SMALL: u64 = 128;

/// Bytes of an OS page: the system gives memory by these.
pub(crate) const OS_PAGE: u64 = 4 << 10;
/// Sizes up to this many steps find their class in a table.
const STEPS: u64 = 1024;

/// Chunks to a page below which a class has longer pages, if there are any.
const SLOTS_MIN: u64 = 4;

/// Bytes that a fitted page may leave over, as a part of it, if it may not be longer.
const LEFT_OVER: u64 = 32;
/// By how much less of a page than before an item of a fitted class takes at least, as a part.
const WORTH_IT: u64 = 20;

/// How the pages of a class are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Bytes of a chunk.
    chunk: u64,
    /// Chunks to a page.
    slots: u32,
    /// Bytes of a page.
    page: u64,
}

impl Cut {
    /// A page cut into as many chunks of at least so many bytes as it has room for.
    const fn of(page: u64, contents: u64) -> Self {
        let slots = (page - HEAD) / (contents + TAG);
        Self {
            chunk: if slots == 0 { 0 } else { chunk_of(page, slots) },
            slots: slots as u32,
            page,
        }
    }

    /// Whether no more of it than may be is left over by items of so many bytes.
    const fn fits(&self, contents: u64) -> bool {
        let taken = self.slots as u64 * (contents + TAG) + HEAD;
        (self.page - taken) * LEFT_OVER <= self.page
    }
}

/// What all tenants and shards have in common.
#[derive(Debug)]
struct Common {
    page: u64,
    cuts: Box<[Cut]>,
    /// The class, by the contents in steps.
    small: Box<[u8]>,
}

/// A class that is cut in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fit {
    class: usize,
    cut: Cut,
}

impl Fit {
    /// That of no class.
    const NONE: Self = Self { class: usize::MAX, cut: Cut { chunk: 0, slots: 1, page: 0 } };
}

/// Size classes of a store, or those of a tenant in a shard: the smallest first, then the one of
/// what is larger.
#[derive(Clone, Debug)]
pub(crate) struct SizeClasses {
    common: Arc<Common>,
    fit: Fit,
}

impl SizeClasses {
    /// The classes for pages of `page` to `longest` bytes, powers of two, from chunks of `least`
    /// bytes on, each larger than the last by `factor`.
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

    /// The same without a fitted class.
    pub(crate) fn unfitted(&self) -> Self {
        Self { common: Arc::clone(&self.common), fit: Fit::NONE }
    }

    /// Whether a class is fitted.
    pub(crate) fn is_fitted(&self) -> bool {
        self.fit != Fit::NONE
    }

    /// The same with a class fitted to contents of so many bytes, in pages of up to `longest`; none
    /// if that were not worth it.
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

    /// Bytes of a page of most classes: the shortest.
    pub(crate) fn page(&self) -> u64 {
        self.common.page
    }

    /// Bytes of a page of a class; of the shortest for the class of what is large.
    pub(crate) fn page_of(&self, class: usize) -> u64 {
        self.cut(class).map_or(self.common.page, |cut| cut.page)
    }

    /// Bytes that an item of a class takes of its page: its chunk, its tag, its part of the head.
    pub(crate) fn share(&self, class: usize) -> u64 {
        self.page_of(class) / u64::from(self.slots(class))
    }

    /// The class of items that have a run of pages to themselves; the others are below it.
    pub(crate) fn large(&self) -> usize {
        self.common.cuts.len()
    }

    /// The class for contents of so many bytes.
    #[inline]
    pub(crate) fn of(&self, contents: u64) -> usize {
        let class = match self.common.small.get(contents.div_ceil(STEP) as usize) {
            Some(&class) => class.into(),
            None => self.common.cuts.partition_point(|cut| cut.chunk < contents),
        };
        class + usize::from(class == self.fit.class && contents > self.fit.cut.chunk)
    }

    /// Bytes of a chunk; 0 for the class of what is large.
    pub(crate) fn chunk(&self, class: usize) -> u64 {
        self.cut(class).map_or(0, |cut| cut.chunk)
    }

    /// Whether its items are as small as one that is a collection.
    pub(crate) fn is_small(&self, class: usize) -> bool {
        self.cut(class).is_some_and(|cut| cut.chunk <= SMALL)
    }

    /// Chunks to a page.
    pub(crate) fn slots(&self, class: usize) -> u32 {
        self.cut(class).map_or(1, |cut| cut.slots)
    }

    /// The class of items of which so many bytes are charged.
    pub(crate) fn of_charge(&self, charge: u64) -> usize {
        self.common.cuts.partition_point(|cut| cut.chunk < charge)
    }

    /// Whether contents of `a` and of `b` bytes fit the same memory.
    #[inline]
    pub(crate) fn are_one(&self, a: u64, b: u64) -> bool {
        self.charge(a) == self.charge(b)
    }

    /// Bytes that an item of so many contents takes: its chunk, or its run.
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

    /// A chunk that were too small would be written beyond, one of another class would be lost.
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

    /// With pages of a megabyte and memcached's factor there are about as many classes as there.
    #[test]
    fn there_are_some_forty_classes() {
        let classes = SizeClasses::new(1 << 20, 1 << 20, 48, 1.25);
        assert!((35..=45).contains(&classes.large()), "{}", classes.large());
    }
}
