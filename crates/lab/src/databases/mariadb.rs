//! `mysql://…`: a MariaDB or MySQL server, with an InnoDB table of each tenant's objects. Each miss
//! runs one prepared SELECT by primary key, which returns the whole value.
//!
//! Rows are inserted many at a time, in one transaction. CREATE TABLE ends a transaction in this
//! server. So the record of the trace that filled a table is deleted first and written again last.

use super::place::Place;
use super::pool::Pool;
use super::table::{quoted, table};
use anyhow::{Context, ensure};
use base::hash;
use load::{Database, Filled, Filler, Kind, Origin, Reader, seed_if, value, value_of};
use mysql::prelude::Queryable;
use mysql::{Conn, Error, OptsBuilder, Value};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

pub(super) const KIND: Kind = Kind {
    prefix: "mysql://",
    open: |rest, pool| Ok(Arc::new(MariaDb::new(Place::parse("mysql", rest, 3306)?, pool))),
};

/// Longest wait for a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// Number of statements that each connection keeps prepared; each tenant needs one.
const STATEMENTS: usize = 128;
/// Maximum number of rows inserted at a time.
const ROWS: usize = 256;
/// Maximum number of bytes inserted at a time.
const BATCH: usize = 4 << 20;
/// Bytes of a packet beside keys and values: the statement, and a few for each row.
const AROUND: usize = 16 << 10;
/// The server's error number for a table that does not exist.
const NO_TABLE: u16 = 1146;

struct MariaDb {
    place: Arc<Place>,
    pool: Arc<Pool<Conn>>,
}

impl MariaDb {
    fn new(place: Place, pool: usize) -> Self {
        let place = Arc::new(place);
        let to = place.clone();
        Self { place, pool: Arc::new(Pool::new(pool, move || connect(&to))) }
    }
}

fn connect(place: &Place) -> anyhow::Result<Conn> {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some(place.host.as_str()))
        .tcp_port(place.port)
        .user(Some(place.user.as_str()))
        .pass(place.password.as_deref())
        .db_name(Some(place.db.as_str()))
        .tcp_connect_timeout(Some(PATIENCE))
        // Connects to the named host, never to a socket of the same server.
        .prefer_socket(false)
        .stmt_cache_size(STATEMENTS);
    Conn::new(options).with_context(|| place.to_string())
}

impl Database for MariaDb {
    fn name(&self) -> String {
        self.place.to_string()
    }

    fn is_filled_at_once(&self) -> bool {
        false
    }

    fn origin(&self, tenant: &str) -> anyhow::Result<Option<Origin>> {
        let select = "SELECT trace, requests FROM `larder filled` WHERE tenant = ?";
        match connect(&self.place)?.exec_first(select, (tenant,)) {
            Ok(row) => Ok(row.map(|(trace, requests)| Origin { trace, requests })),
            Err(Error::MySqlError(error)) if error.code == NO_TABLE => Ok(None),
            Err(error) => Err(error).with_context(|| self.name()),
        }
    }

    fn filler(&self, tenant: &str, origin: &Origin) -> anyhow::Result<Box<dyn Filler>> {
        let table = quoted(&table(tenant)?, '`');
        let mut connection = connect(&self.place)?;
        let made = connection
            .query_drop(
                "CREATE TABLE IF NOT EXISTS `larder filled` (tenant VARCHAR(255) CHARACTER SET \
                 utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, trace TEXT CHARACTER SET utf8mb4 \
                 NOT NULL, requests BIGINT UNSIGNED NOT NULL) ENGINE=InnoDB",
            )
            .and_then(|()| {
                connection.exec_drop("DELETE FROM `larder filled` WHERE tenant = ?", (tenant,))
            })
            .and_then(|()| connection.query_drop(format!("DROP TABLE IF EXISTS {table}")))
            .and_then(|()| {
                connection.query_drop(format!(
                    "CREATE TABLE {table} (`key` VARBINARY({}) PRIMARY KEY, \
                     value LONGBLOB NOT NULL) ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
                    load::KEY_MAX
                ))
            })
            .and_then(|()| connection.query_drop("START TRANSACTION"))
            .and_then(|()| connection.query_first("SELECT @@max_allowed_packet"));
        let packet: Option<u64> = made.with_context(|| self.name())?;
        Ok(Box::new(MariaDbFiller {
            connection,
            table,
            packet: packet.context("no max_allowed_packet")? as usize,
            seen: HashSet::new(),
            fields: vec![],
            bytes: 0,
            tenant: tenant.to_owned(),
            origin: origin.clone(),
            filled: Filled::default(),
        }))
    }

    fn reader(&self, tenant: &str) -> anyhow::Result<Box<dyn Reader>> {
        let table = quoted(&table(tenant)?, '`');
        let select = format!("SELECT value FROM {table} WHERE `key` = ?");
        self.pool.join()?;
        // A missing table is an error now, and not at the first miss.
        let prepared = self.pool.with(|connection| Ok(connection.prep(&select)?));
        prepared.with_context(|| self.name())?;
        Ok(Box::new(MariaDbReader { pool: self.pool.clone(), select }))
    }
}

struct MariaDbFiller {
    connection: Conn,
    table: String,
    /// Largest packet that the server accepts, in bytes.
    packet: usize,
    /// Hashes of the keys that were added.
    seen: HashSet<u64>,
    /// Keys and values of the next insertion, and their bytes.
    fields: Vec<Value>,
    bytes: usize,
    tenant: String,
    origin: Origin,
    filled: Filled,
}

impl MariaDbFiller {
    fn insert(&mut self) -> anyhow::Result<()> {
        let rows = vec!["(?,?)"; self.fields.len() / 2].join(",");
        if !rows.is_empty() {
            let fields = std::mem::take(&mut self.fields);
            self.connection
                .exec_drop(format!("INSERT INTO {} VALUES {rows}", self.table), fields)?;
            self.bytes = 0;
        }
        Ok(())
    }
}

impl Filler for MariaDbFiller {
    fn add(&mut self, key: &[u8], size: u64) -> anyhow::Result<()> {
        if !self.seen.insert(hash::bytes(0, key)) {
            return Ok(());
        }
        let value = value_of(key, size)?;
        let bytes = key.len() + value.len();
        ensure!(
            bytes + AROUND <= self.packet,
            "the value of key '{}' has {size} bytes, more than the server accepts: raise its \
             max_allowed_packet of {}",
            String::from_utf8_lossy(key),
            self.packet
        );
        if self.bytes + bytes + AROUND > self.packet.min(BATCH) || self.fields.len() == 2 * ROWS {
            self.insert()?;
        }
        self.bytes += bytes;
        self.fields.extend([Value::Bytes(key.to_vec()), Value::Bytes(value)]);
        self.filled.rows += 1;
        self.filled.bytes += size;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<Filled> {
        self.insert()?;
        let Origin { trace, requests } = &self.origin;
        self.connection.exec_drop(
            "REPLACE INTO `larder filled` VALUES (?, ?, ?)",
            (&self.tenant, trace, requests),
        )?;
        self.connection.query_drop("COMMIT")?;
        Ok(self.filled)
    }
}

struct MariaDbReader {
    pool: Arc<Pool<Conn>>,
    select: String,
}

impl Reader for MariaDbReader {
    fn get(&mut self, key: &[u8]) -> anyhow::Result<u64> {
        let right = self.pool.with(|connection| {
            let value: Option<Vec<u8>> = connection.exec_first(&self.select, (key,))?;
            Ok(value.map(|value| value::is_right(value::seed(key), &value)))
        })?;
        seed_if(key, right)
    }
}
