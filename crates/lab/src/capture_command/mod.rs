//! `larder capture`: watches a live server for a while and writes its requests as a trace.
//!
//! ```text
//!   announce ─▶ measure ─▶ window ─▶ pause ─▶ window ─▶ … ─▶ ask sizes ─▶ write
//!               (cost without)  (cost with)                  (some, slowly)
//! ```
//!
//! Watching costs the server CPU time: Redis under MONITOR writes every command out once more. So
//! the capture watches in windows, and measures the cost by the server's own count of its CPU time.
//! The summary states both. Facts that a server does not report are filled in by rules, which the
//! summary names (`trace::capture`).

mod assumptions;
mod command;
pub(crate) mod cost;
pub(crate) mod memcached;
pub(crate) mod redis;
mod sizes;
mod summary;
mod tenant_rules;
mod watch_args;
mod watching;
pub(crate) mod windows;
mod write;

pub use command::{Args, run};
pub(crate) use summary::Server;
pub(crate) use tenant_rules::TenantRules;
pub(crate) use watch_args::Watch;
pub(crate) use watching::watch;
