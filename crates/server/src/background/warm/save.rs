//! Writing: all items of the store, in the order of a walk.

use super::dictionaries::{PLAIN, WrittenDictionaries};
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
use store::{Item, Now, ScanItem, Scope, StoredForm, TREE};

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
    writer.block(Kind::Gain, &encode(&history.run_gain())?)?;
    if let Some(known) = server.store.known_keys() {
        writer.block(Kind::Keys, &encode(&known)?)?;
        let mut piece = server.store.evicted_keys((0, 0));
        while let Some(keys) = piece {
            writer.block(Kind::Evicted, &encode(&keys)?)?;
            piece = server.store.evicted_keys(keys.next());
        }
    }
    let (mut gathered, mut cursor) = (Gathered::default(), 0);
    let (mut step, mut asked) = (1, Instant::now());
    loop {
        let (before, items, mut large) = (gathered.bytes(), gathered.items, vec![]);
        let now = server.clock.now();
        let visit = |found: &ScanItem<'_>, form: StoredForm| match collection::flat(&found.item) {
            Some(value) => gathered.add(found, &value, form),
            None => large.push(Large::of(found)),
        };
        cursor = server.store.scan_stored(Scope::ALL, cursor, step, now, visit);
        // These are copied without the lock, each step by step.
        for large in large {
            large.gather(server, now, &mut gathered);
        }
        // Large items come one at a time; otherwise a block would be many times too long.
        let mean = (gathered.bytes() - before) / ((gathered.items - items) as usize).max(1);
        step = (BLOCK / mean.max(1)).clamp(1, STEP_MAX);
        if gathered.write(server, &mut writer, cursor == 0)? && !goes_on(&mut asked) {
            return Err(io::Error::other("the server ends"));
        }
        if cursor == 0 {
            break;
        }
    }
    let items = gathered.items;
    writer.block(Kind::Tail, &encode(&Tail { items })?)?;
    Ok(items)
}

/// Items that are not yet in the file: plain and compressed ones, and dictionaries.
#[derive(Default)]
struct Gathered {
    plain: Vec<u8>,
    compressed: Vec<u8>,
    dictionaries: WrittenDictionaries,
    /// The number of items so far.
    items: u64,
    failed: Option<postcard::Error>,
}

impl Gathered {
    fn bytes(&self) -> usize {
        self.plain.len() + self.compressed.len()
    }

    fn add(&mut self, found: &ScanItem<'_>, value: &[u8], form: StoredForm) {
        let (entry, form) = (Entry::flat(found, value), self.dictionaries.form(found.tenant, form));
        let to = if form == PLAIN { &mut self.plain } else { &mut self.compressed };
        let bytes = std::mem::take(to);
        let longer = if form == PLAIN {
            postcard::to_extend(&entry, bytes)
        } else {
            postcard::to_extend(&(form, entry), bytes)
        };
        match longer {
            Ok(longer) => *to = longer,
            Err(error) => self.failed = Some(error),
        }
        self.items += 1;
    }

    /// Writes the dictionaries, and the blocks that are long enough or the last. Returns whether it
    /// wrote a block of items.
    fn write(&mut self, server: &Server, writer: &mut Writer, is_last: bool) -> io::Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(io::Error::other(error));
        }
        for (_, payload) in self.dictionaries.due(&server.store, |record| encode(record))? {
            writer.block(Kind::Dictionary, &payload)?;
        }
        let mut has_written = false;
        for (kind, block) in
            [(Kind::Items, &mut self.plain), (Kind::Compressed, &mut self.compressed)]
        {
            if block.len() >= BLOCK || (is_last && !block.is_empty()) {
                writer.block(kind, block)?;
                block.clear();
                block.shrink_to(2 * BLOCK);
                has_written = true;
            }
        }
        Ok(has_written)
    }
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
    fn gather(&self, server: &Server, now: Now, to: &mut Gathered) {
        let Self { tenant, db, hits, idle, in_use, penalty_class, expires, .. } = *self;
        let key = server.store.key(tenant, db, &self.key);
        let gathered = collection::gather(&server.store, &key, self.kind, now);
        let Some(value) = gathered else { return };
        let mut item = Item::outside(&value, self.kind, expires);
        (item.hits, item.idle, item.in_use) = (hits, idle, in_use);
        item.penalty_class = penalty_class;
        to.add(&ScanItem { tenant, db, key: &self.key, item }, &value, StoredForm::Plain);
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
