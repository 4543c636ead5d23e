//! A trace in the compact form, written and read back.

use super::SPEC;
use super::varint::{put_varint, unzigzag, varint, zigzag};
use crate::source::seek_by_reading;
use crate::{Passed, Sample, Source};
use base::{Access, Micros, Op, hash};
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
    let mut source = (SPEC.open)(reader, &crate::ReadOptions::default()).unwrap();
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
    let mut made = crate::synth::open(requests, &crate::ReadOptions::default()).unwrap();
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
        (SPEC.open)(reader, &crate::ReadOptions::default()).unwrap()
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
