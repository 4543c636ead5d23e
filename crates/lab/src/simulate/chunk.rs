//! Some requests of a trace.

use super::annotator::Cause;
use base::Access;

/// Some requests in their order, each with its cause where that is known.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) accesses: Vec<Access>,
    pub(super) causes: Vec<Option<Cause>>,
}
