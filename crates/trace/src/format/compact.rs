//! Our own compact form: everything an access holds, in a few bytes a request.
//!
//! Most requests repeat an object that was asked for shortly before, at its old size. So writer and
//! reader keep the same table of recent objects, one for each value of some bits of the key's
//! hash: a request for an object in the table names its place, and only what changed since. A new
//! object brings its key and takes the place of whichever was there.
//!
//! ```text
//! file    magic, then blocks
//! block   u32 length packed │ u32 length plain │ zstd frame
//! plain   varint requests │ five varint lengths │ five columns
//!
//! column  time     zigzag varint, microseconds since the request before
//!         flags    one byte: see the constants
//!         place    varint place in the table, for an object that is there
//!         key      varint length and text, for one that is not
//!         fields   varints: key size of a new object, then what the flags say has changed
//! ```
//!
//! A sample of a trace (`larder trace sample`) says so in the first bytes, with its rate and seed;
//! with each request the number of requests and of reads that were left out before it, and at the
//! end those behind the last. So whoever draws a curve of it knows the clock of the whole.
//!
//! A block holds up to 65536 requests, so reading streams in a few megabytes besides the table
//! (about 25 MB when full). Columns of a kind compress better side by side than request by request.

use super::Spec;
use crate::records::{Fields, Records};
use crate::text::SIZE_MAX;
use crate::{Access, Charge, Error, Micros, Op, Passed, Sample, Sink, Source, Tick, Unit};
use base::hash;
use std::io::{self, Write};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "compact",
    about: "binary, our own: all fields, a few bytes a request",
    extensions: &["compact"],
    recognises: |head| head.starts_with(&MAGIC) || head.starts_with(&MAGIC_OF_SAMPLES),
    open: |reader, options| {
        let mut records = Records::new(reader);
        let sample = match records.take_some(MAGIC.len()) {
            Ok(Some(magic)) if magic == MAGIC => None,
            Ok(Some(magic)) if magic == MAGIC_OF_SAMPLES => Some(read_sample(&mut records)?),
            Err(error) if !error.is_malformed() => return Err(error),
            _ => {
                return Err(Error::Unusable(
                    "not a trace in the compact form: it does not begin with its magic number"
                        .into(),
                ));
            }
        };
        Ok(Box::new(Compact { sample, ..Compact::new(records, options.charge) }))
    },
    create: Some(|writer, _| Ok(Box::new(Writer::new(writer)))),
    looks_ahead: false,
    loses: &[],
};

const MAGIC: [u8; 8] = *b"larder\x001";
/// Of a sample; its rate and its seed follow.
const MAGIC_OF_SAMPLES: [u8; 8] = *b"larder\x002";
const BLOCK_REQUESTS: usize = 1 << 16;
/// A block is never larger than this, packed or plain; a longer length is damage.
const BLOCK_BYTES_MAX: usize = 1 << 28;
/// Places in the table of recent objects. More places keep more objects but take longer names.
const PLACES: usize = 1 << 18;
/// zstd's own default: higher levels gain a tenth of the size and halve the speed.
const LEVEL: i32 = 3;

const OP: u8 = 0b11;
const NEW: u8 = 1 << 2;
const VALUE: u8 = 1 << 3;
const TENANT: u8 = 1 << 4;
const TTL: u8 = 1 << 5;
const PENALTY: u8 = 1 << 6;
/// In a sample: what was left out before.
const NEXT: u8 = 1 << 7;
/// In a sample, no request: the end, and what was left out behind the last.
const END: u8 = 3;

fn read_sample(records: &mut Records) -> Result<Sample, Error> {
    let cut = || Error::Unusable("a sample that ends in its first line: sample it again".into());
    let mut fields = Fields(records.take_some(16)?.ok_or_else(cut)?);
    let (rate, seed) = (f64::from_bits(fields.u64()), fields.u64());
    if rate > 0.0 && rate <= 1.0 {
        return Ok(Sample { rate, seed });
    }
    Err(Error::Unusable("a sample of no rate: the file is damaged, sample it again".into()))
}

/// An object in the table, as its last request left it.
#[derive(Clone, Debug, Default)]
struct Recent {
    text: Vec<u8>,
    key: u64,
    key_size: u32,
    value_size: u64,
    tenant: u16,
    ttl: u64,
    penalty: u64,
}

impl Recent {
    /// Takes over what the flags say has changed, a number each.
    fn change(
        &mut self,
        flag: u8,
        mut number: impl FnMut() -> Result<u64, Damage>,
    ) -> Result<(), Damage> {
        if flag & VALUE != 0 {
            let size = Some(number()?).filter(|size| *size <= SIZE_MAX);
            self.value_size = size.ok_or("a size above 1 TiB")?;
        }
        if flag & TENANT != 0 {
            self.tenant = u16::try_from(number()?).map_err(|_| "a tenant above 65535")?;
        }
        if flag & TTL != 0 {
            self.ttl = number()?;
        }
        if flag & PENALTY != 0 {
            self.penalty = number()?;
        }
        Ok(())
    }
}

fn place(key: u64) -> usize {
    key as usize % PLACES
}

/// The recent objects by place. Only places that are taken cost more than four bytes.
struct Table {
    /// One more than the index in `recents`; 0 where the place is empty.
    places: Vec<u32>,
    recents: Vec<Recent>,
}

impl Table {
    fn new() -> Self {
        Self { places: vec![0; PLACES], recents: vec![] }
    }

    /// What is at a place, if there is such a place and it is taken.
    fn get(&self, place: usize) -> Option<&Recent> {
        let at = (*self.places.get(place)? as usize).checked_sub(1)?;
        self.recents.get(at)
    }

    /// The same, to be changed.
    #[inline]
    fn get_mut(&mut self, place: usize) -> Option<&mut Recent> {
        let at = (*self.places.get(place)? as usize).checked_sub(1)?;
        self.recents.get_mut(at)
    }

    /// What is at a place, which is taken from now on.
    fn at(&mut self, place: usize) -> &mut Recent {
        if self.places[place] == 0 {
            self.recents.push(Recent::default());
            self.places[place] = self.recents.len() as u32;
        }
        &mut self.recents[self.places[place] as usize - 1]
    }
}

const TIMES: usize = 0;
const FLAGS: usize = 1;
const PLACE: usize = 2;
const KEYS: usize = 3;
const FIELDS: usize = 4;
const COLUMNS: usize = 5;

struct Writer {
    out: Box<dyn Write + Send>,
    table: Table,
    columns: [Vec<u8>; COLUMNS],
    pending: usize,
    written: u64,
    time: u64,
    begun: bool,
    sample: Option<Sample>,
    passed: Passed,
}

impl Writer {
    fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out,
            table: Table::new(),
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
        let too_large = |_| io::Error::other("a block above 4 GiB: keys this long are not kept");
        let lengths = [packed.len(), plain.len()].map(u32::try_from);
        for length in lengths {
            self.out.write_all(&length.map_err(too_large)?.to_le_bytes())?;
        }
        self.pending = 0;
        self.out.write_all(&packed)
    }
}

impl Sink for Writer {
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

struct Compact {
    records: Records,
    charge: Charge,
    table: Table,
    plain: Vec<u8>,
    /// Where each column goes on in `plain`, and where it ends.
    columns: [(usize, usize); COLUMNS],
    left: u64,
    read: u64,
    time: u64,
    last: usize,
    ended: bool,
    sample: Option<Sample>,
    passed: Passed,
}

/// What is wrong with a block.
type Damage = &'static str;

const CUT: Damage = "a column that ends too soon";

impl Compact {
    fn new(records: Records, charge: Charge) -> Self {
        Self {
            records,
            charge,
            table: Table::new(),
            plain: vec![],
            columns: [(0, 0); COLUMNS],
            left: 0,
            read: 0,
            time: 0,
            last: 0,
            ended: false,
            sample: None,
            passed: Passed::default(),
        }
    }

    /// Behind damage nothing can be trusted, for the table is not what the writer's was.
    fn damaged(&mut self, damage: Damage) -> Error {
        self.ended = true;
        let source = io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{damage}: the file is damaged, fetch or convert it again"),
        );
        Error::Io { unit: Unit::Record, at: self.read, source }
    }

    fn read_block(&mut self) -> Result<bool, Error> {
        let cut = "the trace ends inside a block";
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
            return Err(self.damaged("a block longer than any"));
        }
        let unpacked = match self.records.take_some(lengths.0) {
            Ok(Some(packed)) => zstd::bulk::decompress(packed, lengths.1),
            Ok(None) => return Err(self.damaged(cut)),
            Err(error) if error.is_malformed() => return Err(self.damaged(cut)),
            Err(error) => return Err(error),
        };
        match unpacked {
            Ok(plain) if plain.len() == lengths.1 => self.plain = plain,
            _ => return Err(self.damaged("a block that cannot be unpacked")),
        }
        self.lay_out().map_err(|damage| self.damaged(damage))?;
        Ok(true)
    }

    /// Finds the columns of a block.
    fn lay_out(&mut self) -> Result<(), Damage> {
        let wrong = "a block whose columns do not fit";
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

    fn number(&mut self, column: usize) -> Result<u64, Damage> {
        varint(&self.plain, &mut self.columns[column]).ok_or(CUT)
    }

    fn small(&mut self, column: usize) -> Result<u32, Damage> {
        u32::try_from(self.number(column)?).map_err(|_| "a size above 4 GiB")
    }

    fn read_passed(&mut self) -> Result<Passed, Damage> {
        Ok(Passed { requests: self.number(FIELDS)?, reads: self.number(FIELDS)? })
    }

    /// The next access; `None` at the end of a sample.
    fn read_access(&mut self) -> Result<Option<Access>, Damage> {
        let delta = unzigzag(self.number(TIMES)?);
        self.time = self.time.wrapping_add(delta as u64);
        let flag = self.plain[self.columns[FLAGS].0];
        self.columns[FLAGS].0 += 1;
        let op = match flag & OP {
            0 => Op::Get,
            1 => Op::Set,
            2 => Op::Delete,
            _ if self.sample.is_some() => {
                self.passed = self.read_passed()?;
                return Ok(None);
            }
            _ => return Err("an operation that is none"),
        };
        self.last = if flag & NEW != 0 { self.read_key()? } else { self.number(PLACE)? as usize };
        let absent = "a request for an object that is not in the table";
        let recent = self.table.get_mut(self.last).ok_or(absent)?;
        if flag & (VALUE | TENANT | TTL | PENALTY) != 0 {
            recent.change(flag, || {
                varint(&self.plain, &mut self.columns[FIELDS]).ok_or(CUT)
            })?;
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

    /// Reads a new object into its place.
    fn read_key(&mut self) -> Result<usize, Damage> {
        let len = self.number(KEYS)? as usize;
        let (start, end) = self.columns[KEYS];
        let behind = start.checked_add(len).filter(|behind| *behind <= end);
        let behind = behind.ok_or("a key that ends too soon")?;
        self.columns[KEYS].0 = behind;
        let key_size = self.small(FIELDS)?;
        let text = &self.plain[start..behind];
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
        if self.ended {
            return None;
        }
        if self.left == 0 {
            match self.read_block() {
                Ok(true) => {}
                Ok(false) => {
                    self.ended = true;
                    self.passed = Passed::default();
                    return None;
                }
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
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

fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Takes a varint off a column, which goes from `column.0` to `column.1`.
#[inline]
fn varint(bytes: &[u8], column: &mut (usize, usize)) -> Option<u64> {
    let column_of = bytes.get(column.0..column.1)?;
    // Most numbers are of one byte or two.
    match *column_of {
        [first, ..] if first < 0x80 => {
            column.0 += 1;
            return Some(u64::from(first));
        }
        [first, second, ..] if second < 0x80 => {
            column.0 += 2;
            return Some(u64::from(first & 0x7f) | u64::from(second) << 7);
        }
        _ => {}
    }
    let mut value = 0u64;
    for (shift, &byte) in (0..64).step_by(7).zip(column_of) {
        column.0 += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What was left out is read back where it was: before a request, and behind the last.
    #[test]
    fn a_sample_keeps_what_was_left_out() {
        #[derive(Clone, Default)]
        struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
        impl Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let out = Shared::default();
        let totals = crate::Totals::default();
        let mut sink = (SPEC.create.unwrap())(Box::new(out.clone()), &totals).unwrap();
        let sample = Sample { rate: 0.25, seed: 7 };
        assert!(sink.sample(sample));
        let passed = |requests| Passed { requests, reads: requests / 2 };
        for at in 0..100_000u64 {
            sink.pass(passed(at % 3));
            let key = (at % 50).to_string();
            sink.put(&Access { time: Micros(at), ..Access::get(0, 9) }, key.as_bytes()).unwrap();
        }
        sink.pass(passed(11));
        sink.finish().unwrap();
        let bytes = out.0.lock().unwrap().clone();
        let reader = Box::new(io::BufReader::new(io::Cursor::new(bytes)));
        let mut source = (SPEC.open)(reader, &crate::Options::default()).unwrap();
        assert_eq!(source.sample(), Some(sample));
        for at in 0..100_000u64 {
            assert_eq!(source.next().unwrap().unwrap().time, Micros(at));
            assert_eq!(source.passed(), passed(at % 3));
        }
        assert!(source.next().is_none());
        assert_eq!(source.passed(), passed(11));
    }

    proptest! {
        #[test]
        fn numbers_survive(value: u64, signed: i64) {
            let mut bytes = vec![];
            put_varint(&mut bytes, value);
            let mut column = (0, bytes.len());
            prop_assert_eq!(varint(&bytes, &mut column), Some(value));
            prop_assert_eq!(column.0, bytes.len());
            prop_assert_eq!(unzigzag(zigzag(signed)), signed);
        }
    }
}
