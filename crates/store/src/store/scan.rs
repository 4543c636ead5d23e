//! Walks over many items: scans, random keys, counts, flushes.

use crate::Store;
use crate::compression::outside::StoredForm;
use crate::contents::contents::Contents;
use crate::items::table::item_table::END;
use crate::{Item, Len, Now, ScanItem, Scope};
use base::TenantId;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Store {
    /// Walks through the live items of `scope`, about `count` per call. Pass 0 as the first cursor,
    /// then the last result, until the result is 0. An item that exists during the whole walk is
    /// shown exactly once. A compressed value is not shown, as in [`Store::glance`].
    pub fn scan(
        &self,
        scope: Scope,
        cursor: u64,
        count: usize,
        now: Now,
        mut visit: impl FnMut(&ScanItem),
    ) -> u64 {
        self.walk(scope, (cursor, count), now, |_, (tenant, db, key), item| {
            visit(&ScanItem { tenant, db, key, item: item.without_plain() });
        })
    }

    /// Like [`Store::scan`], and shows all values.
    pub fn scan_values(
        &self,
        scope: Scope,
        cursor: u64,
        count: usize,
        now: Now,
        mut visit: impl FnMut(&ScanItem),
    ) -> u64 {
        self.walk(scope, (cursor, count), now, |contents, name, item| {
            contents.show(name, item, &mut visit);
        })
    }

    /// Like [`Store::scan`], and shows all values as they are stored.
    pub fn scan_stored(
        &self,
        scope: Scope,
        cursor: u64,
        count: usize,
        now: Now,
        mut visit: impl FnMut(&ScanItem, StoredForm),
    ) -> u64 {
        self.walk(scope, (cursor, count), now, |contents, name, item| {
            contents.show_stored(name, item, &mut visit);
        })
    }

    /// Does the work of [`Store::scan`].
    fn walk(
        &self,
        scope: Scope,
        (cursor, count): (u64, usize),
        now: Now,
        mut visit: impl FnMut(&Contents, (TenantId, u8, &[u8]), Item<'_>),
    ) -> u64 {
        let (mut cursor, count) = (Cursor::from(cursor), count.max(1));
        if let Some(tenant) = scope.tenant
            && cursor.tenant < usize::from(tenant)
        {
            cursor = Cursor { tenant: tenant.into(), shard: 0, position: 0 };
        }
        let (mut shown, mut steps) = (0, 0);
        // Empty buckets and other databases count as steps too, or a call might never end.
        while shown < count && steps < 16 + 4 * count {
            if cursor.shard >= self.shards.len() {
                cursor = Cursor { tenant: cursor.tenant + 1, shard: 0, position: 0 };
            }
            let shard = self.shards[cursor.shard].write_drained();
            let is_over = scope.tenant.is_some_and(|tenant| usize::from(tenant) != cursor.tenant);
            let Some(tenant) = shard.contents().tenants.get(cursor.tenant).filter(|_| !is_over)
            else {
                return 0;
            };
            if scope.db.is_some() && tenant.len(scope.db).items == 0 {
                cursor.position = END;
            }
            while cursor.position < END && shown < count && steps < 16 + 4 * count {
                steps += 1;
                cursor.position = tenant.table.walk(self.seed, cursor.position, |item| {
                    let (tenant, db) = (cursor.tenant as TenantId, item.db());
                    if scope.db.is_none_or(|only| only == db) && !item.is_dead(now.unix_ms) {
                        let (key, item) = (item.key(), shard.contents().view_of(tenant, item));
                        visit(shard.contents(), (tenant, db, key), item);
                        shown += 1;
                    }
                });
            }
            if cursor.position >= END {
                steps += 1;
                cursor = Cursor { shard: cursor.shard + 1, position: 0, ..cursor };
            }
        }
        cursor.into()
    }

    /// Shows a random live item of `scope` to `read`; `None` if there is none. A compressed value
    /// is not shown.
    pub fn random_key<R>(
        &self,
        scope: Scope,
        now: Now,
        read: impl FnOnce(&ScanItem) -> R,
    ) -> Option<R> {
        let first = self.shards[0]
            .write_drained()
            .contents_mut()
            .clock
            .prng
            .below(self.shards.len() as u64) as usize;
        for at in 0..self.shards.len() {
            let mut shard = self.shards[(first + at) % self.shards.len()].write_drained();
            if let Some((tenant, place)) = shard.contents_mut().draw(scope, now) {
                let item = shard.contents().tenant(tenant).table.get(place);
                let (db, key) = (item.db(), item.key());
                let item = shard.contents().view_of(tenant, item).without_plain();
                return Some(read(&ScanItem { tenant, db, key, item }));
            }
        }
        None
    }

    /// The number of items in `scope`, including dead ones that have not been found yet.
    pub fn len(&self, scope: Scope) -> Len {
        let mut sum = Len::default();
        for shard in &self.shards {
            for (at, tenant) in shard.write_drained().contents().tenants.iter().enumerate() {
                if scope.tenant.is_none_or(|only| usize::from(only) == at) {
                    sum += tenant.len(scope.db);
                }
            }
        }
        sum
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len(Scope::ALL).items == 0
    }

    /// Whether an item may have an expiry. It may remain true until the next sweep after the last
    /// such item. Takes no lock.
    pub fn may_expire(&self) -> bool {
        self.expiring.iter().any(|shard| shard.load(Relaxed))
    }

    /// Removes every item of `scope`, and returns how many there were. The tap does not report
    /// them.
    pub fn flush(&self, scope: Scope) -> u64 {
        let mut removed = 0;
        for padded in &self.shards {
            let tenants = padded.write_drained().contents().tenants.len();
            for at in (0..tenants).filter(|&at| scope.tenant.is_none_or(|t| usize::from(t) == at)) {
                let mut shard = padded.write_drained();
                let (contents, at) = (shard.contents_mut(), at as TenantId);
                contents.note_flush(Scope { tenant: Some(at), db: scope.db });
                self.budget.memory.take_back(contents.outdate_all(at, scope.db));
                let tenant = contents.tenant_mut(at);
                if tenant.len(scope.db).items < tenant.table.len() as u64 {
                    removed += contents.flush_db(&self.budget.memory, at, scope.db);
                    continue;
                }
                // The whole table is removed, and freed without the lock.
                let wheel = tenant.wheel_bytes();
                let (table, pages, trees) = tenant.take_table();
                let account = Arc::clone(&tenant.account);
                drop(shard);
                removed += table.len() as u64;
                let bytes = table.bytes() + wheel + pages.bytes() + trees.bytes();
                let dying = trees.dying.len() as u64;
                drop(trees);
                pages.take_apart(table.into_items());
                account.give(bytes);
                account.trees_are_freed(dying);
                self.budget.memory.give(bytes);
            }
        }
        removed
    }
}

/// The position of a scan: 16 bits of tenant, 8 of shard, 32 of position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    tenant: usize,
    shard: usize,
    position: u64,
}

impl From<u64> for Cursor {
    fn from(cursor: u64) -> Self {
        let (tenant, shard) = ((cursor >> 40) as usize, (cursor >> 32) as usize & 0xff);
        Self { tenant, shard, position: cursor & (END - 1) }
    }
}

impl From<Cursor> for u64 {
    fn from(cursor: Cursor) -> Self {
        // The shard may be one past the last, and then carries over into the tenant.
        ((cursor.tenant as Self) << 40) + ((cursor.shard as Self) << 32) + cursor.position
    }
}
