//! Checks that the fuzz targets share: [`read_trace`] for the trace formats, [`capture`] for the
//! parsers of captures. The checks for the server's parsers are beside their tests, in `wire`.
#![forbid(unsafe_code)]

/// Checks of the server's parsers, shared with the tests of the crate `wire`.
#[path = "../../crates/wire/tests/fuzz/check.rs"]
pub mod wire;

use base::hash;
use std::io::Cursor;
use trace::capture::{Event, Parser, Recorder};
use trace::{ReadOptions, format};

/// Most requests read from one trace, and most that one capture records. An input may state any
/// extent or any number of repetitions.
const CALLS_MAX: usize = 4_000;

/// Reads `bytes` as a trace of the format `name`. Each access must have the hash of its key, each
/// error must have a text, and nothing may follow the end of the trace.
pub fn read_trace(name: &str, bytes: &[u8]) {
    let spec = format::find(name).expect("the format is in the list");
    let _ = (spec.recognises)(bytes);
    let reader = Box::new(Cursor::new(bytes.to_vec()));
    let Ok(mut source) = (spec.open)(reader, &ReadOptions::default()) else { return };
    for _ in 0..CALLS_MAX {
        match source.next() {
            None => {
                assert!(source.next().is_none(), "{name}: it has ended");
                return;
            }
            Some(Ok(access)) => assert_eq!(access.key, hash::bytes(0, source.key()), "{name}"),
            Some(Err(error)) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Feeds `bytes` to a parser twice: whole, and in pieces whose length is the first byte. Both runs
/// must find the same events, and count the same malformed lines and lost requests. The recorded
/// requests must be readable, in order of time, with the hashes of their keys.
pub fn capture<P: Parser>(bytes: &[u8], new: fn() -> P) {
    let told = |piece: usize| {
        let (mut parser, mut found) = (new(), vec![]);
        let mut recorder = Recorder::new(Box::new(|event| format!("db{}", event.db)), CALLS_MAX);
        let mut see = |event: &Event<'_>| {
            found.push(format!("{event:?}"));
            recorder.see(event);
        };
        for part in bytes.chunks(piece.max(1)) {
            parser.feed(part, &mut see);
        }
        parser.end(&mut see);
        let recorded = recorder.finish();
        let mut times = vec![];
        let done: Result<(), ()> = recorded.each(usize::MAX, |access, key| {
            assert_eq!(access.key, hash::bytes(0, key));
            times.push(access.time);
            Ok(())
        });
        assert!(done.is_ok() && times.is_sorted() && times.len() == recorded.len());
        (found, parser.malformed(), parser.lost())
    };
    let piece = bytes.first().map_or(1, |first| usize::from(*first));
    assert_eq!(told(piece), told(bytes.len()));
}
