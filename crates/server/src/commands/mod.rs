//! Commands: one file for each family, which is a constant list of commands and their handlers.
//!
//! A handler reads its arguments from a [`Call`](crate::call::Call) and writes exactly one reply,
//! or returns a [`Failure`](crate::call::Failure), which becomes the error reply.
#![allow(
    clippy::unnecessary_wraps,
    reason = "handlers have one signature, also those that never fail"
)]

pub(crate) mod acl;
pub(crate) mod admin;
pub(crate) mod bitfield;
pub(crate) mod bits;
pub(crate) mod blocking;
pub(crate) mod budget;
pub(crate) mod client;
pub(crate) mod client_filter;
pub(crate) mod cluster;
pub(crate) mod collection_steps;
pub(crate) mod config;
pub(crate) mod connection;
pub(crate) mod counter;
pub(crate) mod expiry_args;
pub(crate) mod function;
pub(crate) mod hash;
pub(crate) mod hash_getex;
pub(crate) mod hash_life;
pub(crate) mod hash_random;
pub(crate) mod hash_steps;
pub(crate) mod hotkeys;
pub(crate) mod info;
pub(crate) mod introspection;
pub(crate) mod key;
pub(crate) mod larder;
pub(crate) mod latency;
pub(crate) mod lcs;
pub(crate) mod list;
pub(crate) mod list_move;
pub(crate) mod list_search;
pub(crate) mod monitor;
pub(crate) mod pubsub;
pub(crate) mod random_member;
pub(crate) mod relocate;
pub(crate) mod scan;
pub(crate) mod scan_options;
pub(crate) mod script;
pub(crate) mod set;
pub(crate) mod set_algebra;
pub(crate) mod slowlog;
pub(crate) mod sort;
pub(crate) mod string;
pub(crate) mod tracking;
pub(crate) mod transaction;
pub(crate) mod zset;
pub(crate) mod zset_algebra;
pub(crate) mod zset_pop;
pub(crate) mod zset_range;
