//! A transaction: the commands between MULTI and EXEC, and the keys of WATCH.

use std::collections::HashMap;

/// The commands between MULTI and EXEC.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    /// The commands as encoded, one after another.
    pub(crate) bytes: Vec<u8>,
    pub(crate) commands: usize,
    /// One of the commands was refused, so EXEC refuses all.
    pub(crate) broken: bool,
    /// The flags of all commands together.
    pub(crate) flags: u32,
    /// The database in which the next command will run, if an earlier one selects it.
    pub(crate) db: Option<u8>,
}

/// The keys that EXEC depends on, each with its database, and a hash of its contents at WATCH;
/// `None` for a missing key.
pub(crate) type Watched = HashMap<(u8, Vec<u8>), Option<u64>>;
