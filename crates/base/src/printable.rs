//! Text from outside, made safe for a terminal and a log.
//!
//! A key, a client's name, a server's error or a line of a trace may hold anything: a line break
//! that forges a log line, a sequence that rewrites a terminal, a character that changes the
//! direction of writing. Each of these characters is escaped as in Rust (`\n`, `\u{1b}`). All other
//! characters stay as they are.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// A writer that passes text on with its control characters escaped.
#[derive(Debug)]
pub struct Printable<W>(pub W);

impl<W: Write> Write for Printable<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, control)) = rest.char_indices().find(|(_, c)| is_control(*c)) {
            self.0.write_str(&rest[..at])?;
            write!(self.0, "{}", control.escape_default())?;
            rest = &rest[at + control.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

/// The text with its control characters escaped.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut safe = Printable(String::with_capacity(text.len() + 16));
    // Writing to a String does not fail.
    let _ = safe.write_str(text);
    Cow::Owned(safe.0)
}

/// Whether a character acts instead of being visible: C0, DEL, C1, the two separators of lines, and
/// the characters that change the direction of writing.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_escaped_and_what_is_seen_stays() {
        for (text, safe) in [
            ("", ""),
            ("käse: 1 ≤ 2 \\n", "käse: 1 ≤ 2 \\n"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\u{1b}[2J\u{7}", "\\u{1b}[2J\\u{7}"),
            ("\u{7f}\u{9b}31m", "\\u{7f}\\u{9b}31m"),
            ("\u{2028}\u{202e}x\u{2066}", "\\u{2028}\\u{202e}x\\u{2066}"),
        ] {
            assert_eq!(printable(text), safe);
            assert_eq!(printable(safe), safe, "twice is once");
        }
        assert!(matches!(printable("plain"), Cow::Borrowed(_)));
    }
}
