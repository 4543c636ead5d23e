//! A size class: its pages, counts and state of eviction.

use crate::bytes::key::hash_of;
use crate::bytes::stats::SizeCounts;
use crate::items::pages::eviction_pool::EvictionPool;
use crate::items::pages::page::Page;
use crate::items::pages::victim::Victim;
use crate::sync::big_reader::READER_SLOTS_MAX;
use policy::rank::Victims;

/// No place in the list of open pages.
pub(crate) const NIL: u32 = u32::MAX;

/// The pages of a class.
#[derive(Debug, Default)]
pub(crate) struct Class {
    pub(crate) pages: Vec<Page>,
    /// The pages with a free slot, in no order. The last one is filled first.
    pub(crate) open: Vec<u32>,
    pub(crate) items: u64,
    pub(crate) bytes: u64,
    /// Items evicted to make room.
    pub(crate) evicted: u64,
    /// The value of `evicted` at the last report.
    pub(crate) reported: u64,
    /// The value of `evicted` when the shard's classes were last balanced.
    pub(crate) balanced: u64,
    /// The value of `evicted` when the class last looked for a page of another class.
    pub(crate) asked: u64,
    /// The value of `evicted` when the worth of a page was last requested.
    pub(crate) weighed: u64,
    /// The number of pages when a fit was last tried.
    pub(crate) tried: usize,
    pub(crate) victims: Victims,
    pub(crate) counts: SizeCounts,
    /// By the shard's reader slot; `None` until an item is evicted from many.
    pub(crate) eviction_pools: [Option<Box<EvictionPool>>; READER_SLOTS_MAX],
}

impl Class {
    /// Adds a page with a free slot to the open ones.
    pub(crate) fn open(&mut self, index: usize) {
        let page = &mut self.pages[index];
        if page.open == NIL {
            page.open = self.open.len() as u32;
            self.open.push(index as u32);
        }
    }

    /// Removes a page without a free slot from the open ones.
    pub(crate) fn close(&mut self, index: usize) {
        let at = std::mem::replace(&mut self.pages[index].open, NIL);
        if at != NIL {
            self.open.swap_remove(at as usize);
            if let Some(&moved) = self.open.get(at as usize) {
                self.pages[moved as usize].open = at;
            }
        }
    }
}

impl Class {
    /// Whether no item was evicted since the last report.
    pub(crate) const fn is_quiet(&self) -> bool {
        self.evicted == self.reported
    }
}

impl Class {
    /// The item of a slot, for an eviction or a walk.
    pub(crate) fn met(&self, page: usize, slot: u32, seed: u64, unix_ms: u64) -> Option<Victim> {
        self.pages[page].look(slot, |item| {
            let hash = hash_of(seed, item.db(), item.key());
            let (addr, is_dead) = (item.base().addr().get(), item.is_dead(unix_ms));
            Victim { page, slot, addr, hash, rank: None, is_dead }
        })
    }
}
