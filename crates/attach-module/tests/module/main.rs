//! The module in real servers: the installed one, and for `loads` also those in LARDER_SERVERS.
#![forbid(unsafe_code)]

mod act;
mod cluster;
mod failover;
mod loads;
mod nodes;
mod penalties;
mod ranked;
mod replicas;
mod server;
mod told;
