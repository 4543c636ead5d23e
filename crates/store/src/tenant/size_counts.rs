//! Requests to each size class, while a pilot divides pages among the classes.
//!
//! A hit counts for the class of its item. A miss knows its key, but not the size of the missing
//! item. It counts when its fetch ends in a write, for the class of the written item. A miss
//! without a following write has no class, and no page would help it.

use crate::items::item::Ref;
use crate::items::pages::class::Class;
use crate::items::pages::pages::Pages;
use crate::items::table::item_table::Slot;
use crate::tenant::tenant::TenantShard;

impl Class {
    /// The age from which on an item is in the last page's worth of memory, in requests to the
    /// shard.
    pub(crate) fn tail(&self) -> f64 {
        let lasts = -self.victims.density;
        let pages = self.pages.len() as f64;
        if lasts > 0.0 { lasts * (1.0 - 1.0 / pages.max(1.0)) } else { f64::INFINITY }
    }
}

impl Pages {
    fn of(&mut self, item: Ref) -> &mut Class {
        &mut self.held[self.classes.of(item.contents())]
    }
}

impl TenantShard {
    /// The size class of an item.
    pub(crate) fn size_class(&self, item: Ref) -> u16 {
        self.pages.classes.of(item.contents()) as u16
    }

    /// The class of the item at a place.
    pub(crate) fn sized(&mut self, place: Slot) -> &mut Class {
        let item = self.table.get(place);
        self.pages.of(item)
    }
}
