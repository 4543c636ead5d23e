//! Finds a model by its name.

use crate::{ALL, Spec};

/// The model of that name.
///
/// # Errors
/// If no model has the name; the message lists the known ones.
pub fn find(name: &str) -> Result<&'static Spec, String> {
    ALL.iter().copied().find(|spec| spec.name == name).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|spec| spec.name).collect();
        format!("unknown model '{name}': choose one of {}", known.join(", "))
    })
}
