//! The trait that every generator implements, and its entry in the list of all.

use super::{Param, Values};
use base::{Op, Prng};

/// One step of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The number of the object.
    pub object: u64,
    /// The operation, if the pattern decides it.
    pub op: Option<Op>,
}

impl Draw {
    /// Makes a request for `object`; the parameter `set` decides whether it reads or writes.
    pub const fn of(object: u64) -> Self {
        Self { object, op: None }
    }
}

/// Chooses the objects of a trace.
pub trait Pattern: Send {
    /// The next request; `tick` counts from 0.
    fn draw(&mut self, tick: u64, prng: &mut Prng) -> Draw;

    /// Microseconds from `now` to the next request, where the mean is `mean`. A pattern whose load
    /// changes with time overrides this.
    fn gap_us(&mut self, _now: f64, mean: f64, _prng: &mut Prng) -> f64 {
        mean
    }
}

/// A generator's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct GeneratorSpec {
    /// The name used on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The generator's own parameters, and parameters of
    /// [`COMMON`](super::COMMON) with another default.
    pub params: &'static [Param],
    /// Builds the pattern.
    pub build: fn(&Values) -> Result<Box<dyn Pattern>, String>,
}
