//! Traces of virtual disks, as VMware's vscsiStats writes them: those of CloudPhysics, and
//! libCacheSim's `vscsi`.
//!
//! ```text
//! version 1, 32 bytes
//!      0      4        8      12    14     16         24          32
//!     ┌──────┬────────┬──────┬─────┬──────┬──────────┬───────────┐
//!     │ seq  │ bytes  │ nSG  │ cmd │ ver  │ block    │ time, µs  │
//!     └──────┴────────┴──────┴─────┴──────┴──────────┴───────────┘
//! version 2, 40 bytes
//!      0     2      4      8        12     16         24          32              40
//!     ┌─────┬──────┬──────┬────────┬──────┬──────────┬───────────┬───────────────┐
//!     │ cmd │ ver  │ seq  │ bytes  │ nSG  │ block    │ time, µs  │ response, µs  │
//!     └─────┴──────┴──────┴────────┴──────┴──────────┴───────────┴───────────────┘
//! ```
//!
//! All numbers are little endian, without a header; the version is the high byte of `ver`. An
//! object is the number of the first block of a request, with the bytes of the request, as in
//! libCacheSim. But libCacheSim counts every command as a read; here a SCSI command that neither
//! reads nor writes is no request. Where there is a response time, it is the penalty of a miss.
//!
//! Waldspurger, Park, Garthwaite, Ahmad. Efficient MRC Construction with SHARDS. FAST '15.

use super::FormatSpec;
use crate::object::Number;
use crate::ranges::Ranges;
use crate::records::{Fields, Records};
use crate::timeline::Timeline;
use crate::{Charge, Error, Source};
use base::{Access, Micros, Op};
use std::ops::Range;

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "vscsi",
    about: "binary: SCSI commands of virtual disks, versions 1 and 2",
    units: "times and response times in microseconds, addresses in blocks of 512 bytes",
    extensions: &["vscsi", "vscsi.bin"],
    recognises: |head| version(head).is_some(),
    open: |reader, options| {
        let mut records = Records::new(reader);
        let head = records.peek(2 * V2)?;
        let version = match version(head) {
            Some(version) => version,
            None if head.is_empty() => Version::One,
            None => {
                return Err(Error::Unusable(
                    "not a vscsi trace: its first records are neither version 1 nor 2".into(),
                ));
            }
        };
        let (timeline, charge) = (Timeline::default(), options.charge);
        let (ranges, rest) = (Ranges::of(options), None);
        Ok(Box::new(Vscsi {
            records,
            version,
            timeline,
            charge,
            key: Number::default(),
            ranges,
            rest,
        }))
    },
    create: None,
    looks_ahead: false,
    loses: &[],
};

/// Bytes of a block of a disk.
pub(super) const SECTOR: u64 = 512;
const V1: usize = 32;
const V2: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

struct VscsiRecord {
    command: u8,
    bytes: u32,
    block: u64,
    micros: u64,
    response: u64,
    version: u8,
}

impl VscsiRecord {
    fn of(version: Version, bytes: &[u8]) -> Self {
        let mut fields = Fields(bytes);
        let (command, bytes) = match version {
            Version::One => {
                let (_, bytes, _) = (fields.u32(), fields.u32(), fields.u32());
                (fields.u32(), bytes)
            }
            Version::Two => {
                let (command, _) = (fields.u32(), fields.u32());
                let (bytes, _) = (fields.u32(), fields.u32());
                (command, bytes)
            }
        };
        let (block, micros) = (fields.u64(), fields.u64());
        let response = if version == Version::Two { fields.u64() } else { 0 };
        let (command, version) = (command as u8, (command >> 24) as u8);
        Self { command, bytes, block, micros, response, version }
    }
}

/// The version of a trace that begins with `head`, from its first two records, if they are
/// complete.
fn version(head: &[u8]) -> Option<Version> {
    let fits = |version: Version, len: usize, number: u8| {
        let mut records =
            head.chunks_exact(len).take(2).map(|bytes| VscsiRecord::of(version, bytes));
        let is_one = |record: VscsiRecord| {
            let is_disk = record.bytes.is_multiple_of(512) && record.command != 0;
            record.version == number && is_disk
        };
        head.len() >= len && records.all(is_one)
    };
    if fits(Version::One, V1, 1) {
        return Some(Version::One);
    }
    fits(Version::Two, V2, 2).then_some(Version::Two)
}

/// The operation of a SCSI command, by its code.
pub(super) const fn op(command: u8) -> Option<Op> {
    match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Get),
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(Op::Set),
        _ => None,
    }
}

struct Vscsi {
    records: Records,
    version: Version,
    timeline: Timeline,
    charge: Charge,
    key: Number,
    ranges: Ranges,
    /// The remaining blocks of a split request, their size, and the request.
    rest: Option<(Range<u64>, u64, Access)>,
}

impl Vscsi {
    /// The next block of a split request.
    fn block(&mut self) -> Option<Access> {
        let (blocks, size, access) = self.rest.as_mut()?;
        let Some(block) = blocks.next() else {
            self.rest = None;
            return None;
        };
        let (size, access) = (*size, *access);
        let (key, key_size) = self.key.hash(block * size / SECTOR);
        Some(Access {
            key,
            key_size,
            value_size: size,
            size: self.charge.size(key_size, size),
            ..access
        })
    }

    fn record(&mut self) -> Result<Option<VscsiRecord>, Error> {
        Ok(match self.version {
            Version::One => self.records.take::<V1>()?.map(|b| VscsiRecord::of(Version::One, &b)),
            Version::Two => self.records.take::<V2>()?.map(|b| VscsiRecord::of(Version::Two, &b)),
        })
    }
}

impl Source for Vscsi {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        loop {
            if let Some(access) = self.block() {
                return Some(Ok(access));
            }
            let record = match self.record() {
                Ok(record) => record?,
                Err(error) => return Some(Err(error)),
            };
            let number = if self.version == Version::One { 1 } else { 2 };
            if record.version != number {
                let problem = format!("version {}: expected {number}", record.version);
                return Some(Err(Error::record(self.records.at(), problem)));
            }
            let Some(op) = op(record.command) else { continue };
            let (key, key_size) = self.key.hash(record.block);
            let access = Access {
                time: self.timeline.at(record.micros),
                key,
                op,
                key_size,
                value_size: record.bytes.into(),
                size: self.charge.size(key_size, record.bytes.into()),
                penalty: Micros(record.response),
                ..Access::get(0, 0)
            };
            let first = record.block.saturating_mul(SECTOR);
            match self.ranges.split(first, record.bytes.into()) {
                Ok(None) => return Some(Ok(access)),
                Ok(Some((blocks, size))) => {
                    let penalty = Micros(record.response / (blocks.end - blocks.start));
                    self.rest = Some((blocks, size, Access { penalty, ..access }));
                }
                Err(problem) => return Some(Err(Error::record(self.records.at(), problem))),
            }
        }
    }

    fn remark(&self) -> Option<&str> {
        self.ranges.remark()
    }

    fn key(&self) -> &[u8] {
        self.key.text()
    }
}
