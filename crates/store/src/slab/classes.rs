//! The chunks that pages are cut into.
//!
//! From the smallest on each class is larger by the growth factor, as in memcached, in steps of
//! four bytes; then each is stretched until its chunks fill the page. Below two chunks to a page
//! there are no classes: what is larger has a run of pages to itself, charged by blocks of the
//! system, of which only those written take memory.

use super::page::{HEAD, STEP, TAG, chunk_of};

/// What the system gives memory by.
pub(crate) const BLOCK: u64 = 4 << 10;
/// Sizes up to this many steps find their class in a table.
const STEPS: u64 = 1024;

/// Size classes of a store, the smallest first, then the one of what is larger.
#[derive(Debug)]
pub(crate) struct Classes {
    page: u64,
    /// Bytes of a chunk, and chunks to a page.
    cuts: Box<[(u64, u32)]>,
    /// The class, by the contents in steps.
    small: Box<[u8]>,
}

impl Classes {
    /// The classes for pages of `page` bytes, a power of two, from chunks of `least` bytes on, each
    /// larger than the last by `factor`.
    pub(crate) fn new(page: u64, least: u64, factor: f64) -> Self {
        let cut = |chunk: u64| (page - HEAD) / (chunk + TAG);
        let mut cuts = vec![];
        let mut size = least.next_multiple_of(STEP);
        while cut(size) >= 2 && cuts.len() < 200 {
            let slots = cut(size);
            let chunk = chunk_of(page, slots);
            cuts.push((chunk, slots as u32));
            size = ((chunk as f64 * factor) as u64).max(chunk + STEP).next_multiple_of(STEP);
        }
        let (last, two) = (cuts.last().map_or(0, |cut| cut.0), chunk_of(page, 2));
        if two > last {
            cuts.push((two, 2));
        }
        let class = |size| cuts.partition_point(|&(chunk, _)| chunk < size) as u8;
        let small = (0..=STEPS).map(|step| class(step * STEP)).collect();
        Self { page, cuts: cuts.into(), small }
    }

    /// Bytes of a page.
    pub(crate) const fn page(&self) -> u64 {
        self.page
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
            None => self.cuts.partition_point(|&(chunk, _)| chunk < contents),
        }
    }

    /// Bytes of a chunk; 0 for the class of what is large.
    pub(crate) fn chunk(&self, class: usize) -> u64 {
        self.cuts.get(class).map_or(0, |cut| cut.0)
    }

    /// Chunks to a page.
    pub(crate) fn slots(&self, class: usize) -> u32 {
        self.cuts.get(class).map_or(1, |cut| cut.1)
    }

    /// The class of items of which so many bytes are charged.
    pub(crate) fn of_charge(&self, charge: u64) -> usize {
        self.cuts.partition_point(|&(chunk, _)| chunk < charge)
    }

    /// Bytes that an item of so many contents takes: its chunk, or its run.
    #[inline]
    pub(crate) fn charge(&self, contents: u64) -> u64 {
        match self.chunk(self.of(contents)) {
            0 => (contents + HEAD + TAG).next_multiple_of(BLOCK),
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
        let cuts = [(4 << 10, 1.25), (64 << 10, 1.08), (1 << 20, 1.25), (1 << 20, 2.0)];
        for (page, factor) in cuts.into_iter().take(if cfg!(miri) { 1 } else { cuts.len() }) {
            let classes = Classes::new(page, 48, factor);
            for contents in 1..page {
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
                assert!(HEAD + slots * (chunk + TAG) <= page && slots >= 2);
                assert!(HEAD + slots * (chunk + STEP + TAG) > page, "stretched to fill the page");
            }
        }
    }

    /// With pages of a megabyte and memcached's factor there are about as many classes as there.
    #[test]
    fn there_are_some_forty_classes() {
        let classes = Classes::new(1 << 20, 48, 1.25);
        assert!((35..=45).contains(&classes.large()), "{}", classes.large());
    }
}
