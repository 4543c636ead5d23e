//! Reports about the server, gathered for commands, pages and metrics.

pub(crate) mod compression;
pub(crate) mod prices;
pub(crate) mod report;
