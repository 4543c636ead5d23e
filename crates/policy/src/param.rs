//! Parameters of policies and filters: their names, defaults and ranges.

use base::Bytes;
use std::fmt;

/// The most candidates of an eviction: more would be a walk over the whole cache.
pub const K_MAX: u32 = 65_536;

/// A parameter's entry in a policy's [`Spec`](crate::Spec).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// The name used on the command line.
    pub name: &'static str,
    /// The value if the command line gives none.
    pub default: f64,
    /// The least and the greatest value.
    pub range: (f64, f64),
    /// Whether the value must be a whole number.
    pub is_whole: bool,
}

impl Param {
    /// A number from `low` to `high`.
    pub const fn number(name: &'static str, default: f64, low: f64, high: f64) -> Self {
        Self { name, default, range: (low, high), is_whole: false }
    }

    /// A whole number from `low` to `high`.
    pub const fn count(name: &'static str, default: u32, low: u32, high: u32) -> Self {
        let (low, high) = (low as f64, high as f64);
        Self { name, default: default as f64, range: (low, high), is_whole: true }
    }

    /// A share, from 0 to 1.
    pub const fn share(name: &'static str, default: f64) -> Self {
        Self::number(name, default, 0.0, 1.0)
    }

    /// A switch: 1 for yes, 0 for no.
    pub const fn switch(name: &'static str, default: u32) -> Self {
        Self::count(name, default, 0, 1)
    }

    /// The number of candidates that an eviction draws.
    pub const fn k(default: u32) -> Self {
        Self::count("k", default, 1, K_MAX)
    }

    /// The number of candidates kept from one eviction to the next.
    pub const fn pool() -> Self {
        Self::count("pool", 0, 0, 1024)
    }

    /// Reads a value from text.
    ///
    /// # Errors
    /// A sentence that names the range.
    pub(crate) fn read(&self, text: &str) -> Result<f64, String> {
        let (low, high) = self.range;
        let fits =
            |value: &f64| (low..=high).contains(value) && (!self.is_whole || value.fract() == 0.0);
        let value = text.trim().parse::<f64>().ok().filter(fits);
        value.ok_or_else(|| {
            let kind = if self.is_whole { "a whole number" } else { "a number" };
            format!("{}={text}: {} must be {kind} from {low} to {high}", self.name, self.name)
        })
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = self.range;
        write!(f, "{}={} ({low} to {high})", self.name, self.default)
    }
}

/// The input from which a policy or a filter is built.
#[derive(Clone, Debug)]
pub struct Params<'a> {
    /// Bytes that the cache may hold.
    pub capacity: Bytes,
    /// The seed that reproduces the run.
    pub seed: u64,
    pub(crate) names: &'static [Param],
    pub(crate) values: &'a [f64],
}

impl Params<'_> {
    /// The value of a parameter that the policy's [`Spec`](crate::Spec) lists.
    pub fn get(&self, name: &str) -> f64 {
        let at = self.names.iter().position(|known| known.name == name);
        self.values[at.unwrap_or_else(|| panic!("no parameter {name} among {:?}", self.names))]
    }

    /// The value of a parameter, if there is one of that name.
    pub(crate) fn find(&self, name: &str) -> Option<f64> {
        let at = self.names.iter().position(|known| known.name == name)?;
        Some(self.values[at])
    }
}

/// The values of parameters that the command line does not name.
pub(crate) fn defaults(params: &[Param]) -> Vec<f64> {
    params.iter().map(|param| param.default).collect()
}
