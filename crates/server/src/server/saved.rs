//! Data on disk: the file of a warm restart, and dumps of tenants.

use crate::services::transfers::Transfers;
use crate::services::warm_restart::Warm;

/// Data on disk.
#[derive(Debug)]
pub(crate) struct Saved {
    /// The warm-restart file of an earlier run, and of this one.
    pub(crate) warm: Warm,
    /// Dumps and loads.
    pub(crate) transfers: Transfers,
}

impl Saved {
    /// No data yet; `warm_file` is the path of the file for a warm restart.
    pub(super) fn new(warm_file: &str) -> Self {
        Self { warm: Warm::new(warm_file), transfers: Transfers::default() }
    }
}
