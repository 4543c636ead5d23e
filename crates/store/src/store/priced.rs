//! Writes that state the cost of a miss, as a measured time or as a hint.

use crate::bytes::measured::Fetched;
use crate::items::item::Parts;
use crate::{Change, Error, Item, Key, Now, Store};
use base::Micros;
use base::penalty::{Estimate, class_of};

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
        shard.tick += 1;
        let reads = u64::from(shard.stopwatch.stop(key.hash, now.micros).is_some());
        let found = shard.find(key, now, &self.budget.memory);
        shard.set(&self.around(), key, found, &Parts::of(key, value, 0, expires), now)?;
        shard.fetched(key, Fetched::In(penalty, 0), reads);
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
        shard.cost_hint = class_of(penalty);
        let result = shard.update(&self.around(), key, now, f);
        let class = std::mem::take(&mut shard.cost_hint);
        let shard = &mut *shard;
        let tenant = &mut shard.tenants[usize::from(key.tenant)];
        let place = tenant.table.find(key.hash, key.db, key.bytes).filter(|_| result.is_ok());
        if let Some(place) = place {
            tenant.set_class(place, class);
            if let Some(table) = &mut shard.penalty_table {
                table.put(key.tenant, key.hash, Estimate::of_class(class));
            }
        }
        result
    }
}
