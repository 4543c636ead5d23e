#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read_trace("ibm", bytes));
