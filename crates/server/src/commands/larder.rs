//! LARDER: what the server knows of its own workload.

use super::Command;

/// This family.
pub(super) const COMMANDS: &[Command] = &[];
