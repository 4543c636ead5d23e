//! Tests of the whole store: against a model, under limits, with several threads, and compared with
//! the simulator.

mod admission;
mod bounds;
mod classes;
#[cfg(not(miri))]
mod compressed_outside;
#[cfg(not(miri))]
mod compression;
mod dump;
mod expiry;
mod fit;
mod model;
mod pauses;
mod quality;
#[cfg(not(miri))]
mod relearning;
mod reports;
mod restore;
mod sizes;
mod threads;
mod trees;
mod volatile;

use crate::bytes::key::hash_of;
use crate::items::table::item_table::END;
use crate::learning::watching::Watching;
use crate::sync::shim::lock;
use crate::tenant::tenant::TenantShard;
use crate::{Config, Key, Now, Saved, Store};
use base::{Bytes, Micros, TenantId};
use std::collections::HashMap;

/// A point in time; milliseconds and microseconds advance together.
fn at(ms: u64) -> Now {
    Now { unix_ms: 1_000_000 + ms, micros: Micros::from_millis(ms) }
}

fn key<'a>(store: &Store, tenant: TenantId, bytes: &'a [u8]) -> Key<'a> {
    store.key(tenant, 0, bytes)
}

/// A plain item without a past, as a file has it.
fn saved(value: &[u8]) -> Saved<'_> {
    Saved {
        value,
        is_compressed: false,
        kind: 0,
        expires: None,
        idle: 0,
        in_use: 0,
        hits: 0,
        penalty_class: 0,
        beside: 0,
    }
}

fn limited(maxmemory: u64, shards: usize) -> Store {
    Store::new(Config { maxmemory: Bytes(maxmemory), shards, ..Config::default() })
}

/// Checks that every item with an expiry has an entry no later than the expiry.
fn expiries_are_noted(tenant: &TenantShard, seed: u64) {
    let (mut first, mut entries) = (HashMap::new(), 0);
    let (mut hand, mut walked) = (0, END);
    if let Some(wheel) = &tenant.wheel {
        wheel.each(|hash, begins| {
            let first = first.entry(hash).or_insert(begins);
            *first = begins.min(*first);
            entries += 1;
        });
        assert_eq!(entries, wheel.len());
        (hand, walked) = (wheel.hand(), wheel.walk.unwrap_or(END));
    }
    tenant.table.each(|item| {
        let Some(when) = item.expires() else { return };
        let hash = hash_of(seed, item.db(), item.key()) as u32;
        if u64::from(hash.reverse_bits()) < walked {
            let first = first.get(&hash).expect("an item that dies has an entry");
            assert!(*first <= when.max(hand), "{first} is later than {when}");
        }
    });
}

/// Checks that the charged bytes are exactly the bytes in use, for each tenant.
fn audit(store: &Store) {
    let fixed = store.budget.fixed_bytes(1);
    let mut sum = 0;
    for tenant in 0..store.tenants() {
        let (mut bytes, mut dictionaries) = (fixed, 0);
        store.each_shard(|shard| {
            let TenantShard { table, pages, away, compressed, .. } =
                &shard.contents().tenants[tenant];
            dictionaries = compressed.known.bytes();
            bytes += away.as_ref().map_or(0, |away| away.bytes);
            bytes += table.bytes() + pages.bytes() + shard.contents().tenants[tenant].trees.audit();
            bytes += shard.contents().tenants[tenant].wheel_bytes();
            expiries_are_noted(&shard.contents().tenants[tenant], store.seed());
        });
        bytes += dictionaries;
        assert_eq!(store.tenant_stats(tenant as TenantId).used, Bytes(bytes), "tenant {tenant}");
        sum += bytes;
    }
    sum += lock(&store.admin).watching.as_ref().map_or(0, Watching::bytes);
    store.each_shard(|shard| {
        sum += shard.contents().ghosts.as_ref().map_or(0, |ghosts| ghosts.bytes);
    });
    assert_eq!(store.used(), Bytes(sum));
}
