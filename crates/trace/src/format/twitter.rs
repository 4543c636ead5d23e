//! The traces Twitter published: seven columns like the common format's, but time in seconds.
//!
//! ```text
//! timestamp,key,key_size,value_size,client_id,operation,ttl
//! 0,nz:u:eeW511W3dcH3de3d15ec,22,304,5,get,0
//! ```
//!
//! Keys may hold commas, so the columns behind the key are found from the right. Operations are
//! memcached's: get, gets, set, add, replace, cas, append, prepend, delete, incr, decr. It cannot
//! be told from the common format, so it must be named.
//!
//! Yang, Yue, Rashmi. A large scale analysis of hundreds of in-memory cache clusters at Twitter.
//! OSDI '20.

use super::{Spec, op};
use crate::error::excerpt;
use crate::lines::whole_number;
use crate::text::{self, Batch, LineFormat, Request, key_size, scaled, size};
use crate::{Micros, tenant};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "twitter",
    about: "timestamp in seconds,key,key_size,value_size,client_id,operation,ttl",
    extensions: &["twitter", "twitter.csv"],
    recognises: |_| false,
    open: |reader, options| Ok(text::open(reader, options, Twitter)),
    create: None,
    looks_ahead: false,
    loses: &[],
};

struct Twitter;

impl LineFormat for Twitter {
    fn read(&mut self, _: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        if line.is_empty() || line[0] == b'#' {
            return Ok(());
        }
        let (key, request) = parse(line).map_err(|column| {
            format!(
                "column {column} is missing or wrong in '{}'; a line reads {}",
                excerpt(line),
                SPEC.about
            )
        })?;
        batch.push(key, request);
        Ok(())
    }
}

fn parse(line: &[u8]) -> Result<(&[u8], Request), &'static str> {
    let mut rest = line;
    let mut last = |name| {
        let comma = memchr::memrchr(b',', rest).ok_or(name)?;
        let column = &rest[comma + 1..];
        rest = &rest[..comma];
        Ok::<_, &'static str>(column)
    };
    let ttl = whole_number(last("ttl")?).ok_or("ttl")?;
    let op = op(last("operation")?).ok_or("operation")?;
    let client = whole_number(last("client_id")?).ok_or("client_id")?;
    let value_size = size(last("value_size")?).ok_or("value_size")?;
    let key_size = key_size(last("key_size")?).ok_or("key_size")?;
    let comma = memchr::memchr(b',', rest).ok_or("key")?;
    let micros = scaled(&rest[..comma], 1_000_000).ok_or("timestamp")?;
    let key = &rest[comma + 1..];
    if key.is_empty() {
        return Err("key");
    }
    let request = Request {
        op,
        tenant: tenant(client),
        key_size: Some(key_size),
        ttl: Micros(ttl.saturating_mul(1_000_000)),
        ..Request::get(micros, value_size)
    };
    Ok((key, request))
}
