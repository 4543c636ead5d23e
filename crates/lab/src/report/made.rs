//! How a page was made: its command, with version and date, so that it can be made again. Seeds
//! stand in the command, or are the default.

use ::report::draw::Page;
use std::time::{SystemTime, UNIX_EPOCH};

/// Says at the foot of a page how it was made.
pub fn sign(page: &mut Page) {
    let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let when = ::report::words::date(unix_s);
    page.foot(&format!("Made by `{}`, larder {}, {when}.", command(), env!("CARGO_PKG_VERSION")));
}

/// The command line as it could be typed.
fn command() -> String {
    let quoted = |word: String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,%+@".contains(c);
        if !word.is_empty() && word.chars().all(is_plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let words = std::env::args().skip(1).map(quoted);
    std::iter::once("larder".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
