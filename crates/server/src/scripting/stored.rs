//! A stored script.

use super::flags::Flags;

/// A stored script.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) text: Box<[u8]>,
    pub(super) flags: Flags,
    /// The script was loaded by SCRIPT LOAD.
    pub(super) stays: bool,
    /// The number of its last call.
    pub(super) asked: u64,
}
