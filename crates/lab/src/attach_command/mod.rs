//! `larder attach`: the pilot on a running cache server of another project, which stays in place.
//!
//! ```text
//!                  watch in bursts, stats                        slabs reassign, CONFIG SET
//!   stock server ──────────────────────────▶ plant ─▶ pilot ─▶ ─────────────────────────────▶
//!                                                       │       only with --act; what was found
//!                                                       ▼       is restored at the end
//!                                             plan and forecast, each epoch
//! ```
//!
//! For memcached (`memcached.rs`), the pilot divides the pages among the size classes. For Redis or
//! Valkey (`redis.rs`), it chooses the number of candidates and the policy. Without `--act`, it
//! only watches and reports what it would do.

mod args;
mod better;
mod board;
mod burst;
mod classes;
mod command;
mod counts;
mod keys;
mod memcached;
mod mover;
mod plant;
mod redis;
mod redis_pilot;
mod rhythm;
mod run;
mod say;
pub(crate) mod told;

pub use args::Args;
pub use command::run;
