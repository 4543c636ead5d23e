//! Tenants: whose a key is, and what its owner is promised.
//!
//! A line of configuration describes a tenant (`config.rs`); a client's user, port and database
//! turn the lines into the few rules that are left for its keys (`owners.rs`). Our server and one
//! that the pilot is attached to read the same words.

mod config;
mod owners;

pub use config::{DEFAULT, DEFAULT_NAME, Match, TenantConfig};
pub use owners::{Finders, Origin, Owners};

/// A word as it must stand in a line of configuration to be read back.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '"' | '\'' | '\\');
    if !word.is_empty() && word.chars().all(plain) && !word.starts_with('#') {
        return word.into();
    }
    let mut out = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
/// The words of a line in which quotes hold no quotes.
fn words(line: &str) -> Vec<String> {
    let split = |(at, part): (usize, &str)| -> Vec<String> {
        match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        }
    };
    line.split(['"', '\'']).enumerate().flat_map(split).collect()
}
