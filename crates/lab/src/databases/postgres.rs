//! `postgres://…`: a PostgreSQL server, with a table of each tenant's objects. Each miss runs one
//! prepared SELECT by primary key, which returns the whole value.
//!
//! COPY loads the rows, in the transaction that creates the table. It freezes them at once, so that
//! no VACUUM runs beside the replay that follows. Values are stored uncompressed, because their
//! bytes cannot be compressed.

use super::place::Place;
use super::pool::Pool;
use super::table::{quoted, table};
use anyhow::Context;
use base::hash;
use load::{Database, Filled, Filler, Kind, Origin, Reader, seed_if, value, value_of};
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls, Statement};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

pub(super) const KIND: Kind = Kind {
    prefix: "postgres://",
    open: |rest, pool| Ok(Arc::new(Postgres::new(Place::parse("postgres", rest, 5432)?, pool))),
};

/// Longest wait for a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that one COPY loads.
const BATCH: usize = 4 << 20;

/// Head of COPY's binary form: a mark, no flags, no extension.
const COPY_HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// End of COPY's binary form: a row of minus one fields.
const COPY_END: &[u8] = &(-1i16).to_be_bytes();

struct Postgres {
    place: Arc<Place>,
    pool: Arc<Pool<Session>>,
}

/// A connection, and the statements that were prepared on it.
struct Session {
    client: Client,
    selects: HashMap<String, Statement>,
}

impl Postgres {
    fn new(place: Place, pool: usize) -> Self {
        let place = Arc::new(place);
        let to = place.clone();
        let open = move || Ok(Session { client: connect(&to)?, selects: HashMap::new() });
        Self { place, pool: Arc::new(Pool::new(pool, open)) }
    }
}

fn connect(place: &Place) -> anyhow::Result<Client> {
    let mut config = Config::new();
    config.host(&place.host).port(place.port).user(&place.user).dbname(&place.db);
    if let Some(password) = &place.password {
        config.password(password);
    }
    config.connect_timeout(PATIENCE).application_name("larder replay");
    config.connect(NoTls).with_context(|| place.to_string())
}

impl Database for Postgres {
    fn name(&self) -> String {
        self.place.to_string()
    }

    fn is_filled_at_once(&self) -> bool {
        false
    }

    fn origin(&self, tenant: &str) -> anyhow::Result<Option<Origin>> {
        let select = "SELECT trace, requests FROM \"larder filled\" WHERE tenant = $1";
        match connect(&self.place)?.query_opt(select, &[&tenant]) {
            Ok(row) => Ok(row.map(|row| {
                let requests: i64 = row.get(1);
                Origin { trace: row.get(0), requests: requests as u64 }
            })),
            Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
            Err(error) => Err(error).with_context(|| self.name()),
        }
    }

    fn filler(&self, tenant: &str, origin: &Origin) -> anyhow::Result<Box<dyn Filler>> {
        let table = quoted(&table(tenant)?, '"');
        let mut client = connect(&self.place)?;
        let made = client.batch_execute(&format!(
            "SET client_min_messages = warning;
             CREATE TABLE IF NOT EXISTS \"larder filled\"
                 (tenant text PRIMARY KEY, trace text NOT NULL, requests bigint NOT NULL);
             BEGIN;
             DROP TABLE IF EXISTS {table};
             CREATE TABLE {table} (key bytea PRIMARY KEY, value bytea NOT NULL);
             ALTER TABLE {table} ALTER COLUMN value SET STORAGE EXTERNAL;"
        ));
        made.with_context(|| self.name())?;
        Ok(Box::new(PostgresFiller {
            client,
            table,
            seen: HashSet::new(),
            rows: COPY_HEAD.to_vec(),
            tenant: tenant.to_owned(),
            origin: origin.clone(),
            filled: Filled::default(),
        }))
    }

    fn reader(&self, tenant: &str) -> anyhow::Result<Box<dyn Reader>> {
        let table = quoted(&table(tenant)?, '"');
        let select = format!("SELECT value FROM {table} WHERE key = $1");
        self.pool.join()?;
        // A missing table is an error now, and not at the first miss.
        self.pool.with(|session| session.prepare(&select)).with_context(|| self.name())?;
        Ok(Box::new(PostgresReader { pool: self.pool.clone(), select }))
    }
}

impl Session {
    fn prepare(&mut self, select: &str) -> anyhow::Result<Statement> {
        if let Some(statement) = self.selects.get(select) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(select)?;
        self.selects.insert(select.to_owned(), statement.clone());
        Ok(statement)
    }
}

struct PostgresFiller {
    client: Client,
    table: String,
    /// Hashes of the keys that were added.
    seen: HashSet<u64>,
    /// Rows of the next COPY, in its binary form.
    rows: Vec<u8>,
    tenant: String,
    origin: Origin,
    filled: Filled,
}

impl PostgresFiller {
    fn copy(&mut self) -> anyhow::Result<()> {
        let copy = format!("COPY {} FROM STDIN (FORMAT binary, FREEZE)", self.table);
        let mut writer = self.client.copy_in(&copy)?;
        writer.write_all(&self.rows)?;
        writer.write_all(COPY_END)?;
        writer.finish()?;
        self.rows.truncate(COPY_HEAD.len());
        Ok(())
    }
}

impl Filler for PostgresFiller {
    fn add(&mut self, key: &[u8], size: u64) -> anyhow::Result<()> {
        if !self.seen.insert(hash::bytes(0, key)) {
            return Ok(());
        }
        let value = value_of(key, size)?;
        self.rows.extend_from_slice(&2i16.to_be_bytes());
        for field in [key, &value] {
            self.rows.extend_from_slice(&(field.len() as i32).to_be_bytes());
            self.rows.extend_from_slice(field);
        }
        self.filled.rows += 1;
        self.filled.bytes += size;
        if self.rows.len() >= BATCH { self.copy() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<Filled> {
        self.copy()?;
        self.client.execute(
            "INSERT INTO \"larder filled\" VALUES ($1, $2, $3)
             ON CONFLICT (tenant) DO UPDATE SET trace = $2, requests = $3",
            &[&self.tenant, &self.origin.trace, &(self.origin.requests as i64)],
        )?;
        self.client.batch_execute("COMMIT")?;
        self.client.batch_execute(&format!("ANALYZE {}", self.table))?;
        Ok(self.filled)
    }
}

struct PostgresReader {
    pool: Arc<Pool<Session>>,
    select: String,
}

impl Reader for PostgresReader {
    fn get(&mut self, key: &[u8]) -> anyhow::Result<u64> {
        let right = self.pool.with(|session| {
            let select = session.prepare(&self.select)?;
            let row = session.client.query_opt(&select, &[&key])?;
            Ok(row.map(|row| value::is_right(value::seed(key), row.get(0))))
        })?;
        seed_if(key, right)
    }
}
