//! Larder's own compact form: every part of an access, in a few bytes a request.
//!
//! Most requests repeat a recently requested object, at its old size. So writer and reader keep the
//! same table of recent objects, one for each value of some bits of the key's hash. A request for
//! an object in the table names its place, and only the fields that changed since. A new object
//! brings its key and replaces the object at its place.
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
//! A sample of a trace (`larder trace sample`) is marked in the first bytes, with its rate and
//! seed. Each request has the number of requests and of reads omitted before it, and the end has
//! the numbers omitted after the last. So the reader of a sample knows the clock of the whole
//! trace.
//!
//! A block holds up to 65536 requests, so reading needs a few megabytes besides the table (about 25
//! MB when full). Columns of one kind compress better side by side than request by request.

mod read;
mod sift;
mod table;
mod varint;
mod write;

use super::Spec;
use crate::Error;
use crate::records::Records;
use read::Compact;
use write::Writer;

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "compact",
    about: "binary, our own: all fields, a few bytes a request",
    units: "",
    extensions: &["compact"],
    recognises: |head| head.starts_with(&MAGIC) || head.starts_with(&MAGIC_OF_SAMPLES),
    open: |reader, options| {
        let mut records = Records::new(reader);
        let sample = match records.take_some(MAGIC.len()) {
            Ok(Some(magic)) if magic == MAGIC => None,
            Ok(Some(magic)) if magic == MAGIC_OF_SAMPLES => Some(read::sample(&mut records)?),
            Err(error) if !error.is_malformed() => return Err(error),
            _ => {
                return Err(Error::Unusable(
                    "not a trace in the compact form: it does not begin with its magic number"
                        .into(),
                ));
            }
        };
        Ok(Box::new(Compact::new(records, options.charge, sample)))
    },
    create: Some(|writer, _| Ok(Box::new(Writer::new(writer)))),
    looks_ahead: false,
    loses: &[],
};

const MAGIC: [u8; 8] = *b"larder\x001";
/// The magic number of a sample; its rate and its seed follow.
const MAGIC_OF_SAMPLES: [u8; 8] = *b"larder\x002";
/// Most bytes of a block, packed or plain; a larger length is damage.
const BLOCK_BYTES_MAX: usize = 1 << 28;
const OP: u8 = 0b11;
const NEW: u8 = 1 << 2;
const VALUE: u8 = 1 << 3;
const TENANT: u8 = 1 << 4;
const TTL: u8 = 1 << 5;
const PENALTY: u8 = 1 << 6;
/// In a sample: numbers of requests and reads omitted before this request follow. Otherwise: the
/// tick of the next access.
const NEXT: u8 = 1 << 7;
/// In a sample: the end, and no request; numbers of requests and reads omitted after the last
/// follow.
const END: u8 = 3;

const TIMES: usize = 0;
const FLAGS: usize = 1;
const PLACE: usize = 2;
const KEYS: usize = 3;
const FIELDS: usize = 4;
const COLUMNS: usize = 5;

#[cfg(test)]
mod tests {
    use super::varint::{put_varint, unzigzag, varint, zigzag};
    use super::*;
    use crate::{Access, Micros, Op, Passed, Sample, Source, seek_by_reading};
    use base::hash;
    use proptest::prelude::*;
    use std::io::{self, Write};

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

    /// Omitted requests are read back at their place: before a request, and after the last.
    #[test]
    fn a_sample_keeps_what_was_left_out() {
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

    /// Seeking finds the same requests as reading, with the same numbers skipped, from any start.
    #[test]
    fn seeking_is_reading() {
        let requests = "synth:zipf:keys=300000:skew=0.6:requests=400000:seed=3";
        let mut made = crate::synth::open(requests, &crate::Options::default()).unwrap();
        let out = Shared::default();
        let totals = crate::Totals::default();
        let mut sink = (SPEC.create.unwrap())(Box::new(out.clone()), &totals).unwrap();
        let mut at = 0u64;
        while let Some(access) = made.next() {
            at += 1;
            let op = [Op::Get, Op::Set, Op::Delete][(hash::mix(at) % 3) as usize];
            let (ttl, value_size) = (Micros(at % 5), at % 7);
            sink.put(&Access { op, ttl, value_size, ..access.unwrap() }, made.key()).unwrap();
        }
        sink.finish().unwrap();
        let bytes = out.0.lock().unwrap().clone();
        let open = || {
            let reader = Box::new(io::BufReader::new(io::Cursor::new(bytes.clone())));
            (SPEC.open)(reader, &crate::Options::default()).unwrap()
        };
        let mut keeps = |key: u64| key >> 58 == 7;
        let (mut sought, mut read) = (open(), open());
        let begins = |source: &mut Box<dyn Source>| {
            (0..5_000).map(|_| source.next().unwrap().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(begins(&mut sought), begins(&mut read));
        let mut found = 0;
        loop {
            let got = sought.seek(&mut keeps, 1_000);
            let want = seek_by_reading(&mut read, &mut keeps, 1_000);
            assert_eq!(got.passed, want.passed);
            assert_eq!(got.is_over, want.is_over);
            let [got_access, want] = [got.found, want.found].map(|found| found.map(Result::unwrap));
            assert_eq!(got_access, want);
            found += u64::from(want.is_some());
            if want.is_some() {
                assert_eq!(sought.key(), read.key());
            }
            if got.is_over {
                break;
            }
        }
        assert!(found > 4_000, "{found}");
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
