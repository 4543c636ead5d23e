//! The module in real servers: the installed one, and for `loads` also those in LARDER_SERVERS.
#![forbid(unsafe_code)]

mod act;
mod cluster;
mod loads;
mod penalties;
mod ranked;
mod replicas;
mod server;
mod told;
