//! Scripts in Lua, which EVAL and FCALL run.
//!
//! One interpreter serves all threads, because scripts run one at a time (`vm.rs`). A script's name
//! is the SHA-1 of its text. Scripts of SCRIPT LOAD stay; among the scripts of EVAL the least
//! recently used one is forgotten. `prelude.lua` builds the environment that a script sees. Calls
//! from a script to the server go through `host.rs`.

pub(crate) mod answer;
pub(crate) mod api;
pub(crate) mod bitop;
pub(crate) mod cjson;
pub(crate) mod cmsgpack;
pub(crate) mod convert;
pub(crate) mod digest;
pub(crate) mod engine;
pub(crate) mod eval;
pub(crate) mod failing;
pub(crate) mod flags;
pub(crate) mod host;
pub(crate) mod json;
pub(crate) mod json_settings;
pub(crate) mod library;
pub(crate) mod look;
pub(crate) mod number;
pub(crate) mod pattern;
pub(crate) mod random;
pub(crate) mod stored;
pub(crate) mod structs;
pub(crate) mod vm;
