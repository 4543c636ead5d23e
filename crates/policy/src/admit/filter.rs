//! The trait that every filter implements, and its entry in the list of all.

use crate::{Param, Params};
use base::Access;
use std::fmt::Debug;

/// Decides which objects enter the cache.
pub trait Admit: Debug + Send {
    /// Sees every request.
    fn on_access(&mut self, access: &Access, hit: bool);
    /// Whether [`Admit::admit`] compares the newcomer with the resident that the policy would evict
    /// for it.
    fn compares(&self) -> bool {
        false
    }
    /// Whether `incoming` enters. `rival` is the key of the first resident that the policy would
    /// evict for it, where the filter compares and the cache is full.
    fn admit(&mut self, incoming: &Access, rival: Option<u64>) -> bool;
}

/// A filter's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct FilterSpec {
    /// The name used in configuration, reports and file names.
    pub name: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Builds the filter.
    pub build: fn(&Params) -> Box<dyn Admit>,
}
