#![no_main]
use trace::capture::TraceLines;
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::capture(bytes, TraceLines::default));
