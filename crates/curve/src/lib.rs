//! Miss ratio curves: what another size, or another policy, would give.
//!
//! A [`Model`] watches accesses and answers with a [`MissRatioCurve`]. Every model sees the same
//! events: a `Get` is one access; a `Set` refreshes and resizes but is neither hit nor miss; a
//! `Delete` ends the object's life; evictions are never shown, for a model describes the requests
//! and not the cache that answers them. A read of what was never written, or was deleted, misses
//! at every size.
#![forbid(unsafe_code)]

mod miss_ratio_curve;

pub use base::{Access, Bytes, MissRatio, Op};
pub use miss_ratio_curve::MissRatioCurve;

use std::fmt::Debug;

/// What a model is built from.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// Candidates an eviction draws, for models of K-LRU.
    pub k: u32,
    /// Share of the keys to watch, from 0 to 1.
    pub rate: f64,
    /// Reproduces the run.
    pub seed: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self { k: 5, rate: 1.0, seed: 1 }
    }
}

/// Watches accesses, answers with a curve.
pub trait Model: Debug + Send {
    /// Sees one access. A model that samples filters for itself.
    fn access(&mut self, access: &Access);
    /// The curve of what was seen so far.
    fn curve(&self) -> MissRatioCurve;
    /// Memory the model holds.
    fn bytes(&self) -> Bytes;
    /// Gives what was seen so far the weight `factor`, from 0 to 1, against what will be seen.
    fn forget(&mut self, factor: f64);
}

/// A model's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name used in configuration, reports and file names.
    pub name: &'static str,
    /// Builds the model.
    pub build: fn(&Params) -> Box<dyn Model>,
}

macro_rules! models {
    ($($name:ident),* $(,)?) => {
        $(pub mod $name;)*
        /// Every model, in the order reports list them.
        pub const ALL: &[&Spec] = &[$(&$name::SPEC,)*];
    };
}

models! {}

/// The model of that name.
///
/// # Errors
/// A sentence that names the known ones.
pub fn find(name: &str) -> Result<&'static Spec, String> {
    ALL.iter().copied().find(|spec| spec.name == name).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|spec| spec.name).collect();
        format!("unknown model '{name}': choose one of {}", known.join(", "))
    })
}
