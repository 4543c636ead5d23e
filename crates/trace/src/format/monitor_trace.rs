//! Valkey's `MONITOR TRACE … FORMAT CSV`, as proposed (valkey-io/valkey#3655).
//!
//! ```text
//! ts_us,seq,db,cmd,"key",access,hit,type,key bytes,value bytes
//! 1778474345309397,76,0,set,"key",WRITE,1,string,32,160
//! ```
//!
//! The key is quoted as in MONITOR's output. The last two columns are sizes in memory, not lengths;
//! the reader uses the key's as the key size. The database is the tenant.
//!
//! Larder adds three columns: the tenant, the time to live in milliseconds and the penalty in
//! microseconds. The time to live of a write is the one that it sets, else the remaining one; 0
//! means none, and an empty column means unknown.

use super::FormatSpec;
use crate::error::excerpt;
use crate::lines::whole_number;
use crate::tenants::{Tenants, tenant};
use crate::text::{self, Batch, LineFormat, LineRequest, key_size, size, unquote};
use base::{Micros, Op, TenantId};

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "monitor-trace",
    about: "ts_us,seq,db,cmd,\"key\",READ|WRITE|DELETE,hit,type,key bytes,value bytes",
    units: "times and penalties in microseconds, times to live in milliseconds",
    extensions: &["monitor-trace", "monitor-trace.csv"],
    recognises: |head| {
        let mut lines = head.split(|byte| *byte == b'\n').take(2);
        lines.any(|line| parse(line.trim_ascii_end(), &mut vec![]).is_ok())
    },
    open: |reader, options| Ok(text::open(reader, options, Trace::default())),
    create: None,
    looks_ahead: false,
    loses: &[],
};

#[derive(Default)]
struct Trace {
    key: Vec<u8>,
    tenants: Tenants,
}

/// The contents of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceLine<'a> {
    pub(crate) request: LineRequest,
    pub(crate) db: u32,
    /// Whether the item existed.
    pub(crate) hit: bool,
    /// Whether the command sets only the time to live.
    pub(crate) sets_life: bool,
    pub(crate) tenant: Option<&'a str>,
    pub(crate) ttl: Option<Micros>,
}

impl LineFormat for Trace {
    fn read(&mut self, _: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        let line = line.strip_prefix(b"+").unwrap_or(line);
        if line.is_empty() || line == b"OK" || line.starts_with(b"ts_us,") {
            return Ok(());
        }
        let told = parse(line, &mut self.key).map_err(|column| {
            format!(
                "column {column} is missing or wrong in '{}'; a line has the columns {}",
                excerpt(line),
                SPEC.about
            )
        })?;
        let mut request = told.request;
        if let Some(name) = told.tenant {
            request.tenant = self.tenants.of(name.as_bytes());
        }
        request.ttl = told.ttl.unwrap_or_default();
        batch.push(&self.key, request);
        Ok(())
    }

    fn tenant_name(&self, tenant: TenantId) -> Option<&str> {
        self.tenants.name_of(tenant)
    }
}

/// Parses a line, and writes its key to `key`.
pub(crate) fn parse<'a>(line: &'a [u8], key: &mut Vec<u8>) -> Result<TraceLine<'a>, &'static str> {
    let mut rest = line;
    let mut column = |name| {
        let comma = memchr::memchr(b',', rest).ok_or(name)?;
        let text = &rest[..comma];
        rest = &rest[comma + 1..];
        Ok::<_, &'static str>(text)
    };
    let micros = whole_number(column("ts_us")?).ok_or("ts_us")?;
    whole_number(column("seq")?).ok_or("seq")?;
    let database = whole_number(column("db")?).ok_or("db")?;
    let command = column("cmd")?;
    let lives = [&b"expire"[..], b"pexpire", b"expireat", b"pexpireat", b"persist"];
    let sets_life = lives.iter().any(|life| life.eq_ignore_ascii_case(command));
    key.clear();
    unquote(&mut rest, key).ok_or("key")?;
    let mut columns = rest.strip_prefix(b",").ok_or("key")?.split(|byte| *byte == b',');
    let mut next = |name| columns.next().ok_or(name);
    let op = match next("access")? {
        b"READ" => Op::Get,
        b"WRITE" => Op::Set,
        b"DELETE" => Op::Delete,
        _ => return Err("access (READ, WRITE or DELETE)"),
    };
    let hit = next("hit")? == b"1";
    next("type")?;
    let key_size = key_size(next("key bytes")?).ok_or("key bytes")?;
    let value_size = size(next("value bytes")?).ok_or("value bytes")?;
    let tenant_name = columns.next().map(|name| std::str::from_utf8(name).map_err(|_| "tenant"));
    let milliseconds = columns.next().filter(|text| !text.is_empty());
    let ttl = milliseconds.map(|text| whole_number(text).ok_or("milliseconds to live"));
    let ttl = ttl.transpose()?.map(|ms| Micros(ms.saturating_mul(1_000)));
    let penalty = columns.next().map_or(Ok(0), |text| whole_number(text).ok_or("penalty"))?;
    let request = LineRequest {
        op,
        tenant: tenant(database),
        key_size: Some(key_size),
        penalty: Micros(penalty),
        ..LineRequest::get(micros, value_size)
    };
    let db = u32::try_from(database).map_err(|_| "db")?;
    Ok(TraceLine { request, db, hit, sets_life, tenant: tenant_name.transpose()?, ttl })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, Source};
    use std::io::Cursor;

    fn open(text: &'static str) -> Box<dyn Source> {
        (SPEC.open)(Box::new(Cursor::new(text)), &ReadOptions::default()).unwrap()
    }

    #[test]
    fn tenant_life_and_penalty_are_read_where_they_are_told() {
        let text = "OK\n5,1,0,set,\"k\",WRITE,0,string,1,9,web,60000,2500\n\
                    6,2,0,get,\"k\",READ,1,string,1,9,jobs,,0\n\
                    7,3,0,get,\"k\",READ,1,string,1,9,web,59000,10\n";
        let mut source = open(text);
        let mut found = vec![];
        while let Some(access) = source.next() {
            let access = access.unwrap();
            let name = source.tenant_name(access.tenant).unwrap().to_owned();
            found.push((name, access.ttl.0, access.penalty.0));
        }
        let expected = [("web", 60_000_000, 2_500), ("jobs", 0, 0), ("web", 59_000_000, 10)];
        assert_eq!(found, expected.map(|(name, ttl, us)| (name.to_owned(), ttl, us)));
        let mut plain = open("5,1,3,set,\"k\",WRITE,0,string,1,9\n");
        let access = plain.next().unwrap().unwrap();
        assert_eq!((access.tenant, access.ttl.0, access.penalty.0), (3, 0, 0));
        for wrong in ["web,x,0", "web,1,x", "web,1,"] {
            let line = format!("5,1,0,get,\"k\",READ,1,string,1,9,{wrong}");
            assert!(parse(line.as_bytes(), &mut vec![]).is_err(), "{wrong}");
        }
    }
}
