//! The commands of memcached's text and meta protocols, over the same data and tenants.
//!
//! There is one file for each family. A handler reads the words of an [`Ask`] and writes its reply
//! lines, or returns the line of an error. The properties of each verb are in [`verbs`].
#![allow(
    clippy::unnecessary_wraps,
    reason = "handlers have one signature, also those that never fail"
)]

mod admin;
mod auth;
mod detail;
mod dump;
pub(crate) mod flags;
mod lru;
mod meta;
mod meta_flags;
mod meta_get;
mod meta_number;
mod meta_set;
mod number;
mod place;
mod refusal;
mod request;
mod retrieve;
mod rights;
mod run;
mod stats;
mod storage;
mod verbs;
mod watch;
mod write;

pub(crate) use place::{places, write_ports};
pub(crate) use request::Ask;
pub(crate) use run::refuse;
pub(crate) use verbs::install;
