//! Admits every object: the baseline for other filters.

use super::{Admit, FilterSpec};
use base::Access;

/// The registry entry.
pub const SPEC: FilterSpec =
    FilterSpec { name: "always", params: &[], build: |_| Box::new(Always) };

/// A filter that refuses no object.
#[derive(Clone, Copy, Debug)]
pub struct Always;

impl Admit for Always {
    fn on_access(&mut self, _: &Access, _: bool) {}

    fn admit(&mut self, _: &Access, _: Option<u64>) -> bool {
        true
    }
}
