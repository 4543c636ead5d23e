//! The module in real servers: the one installed, and for `loads` all that LARDER_SERVERS names.
#![forbid(unsafe_code)]

mod act;
mod loads;
mod replicas;
mod server;
