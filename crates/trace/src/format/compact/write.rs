//! Writes the compact form.

use super::layout::{
    BLOCK_BYTES_MAX, COLUMNS, END, KEYS, MAGIC, MAGIC_OF_SAMPLES, NEW, NEXT, PENALTY, TENANT, TTL,
    VALUE,
};
use super::table::{Recent, RecentTable, place};
use super::varint::{put_varint, zigzag};
use crate::{Error, Passed, Sample, Sink, Unit};
use base::{Access, Op, Tick, hash};
use std::io::{self, Write};

const BLOCK_REQUESTS: usize = 1 << 16;

/// zstd's own default: higher levels save a tenth of the size and halve the speed.
const LEVEL: i32 = 3;

pub(super) struct CompactWriter {
    out: Box<dyn Write + Send>,
    table: RecentTable,
    columns: [Vec<u8>; COLUMNS],
    pending: usize,
    written: u64,
    time: u64,
    begun: bool,
    sample: Option<Sample>,
    passed: Passed,
}

impl CompactWriter {
    pub(super) fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out,
            table: RecentTable::new(),
            columns: Default::default(),
            pending: 0,
            written: 0,
            time: 0,
            begun: false,
            sample: None,
            passed: Passed::default(),
        }
    }

    fn io(&self, source: io::Error) -> Error {
        Error::Io { unit: Unit::Record, at: self.written, source }
    }

    fn write_block(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            match self.sample {
                None => self.out.write_all(&MAGIC)?,
                Some(Sample { rate, seed }) => {
                    self.out.write_all(&MAGIC_OF_SAMPLES)?;
                    self.out.write_all(&rate.to_bits().to_le_bytes())?;
                    self.out.write_all(&seed.to_le_bytes())?;
                }
            }
        }
        if self.pending == 0 {
            return Ok(());
        }
        let mut plain = vec![];
        put_varint(&mut plain, self.pending as u64);
        for column in &self.columns {
            put_varint(&mut plain, column.len() as u64);
        }
        for column in &mut self.columns {
            plain.append(column);
        }
        let packed = zstd::bulk::compress(&plain, LEVEL)?;
        let too_large =
            |_| io::Error::other("a block is above 4 GiB: the format does not hold keys this long");
        let lengths = [packed.len(), plain.len()].map(u32::try_from);
        for length in lengths {
            self.out.write_all(&length.map_err(too_large)?.to_le_bytes())?;
        }
        self.pending = 0;
        self.out.write_all(&packed)
    }
}

impl Sink for CompactWriter {
    fn put(&mut self, access: &Access, key: &[u8]) -> Result<(), Error> {
        let hash = hash::bytes(0, key);
        let at = place(hash);
        let known = self.table.get(at).is_some();
        let recent = self.table.at(at);
        let is_new = !known || recent.text != key || recent.key_size != access.key_size;
        let [times, flags, places, keys, fields] = &mut self.columns;
        put_varint(times, zigzag(access.time.0.wrapping_sub(self.time) as i64));
        self.time = access.time.0;
        let mut flag = match access.op {
            Op::Get => 0,
            Op::Set => 1,
            Op::Delete => 2,
        };
        if is_new {
            flag |= NEW;
            put_varint(keys, key.len() as u64);
            keys.extend_from_slice(key);
            put_varint(fields, u64::from(access.key_size));
            let mut text = std::mem::take(&mut recent.text);
            text.clear();
            text.extend_from_slice(key);
            let key_size = access.key_size;
            *recent = Recent { text, key: hash, key_size, ..Recent::default() };
        } else {
            put_varint(places, at as u64);
        }
        let mut change = |bit: u8, old: &mut u64, new: u64| {
            if *old != new {
                flag |= bit;
                put_varint(fields, new);
                *old = new;
            }
        };
        let (mut value, mut tenant) = (recent.value_size, u64::from(recent.tenant));
        change(VALUE, &mut value, access.value_size);
        change(TENANT, &mut tenant, u64::from(access.tenant));
        change(TTL, &mut recent.ttl, access.ttl.0);
        change(PENALTY, &mut recent.penalty, access.penalty.0);
        if self.sample.is_none() {
            let mut never = Tick::NEVER.0;
            change(NEXT, &mut never, access.next.0);
        }
        (recent.value_size, recent.tenant) = (access.value_size, access.tenant);
        if self.passed != Passed::default() {
            flag |= NEXT;
            put_varint(fields, self.passed.requests);
            put_varint(fields, self.passed.reads);
            self.passed = Passed::default();
        }
        flags.push(flag);
        self.pending += 1;
        self.written += 1;
        if self.pending == BLOCK_REQUESTS || self.columns[KEYS].len() > BLOCK_BYTES_MAX / 4 {
            self.write_block().map_err(|source| self.io(source))?;
        }
        Ok(())
    }

    fn sample(&mut self, sample: Sample) -> bool {
        self.sample = Some(sample);
        true
    }

    fn pass(&mut self, passed: Passed) {
        if self.sample.is_some() {
            self.passed.requests += passed.requests;
            self.passed.reads += passed.reads;
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        if self.passed != Passed::default() {
            let [times, flags, _, _, fields] = &mut self.columns;
            put_varint(times, 0);
            put_varint(fields, self.passed.requests);
            put_varint(fields, self.passed.reads);
            flags.push(END);
            self.pending += 1;
        }
        let done = self.write_block().and_then(|()| self.out.flush());
        done.map_err(|source| self.io(source))
    }
}
