//! `larder top`: memory and waiting by tenant of a running server, full-screen.
//!
//! A *source* reads a server once a second and makes a look for the screen. A Larder tells
//! everything (`larder.rs`), and so does the module in a Redis or Valkey (`module.rs`). Without the
//! module, Redis and Valkey (`redis.rs`) tell their counts, as memcached does (`memcached.rs`).
//! Of a cluster, the looks of all masters are one (`cluster.rs`). `screen.rs` draws the looks.

mod cluster;
mod command;
mod larder;
mod look;
mod memcached;
mod module;
mod order;
mod redis;
mod screen;
#[cfg(test)]
mod screen_tests;
mod source;
mod spark;
mod table;
mod tenant_page;

pub use command::{Args, look, look_at_cluster, run};
pub use look::Look;
pub(crate) use module::report as report_of_module;
