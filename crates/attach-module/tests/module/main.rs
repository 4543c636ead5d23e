//! The module in real servers: the one installed, and for `loads` all that LARDER_SERVERS names.
#![forbid(unsafe_code)]

mod act;
mod cluster;
mod loads;
mod penalties;
mod replicas;
mod server;
mod told;
