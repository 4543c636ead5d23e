//! Plays a script of calls on a store and on a map. The module `script` explains the scripts; a
//! test of the store plays random ones, too.
#![no_main]

#[path = "../../crates/store/tests/script/mod.rs"]
mod script;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| script::play(bytes));
