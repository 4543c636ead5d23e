//! A script of calls for the store and a map: see the module that plays it, which a test of the
//! store plays with random scripts.
#![no_main]

#[path = "../../crates/store/tests/script/mod.rs"]
mod script;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| script::play(bytes));
