//! Plays random commands for lists, sets and sorted sets on a server and on a model of it. The
//! module `model` explains the scripts; a test of the server plays random ones, too.
#![no_main]

#[path = "../../crates/larder/tests/collections/model.rs"]
mod model;

use server::{Handle, Settings, start};
use std::sync::LazyLock;

static SERVER: LazyLock<Handle> =
    LazyLock::new(|| start(Settings::loopback()).expect("a server on loopback"));

libfuzzer_sys::fuzz_target!(|script: &[u8]| model::play(SERVER.addr(), script));
