//! Tenants: the owners of keys, and their promises.
//!
//! A line of configuration describes a tenant (`config.rs`). A client's user, port and database
//! reduce the lines to the few rules that remain for its keys (`owners.rs`). Our server, and one
//! that the pilot is attached to, read the same words.

mod config;
mod owners;

pub use config::{DEFAULT, DEFAULT_NAME, Match, TenantConfig};
pub use owners::{Finders, Origin, Owners};

/// A word in the form in which a line of configuration holds it.
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
/// The words of a line, for quotes that contain no quotes.
fn words(line: &str) -> Vec<String> {
    let split = |(at, part): (usize, &str)| -> Vec<String> {
        match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        }
    };
    line.split(['"', '\'']).enumerate().flat_map(split).collect()
}
