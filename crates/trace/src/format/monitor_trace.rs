//! Valkey's `MONITOR TRACE … FORMAT CSV`, as proposed (valkey-io/valkey#3655).
//!
//! ```text
//! ts_us,seq,db,cmd,"key",access,hit,type,key bytes,value bytes
//! 1778474345309397,76,0,set,"key",WRITE,1,string,32,160
//! ```
//!
//! The key is quoted as in MONITOR's output. The last two columns are sizes in memory, not lengths:
//! the key's is kept as the key's size. The database is the tenant.

use super::Spec;
use crate::error::excerpt;
use crate::lines::whole_number;
use crate::text::{self, Batch, LineFormat, Request, key_size, size, unquote};
use crate::{Op, tenant};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "monitor-trace",
    about: "ts_us,seq,db,cmd,\"key\",READ|WRITE|DELETE,hit,type,key bytes,value bytes",
    extensions: &["monitor-trace", "monitor-trace.csv"],
    recognises: |head| {
        let mut lines = head.split(|byte| *byte == b'\n').take(2);
        lines.any(|line| parse(line.trim_ascii_end(), &mut vec![]).is_ok())
    },
    open: |reader, options| Ok(text::open(reader, options, Trace { key: vec![] })),
    create: None,
    looks_ahead: false,
    loses: &[],
};

struct Trace {
    key: Vec<u8>,
}

impl LineFormat for Trace {
    fn read(&mut self, _: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        let line = line.strip_prefix(b"+").unwrap_or(line);
        if line.is_empty() || line == b"OK" || line.starts_with(b"ts_us,") {
            return Ok(());
        }
        let request = parse(line, &mut self.key).map_err(|column| {
            format!(
                "column {column} is missing or wrong in '{}'; a line reads {}",
                excerpt(line),
                SPEC.about
            )
        })?;
        batch.push(&self.key, request);
        Ok(())
    }
}

/// Writes the key to `key`.
fn parse(line: &[u8], key: &mut Vec<u8>) -> Result<Request, &'static str> {
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
    column("cmd")?;
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
    next("hit")?;
    next("type")?;
    let key_size = key_size(next("key bytes")?).ok_or("key bytes")?;
    let value_size = size(next("value bytes")?).ok_or("value bytes")?;
    Ok(Request {
        op,
        tenant: tenant(database),
        key_size: Some(key_size),
        ..Request::get(micros, value_size)
    })
}
