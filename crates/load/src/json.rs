//! One JSON document on standard output.

use anyhow::Context;
use serde::Serialize;
use std::io::Write;

/// Prints `value` and a line end.
///
/// # Errors
/// Standard output is closed.
pub fn print(value: &impl Serialize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).context("standard output is closed")?;
    writeln!(out).context("standard output is closed")
}
