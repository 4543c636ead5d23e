//! Counts of penalty classes: updates by the items of a tenant that enter and leave.

use crate::items::table::item_table::Slot;
use crate::tenant::tenant::TenantShard;
use std::sync::atomic::Ordering::Relaxed;

impl TenantShard {
    /// Counts an item of this class and charge that was added.
    #[inline]
    pub(crate) fn class_enters(&mut self, class: u8, charge: u64) {
        if let Some(classes) = &mut self.classes {
            classes.enters(&self.account, class, charge);
        }
    }

    /// Counts an item of this class and charge that was removed.
    #[inline]
    pub(crate) fn class_leaves(&mut self, class: u8, charge: u64) {
        if let Some(classes) = &mut self.classes {
            classes.leaves(&self.account, class, charge);
        }
    }

    /// Whether the tenant may have an item of the class here.
    #[inline]
    pub(crate) fn has_class(&self, class: u8) -> bool {
        let count = self.classes.as_ref().map(|classes| classes.counts[usize::from(class)]);
        count.is_some_and(|count| count.used > 0)
    }

    /// Sets the counts to zero after all items were removed.
    pub(crate) fn classes_empty(&mut self) {
        if let Some(classes) = &mut self.classes {
            for (count, class) in classes.counts.iter_mut().zip(0..) {
                self.account.class(class).fetch_sub(std::mem::take(&mut count.used), Relaxed);
            }
        }
    }

    /// Starts counting, with the present items, or stops.
    pub(crate) fn count_classes(&mut self, on: bool) {
        if on == self.classes.is_some() {
            return;
        }
        self.classes_empty();
        self.classes = on.then(Box::default);
        if let Some(classes) = &mut self.classes {
            let (account, sizes) = (&self.account, self.pages.classes());
            self.table.each(|item| {
                let charge = sizes.charge(item.contents()) + self.trees.bytes_of(item);
                classes.enters(account, item.stamps().penalty_class(), charge);
            });
        }
    }
}

impl TenantShard {
    /// Changes the class of an item.
    pub(crate) fn set_class(&mut self, place: Slot, class: u8) {
        let charge = self.charge_of(self.table.get(place));
        let mut item = self.table.get_mut(place);
        let mut stamps = item.view().stamps();
        let before = stamps.penalty_class();
        if before != class {
            stamps.set_penalty_class(class);
            item.set_stamps(stamps);
            self.pages.retag(item.view());
            self.class_leaves(before, charge);
            self.class_enters(class, charge);
        }
    }
}
