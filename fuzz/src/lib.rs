//! What every fuzz target of the trace formats does: read all there is, and read the same again.
//! What those of the server's parsers do stands with their tests.
#![forbid(unsafe_code)]

/// Checks that the tests of `wire` share.
#[path = "../../crates/wire/tests/fuzz/check.rs"]
pub mod wire;

use base::hash;
use std::io::Cursor;
use trace::{Options, format};

/// Extents and repeats may be as long as their author wishes.
const CALLS_MAX: usize = 4_000;

/// Reads `bytes` as a trace of the format: it must end or go on, with keys that match their hashes,
/// and say nothing more once it has ended.
pub fn read_trace(name: &str, bytes: &[u8]) {
    let spec = format::find(name).expect("the format is in the list");
    let _ = (spec.recognises)(bytes);
    let reader = Box::new(Cursor::new(bytes.to_vec()));
    let Ok(mut source) = (spec.open)(reader, &Options::default()) else { return };
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
