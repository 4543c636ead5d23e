//! The chunks that pages are cut into.
//!
//! From the smallest on each class is larger by the growth factor, as in memcached, in steps of
//! four bytes; then each is stretched until its chunks fill the page. A class with fewer than four
//! chunks to a page has longer pages, of two or four in one piece, where pages are short. Below two
//! chunks to the longest there are no classes: what is larger has a run of pages to itself, charged
//! by OS pages, of which only those written take memory.

use super::page::{HEAD, STEP, TAG, chunk_of};

/// Bytes of a small item: a collection with a key of usual length.
const SMALL: u64 = 128;

/// Bytes of an OS page: the system gives memory by these.
pub(crate) const OS_PAGE: u64 = 4 << 10;
/// Sizes up to this many steps find their class in a table.
const STEPS: u64 = 1024;

/// Chunks to a page below which a class has longer pages, if there are any.
const SLOTS_MIN: u64 = 4;

/// How the pages of a class are cut.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Bytes of a chunk.
    chunk: u64,
    /// Chunks to a page.
    slots: u32,
    /// Bytes of a page.
    page: u64,
}

/// Size classes of a store, the smallest first, then the one of what is larger.
#[derive(Debug)]
pub(crate) struct SizeClasses {
    page: u64,
    cuts: Box<[Cut]>,
    /// The class, by the contents in steps.
    small: Box<[u8]>,
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
        Self { page, cuts: cuts.into(), small }
    }

    /// Bytes of a page of most classes: the shortest.
    pub(crate) const fn page(&self) -> u64 {
        self.page
    }

    /// Bytes of a page of a class; of the shortest for the class of what is large.
    pub(crate) fn page_of(&self, class: usize) -> u64 {
        self.cuts.get(class).map_or(self.page, |cut| cut.page)
    }

    /// Bytes that an item of a class takes of its page: its chunk, its tag, its part of the head.
    pub(crate) fn share(&self, class: usize) -> u64 {
        self.page_of(class) / u64::from(self.slots(class))
    }

    /// The class of items that have a run of pages to themselves; the others are below it.
    pub(crate) const fn large(&self) -> usize {
        self.cuts.len()
    }

    /// The class for contents of so many bytes.
    #[inline]
    pub(crate) fn of(&self, contents: u64) -> usize {
        match self.small.get(contents.div_ceil(STEP) as usize) {
            Some(&class) => class.into(),
            None => self.cuts.partition_point(|cut| cut.chunk < contents),
        }
    }

    /// Bytes of a chunk; 0 for the class of what is large.
    pub(crate) fn chunk(&self, class: usize) -> u64 {
        self.cuts.get(class).map_or(0, |cut| cut.chunk)
    }

    /// Whether its items are as small as one that is a collection.
    pub(crate) fn is_small(&self, class: usize) -> bool {
        self.cuts.get(class).is_some_and(|cut| cut.chunk <= SMALL)
    }

    /// Chunks to a page.
    pub(crate) fn slots(&self, class: usize) -> u32 {
        self.cuts.get(class).map_or(1, |cut| cut.slots)
    }

    /// The class of items of which so many bytes are charged.
    pub(crate) fn of_charge(&self, charge: u64) -> usize {
        self.cuts.partition_point(|cut| cut.chunk < charge)
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
