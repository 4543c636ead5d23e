//! Reading: the file is removed, checked as a whole, and its items are restored.

use super::dictionaries::{PLAIN, Record, Restored};
use super::file::{Broken, Kind, Reader};
use super::layout::{Entry, Head, Libraries, Tail};
use crate::server::Server;
use crate::values::collection;
use base::{Micros, TenantId};
use files::sync_folder;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Instant;
use store::{Item, Key, Saved};
use tune::Known;
use tune::tenant::Finders;

/// The distance to the file's last cas: a copy may hold values with a cas given after its head was
/// written.
const CAS_AHEAD: u64 = 1 << 32;

/// An opened file that is already removed and will be restored.
#[derive(Debug)]
pub(crate) struct Opened {
    reader: Reader,
    head: Head,
    /// The libraries that clients have already, by name with their code.
    libraries: Vec<(String, Box<[u8]>)>,
}

/// The numbers of items by outcome.
#[derive(Debug, Default)]
struct Counts {
    restored: u64,
    /// Items that have expired, or that clients wrote or removed meanwhile.
    outdated: u64,
    /// Items of tenants or databases that are no longer configured, or with keys that now belong to
    /// another tenant.
    homeless: u64,
    /// Items for which there was no memory.
    refused: u64,
    /// Compressed items whose dictionary is damaged.
    unreadable: u64,
}

impl Counts {
    const fn all(&self) -> u64 {
        let Self { restored, outdated, homeless, refused, unreadable } = *self;
        restored + outdated + homeless + refused + unreadable
    }
}

/// Opens the file and removes it, before the first client is served. `None` if there is nothing to
/// restore.
pub(crate) fn open(server: &Server) -> Option<Opened> {
    let path = server.saved.warm.path.as_deref()?;
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => {
            refuse(path, &error.into());
            return None;
        }
    };
    // The removal comes first: if it fails, a later start could read the file again, out of date.
    if let Err(error) = std::fs::remove_file(path).and_then(|()| sync_folder(path)) {
        tracing::warn!(
            "did not restore {}: cannot remove the file: {error}; let the server's user write to \
             its folder",
            path.display()
        );
        return None;
    }
    let opened = Reader::new(file).and_then(|mut reader| {
        let head: Head = reader.value(Kind::Head)?;
        let libraries = match reader.next()? {
            (Kind::Libraries, payload) => postcard::from_bytes(payload).unwrap_or_default(),
            _ => Libraries::default(),
        };
        let mut reader = reader.again()?;
        reader.value::<Head>(Kind::Head)?;
        Ok((Opened { reader, head, libraries: vec![] }, libraries))
    });
    let (mut opened, libraries) = opened.inspect_err(|why| refuse(path, why)).ok()?;
    opened.libraries = load(server, libraries);
    let goes_on = opened.head.shards == server.store.shards() as u64;
    server.store.begin_restore(if goes_on { opened.head.tick } else { 0 });
    server.saved.warm.restoring.store(true, Ordering::Release);
    server.memcached.begin_cas(opened.head.cas.saturating_add(CAS_AHEAD));
    let view = server.view.now();
    for (due, tenants) in &opened.head.flushes {
        let name = |&number: &u16| opened.head.tenants.get(usize::from(number));
        let number = |number| view.number(&name(number)?.name);
        server.memcached.flush_later(*due, tenants.iter().filter_map(number).collect());
    }
    server.flush_due();
    Some(opened)
}

/// Loads the libraries. Returns the names and the code of those that loaded.
fn load(server: &Server, libraries: Libraries) -> Vec<(String, Box<[u8]>)> {
    let parts = (&server.scripts, &server.turns, &*server.store);
    let mut loaded = vec![];
    for code in libraries.0 {
        match server.scripts.lock().load_library(parts, &code, true) {
            Ok(name) => loaded.push((name, code)),
            Err(failure) => {
                let text = String::from_utf8_lossy(failure.text()).into_owned();
                tracing::warn!("did not restore a function library: {text}");
            }
        }
    }
    loaded
}

fn refuse(path: &Path, why: &Broken) {
    tracing::warn!("did not restore {}: {why}; the cache starts empty", path.display());
}

/// Restores the saved items while clients are served.
pub(crate) fn run(server: &Server, mut opened: Opened) {
    let begun = Instant::now();
    let path = server.saved.warm.path.clone().unwrap_or_default();
    let libraries = std::mem::take(&mut opened.libraries);
    match restore(server, opened) {
        Ok(counts) => {
            let Counts { restored, outdated, homeless, refused, unreadable } = counts;
            if unreadable > 0 {
                tracing::warn!(
                    "did not restore {unreadable} compressed items from {}: their dictionaries \
                     are damaged",
                    path.display()
                );
            }
            tracing::info!(
                "restored {restored} items from {} in {:.2} s; not restored: {outdated} out of \
                 date, {homeless} without a tenant, {refused} for lack of memory",
                path.display(),
                begun.elapsed().as_secs_f64()
            );
        }
        Err(why) => {
            refuse(&path, &why);
            for (name, code) in libraries {
                server.scripts.lock().take_back(&server.scripts, &name, &code);
            }
        }
    }
    server.store.end_restore();
    // A dictionary that no item uses may be given up.
    server.compressor.wake();
    server.saved.warm.restoring.store(false, Ordering::Release);
}

fn restore(server: &Server, opened: Opened) -> Result<Counts, Broken> {
    let Opened { mut reader, head, .. } = opened;
    reader.check()?;
    let mut reader = reader.again()?;
    reader.value::<Head>(Kind::Head)?;
    restore_penalties(server, &head);
    let (mut counts, mut dictionaries) = (Counts::default(), Restored::default());
    while !server.saved.warm.forget.load(Ordering::Acquire) {
        match reader.next()? {
            (Kind::Known, payload) => {
                let known = postcard::from_bytes::<Known>(payload).ok();
                *server.saved.warm.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
            }
            (Kind::Keys, payload) if head.shards == server.store.shards() as u64 => {
                if let Ok(known) = postcard::from_bytes(payload) {
                    let _unchanged = server.view.lock_changes();
                    let numbers = numbers(server, &head);
                    let number_of = |then| numbers.get(usize::from(then)).copied().flatten();
                    server.store.recall_keys(&known, number_of, server.clock.now());
                }
            }
            (Kind::Evicted, payload) if head.shards == server.store.shards() as u64 => {
                if let Ok(keys) = postcard::from_bytes(payload) {
                    server.store.recall_evicted(&keys, server.clock.now());
                }
            }
            (Kind::History, payload) => match postcard::from_bytes(payload) {
                Ok(before) => server.observed.lock_history().go_on_from(before),
                Err(why) => tracing::warn!("the history starts empty: {why}"),
            },
            (Kind::Gain, payload) => {
                if let Ok(before) = postcard::from_bytes(payload) {
                    server.observed.lock_history().go_on_from_gain(before);
                }
            }
            (Kind::BareHistory, _) => {
                tracing::warn!(
                    "the history starts empty: an earlier version of Larder wrote the saved history"
                );
            }
            (Kind::Dictionary, payload) => {
                restore_dictionary(server, &head, payload, &mut dictionaries);
            }
            (kind @ (Kind::Items | Kind::Compressed), payload) => {
                restore_items(server, &head, (kind, payload), &dictionaries, &mut counts);
            }
            (Kind::Tail, payload) => {
                let is_whole = postcard::from_bytes::<Tail>(payload)
                    .is_ok_and(|tail| tail.items == counts.all());
                if !is_whole {
                    tracing::warn!(
                        "the warm-restart file holds fewer or more items than its end says"
                    );
                }
                break;
            }
            (
                Kind::Head | Kind::Libraries | Kind::Keys | Kind::KeysWithoutSize | Kind::Evicted,
                _,
            ) => {}
        }
    }
    Ok(counts)
}

/// Restores an item. A large collection becomes a tree.
fn bring_back(server: &Server, key: &Key<'_>, saved: &Saved<'_>) -> Result<bool, store::Error> {
    let (store, now) = (&server.store, server.clock.now());
    if saved.is_compressed {
        return store.restore(key, saved, now);
    }
    let item = Item::outside(saved.value, saved.kind, saved.expires);
    match collection::grown(store, key, &item, now)? {
        Some((mut loose, note)) => {
            store.restore_tree(key, &Saved { value: &note, ..*saved }, &mut loose, now)
        }
        None => store.restore(key, saved, now),
    }
}

fn restore_penalties(server: &Server, head: &Head) {
    let view = server.view.now();
    for tenant in &head.tenants {
        if let Some(number) = view.number(&tenant.name)
            && tenant.fetches > 0.0
        {
            let mean = Micros(tenant.penalty_us);
            server.store.restore_penalty(number, tenant.fetches, mean);
        }
    }
}

/// The number on this server of each tenant in the file.
fn numbers(server: &Server, head: &Head) -> Vec<Option<TenantId>> {
    let view = server.view.now();
    head.tenants.iter().map(|tenant| view.number(&tenant.name)).collect()
}

/// Restores a dictionary, unless it is damaged or its tenant is no longer configured.
fn restore_dictionary(server: &Server, head: &Head, payload: &[u8], all: &mut Restored) {
    let Ok(record) = postcard::from_bytes::<Record<'_>>(payload) else { return };
    let _unchanged = server.view.lock_changes();
    let tenant = numbers(server, head).get(usize::from(record.tenant)).copied().flatten();
    if let Some(tenant) = tenant {
        all.add(record.form, record.restore(&server.store, tenant, server.clock.now()));
    }
}

/// Restores the items of a block. Settings cannot change meanwhile, so no item returns under a rule
/// that no longer holds.
fn restore_items(
    server: &Server,
    head: &Head,
    (kind, mut payload): (Kind, &[u8]),
    dictionaries: &Restored,
    counts: &mut Counts,
) {
    let _unchanged = server.view.lock_changes();
    let view = server.view.now();
    let mut finders = Finders::new(view.tenants());
    let numbers = numbers(server, head);
    let (before, here) = (head.shards.max(1), server.store.shards() as u64);
    let by = |accesses: u32| u32::try_from(u64::from(accesses) * before / here).unwrap_or(u32::MAX);
    while !payload.is_empty() {
        // A block with the right checksum was encoded like this, so decoding it does not fail.
        let taken = if kind == Kind::Compressed {
            postcard::take_from_bytes::<(u32, Entry<'_>)>(payload)
        } else {
            postcard::take_from_bytes(payload).map(|(entry, rest)| ((PLAIN, entry), rest))
        };
        let Ok(((form, entry), rest)) = taken else { return };
        payload = rest;
        let number = numbers.get(usize::from(entry.tenant)).copied().flatten().filter(|&number| {
            u32::from(entry.db) < view.settings.databases
                && finders.find(number, entry.db, entry.key)
        });
        let Some(number) = number else {
            counts.homeless += 1;
            continue;
        };
        let of = &head.tenants[usize::from(entry.tenant)];
        let mut saved = entry.saved((of.items * before / here) as usize, by);
        let value = (form != PLAIN).then(|| dictionaries.value(form, entry.value));
        match &value {
            None => {}
            Some(Some(value)) => (saved.value, saved.is_compressed) = (value, true),
            Some(None) => {
                counts.unreadable += 1;
                continue;
            }
        }
        let key = server.store.key(number, entry.db, entry.key);
        match bring_back(server, &key, &saved) {
            Ok(true) => {
                counts.restored += 1;
                server.saved.warm.restored.fetch_add(1, Ordering::Relaxed);
            }
            Ok(false) => counts.outdated += 1,
            Err(_) => counts.refused += 1,
        }
    }
}
