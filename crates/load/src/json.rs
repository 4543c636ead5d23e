//! One JSON document: printed to standard output, or read from a server.

use anyhow::Context;
use base::printable;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::Write;

/// Prints `value` and a line end.
///
/// # Errors
/// Standard output is closed.
pub fn print(value: &impl Serialize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).context("could not write to standard output")?;
    writeln!(out).context("could not write to standard output")
}

/// Reads a document from a server. A document can hold any character as an escape (`\u001b`), and
/// its texts are printed, so control characters are escaped again.
///
/// # Errors
/// The text is no such document.
pub fn told<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_value(safe(serde_json::from_str(text)?))
}

fn safe(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(printable(&text).into_owned()),
        Value::Array(all) => Value::Array(all.into_iter().map(safe).collect()),
        Value::Object(all) => {
            let field =
                |(name, value): (String, Value)| (printable(&name).into_owned(), safe(value));
            Value::Object(all.into_iter().map(field).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_comes_out_of_a_document() {
        let text = r#"{"says": ["a\u001b[2J", "b\nc"], "\u0007": {"n": 1.5, "x": null}}"#;
        let read: Value = told(text).unwrap();
        let clear = r#"{"\\u{7}":{"n":1.5,"x":null},"says":["a\\u{1b}[2J","b\\nc"]}"#;
        assert_eq!(read.to_string(), clear);
        assert!(told::<Value>("{").is_err());
    }
}
