//! Writing: all items of the store, in the order of a walk.

use super::file::{Kind, Writer, encode};
use super::layout::{Entry, Head, Libraries, Tail, TenantHead, beside};
use crate::server::Server;
use crate::settings::config::Error;
use crate::values::collection;
use base::{Bytes, TenantId};
use files::Aside;
use std::io;
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use store::{Item, Now, ScanItem, Scope, TREE};

/// The approximate bytes of items in a block.
const BLOCK: usize = 1 << 20;
/// The largest number of items in one step, which are copied while one shard is locked.
const STEP_MAX: usize = 256;
/// The longest wait for the pilot's knowledge.
const ANSWER: Duration = Duration::from_secs(2);
/// The interval at which the service manager is asked for more time, and the time asked for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Saves at the end of the server, when no client is left. Logs the outcome.
///
/// # Errors
/// Nothing could be saved, although the settings ask for it.
pub(crate) fn save(server: &Server) -> Result<(), Error> {
    use std::sync::atomic::Ordering::Acquire;
    let Some(path) = &server.saved.warm.path else {
        return Ok(());
    };
    if server.saved.warm.forget.load(Acquire) {
        tracing::info!("saved nothing, as requested");
        return Ok(());
    }
    write(server, path, &mut |asked| {
        if asked.elapsed() >= PATIENCE {
            *asked = Instant::now();
            let more = 4 * PATIENCE.as_micros() as u32;
            let _ = sd_notify::notify(&[sd_notify::NotifyState::ExtendTimeoutUsec(more)]);
        }
        true
    })
    .map_err(|error| Error(unsaved(path, &error)))
}

/// Saves a copy while clients are served. Gives up if the server ends meanwhile.
pub(crate) fn copy(server: &Server) {
    let Some(path) = &server.saved.warm.path else {
        tracing::warn!("SIGUSR1 saves nothing: set warm-restart-file");
        return;
    };
    // The pilot answers at its next look.
    server.saved.warm.ask();
    let asked = Instant::now();
    while server.saved.warm.is_asking() && asked.elapsed() < ANSWER && !server.process.is_stopping()
    {
        std::thread::sleep(ANSWER / 200);
    }
    // The log has the reason for a failure.
    let _ = write(server, &beside(path, ".copy"), &mut |_| !server.process.is_stopping());
}

fn unsaved(path: &Path, error: &io::Error) -> String {
    format!("cannot save to {}: {error}", path.display())
}

/// Writes a file, and gives it its name when it is complete.
fn write(
    server: &Server,
    path: &Path,
    goes_on: &mut dyn FnMut(&mut Instant) -> bool,
) -> io::Result<()> {
    let _alone = server.saved.warm.saving.lock().unwrap_or_else(PoisonError::into_inner);
    let begun = Instant::now();
    let written = Aside::begin_as(&beside(path, ".part"), path).and_then(|aside| {
        let items = write_all(server, &aside, goes_on)?;
        Ok((items, Bytes(aside.keep()?)))
    });
    server.saved.warm.note_save(written.is_ok());
    match written {
        Ok((items, bytes)) => {
            let took = begun.elapsed().as_secs_f64();
            tracing::info!("saved {items} items, {bytes}, to {} in {took:.2} s", path.display());
            Ok(())
        }
        Err(error) => {
            tracing::error!("{}", unsaved(path, &error));
            Err(error)
        }
    }
}

/// Writes all items. Returns their number.
fn write_all(
    server: &Server,
    aside: &Aside,
    goes_on: &mut dyn FnMut(&mut Instant) -> bool,
) -> io::Result<u64> {
    let mut writer = Writer::to(aside.file().try_clone()?)?;
    writer.block(Kind::Head, &encode(&head(server))?)?;
    let libraries = Libraries(server.scripts.lock().codes());
    if !libraries.0.is_empty() {
        writer.block(Kind::Libraries, &encode(&libraries)?)?;
    }
    if let Some(known) = server.saved.warm.take_left() {
        writer.block(Kind::Known, &encode(&known)?)?;
    }
    let history = server.observed.lock_history().clone();
    writer.block(Kind::History, &encode(&history)?)?;
    if let Some(known) = server.store.known_keys() {
        writer.block(Kind::Keys, &encode(&known)?)?;
        let mut piece = server.store.evicted_keys((0, 0));
        while let Some(keys) = piece {
            writer.block(Kind::Evicted, &encode(&keys)?)?;
            piece = server.store.evicted_keys(keys.next());
        }
    }
    let (mut block, mut items, mut cursor) = (vec![], 0, 0);
    let (mut step, mut asked) = (1, Instant::now());
    loop {
        let (before, mut shown) = (block.len(), 0);
        let (mut failed, mut large) = (None, vec![]);
        let now = server.clock.now();
        let mut add = |found: &ScanItem<'_>, value: &[u8]| {
            shown += 1;
            match postcard::to_extend(&Entry::flat(found, value), std::mem::take(&mut block)) {
                Ok(longer) => block = longer,
                Err(error) => failed = Some(error),
            }
        };
        let visit = |found: &ScanItem<'_>| match collection::flat(&found.item) {
            Some(value) => add(found, &value),
            None => large.push(Large::of(found)),
        };
        cursor = server.store.scan_values(Scope::ALL, cursor, step, now, visit);
        // These are copied without the lock, each step by step.
        for large in large {
            large.gather(server, now, &mut add);
        }
        if let Some(error) = failed {
            return Err(io::Error::other(error));
        }
        items += shown;
        // Large items come one at a time; otherwise a block would be many times too long.
        let mean = (block.len() - before) / (shown as usize).max(1);
        step = (BLOCK / mean.max(1)).clamp(1, STEP_MAX);
        if block.len() >= BLOCK || (cursor == 0 && !block.is_empty()) {
            writer.block(Kind::Items, &block)?;
            block.clear();
            block.shrink_to(2 * BLOCK);
            if !goes_on(&mut asked) {
                return Err(io::Error::other("the server ends"));
            }
        }
        if cursor == 0 {
            break;
        }
    }
    writer.block(Kind::Tail, &encode(&Tail { items })?)?;
    Ok(items)
}

/// A large collection that the walk found.
struct Large {
    tenant: TenantId,
    db: u8,
    key: Vec<u8>,
    hits: u8,
    idle: u32,
    in_use: u32,
    penalty_class: u8,
    /// The kind, without the bit of trees.
    kind: u8,
    expires: Option<u64>,
}

impl Large {
    fn of(found: &ScanItem<'_>) -> Self {
        let ScanItem { tenant, db, key, item } = *found;
        let Item { hits, idle, in_use, penalty_class, expires, .. } = item;
        let (key, kind) = (key.to_vec(), item.kind & !TREE);
        Self { tenant, db, key, hits, idle, in_use, penalty_class, kind, expires }
    }

    /// Shows the collection in one piece, if it still exists.
    fn gather(&self, server: &Server, now: Now, add: &mut impl FnMut(&ScanItem<'_>, &[u8])) {
        let Self { tenant, db, hits, idle, in_use, penalty_class, expires, .. } = *self;
        let key = server.store.key(tenant, db, &self.key);
        let gathered = collection::gather(&server.store, &key, self.kind, now);
        let Some(value) = gathered else { return };
        let mut item = Item::outside(&value, self.kind, expires);
        (item.hits, item.idle, item.in_use) = (hits, idle, in_use);
        item.penalty_class = penalty_class;
        add(&ScanItem { tenant, db, key: &self.key, item }, &value);
    }
}

fn head(server: &Server) -> Head {
    let view = server.view.now();
    let tenant = |(number, name): (usize, &String)| {
        let stats = server.store.tenant_stats(number as base::TenantId);
        TenantHead {
            name: name.clone(),
            items: stats.len.items / server.store.shards() as u64,
            fetches: stats.penalty.count,
            penalty_us: stats.penalty.mean.0,
        }
    };
    Head {
        shards: server.store.shards() as u64,
        tick: server.store.tick(),
        cas: server.memcached.last_cas(),
        tenants: view.names.iter().enumerate().map(tenant).collect(),
        flushes: server.memcached.flushes(),
    }
}
