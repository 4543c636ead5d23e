//! Bytes and their owners: the store's counter, each tenant's account, and the plain types of
//! calls.
//!
//! Imports nothing but `sync/`.

pub(crate) mod account;
pub(crate) mod config;
pub(crate) mod error;
pub(crate) mod freed;
pub(crate) mod key;
pub(crate) mod measured;
pub(crate) mod memory;
pub(crate) mod stats;
