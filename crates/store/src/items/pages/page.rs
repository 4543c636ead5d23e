//! A page: a head, the tags of its chunks side by side, then the chunks.
//!
//! ```text
//!   0             64               64 + 4 n
//!  ┌─────────────┬────────────────┬─────────┬─────────┬─
//!  │ class index │ n tags, 4 each │ chunk 0 │ chunk 1 │ …
//!  └─────────────┴────────────────┴─────────┴─────────┴─
//! ```
//!
//! A *tag* ([`Tag`]) holds the data of an item that eviction needs: its last use, its class, and
//! the cost of its fetch. Sixteen tags are a cache line, so 64 candidates cost four lines, where
//! their items would cost 64. A hit does not write the tag. It writes the item, whose line it needs
//! anyway. So a tag is from when the item was written or last looked at. An item that ranks lowest
//! by its tag is looked at before it is evicted. If it was used since, its tag is updated and the
//! choice is made again. That happens once for a use between two looks, as with the second chance
//! of CLOCK [1].
//!
//! A page begins at a multiple of its length, so an item's address and class give the start of its
//! page. A page knows which of its chunks hold an item. It cannot be given back while any does, and
//! a chunk is given back only with the item that was made in it. So no item is ever without memory.
//!
//! Tags apart from the items are RankCache's idea [2]; there a hit writes the tag.
//!
//! [1] Corbató. A Paging Experiment with the Multics System. 1969.
//! [2] Beckmann, Chen, Cidon. LHD: Improving Cache Hit Rate by Maximizing Hit Density. NSDI '18.

use crate::items::item::{ALIGN, Owned, Parts, Ref};
use crate::items::pages::arena::Run;
use crate::items::sizes::layout::{HEAD, STEP, TAG, chunk_of};
use crate::items::sizes::size_classes::SizeClasses;
use crate::sync::prefetch::{EXPECTED, LINE, fetch};
use policy::rank::{Stamps, Tag};
use std::ops::Range;
use std::ptr::NonNull;

const _: () = assert!(
    STEP.is_multiple_of(ALIGN as u64) && HEAD.is_multiple_of(STEP) && TAG.is_multiple_of(STEP)
);
const _: () = assert!(size_of::<Tag>() == TAG as usize && size_of::<Head>() <= HEAD as usize);

/// No slot.
const NIL: u32 = u32::MAX;

#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    class: u32,
    /// Its index among the pages of its class.
    index: u32,
}

/// A page with its count of slots.
#[derive(Debug)]
pub(crate) struct Page {
    run: Run,
    chunk: u32,
    slots: u32,
    /// Slots that hold an item.
    used: u32,
    /// Slots from this one on have never held an item.
    fresh: u32,
    /// The slot that was freed last. Its tag links to the one freed before it.
    free: u32,
    /// Its index in the list of its class's pages with a free slot; [`NIL`] if it has none.
    pub(super) open: u32,
    /// Bytes charged for it.
    pub(crate) bytes: u64,
}

impl Page {
    /// Cuts a run of `bytes` into `slots` chunks.
    pub(crate) fn new(run: Run, bytes: u64, class: usize, index: usize, slots: u32) -> Self {
        let chunk = chunk_of(bytes, slots.into()) as u32;
        // SAFETY: the run has more bytes than the head and the tags, is aligned to a page, and is
        // ours alone.
        unsafe {
            run.base.cast::<Head>().write(Head { class: class as u32, index: index as u32 });
            run.base.add(HEAD as usize).write_bytes(0, (u64::from(slots) * TAG) as usize);
        }
        Self { run, chunk, slots, used: 0, fresh: 0, free: NIL, open: NIL, bytes }
    }

    /// The class and the index of the page of an item.
    pub(crate) fn of(item: Ref, classes: &SizeClasses) -> (usize, usize) {
        let page = classes.page_of(classes.of(item.contents()));
        let base = item.base().map_addr(|addr| {
            let base = addr.get() & !(page as usize - 1);
            base.try_into().expect("no page is at zero")
        });
        // SAFETY: the item is in a chunk of a page, and the page has its head at the multiple of
        // its length below. Only the page's owner writes the head, and it calls this function.
        let head = unsafe { base.cast::<Head>().read() };
        (head.class as usize, head.index as usize)
    }

    /// Changes the index of the page in its class.
    pub(crate) fn set_index(&mut self, index: usize) {
        // SAFETY: the head is ours.
        unsafe {
            let head = self.run.base.cast::<Head>();
            head.write(Head { index: index as u32, ..head.read() });
        }
    }

    /// Whether `addr` is in this page.
    pub(crate) fn has(&self, addr: usize) -> bool {
        addr.wrapping_sub(self.run.base.addr().get()) < self.bytes as usize
    }

    pub(crate) const fn slots(&self) -> u32 {
        self.slots
    }

    pub(crate) const fn used(&self) -> u32 {
        self.used
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.used == self.slots
    }

    fn tag_at(&self, slot: u32) -> NonNull<Tag> {
        assert!(slot < self.slots);
        // SAFETY: within the tags, which are aligned like the head.
        unsafe { self.run.base.add((HEAD + u64::from(slot) * TAG) as usize).cast() }
    }

    /// The tag of a slot; `None` if it holds no item.
    #[inline]
    pub(crate) fn tag(&self, slot: u32) -> Option<Tag> {
        // SAFETY: `new` cleared the tags, and only this page writes them.
        Some(unsafe { self.tag_at(slot).read() }).filter(|tag| tag.is_item())
    }

    /// The tags of some slots, not all of which need hold an item.
    #[inline]
    pub(crate) fn tags(&self, slots: Range<u32>) -> &[Tag] {
        assert!(slots.start <= slots.end && slots.end <= self.slots);
        // SAFETY: within the tags, which `new` cleared, and which change only while the page is
        // borrowed mutably.
        unsafe {
            let first = self.run.base.add((HEAD + u64::from(slots.start) * TAG) as usize);
            std::slice::from_raw_parts(first.cast().as_ptr(), slots.len())
        }
    }

    /// Prefetches the tags from a slot on.
    #[inline]
    pub(crate) fn prefetch_tags(&self, first: u32) {
        fetch(self.tag_at(first).as_ptr().cast());
    }

    /// Prefetches the first `bytes` of the item in a slot, at most a few lines.
    #[inline]
    pub(crate) fn prefetch(&self, slot: u32, bytes: u64) {
        let chunk = self.chunk_at(slot).as_ptr();
        for line in 0..=(bytes as usize).min(EXPECTED) / LINE {
            fetch(chunk.wrapping_add(line * LINE));
        }
    }

    fn chunk_at(&self, slot: u32) -> NonNull<u8> {
        let chunks = HEAD + u64::from(self.slots) * TAG;
        // SAFETY: the slot is below `slots`, so within the run.
        unsafe { self.run.base.add((chunks + u64::from(slot) * u64::from(self.chunk)) as usize) }
    }

    /// The address of a slot.
    #[inline]
    pub(crate) fn addr_of(&self, slot: u32) -> usize {
        self.chunk_at(slot).addr().get()
    }

    /// The slot of an item of this page.
    pub(crate) fn slot_of(&self, item: Ref) -> u32 {
        let chunks = self.run.base.addr().get() + (HEAD + u64::from(self.slots) * TAG) as usize;
        ((item.base().addr().get() - chunks) / self.chunk as usize) as u32
    }

    /// Writes an item into a free slot. There must be one, and it must be large enough.
    pub(crate) fn write(&mut self, parts: &Parts, stamps: Stamps) -> Owned {
        assert!(!self.is_full() && parts.contents() <= u64::from(self.chunk));
        let slot = match self.free {
            NIL => {
                self.fresh += 1;
                self.fresh - 1
            }
            slot => {
                // SAFETY: the tag is the page's.
                self.free = unsafe { self.tag_at(slot).read() }.link();
                slot
            }
        };
        self.used += 1;
        // SAFETY: the tag is the page's. The slot holds no item, so nothing else uses its chunk,
        // and it is large enough. Until the item is given to `free`, the page neither uses the
        // chunk nor gives it up.
        unsafe {
            self.tag_at(slot).write(Tag::of(stamps));
            Owned::in_chunk(self.chunk_at(slot), parts, stamps)
        }
    }

    /// Takes back an item of this page.
    pub(crate) fn free(&mut self, item: Owned) {
        let slot = self.slot_of(item.view());
        assert!(self.tag(slot).is_some(), "the item stands here");
        _ = item.into_raw();
        // SAFETY: the tag is the page's.
        unsafe { self.tag_at(slot).write(Tag::linked(self.free)) };
        self.free = slot;
        self.used -= 1;
    }

    /// Shows the item of a slot to `look`.
    pub(crate) fn look<R>(&self, slot: u32, look: impl FnOnce(Ref<'_>) -> R) -> Option<R> {
        self.tag(slot)?;
        // SAFETY: the slot holds an item. Its owner is guarded by the lock of the shard, which the
        // caller holds, and changes nothing while `look` runs.
        Some(look(unsafe { Ref::from_raw(self.chunk_at(slot)) }))
    }

    /// Updates a tag.
    pub(crate) fn set_tag(&mut self, slot: u32, tag: Tag) {
        assert!(self.tag(slot).is_some(), "a free slot keeps its link");
        // SAFETY: the tag is the page's.
        unsafe { self.tag_at(slot).write(tag) };
    }

    /// Gives the page up, and returns its memory.
    pub(crate) fn into_run(self) -> Run {
        assert!(self.used == 0, "items stand here");
        self.run
    }
}
