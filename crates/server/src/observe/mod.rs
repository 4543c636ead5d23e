//! Reports about the server, gathered for commands, pages and metrics.

pub(crate) mod compression;
pub(crate) mod prices;
pub(crate) mod process;
pub(crate) mod report;
