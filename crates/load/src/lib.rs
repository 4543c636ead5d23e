//! `larder replay`: sends traces to a live server, as an application does that uses it as a cache.
//!
//! The load is cache-aside: GET, and on a miss a query of the backend and a SET of its answer. Each
//! tenant has its own connections, its own keys (by prefix or by database) and its own backend, so
//! its waits show in its own latencies only. Values follow from key and length and are checked on
//! every hit; a wrong value counts as an error.
//!
//! ```text
//!                   ┌ queue of tenant 1 ─▶ connections ─▶ server, and on a miss the backend
//!   traces ─▶ order ┤
//!                   └ queue of tenant 2 ─▶ connections ─▶ …
//! ```
//!
//! The replay works with every server that speaks RESP or memcached's text protocol: Larder, Redis,
//! Valkey, memcached. Several servers get the same requests, in turn or at once, and are compared.
//!
//! The crate also opens traces by name (`open`), and has addresses of servers and connections to
//! them, for every command that reads traces or queries servers.
#![forbid(unsafe_code)]

mod answer;
mod args;
mod backend;
mod client;
mod command;
mod compare;
pub mod json;
mod latency;
mod link;
mod memcached;
pub mod open;
mod order;
mod pace;
mod peers;
mod pipe;
mod place;
mod prepare;
pub mod programs;
mod progress;
mod report;
mod rounds;
mod run;
mod tenants;
pub mod value;
mod wait;
mod worker;

pub use args::Args;
pub use backend::{
    Backend, Connection, Database, Distribution, ELSEWHERE, Filled, Filler, KEY_MAX, Kind,
};
pub use backend::{Open, Origin, Reader, Values, seed_if, value_of};
pub use command::run;
pub use compare::median;
pub use latency::Latency;
pub use link::Link;
pub use memcached::login;
pub use order::{Lane, Merge, Order, Owner, Request};
pub use pace::Pace;
pub use pipe::Bounds;
pub use pipe::Pipe;
pub use place::Place;
pub use report::{Report, TenantReport};
pub use run::{Options, Progress, Recent, ReplayTenant, run_replay};
pub use wire::address::Address;
