//! Every access that commands have to their keys.

use super::accesses::Access;

/// Asks whether a key exists or what properties it has, without revealing its value.
pub(crate) const ASKS: Access = Access::new("RO", false, None);
/// Reveals the value.
pub(crate) const READS: Access = Access::new("RO", true, None);
/// Writes a value, and replaces the old one if there was any.
pub(crate) const SETS: Access = Access::new("OW", false, Some("update"));
/// Writes a value if the key does not exist.
pub(crate) const INSERTS: Access = Access::new("OW", false, Some("insert"));
/// Adds to a value.
pub(crate) const ADDS: Access = Access::new("RW", false, Some("insert"));
/// Changes part of a value, or its expiry.
pub(crate) const CHANGES: Access = Access::new("RW", false, Some("update"));
/// Removes fields or elements.
pub(crate) const DROPS: Access = Access::new("RW", false, Some("delete"));
/// Changes a value and reveals it.
pub(crate) const BOTH: Access = Access::new("RW", true, Some("update"));
/// Removes elements and reveals them.
pub(crate) const POPS: Access = Access::new("RW", true, Some("delete"));
/// Reveals a value and removes its key.
pub(crate) const TAKES: Access = POPS.removing();
/// Removes a key.
pub(crate) const REMOVES: Access = Access::new("RM", false, Some("delete")).removing();
