//! An embedded database: a table of each tenant's objects, one SELECT by key for each miss.
//!
//! A row holds the seed of the value and its size, not the value: the query, the B-tree and the
//! page cache are real, and the file stays small. The table is filled once, in one transaction,
//! from the same trace that is then replayed; a later run over the same trace finds it ready.

use super::super::value;
use anyhow::{Context, bail};
use base::hash;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::path::Path;

/// Keys seen lately, by hash: spares the database most of the repeated insertions.
const RECENT: usize = 1 << 16;

/// What a table was filled from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The trace, as named on the command line.
    pub trace: String,
    /// Requests whose objects are in the table.
    pub requests: u64,
}

/// Fills the table of one tenant.
pub struct Filler {
    connection: Connection,
    table: String,
    insert: String,
    recent: Vec<u64>,
}

fn quoted(table: &str) -> String {
    format!("\"{}\"", table.replace('"', "\"\""))
}

impl Filler {
    /// Begins to fill the table of `tenant`, or `None` if it was filled from `origin` before.
    pub fn open(path: &Path, tenant: &str, origin: &Origin) -> anyhow::Result<Option<Self>> {
        let context =
            || format!("database '{}': choose a path that can be written", path.display());
        let connection = Connection::open(path).with_context(context)?;
        // The database can be made again from the trace: it need not survive a power cut.
        connection
            .execute_batch(
                "PRAGMA synchronous = OFF;
             CREATE TABLE IF NOT EXISTS \"larder:filled\"
                 (tenant TEXT PRIMARY KEY, trace TEXT, requests INTEGER);
             BEGIN IMMEDIATE;",
            )
            .with_context(context)?;
        let known = connection
            .query_row(
                "SELECT trace, requests FROM \"larder:filled\" WHERE tenant = ?1",
                [tenant],
                |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)),
            )
            .optional()?;
        if known.is_some_and(|(trace, n)| trace == origin.trace && n as u64 >= origin.requests) {
            return Ok(None);
        }
        let table = quoted(&format!("objects:{tenant}"));
        connection.execute_batch(&format!(
            "DROP TABLE IF EXISTS {table};
             CREATE TABLE {table} (key BLOB PRIMARY KEY, seed INTEGER, size INTEGER) WITHOUT ROWID;"
        ))?;
        let insert = format!("INSERT OR IGNORE INTO {table} VALUES (?1, ?2, ?3)");
        Ok(Some(Self { connection, table: tenant.to_owned(), insert, recent: vec![0; RECENT] }))
    }

    /// Adds the object if it is new.
    pub fn add(&mut self, key: &[u8], size: u64) -> anyhow::Result<()> {
        let hash = hash::bytes(0, key);
        if std::mem::replace(&mut self.recent[hash as usize % RECENT], hash) == hash {
            return Ok(());
        }
        let mut insert = self.connection.prepare_cached(&self.insert)?;
        insert.execute(params![key, value::seed(key) as i64, size])?;
        Ok(())
    }

    /// Ends the transaction: the table is filled from `origin`.
    pub fn finish(self, origin: &Origin) -> anyhow::Result<()> {
        self.connection.execute(
            "INSERT OR REPLACE INTO \"larder:filled\" VALUES (?1, ?2, ?3)",
            params![self.table, origin.trace, origin.requests as i64],
        )?;
        self.connection.execute_batch("COMMIT")?;
        Ok(())
    }
}

/// Reads the table of one tenant, on a connection of its own.
pub(super) struct Reader {
    connection: Connection,
    select: String,
}

impl Reader {
    /// Opens the table of `tenant`, which was filled.
    pub(super) fn open(path: &Path, tenant: &str) -> anyhow::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)
            .with_context(|| format!("database '{}'", path.display()))?;
        connection.pragma_update(None, "mmap_size", 1i64 << 28)?;
        let table = quoted(&format!("objects:{tenant}"));
        let select = format!("SELECT seed, size FROM {table} WHERE key = ?1");
        // Says now, and not at the first miss, that there is no such table.
        connection.prepare_cached(&select)?;
        Ok(Self { connection, select })
    }

    /// The seed of the value of `key`.
    pub(super) fn get(&mut self, key: &[u8]) -> anyhow::Result<u64> {
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

    fn origin(requests: u64) -> Origin {
        Origin { trace: "a".into(), requests }
    }

    #[test]
    fn what_was_added_is_found_by_each_tenant_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("objects.db");
        for tenant in ["one", "an \"odd\" name"] {
            let mut filler = Filler::open(&path, tenant, &origin(3)).unwrap().unwrap();
            for key in ["k1", "k2", "k1"] {
                filler.add(format!("{tenant}{key}").as_bytes(), 10).unwrap();
            }
            filler.finish(&origin(3)).unwrap();
        }
        let mut reader = Reader::open(&path, "one").unwrap();
        assert_eq!(reader.get(b"onek2").unwrap(), value::seed(b"onek2"));
        assert!(reader.get(b"an \"odd\" namek2").is_err());
        assert!(Reader::open(&path, "other").is_err());
    }

    /// A table of a shorter run, or of another trace, would answer some misses with an error.
    #[test]
    fn is_filled_again_only_where_it_must_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("objects.db");
        Filler::open(&path, "one", &origin(5)).unwrap().unwrap().finish(&origin(5)).unwrap();
        assert!(Filler::open(&path, "one", &origin(5)).unwrap().is_none());
        assert!(Filler::open(&path, "one", &origin(2)).unwrap().is_none());
        assert!(Filler::open(&path, "one", &origin(6)).unwrap().is_some());
        let other = Origin { trace: "b".into(), requests: 1 };
        assert!(Filler::open(&path, "one", &other).unwrap().is_some());
        // A filler that was dropped before its end leaves nothing behind.
        assert!(Filler::open(&path, "one", &origin(5)).unwrap().is_none());
    }
}
