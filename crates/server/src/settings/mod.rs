//! Settings that an operator chooses: directives, users, the cluster and its limits.

pub(crate) mod acl;
pub(crate) mod certificates;
pub(crate) mod cluster;
pub mod config;
pub(crate) mod fd_limit;
pub(crate) mod log;
mod log_lines;
pub(crate) mod memcached_tokens;
pub(crate) mod memory_limit;
pub(crate) mod pools;
