//! Filters: should an object enter at all?
//!
//! A filter stands in front of any policy (`lru+tinylfu`). An object that it refuses costs no
//! eviction.

pub mod adaptsize;
pub mod always;
mod sketch;
pub mod tinylfu;

pub(crate) use sketch::Sketch;

use crate::{Access, Param, Params};
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
pub struct Spec {
    /// The name used in configuration, reports and file names.
    pub name: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Builds the filter.
    pub build: fn(&Params) -> Box<dyn Admit>,
}

/// Every filter.
pub const ALL: &[&Spec] = &[&always::SPEC, &tinylfu::SPEC, &adaptsize::SPEC];
