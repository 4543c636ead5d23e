//! Writes that state the cost of a miss, as a measured time or as a hint.

use crate::bytes::measured::Fetched;
use crate::items::item::Parts;
use crate::{Change, Error, Item, Key, Now, Store};
use base::Micros;
use base::penalty::class_of;

impl Store {
    /// Writes an item with a known cost of a miss. It counts as a fetch of that time, whether or
    /// not the stopwatch runs.
    pub fn set_priced(
        &self,
        key: &Key,
        value: &[u8],
        expires: Option<u64>,
        penalty: Micros,
        now: Now,
    ) -> Result<(), Error> {
        let mut shard = self.shard(key);
        shard.contents_mut().clock.tick += 1;
        let reads = u64::from(shard.contents_mut().stopwatch.stop(key.hash, now.micros).is_some());
        let found = shard.contents_mut().find(key, now, &self.budget.memory);
        shard.set(&self.around(), key, found, &Parts::of(key, value, 0, expires), now)?;
        shard.contents_mut().fetched(key, Fetched::In(penalty, 0), reads);
        Ok(())
    }

    /// Like [`Store::set`], with a hint of the cost of a miss: the item's class is that of
    /// `penalty`, whatever is measured. Measured times count for that class.
    pub fn set_with_hint(
        &self,
        key: &Key,
        value: &[u8],
        expires: Option<u64>,
        penalty: Micros,
        now: Now,
    ) -> Result<(), Error> {
        let change = |_: Option<&Item>| (Change::set(value, expires), ());
        self.update_with_hint(key, penalty, now, change)
    }

    /// Like [`Store::update`], with a hint of the cost of a miss.
    pub fn update_with_hint<'v, R>(
        &self,
        key: &Key,
        penalty: Micros,
        now: Now,
        f: impl FnOnce(Option<&Item>) -> (Change<'v>, R),
    ) -> Result<R, Error> {
        let mut shard = self.shard(key);
        let class = class_of(penalty);
        shard.contents_mut().cost_hint = class;
        let result = shard.update(&self.around(), key, now, f);
        shard.contents_mut().cost_hint = 0;
        if result.is_ok() {
            shard.contents_mut().set_hinted_class(key, class);
        }
        result
    }
}
