//! Origin of a page: its command, with version and date, so that it can be reproduced. The seed is
//! in the command, or is the default.

use ::report::draw::Page;
use std::time::{SystemTime, UNIX_EPOCH};

/// Adds the command, the version and the date to the foot of a page.
pub fn sign(page: &mut Page) {
    let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let when = ::report::words::date(unix_s);
    page.foot(&format!("Made by `{}`, larder {}, {when}.", command(), env!("CARGO_PKG_VERSION")));
}

/// The command line as a user could type it.
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
