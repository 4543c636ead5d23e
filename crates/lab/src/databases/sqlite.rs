//! `sqlite:PATH`: an embedded database, with a table of each tenant's objects. Each miss runs one
//! SELECT by key.
//!
//! A row holds the seed of the value and its size, not the value: the query, the B-tree and the
//! page cache are real, and the file stays small. The table is filled once, in one transaction,
//! from the trace that is then replayed. A later run over the same trace finds it ready.

use super::table::quoted;
use anyhow::{Context, bail};
use base::hash;
use load::{Database, Filled, Filler, Kind, Origin, Reader, value};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) const KIND: Kind =
    Kind { prefix: "sqlite:", open: |path, _| Ok(Arc::new(Sqlite::new(Path::new(path)))) };

/// Slots for recently added keys, by hash, which spare the database most repeated insertions.
const RECENT: usize = 1 << 16;

/// A database in a file.
pub(super) struct Sqlite {
    path: PathBuf,
}

impl Sqlite {
    /// The database in the file at `path`, which need not exist.
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// A read-only connection.
    fn connect(&self) -> anyhow::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(&self.path, flags).with_context(|| self.name())
    }
}

impl Database for Sqlite {
    fn name(&self) -> String {
        format!("sqlite:{}", self.path.display())
    }

    fn is_filled_at_once(&self) -> bool {
        true
    }

    fn origin(&self, tenant: &str) -> anyhow::Result<Option<Origin>> {
        if !self.path.exists() {
            return Ok(None);
        }
        let connection = self.connect()?;
        if !connection.table_exists(None, "larder:filled").with_context(|| self.name())? {
            return Ok(None);
        }
        let select = "SELECT trace, requests FROM \"larder:filled\" WHERE tenant = ?1";
        let origin = connection.query_row(select, [tenant], |row| {
            Ok(Origin { trace: row.get(0)?, requests: row.get::<_, i64>(1)? as u64 })
        });
        Ok(origin.optional()?)
    }

    fn filler(&self, tenant: &str, origin: &Origin) -> anyhow::Result<Box<dyn Filler>> {
        let context = || format!("{}: choose a path that Larder can write", self.name());
        files::ensure(&self.path).with_context(context)?;
        let connection = Connection::open(&self.path).with_context(context)?;
        // The database can be made again from the trace: it need not survive a power cut.
        connection
            .execute_batch(
                "PRAGMA synchronous = OFF;
             CREATE TABLE IF NOT EXISTS \"larder:filled\"
                 (tenant TEXT PRIMARY KEY, trace TEXT, requests INTEGER);
             BEGIN IMMEDIATE;",
            )
            .with_context(context)?;
        let table = table(tenant);
        connection.execute_batch(&format!(
            "DROP TABLE IF EXISTS {table};
             CREATE TABLE {table} (key BLOB PRIMARY KEY, seed INTEGER, size INTEGER) WITHOUT ROWID;"
        ))?;
        Ok(Box::new(SqliteFiller {
            connection,
            insert: format!("INSERT OR IGNORE INTO {table} VALUES (?1, ?2, ?3)"),
            recent: vec![0; RECENT],
            tenant: tenant.to_owned(),
            origin: origin.clone(),
            filled: Filled::default(),
        }))
    }

    fn reader(&self, tenant: &str) -> anyhow::Result<Box<dyn Reader>> {
        let connection = self.connect()?;
        connection.pragma_update(None, "mmap_size", 1i64 << 28)?;
        let select = format!("SELECT seed, size FROM {} WHERE key = ?1", table(tenant));
        // A missing table is an error now, and not at the first miss.
        connection.prepare_cached(&select)?;
        Ok(Box::new(SqliteReader { connection, select }))
    }
}

fn table(tenant: &str) -> String {
    quoted(&format!("objects:{tenant}"), '"')
}

struct SqliteFiller {
    connection: Connection,
    insert: String,
    recent: Vec<u64>,
    tenant: String,
    origin: Origin,
    filled: Filled,
}

impl Filler for SqliteFiller {
    fn add(&mut self, key: &[u8], size: u64) -> anyhow::Result<()> {
        let hash = hash::bytes(0, key);
        if std::mem::replace(&mut self.recent[hash as usize % RECENT], hash) == hash {
            return Ok(());
        }
        let mut insert = self.connection.prepare_cached(&self.insert)?;
        let inserted = insert.execute(params![key, value::seed(key) as i64, size])? as u64;
        self.filled.rows += inserted;
        self.filled.bytes += inserted * size;
        Ok(())
    }

    fn finish(self: Box<Self>) -> anyhow::Result<Filled> {
        self.connection.execute(
            "INSERT OR REPLACE INTO \"larder:filled\" VALUES (?1, ?2, ?3)",
            params![self.tenant, self.origin.trace, self.origin.requests as i64],
        )?;
        self.connection.execute_batch("COMMIT")?;
        Ok(self.filled)
    }
}

/// A connection of one thread.
struct SqliteReader {
    connection: Connection,
    select: String,
}

impl Reader for SqliteReader {
    fn get(&mut self, key: &[u8]) -> anyhow::Result<u64> {
        let mut select = self.connection.prepare_cached(&self.select)?;
        let row = select.query_row([key], |row| row.get::<_, i64>(0)).optional()?;
        match row {
            Some(seed) => Ok(seed as u64),
            None => bail!("the database has no row for key '{}'", String::from_utf8_lossy(key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(trace: &str, requests: u64) -> Origin {
        Origin { trace: trace.into(), requests }
    }

    #[test]
    fn what_was_added_is_found_by_each_tenant_alone() {
        let folder = tempfile::tempdir().unwrap();
        let database = Sqlite::new(&folder.path().join("objects.db"));
        for tenant in ["one", "an \"odd\" name"] {
            let mut filler = database.filler(tenant, &origin("a", 3)).unwrap();
            for key in ["k1", "k2", "k1"] {
                filler.add(format!("{tenant}{key}").as_bytes(), 10).unwrap();
            }
            assert_eq!(filler.finish().unwrap(), Filled { rows: 2, bytes: 20 });
        }
        let mut reader = database.reader("one").unwrap();
        assert_eq!(reader.get(b"onek2").unwrap(), value::seed(b"onek2"));
        assert!(reader.get(b"an \"odd\" namek2").is_err());
        assert!(database.reader("other").is_err());
    }

    #[test]
    fn only_what_was_finished_counts_as_filled() {
        let folder = tempfile::tempdir().unwrap();
        let database = Sqlite::new(&folder.path().join("objects.db"));
        assert_eq!(database.origin("one").unwrap(), None);
        database.filler("one", &origin("a", 5)).unwrap().finish().unwrap();
        assert_eq!(database.origin("one").unwrap(), Some(origin("a", 5)));
        assert_eq!(database.origin("two").unwrap(), None);
        // A filler that was dropped before its end leaves nothing behind.
        drop(database.filler("one", &origin("b", 6)).unwrap());
        assert_eq!(database.origin("one").unwrap(), Some(origin("a", 5)));
        assert!(database.reader("one").is_ok());
    }
}
