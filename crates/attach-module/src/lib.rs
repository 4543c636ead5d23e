//! The pilot inside Redis and Valkey: one file that loads into Redis from 7.0 and Valkey from 7.2
//! on. It observes the traffic, and carries plans out if its settings let it act.
//!
//! ```text
//!              server's thread                          pilot's thread
//!   clients ─▶ filter.rs ── samples ──▶ exchange.rs ──▶ pilot.rs: observe, model, plan
//!              tenants.rs: keys and bytes ─────────────▶
//!              act.rs: evictions, K ◀── the step ───────
//!   keys.rs, stamps.rs: uses of keys ──▶ learn.rs: the rank of `auto`
//!   room.rs: evictions by rank ◀──────────
//!   LARDER.* ◀ commands.rs, info.rs ◀── what there is to show
//! ```
//!
//! The server may lose the module at any moment. Only a look-up by the module stands between a
//! client and its reply, and the module restores the setting that it changed (`maxmemory-samples`).
//! Calls between the server and the module are unsafe code, with an argument at each block. They
//! are in `ffi.rs`, `server.rs`, `name.rs`, `memory.rs`, `load.rs`, `configs.rs` and `info.rs`. One
//! more is in `places.rs`, which tests several entries at once.
#![deny(unsafe_op_in_unsafe_fn)]

mod act;
mod ahead;
mod arriving;
mod census;
mod commands;
mod configs;
mod draw;
mod entry;
mod exchange;
mod facts;
mod fetches;
mod ffi;
mod filter;
mod info;
mod keys;
mod learn;
mod load;
mod memory;
mod module;
mod name;
mod pilot;
mod places;
mod proposal;
mod readings;
mod ring;
mod room;
mod scan;
mod server;
mod settings;
mod stamps;
mod tenants;
mod untouching;
mod verbs;

pub use load::{RedisModule_OnLoad, RedisModule_OnUnload};
