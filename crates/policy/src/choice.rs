//! A chosen policy: its entry in the list, the values of its parameters, and its filter.

use crate::admit::{Admit, FilterSpec};
use crate::param::defaults;
use crate::{Param, Params, Policy, Spec};
use base::Bytes;
use std::fmt::{self, Write};

/// A policy with the values of its parameters, and the filter in front of it, if any.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The policy's entry in the registry.
    pub spec: &'static Spec,
    pub(crate) values: Vec<f64>,
    pub(crate) filter: Option<(&'static FilterSpec, Vec<f64>)>,
}

impl Choice {
    /// Chooses `spec` with the defaults of its parameters.
    pub fn of(spec: &'static Spec) -> Self {
        Self { spec, values: defaults(spec.params), filter: None }
    }

    /// Replaces the value of a parameter that the policy's [`Spec`] lists.
    pub(crate) fn with(mut self, name: &str, value: f64) -> Self {
        let at = self.spec.params.iter().position(|known| known.name == name);
        self.values[at.unwrap_or_else(|| panic!("{} has no parameter {name}", self.spec.name))] =
            value;
        self
    }

    /// The value of a parameter that the policy's [`Spec`] lists.
    pub fn param(&self, name: &str) -> Option<f64> {
        let at = self.spec.params.iter().position(|known| known.name == name)?;
        self.values.get(at).copied()
    }

    /// Builds the policy for a cache of `capacity`.
    pub fn build(&self, capacity: Bytes, seed: u64) -> Box<dyn Policy> {
        let (names, values) = (self.spec.params, &*self.values);
        (self.spec.build)(&Params { capacity, seed, names, values })
    }

    /// Whether a filter stands in front of the policy.
    pub(crate) const fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// Calls `make` with the policy's parameters, for a capacity of 0.
    pub(crate) fn with_params<T>(&self, make: fn(&Params<'_>) -> T) -> T {
        let (names, values) = (self.spec.params, &*self.values);
        make(&Params { capacity: Bytes(0), seed: 0, names, values })
    }

    /// Builds the filter in front of the policy.
    pub fn build_admission(&self, capacity: Bytes, seed: u64) -> Option<Box<dyn Admit>> {
        let (spec, values) = self.filter.as_ref()?;
        // The filter has its own random stream, or its draws would follow the policy's.
        let seed = base::hash::mix(seed ^ 0xad);
        Some((spec.build)(&Params { capacity, seed, names: spec.params, values }))
    }
}

impl fmt::Display for Choice {
    /// The shortest text that [`parse`](crate::parse) reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = show(self.spec.name, self.spec.params, &self.values);
        if let Some((spec, values)) = &self.filter {
            text += "+";
            text += &show(spec.name, spec.params, values);
        }
        f.pad(&text)
    }
}

fn show(name: &str, params: &[Param], values: &[f64]) -> String {
    let mut text = name.to_owned();
    for (Param { name, default, .. }, value) in params.iter().zip(values) {
        if value != default {
            let _ = write!(text, ":{name}={value}");
        }
    }
    text
}
