//! TinyLFU: a newcomer enters only if it had more recent requests than the resident that the policy
//! would evict for it.
//!
//! Frequencies come from a sketch that remembers far more keys than the cache holds, with four bits
//! a counter. The filter compares requests, not bytes: it compares a large newcomer with its first
//! victim only.
//!
//! \[1\] Einziger, Friedman, Manes. TinyLFU: A Highly Efficient Cache Admission Policy. ACM
//! Transactions on Storage 2017.

use super::{Admit, FilterSpec, Sketch};
use base::Access;

/// The registry entry.
pub const SPEC: FilterSpec =
    FilterSpec { name: "tinylfu", params: &[], build: |_| Box::new(TinyLfu::default()) };

/// Admits by recent request count.
#[derive(Clone, Debug, Default)]
pub struct TinyLfu {
    sketch: Sketch,
    /// Objects that entered without a rival: about the number that the cache holds.
    objects: usize,
}

impl Admit for TinyLfu {
    fn on_access(&mut self, access: &Access, _: bool) {
        self.sketch.add(access.key, self.objects);
    }

    fn compares(&self) -> bool {
        true
    }

    fn admit(&mut self, incoming: &Access, rival: Option<u64>) -> bool {
        let Some(rival) = rival else {
            self.objects += 1;
            self.sketch.fit(self.objects);
            return true;
        };
        self.sketch.frequency(incoming.key) > self.sketch.frequency(rival)
    }
}
