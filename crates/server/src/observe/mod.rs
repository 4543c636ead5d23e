//! Reports about the server, gathered for commands, pages and metrics.

pub(crate) mod compression;
pub(crate) mod prices;
mod process;
pub(crate) mod report;
