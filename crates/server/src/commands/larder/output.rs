//! The output of the subcommands: lines or JSON, and the arguments that all of them know.

use crate::call::{Call, Failure, SYNTAX};
use base::TenantId;
use serde_json::Value;

/// The number of points at which a curve is shown.
pub(super) const POINTS: u64 = 40;

/// Whether the arguments from `at` on ask for JSON. An error if they are anything else.
pub(super) fn wants_json(call: &Call<'_>, at: usize) -> Result<bool, Failure> {
    match call.args.len().checked_sub(at) {
        Some(0) => Ok(false),
        Some(1) if call.is(at, "json") => Ok(true),
        _ => Err(SYNTAX.into()),
    }
}

pub(super) fn lines(call: &mut Call<'_>, lines: &[String]) {
    call.out.array(lines.len());
    for line in lines {
        // Control characters in a tenant's name must not break the protocol.
        call.out.simple(&line.replace(|c: char| c.is_control(), " "));
    }
}

pub(super) fn document(call: &mut Call<'_>, value: &Value) {
    call.out.bulk(value.to_string().as_bytes());
}

pub(super) fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.4}"))
}

pub(super) fn number_of(call: &Call<'_>, name: &str) -> Result<TenantId, Failure> {
    call.view.number(name).ok_or_else(|| {
        let known = call.view.names.join(", ");
        Failure::err(&format!("there is no tenant '{name}': the tenants are {known}"))
    })
}
