//! Reads the compact form, request by request.

use super::layout::{
    BLOCK_BYTES_MAX, COLUMNS, END, FIELDS, FLAGS, KEYS, NEW, NEXT, OP, PENALTY, PLACE, TENANT,
    TIMES, TTL, VALUE,
};
use super::table::{Damage, Recent, RecentTable, Sifted, place};
use super::varint::{unzigzag, varint};
use crate::records::{Fields, Records};
use crate::{Charge, Error, Passed, Sample, Sought, Source, Unit};
use base::{Access, Micros, Op, Tick, hash};
use std::io;
use std::ops::Range;

/// Reads the rate and the seed of a sample, after its magic number.
pub(super) fn sample(records: &mut Records) -> Result<Sample, Error> {
    let cut = || {
        Error::Unusable("the sample is truncated in its first line: take the sample again".into())
    };
    let mut fields = Fields(records.take_some(16)?.ok_or_else(cut)?);
    let (rate, seed) = (f64::from_bits(fields.u64()), fields.u64());
    if rate > 0.0 && rate <= 1.0 {
        return Ok(Sample { rate, seed });
    }
    Err(Error::Unusable(
        "the sample has no valid rate, so the file is damaged: take the sample again".into(),
    ))
}

pub(super) struct Compact {
    records: Records,
    charge: Charge,
    pub(super) table: RecentTable,
    pub(super) plain: Vec<u8>,
    /// The next position and the end of each column in `plain`.
    pub(super) columns: [(usize, usize); COLUMNS],
    pub(super) left: u64,
    pub(super) read: u64,
    pub(super) time: u64,
    last: usize,
    pub(super) ended: bool,
    pub(super) sample: Option<Sample>,
    passed: Passed,
    /// The state of each place of the table, after the first seek.
    pub(super) sifted: Vec<Sifted>,
    unpacking: zstd::bulk::Decompressor<'static>,
}

const CUT: Damage = "a column is truncated";
pub(super) const ABSENT: Damage = "a request refers to an object that is not in the table";

/// The operation in the flags of a request.
pub(super) fn op(flag: u8) -> Result<Op, Damage> {
    match flag & OP {
        0 => Ok(Op::Get),
        1 => Ok(Op::Set),
        2 => Ok(Op::Delete),
        _ => Err("a request has an unknown operation"),
    }
}

impl Compact {
    pub(super) fn new(records: Records, charge: Charge, sample: Option<Sample>) -> Self {
        Self {
            records,
            charge,
            table: RecentTable::new(),
            plain: vec![],
            columns: [(0, 0); COLUMNS],
            left: 0,
            read: 0,
            time: 0,
            last: 0,
            ended: false,
            sample,
            passed: Passed::default(),
            sifted: vec![],
            unpacking: zstd::bulk::Decompressor::default(),
        }
    }

    /// Ends the trace: data after damage is unreliable, because the table differs from the
    /// writer's.
    pub(super) fn damaged(&mut self, damage: Damage) -> Error {
        self.ended = true;
        let source = io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{damage}: the file is damaged, fetch or convert it again"),
        );
        Error::Io { unit: Unit::Record, at: self.read, source }
    }

    fn read_block(&mut self) -> Result<bool, Error> {
        let cut = "the last block is truncated";
        let lengths = match self.records.take_some(8) {
            Ok(None) => return Ok(false),
            Ok(Some(lengths)) => {
                let mut fields = Fields(lengths);
                (fields.u32() as usize, fields.u32() as usize)
            }
            Err(error) if error.is_malformed() => return Err(self.damaged(cut)),
            Err(error) => return Err(error),
        };
        if lengths.0 > BLOCK_BYTES_MAX || lengths.1 > BLOCK_BYTES_MAX {
            return Err(self.damaged("a block is longer than the limit"));
        }
        self.plain.clear();
        self.plain.reserve(lengths.1);
        let unpacked = match self.records.take_some(lengths.0) {
            Ok(Some(packed)) => self.unpacking.decompress_to_buffer(packed, &mut self.plain),
            Ok(None) => return Err(self.damaged(cut)),
            Err(error) if error.is_malformed() => return Err(self.damaged(cut)),
            Err(error) => return Err(error),
        };
        if !matches!(unpacked, Ok(len) if len == lengths.1) {
            return Err(self.damaged("a block cannot be decompressed"));
        }
        self.lay_out().map_err(|damage| self.damaged(damage))?;
        Ok(true)
    }

    /// Finds the columns of a block.
    fn lay_out(&mut self) -> Result<(), Damage> {
        let wrong = "the columns of a block have wrong lengths";
        let mut at = (0, self.plain.len());
        self.left = varint(&self.plain, &mut at).ok_or(wrong)?;
        let mut lengths = [0; COLUMNS];
        for length in &mut lengths {
            *length = varint(&self.plain, &mut at).ok_or(wrong)? as usize;
        }
        let mut start = at.0;
        for (column, length) in self.columns.iter_mut().zip(lengths) {
            let end = start.checked_add(length).filter(|end| *end <= self.plain.len());
            *column = (start, end.ok_or(wrong)?);
            start = column.1;
        }
        if self.left == 0 || lengths[FLAGS] as u64 != self.left {
            return Err(wrong);
        }
        Ok(())
    }

    pub(super) fn number(&mut self, column: usize) -> Result<u64, Damage> {
        varint(&self.plain, &mut self.columns[column]).ok_or(CUT)
    }

    fn small(&mut self, column: usize) -> Result<u32, Damage> {
        u32::try_from(self.number(column)?).map_err(|_| "a size is above 4 GiB")
    }

    fn read_passed(&mut self) -> Result<Passed, Damage> {
        Ok(Passed { requests: self.number(FIELDS)?, reads: self.number(FIELDS)? })
    }

    /// Reads the next access; `None` at the end of a sample.
    pub(super) fn read_access(&mut self) -> Result<Option<Access>, Damage> {
        let delta = unzigzag(self.number(TIMES)?);
        self.time = self.time.wrapping_add(delta as u64);
        let flag = self.plain[self.columns[FLAGS].0];
        self.columns[FLAGS].0 += 1;
        if flag & OP == END && self.sample.is_some() {
            self.passed = self.read_passed()?;
            return Ok(None);
        }
        let op = op(flag)?;
        self.last = if flag & NEW != 0 { self.read_key()? } else { self.number(PLACE)? as usize };
        let recent = self.table.get_mut(self.last).ok_or(ABSENT)?;
        if flag & (VALUE | TENANT | TTL | PENALTY) != 0 {
            recent.change(flag, || varint(&self.plain, &mut self.columns[FIELDS]).ok_or(CUT))?;
        }
        let access = Access {
            time: Micros(self.time),
            key: recent.key,
            op,
            tenant: recent.tenant,
            key_size: recent.key_size,
            value_size: recent.value_size,
            size: self.charge.size(recent.key_size, recent.value_size),
            ttl: Micros(recent.ttl),
            penalty: Micros(recent.penalty),
            next: Tick::NEVER,
        };
        self.passed = Passed::default();
        if flag & NEXT == 0 {
            return Ok(Some(access));
        }
        if self.sample.is_some() {
            self.passed = self.read_passed()?;
            return Ok(Some(access));
        }
        Ok(Some(Access { next: Tick(self.number(FIELDS)?), ..access }))
    }

    /// The range of the text of a new object.
    pub(super) fn text(&mut self) -> Result<Range<usize>, Damage> {
        let len = self.number(KEYS)? as usize;
        let (start, end) = self.columns[KEYS];
        let behind = start.checked_add(len).filter(|behind| *behind <= end);
        let behind = behind.ok_or("a key is truncated")?;
        self.columns[KEYS].0 = behind;
        Ok(start..behind)
    }

    /// Whether requests are left; reads the next block if necessary.
    pub(super) fn has_more(&mut self) -> Result<bool, Error> {
        if self.ended || self.left > 0 {
            return Ok(!self.ended);
        }
        let read = self.read_block();
        if !matches!(read, Ok(true)) {
            self.ended = true;
            self.passed = Passed::default();
        }
        read
    }

    /// Reads a new object into its place.
    fn read_key(&mut self) -> Result<usize, Damage> {
        let text = self.text()?;
        let key_size = self.small(FIELDS)?;
        let text = &self.plain[text];
        let key = hash::bytes(0, text);
        let recent = self.table.at(place(key));
        let mut held = std::mem::take(&mut recent.text);
        held.clear();
        held.extend_from_slice(text);
        *recent = Recent { text: held, key, key_size, ..Recent::default() };
        Ok(place(key))
    }
}

impl Source for Compact {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        match self.has_more() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(error)),
        }
        self.left -= 1;
        match self.read_access() {
            Ok(Some(access)) => {
                self.read += 1;
                Some(Ok(access))
            }
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(damage) => Some(Err(self.damaged(damage))),
        }
    }

    fn seek(&mut self, keeps: &mut dyn FnMut(u64) -> bool, most: u64) -> Sought {
        self.look_for(keeps, most)
    }

    fn sample(&self) -> Option<Sample> {
        self.sample
    }

    fn passed(&self) -> Passed {
        self.passed
    }

    fn key(&self) -> &[u8] {
        self.table.get(self.last).map_or(&[], |recent| &recent.text)
    }
}
