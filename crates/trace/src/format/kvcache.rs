//! Traces of Meta's key-value cache, as CacheLib's cachebench replays them.
//!
//! ```text
//! key,op,size,op_count,key_size
//! 1668757755,SET,82,1,40
//! 1665497896,GET,169,18,78
//! ```
//!
//! The columns are found by the names in the first line. So newer releases, which have more columns
//! (`op_time`, `ttl`, `usecase`) in another order, are read too. One line stands for `op_count`
//! equal requests. Without `op_time`, requests are a millisecond apart. The use case is the tenant.

use super::FormatSpec;
use crate::error::excerpt;
use crate::lines::{Lines, whole_number};
use crate::ops::op;
use crate::tenants::Tenants;
use crate::text::{
    self, Batch, LineFormat, LineRequest, MADE_GAP_US, REQUESTS_A_LINE_MAX, key_size, size,
};
use base::{Micros, Op, TenantId};

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "kvcache",
    about: "key,op,size,op_count,key_size, and more columns named in the first line",
    units: "op_time and ttl in seconds; without op_time requests are a millisecond apart",
    extensions: &["kvcache", "kvcache.csv"],
    recognises: |head| {
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        KvColumns::of(line.trim_ascii_end()).is_some()
    },
    open: |reader, options| {
        let mut lines = Lines::new(reader);
        let mut format = Kvcache::default();
        if lines.advance()? {
            format.remark = KvColumns::of(lines.line()).and_then(|columns| columns.remark());
            lines.back();
        }
        Ok(text::open_lines(lines, options, format))
    },
    create: None,
    looks_ahead: false,
    loses: &[],
};

/// The columns by their names in the first line.
#[derive(Debug)]
struct KvColumns {
    names: Vec<Vec<u8>>,
}

impl KvColumns {
    fn of(header: &[u8]) -> Option<Self> {
        let names: Vec<_> = header.split(|byte| *byte == b',').map(<[u8]>::to_vec).collect();
        let has = |name: &[u8]| names.iter().any(|known| known == name);
        let needed: [&[u8]; 4] = [b"key", b"op", b"size", b"op_count"];
        needed.iter().all(|name| has(name)).then_some(Self { names })
    }

    /// The remark about columns that are not read, if there are any.
    fn remark(&self) -> Option<String> {
        let is_read = |name: &[u8]| {
            matches!(
                name,
                b"key"
                    | b"op"
                    | b"size"
                    | b"op_count"
                    | b"key_size"
                    | b"op_time"
                    | b"ttl"
                    | b"usecase"
            )
        };
        let ignored: Vec<_> = self.names.iter().filter(|name| !is_read(name)).collect();
        let ignored: Vec<_> = ignored.iter().map(|name| String::from_utf8_lossy(name)).collect();
        (!ignored.is_empty()).then(|| format!("ignored columns: {}", ignored.join(", ")))
    }
}

#[derive(Default)]
struct Kvcache {
    columns: Option<KvColumns>,
    requests: u64,
    /// The key and the request of the current line, and whether it has a time.
    repeated: Option<(Vec<u8>, LineRequest, bool)>,
    left: u64,
    tenants: Tenants,
    remark: Option<String>,
}

impl LineFormat for Kvcache {
    fn read(&mut self, _: u64, line: &[u8], _: &mut Batch) -> Result<(), String> {
        if line.is_empty() {
            return Ok(());
        }
        // Each file of a release begins with the names, and so does each part of joined files.
        if let Some(columns) = KvColumns::of(line) {
            self.columns = Some(columns);
            return Ok(());
        }
        if self.columns.is_none() {
            return Err(format!(
                "expected the column names first, such as key,op,size,op_count,key_size, and found \
                 '{}'",
                excerpt(line)
            ));
        }
        self.parse(line)
            .map_err(|column| format!("column {column} is missing or wrong in '{}'", excerpt(line)))
    }

    fn resume(&mut self, batch: &mut Batch) -> bool {
        let Some((key, request, has_time)) = &self.repeated else { return false };
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let micros = if *has_time { request.micros } else { self.requests * MADE_GAP_US };
        self.requests += 1;
        batch.push(key, LineRequest { micros, ..*request });
        true
    }

    fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    fn tenant_name(&self, tenant: TenantId) -> Option<&str> {
        self.tenants.name_of(tenant)
    }
}

impl Kvcache {
    fn parse(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let Some(columns) = &self.columns else { return Err("names") };
        let (mut key, mut what, mut count, mut time) = (&b""[..], None, None, None);
        let mut request = LineRequest::get(0, 0);
        let mut has_size = false;
        for (name, text) in columns.names.iter().zip(line.split(|byte| *byte == b',')) {
            match name.as_slice() {
                b"key" => key = text,
                b"op" => what = operation(text),
                b"size" => {
                    request.value_size = size(text).ok_or("size")?;
                    has_size = true;
                }
                b"op_count" => count = whole_number(text),
                b"key_size" => request.key_size = Some(key_size(text).ok_or("key_size")?),
                b"op_time" => time = Some(whole_number(text).ok_or("op_time")?),
                b"ttl" if !text.is_empty() => {
                    let ttl = whole_number(text).ok_or("ttl")?;
                    request.ttl = Micros(ttl.saturating_mul(1_000_000));
                }
                b"usecase" => request.tenant = self.tenants.of(text),
                _ => {}
            }
        }
        if key.is_empty() {
            return Err("key");
        }
        if !has_size {
            return Err("size");
        }
        request.op = what.ok_or("op")?;
        let count = count.filter(|count| *count <= REQUESTS_A_LINE_MAX).ok_or("op_count")?;
        request.micros = time.unwrap_or(0).saturating_mul(1_000_000);
        let (mut held, ..) = self.repeated.take().unwrap_or((vec![], request, false));
        held.clear();
        held.extend_from_slice(key);
        self.repeated = Some((held, request, time.is_some()));
        self.left = count;
        Ok(())
    }
}

/// Leases are gets and sets that several clients coordinate.
fn operation(text: &[u8]) -> Option<Op> {
    match text {
        b"GET_LEASE" => Some(Op::Get),
        b"SET_LEASE" => Some(Op::Set),
        _ => op(text),
    }
}
