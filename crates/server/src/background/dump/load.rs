//! Loading: reads the last block of the last file first, so that the warmest items return first.

use super::file::{DumpFile, each};
use crate::background::warm::{PLAIN, Record, Restored};
use crate::server::Views;
use crate::services::clock::Clock;
use crate::services::transfers::Transfer;
use crate::values::collection;
use base::TenantId;
use std::collections::HashSet;
use std::time::Instant;
use store::{Error, Item, Key, Loaded, Now, Saved, Store};
use tune::tenant::Finders;

/// A load in progress.
#[derive(Debug)]
pub(super) struct Loading {
    tenant: TenantId,
    files: Vec<DumpFile>,
    /// The dictionaries of the last file.
    dictionaries: Restored,
    begun: Instant,
    pub(super) transfer: Transfer,
}

impl Loading {
    pub(super) fn begin(
        clock: &Clock,
        tenant: TenantId,
        by: &'static str,
        files: Vec<DumpFile>,
    ) -> Self {
        let at_s = clock.micros().as_f64() / 1e6;
        let transfer = Transfer { by, at_s, ..Transfer::default() };
        let dictionaries = Restored::default();
        Self { tenant, files, dictionaries, begun: Instant::now(), transfer }
    }

    /// The bytes still on the disk.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(DumpFile::bytes).sum()
    }

    /// Loads a block. Returns whether there are more.
    pub(super) fn step(&mut self, store: &Store, clock: &Clock, views: &Views) -> bool {
        let Some(file) = self.files.last_mut() else {
            return false;
        };
        match file.take() {
            None => {
                self.files.pop();
                self.dictionaries = Restored::default();
            }
            Some((_, Err(why))) => {
                tracing::warn!("lost the items of a damaged block of a dump: {why}");
                self.transfer.torn += 1;
            }
            Some((number, Ok(payload))) => {
                self.restore_dictionaries((store, clock), &payload);
                self.bring_back((store, clock), views, number, &payload);
            }
        }
        !self.files.is_empty()
    }

    /// Gives the tenant the dictionaries of a block's items, unless it has them already.
    fn restore_dictionaries(&mut self, (store, clock): (&Store, &Clock), payload: &[u8]) {
        let Self { tenant, files, dictionaries, transfer, .. } = self;
        let Some(file) = files.last() else { return };
        let mut missing = HashSet::new();
        each(store, *tenant, payload, |_, form, _| {
            if dictionaries.lacks(form) {
                missing.insert(form);
            }
        });
        for form in missing {
            let read = file.dictionary(form).and_then(Result::ok);
            let record = read.as_deref().map(postcard::from_bytes::<Record<'_>>);
            let held = record.and_then(Result::ok);
            let held = held.and_then(|record| record.restore(store, *tenant, clock.now()));
            if held.is_none() {
                tracing::warn!("lost the items of a damaged dictionary of a dump");
                transfer.torn += 1;
            }
            dictionaries.add(form, held);
        }
    }

    /// Loads the items of a block. Settings cannot change meanwhile, so no item returns under a
    /// rule that no longer holds.
    fn bring_back(
        &mut self,
        (store, clock): (&Store, &Clock),
        views: &Views,
        number: u64,
        payload: &[u8],
    ) {
        let _unchanged = views.lock_changes();
        let view = views.now();
        let mut finders = Finders::new(view.tenants());
        let Self { tenant, transfer, dictionaries, .. } = self;
        transfer.bytes += payload.len() as u64;
        each(store, *tenant, payload, |key, form, entry| {
            if !finders.find(*tenant, entry.db, entry.key) {
                store.revoke(key, number);
                transfer.outdated += 1;
                return;
            }
            let mut saved = entry.saved(0, |accesses| accesses);
            let value = (form != PLAIN).then(|| dictionaries.value(form, entry.value));
            match &value {
                None => {}
                Some(Some(value)) => (saved.value, saved.is_compressed) = (value, true),
                Some(None) => return store.revoke(key, number),
            }
            match bring_back(store, clock.now(), key, number, &saved) {
                Ok(Loaded::Back) => transfer.items += 1,
                Ok(Loaded::Here) => transfer.here += 1,
                Ok(Loaded::Outdated) => transfer.outdated += 1,
                Err(_) => transfer.refused += 1,
            }
        });
    }

    /// The outcome. The rest of the tenant's files is dropped.
    pub(super) fn end(mut self, store: &Store) -> Transfer {
        store.forget_away(self.tenant);
        self.transfer.seconds = self.begun.elapsed().as_secs_f64();
        self.transfer
    }
}

/// Loads an item. A collection that is too long for one piece becomes a tree.
fn bring_back(
    store: &Store,
    now: Now,
    key: &Key<'_>,
    block: u64,
    saved: &Saved<'_>,
) -> Result<Loaded, Error> {
    if saved.is_compressed {
        return store.load(key, block, saved, now);
    }
    let item = Item::outside(saved.value, saved.kind, saved.expires);
    match collection::grown(store, key, &item, now)? {
        Some((mut loose, note)) => {
            store.load_tree(key, block, &Saved { value: &note, ..*saved }, &mut loose, now)
        }
        None => store.load(key, block, saved, now),
    }
}
