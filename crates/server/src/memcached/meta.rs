//! Parts of the replies of meta commands.
//!
//! Flags that ask for a value are answered in the order of the request.

use super::meta_flags::Flags;
use crate::values::text_value::Text;
use std::io::Write;
use store::{Item, Now};

/// The seconds from now to `at`, rounded up.
pub(super) const fn seconds_left(at: u64, now: Now) -> u64 {
    at.saturating_sub(now.unix_ms).div_ceil(1_000)
}

/// Whether an expiry at `expires` is earlier than `limit`, compared in whole seconds as clients see
/// them. No expiry is never earlier.
pub(super) fn ends_before(expires: Option<u64>, limit: u64, now: Now) -> bool {
    expires.is_some_and(|at| seconds_left(at, now) < seconds_left(limit, now))
}

/// The context of a reply that is being written.
pub(super) struct Answer<'a, 'b> {
    pub(super) flags: &'b Flags<'a>,
    /// The key in the form of the request.
    pub(super) key: &'a [u8],
    pub(super) now: Now,
}

impl Answer<'_, '_> {
    /// Writes the flags that concern only the request: opaque and key.
    pub(super) fn plain(&self, out: &mut Vec<u8>) {
        for word in self.flags.order() {
            self.of_request(out, word);
        }
    }

    /// Writes the answer to a flag that concerns only the request.
    pub(super) fn of_request(&self, out: &mut Vec<u8>, word: &[u8]) {
        match word.first() {
            Some(b'O') => {
                out.push(b' ');
                out.extend_from_slice(word);
            }
            Some(b'k') => {
                out.extend_from_slice(b" k");
                out.extend_from_slice(self.key);
                if self.flags.has(b'b') {
                    out.extend_from_slice(b" b");
                }
            }
            _ => {}
        }
    }

    /// Writes the answer to a flag that concerns the request or the item.
    pub(super) fn of_item(&self, out: &mut Vec<u8>, word: &[u8], shown: &Shown<'_>) {
        let (text, item) = (&shown.text, shown.item);
        // Writing to a Vec does not fail.
        let _ = match word.first() {
            Some(b's') => write!(out, " s{}", text.data.len()),
            Some(b'f') => write!(out, " f{}", text.flags),
            Some(b'c') => write!(out, " c{}", text.cas),
            Some(b'h') => write!(out, " h{}", u8::from(shown.fetched)),
            Some(b'U') => write!(out, " U{}", base::penalty::of_class(item.penalty_class).0),
            Some(b'l') => write!(out, " l{}", shown.idle_s),
            Some(b't') => self.life(out, shown.expires),
            _ => {
                self.of_request(out, word);
                Ok(())
            }
        };
    }

    /// Writes the seconds until the expiry.
    pub(super) fn life(&self, out: &mut Vec<u8>, expires: Option<u64>) -> std::io::Result<()> {
        match expires {
            Some(at) => write!(out, " t{}", seconds_left(at, self.now)),
            None => write!(out, " t-1"),
        }
    }
}

/// An item in the state that the reply shows.
pub(super) struct Shown<'a> {
    pub(super) text: Text<'a>,
    pub(super) item: &'a Item<'a>,
    /// Its expiry after the changes by the flags so far.
    pub(super) expires: Option<u64>,
    /// Whether it had been read before this request.
    pub(super) fetched: bool,
    pub(super) idle_s: u64,
}
