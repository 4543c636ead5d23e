//! How a policy is named: `lru`, `klru:16`, `klru:k=16:pool=16`.

use crate::{ALL, Bytes, Policy, Spec};
use std::fmt;

/// A policy with the values of its parameters.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Which policy.
    pub spec: &'static Spec,
    values: Vec<f64>,
}

/// What a policy is built from.
#[derive(Clone, Debug)]
pub struct Params<'a> {
    /// Bytes the cache may hold.
    pub capacity: Bytes,
    /// Reproduces the run.
    pub seed: u64,
    spec: &'static Spec,
    values: &'a [f64],
}

impl Params<'_> {
    /// The value of a parameter that the policy's [`Spec`] lists.
    pub fn get(&self, name: &str) -> f64 {
        let at = self.spec.params.iter().position(|(known, _)| *known == name);
        self.values[at.unwrap_or_else(|| panic!("{} lists no parameter {name}", self.spec.name))]
    }
}

impl Choice {
    /// `spec` with its defaults.
    pub fn of(spec: &'static Spec) -> Self {
        Self { spec, values: spec.params.iter().map(|(_, default)| *default).collect() }
    }

    /// Builds the policy for a cache of `capacity`.
    pub fn build(&self, capacity: Bytes, seed: u64) -> Box<dyn Policy> {
        (self.spec.build)(&Params { capacity, seed, spec: self.spec, values: &self.values })
    }
}

impl fmt::Display for Choice {
    /// The shortest text that [`parse`] reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.spec.name.to_owned();
        for ((name, default), value) in self.spec.params.iter().zip(&self.values) {
            if value != default {
                text += &format!(":{name}={value}");
            }
        }
        f.pad(&text)
    }
}

/// Reads a policy's name and parameters.
///
/// # Errors
/// A sentence that names what is known.
pub fn parse(text: &str) -> Result<Choice, String> {
    let mut parts = text.trim().split(':');
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let Some(spec) = ALL.iter().find(|spec| spec.name == name) else {
        let known: Vec<_> = ALL.iter().map(|spec| spec.name).collect();
        return Err(format!("unknown policy '{name}': choose one of {}", known.join(", ")));
    };
    let mut choice = Choice::of(spec);
    for (place, part) in parts.enumerate() {
        let (at, value) = match part.split_once('=') {
            Some((name, value)) => (spec.params.iter().position(|(n, _)| *n == name), value),
            None => ((place < spec.params.len()).then_some(place), part),
        };
        let (Some(at), Ok(value)) = (at, value.parse::<f64>()) else {
            let known: Vec<_> =
                spec.params.iter().map(|(name, default)| format!("{name}={default}")).collect();
            return Err(format!(
                "'{part}' is not a parameter of {name}: it has {}",
                if known.is_empty() { "none".into() } else { known.join(", ") }
            ));
        };
        choice.values[at] = value;
    }
    Ok(choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for text in ["lru", "klru", "klru:k=16", "klru:pool=16", "klru:k=1:pool=16"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert_eq!(parse("klru:16").unwrap().to_string(), "klru:k=16");
        for (text, names) in [("lfru", "klru"), ("klru:q=3", "k=5"), ("lru:3", "none")] {
            assert!(parse(text).unwrap_err().contains(names), "{text}");
        }
    }
}
