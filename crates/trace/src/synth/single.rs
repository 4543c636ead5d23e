//! Opens a single generator by its text.

use super::generated::Generated;
use super::{ALL, GeneratorSpec, Values};
use crate::ReadOptions;

/// The names of the [combinations](super::open), which stand first in a text.
pub(super) const COMBINATIONS: &[&str] = &["mix", "sequence"];

/// Finds the generator with that name.
///
/// # Errors
/// A sentence that names the known generators.
pub fn find(name: &str) -> Result<&'static GeneratorSpec, String> {
    ALL.iter().copied().find(|spec| spec.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let known = ALL.iter().map(|spec| spec.name).chain(COMBINATIONS.iter().copied());
        let known: Vec<_> = known.collect();
        format!("unknown generator '{name}': choose one of {}", known.join(", "))
    })
}

/// Opens one generator; `defaults` apply to parameters that the text omits.
pub(super) fn one(
    text: &str,
    defaults: &[(&str, String)],
    options: &ReadOptions,
) -> Result<Generated, String> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let spec = find(name)?;
    let mut values = Values::of(spec.params);
    for (name, value) in defaults {
        values.set(name, value)?;
    }
    let mut said = vec![];
    for part in rest.split(':').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| {
            format!("'{part}' is not a parameter: write name=value, such as seed=7")
        })?;
        let name = name.replace('_', "-");
        values.set(&name, value)?;
        if said.contains(&name) {
            return Err(format!("{name} is given twice: give it once"));
        }
        said.push(name);
    }
    Generated::new(spec, &values, options)
}
