//! libCacheSim's `lcs`, versions 1 to 3: binary, a header with totals, then records.
//!
//! ```text
//! header   0        8         16                                        -8      end
//!         ┌────────┬─────────┬─────────────────────────────────────────┬────────┐
//!         │ magic  │ version │ totals                                  │ magic  │
//!         └────────┴─────────┴─────────────────────────────────────────┴────────┘
//!         1024 bytes in old files, 8192 since the totals grew: the second magic tells which
//!
//! v1      u32 seconds │ u64 object │ u32 size │                                  i64 next request
//! v2      u32 seconds │ u64 object │ u32 size │ u8 op, u24 tenant │              i64 next request
//! v3      u32 seconds │ u64 object │ i64 size │ u8 op, u24 tenant │ u32 ttl, s │ i64 next request
//! ```
//!
//! All numbers are little endian. Operations have libCacheSim's numbers: 1 get, 2 gets, 3 set, 4
//! add, 5 cas, 6 replace, 7 append, 8 prepend, 9 delete, 10 incr, 11 decr, 12 read, 13 write, 14
//! update; 0 means none, and counts as a read. Larder writes version 3 with the long header.

use super::{FormatSpec, Loss};
use crate::object::{Number, next_field, next_request, number_of};
use crate::records::{Fields, Records};
use crate::tenants::tenant;
use crate::text::SIZE_MAX;
use crate::timeline::Timeline;
use crate::{Charge, Error, Sink, Source, Totals, Unit};
use base::{Access, Micros, Op, TenantId};
use std::io::{BufWriter, Write};

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "lcs",
    about: "binary, libCacheSim's own: Larder reads v1 to v3 and writes v3",
    units: "times and times to live in seconds",
    extensions: &["lcs", "lcs.bin"],
    recognises: |head| head.starts_with(&MAGIC.to_le_bytes()),
    open: |reader, options| {
        let mut records = Records::new(reader);
        let version = read_header(&mut records)?;
        Ok(Box::new(Lcs {
            records,
            version,
            timeline: Timeline::default(),
            charge: options.charge,
            key: Number::default(),
        }))
    },
    create: Some(|writer, totals| {
        let mut writer = LcsWriter { out: BufWriter::with_capacity(1 << 16, writer), written: 0 };
        let header = header(totals);
        writer.out.write_all(&header).map_err(|source| writer.io(source))?;
        Ok(Box::new(writer))
    }),
    looks_ahead: true,
    loses: &[Loss::Penalties, Loss::Names, Loss::Fractions],
};

const MAGIC: u64 = 0x1234_5678_9abc_def0;
const HEADER_SHORT: usize = 1024;
const HEADER_LONG: usize = 8192;
/// The version of the totals' layout in written headers.
const TOTALS_VERSION: u64 = 1;

fn read_header(records: &mut Records) -> Result<u64, Error> {
    let unusable = |problem: &str| Error::Unusable(format!("not a complete lcs trace: {problem}"));
    let cut = |error: Error| match error {
        Error::Malformed { .. } => unusable("its header is truncated"),
        other => other,
    };
    let head = records.take_some(HEADER_SHORT).map_err(cut)?;
    let head = head.ok_or_else(|| unusable("it is empty"))?;
    let mut fields = Fields(head);
    let (magic, version) = (fields.u64(), fields.u64());
    let closed = Fields(&head[HEADER_SHORT - 8..]).u64() == MAGIC;
    if magic != MAGIC {
        return Err(unusable("it does not begin with the magic number of the format"));
    }
    if !(1..=3).contains(&version) {
        return Err(Error::Unusable(format!(
            "unknown lcs version {version}: convert the trace to version 1 to 3 with libCacheSim"
        )));
    }
    if !closed {
        let rest = records.take_some(HEADER_LONG - HEADER_SHORT).map_err(cut)?;
        let rest = rest.ok_or_else(|| unusable("its header is truncated"))?;
        if Fields(&rest[rest.len() - 8..]).u64() != MAGIC {
            return Err(unusable("its header does not end with the magic number"));
        }
    }
    Ok(version)
}

struct Lcs {
    records: Records,
    version: u64,
    timeline: Timeline,
    charge: Charge,
    key: Number,
}

struct LcsRecord {
    seconds: u32,
    object: u64,
    size: i64,
    op: u8,
    tenant: u32,
    ttl: u32,
    next: i64,
}

impl Lcs {
    fn record(&mut self) -> Result<Option<LcsRecord>, Error> {
        let records = &mut self.records;
        Ok(match self.version {
            1 => records.take::<24>()?.map(|bytes| {
                let mut fields = Fields(&bytes);
                let (seconds, object, size) = (fields.u32(), fields.u64(), fields.u32());
                let (size, next) = (i64::from(size), fields.i64());
                LcsRecord { seconds, object, size, op: 0, tenant: 0, ttl: 0, next }
            }),
            2 => records.take::<28>()?.map(|bytes| {
                let mut fields = Fields(&bytes);
                let (seconds, object, size) = (fields.u32(), fields.u64(), fields.u32());
                let (size, both, next) = (i64::from(size), fields.u32(), fields.i64());
                LcsRecord { seconds, object, size, op: both as u8, tenant: both >> 8, ttl: 0, next }
            }),
            _ => records.take::<36>()?.map(|bytes| {
                let mut fields = Fields(&bytes);
                let (seconds, object, size) = (fields.u32(), fields.u64(), fields.i64());
                let (both, ttl, next) = (fields.u32(), fields.u32(), fields.i64());
                LcsRecord { seconds, object, size, op: both as u8, tenant: both >> 8, ttl, next }
            }),
        })
    }
}

/// The largest signed value means no limit in some traces.
const NO_TTL: u32 = i32::MAX as u32;

impl Source for Lcs {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        let record = match self.record() {
            Ok(record) => record?,
            Err(error) => return Some(Err(error)),
        };
        let wrong = |problem: String| Some(Err(Error::record(self.records.at(), problem)));
        let size = u64::try_from(record.size).ok().filter(|size| *size <= SIZE_MAX);
        let Some(value_size) = size else {
            return wrong(format!("size {}: expected 0 to 1 TiB", record.size));
        };
        let Some(op) = op(record.op) else {
            return wrong(format!("operation {}: expected 0 to 14", record.op));
        };
        let (key, key_size) = self.key.hash(record.object);
        let ttl = if record.ttl >= NO_TTL { 0 } else { u64::from(record.ttl) };
        Some(Ok(Access {
            time: self.timeline.at(Micros::from_secs(u64::from(record.seconds)).0),
            key,
            op,
            tenant: tenant(u64::from(record.tenant)),
            key_size,
            value_size,
            size: self.charge.size(key_size, value_size),
            ttl: Micros::from_secs(ttl),
            penalty: Micros(0),
            next: next_request(record.next),
        }))
    }

    fn key(&self) -> &[u8] {
        self.key.text()
    }
}

const fn op(code: u8) -> Option<Op> {
    Some(match code {
        0 | 1 | 2 | 12 => Op::Get,
        3..=8 | 10 | 11 | 13 | 14 => Op::Set,
        9 => Op::Delete,
        _ => return None,
    })
}

const fn code(op: Op) -> u8 {
    match op {
        Op::Get => 1,
        Op::Set => 3,
        Op::Delete => 9,
    }
}

/// The long header. Statistics that libCacheSim fills in for human readers stay zero.
fn header(totals: &Totals) -> Vec<u8> {
    let mut header = vec![0; HEADER_LONG];
    let fields = [
        MAGIC,
        3,
        TOTALS_VERSION,
        totals.requests,
        totals.objects,
        totals.request_bytes,
        totals.object_bytes,
        0,
        totals.end.0 / 1_000_000,
        totals.gets,
        totals.sets,
        totals.deletes,
    ];
    for (at, field) in fields.iter().enumerate() {
        header[at * 8..at * 8 + 8].copy_from_slice(&field.to_le_bytes());
    }
    header[HEADER_LONG - 8..].copy_from_slice(&MAGIC.to_le_bytes());
    header
}

struct LcsWriter<W: Write> {
    out: BufWriter<W>,
    written: u64,
}

impl<W: Write> LcsWriter<W> {
    fn io(&self, source: std::io::Error) -> Error {
        Error::Io { unit: Unit::Record, at: self.written, source }
    }
}

impl<W: Write + Send> Sink for LcsWriter<W> {
    fn put(&mut self, access: &Access, key: &[u8]) -> Result<(), Error> {
        let mut record = [0; 36];
        let seconds = |time: Micros| u32::try_from(time.0 / 1_000_000).unwrap_or(u32::MAX);
        let both = u32::from(access.tenant as TenantId) << 8 | u32::from(code(access.op));
        let ttl = seconds(Micros(access.ttl.0.saturating_add(999_999))).min(NO_TTL - 1);
        record[..4].copy_from_slice(&seconds(access.time).to_le_bytes());
        record[4..12].copy_from_slice(&number_of(access, key).to_le_bytes());
        record[12..20].copy_from_slice(&access.value_size.to_le_bytes());
        record[20..24].copy_from_slice(&both.to_le_bytes());
        record[24..28].copy_from_slice(&ttl.to_le_bytes());
        record[28..].copy_from_slice(&next_field(access.next).to_le_bytes());
        self.written += 1;
        self.out.write_all(&record).map_err(|source| self.io(source))
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.out.flush().map_err(|source| self.io(source))
    }
}
