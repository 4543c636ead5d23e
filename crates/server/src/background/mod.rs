//! Background threads: the pilot, compression, the history, housekeeping, dumps and restarts.

pub(crate) mod compression;
pub(crate) mod dump;
pub(crate) mod history_writer;
pub(crate) mod housekeeping;
pub(crate) mod pilot;
pub(crate) mod process_memory;
mod process_writer;
pub(crate) mod warm;
