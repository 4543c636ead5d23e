//! The store as a whole: against a model, under limits, among threads, beside the simulator.

mod bounds;
mod classes;
mod model;
mod quality;
mod reports;
mod restore;
mod threads;

use crate::tenant::Tenant;
use crate::{Config, Key, Now, Store};
use base::{Bytes, Micros, TenantId};

/// A point in time; milliseconds and microseconds run together.
fn at(ms: u64) -> Now {
    Now { unix_ms: 1_000_000 + ms, micros: Micros::from_millis(ms) }
}

fn key<'a>(store: &Store, tenant: TenantId, bytes: &'a [u8]) -> Key<'a> {
    store.key(tenant, 0, bytes)
}

fn limited(maxmemory: u64, shards: usize) -> Store {
    Store::new(Config { maxmemory: Bytes(maxmemory), shards, ..Config::default() })
}

/// Every byte that is charged is there, and every byte that is there is charged, to its tenant.
fn audit(store: &Store) {
    let fixed = store.fixed_bytes(1);
    let mut sum = 0;
    for tenant in 0..store.tenants() {
        let mut bytes = fixed;
        store.each_shard(|shard| {
            let Tenant { table, slabs, .. } = &shard.tenants[tenant];
            let charged = slabs.as_ref().map(crate::slab::Slabs::bytes);
            bytes += table.bytes() + charged.unwrap_or_else(|| table.charged(&shard.sizes));
        });
        assert_eq!(store.tenant_stats(tenant as TenantId).used, Bytes(bytes), "tenant {tenant}");
        sum += bytes;
    }
    assert_eq!(store.used(), Bytes(sum));
}
