//! After a write: everything that must hear of it.

use crate::bytes::measured::Fetched;
use crate::contents::contents::Contents;
use crate::items::item::Ref;
use crate::learning::tap::Observation;
use crate::tenant::tenant::TenantShard;
use crate::{Key, Now};
use base::Sighting;
use policy::rank::Stamps;

impl Contents {
    /// Counts a write, informs the tap, and stops the stopwatch.
    #[inline]
    pub(crate) fn written(
        &mut self,
        key: &Key,
        now: Now,
        item: impl FnOnce() -> (u64, Option<u64>),
    ) {
        self.tenants[key.tenant as usize].counters.sets += 1;
        if self.renews {
            self.renew(key);
        }
        if self.stopwatch.is_on() {
            self.fetch_ends(key, now);
        }
        let TenantShard { table, pages, trees, .. } = &self.tenants[key.tenant as usize];
        self.tap.see(key, now, self.clock.tick, Sighting::Write, || {
            let (contents, expires) = item();
            let found = table.find(key.hash, key.db, key.bytes).map(|place| table.get(place));
            let stamps = found.map_or_else(Stamps::default, Ref::stamps);
            let tree = found.map_or(0, |item| trees.bytes_of(item));
            Observation { size: pages.classes().charge(contents) + tree, expires, stamps }
        });
    }

    /// Calls [`Contents::written`] for the item in the table.
    pub(crate) fn written_anew(&mut self, key: &Key, now: Now) {
        if let Some(place) = self.place(key) {
            let item = self.get(key, place);
            let (contents, expires) = (item.contents(), item.expires());
            self.written(key, now, || (contents, expires));
        }
    }

    /// Sets the birth of an item to its last write.
    #[cold]
    fn renew(&mut self, key: &Key) {
        if let Some(place) = self.place(key) {
            let mut item = self.tenants[key.tenant as usize].table.get_mut(place);
            let stamps = item.view().stamps().renewed(self.clock.tick);
            item.set_stamps(stamps);
        }
    }

    /// Stops the stopwatch after a write.
    #[inline(never)]
    fn fetch_ends(&mut self, key: &Key, now: Now) {
        let fetched = self.stopwatch.stop(key.hash, now.micros);
        if let Some(fetched) = fetched {
            let waiters = if let Fetched::In(_, waiters) = fetched { waiters } else { 0 };
            self.fetched(key, fetched, 1 + u64::from(waiters));
        }
        self.class_is_written(key, fetched.is_some());
    }
}
