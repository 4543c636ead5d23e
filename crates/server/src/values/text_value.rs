//! The layout of an item's value.
//!
//! The store keeps bytes and, with them, a number of four bits: the *kind*. Plain strings have kind
//! 0 and are stored as they are. Values that memcached's clients write have a head before the data:
//!
//! ```text
//!    0      1            9            13      14
//!   ┌──────┬────────────┬────────────┬───────┬──────
//!   │ bits │ cas        │ flags      │ reads │ data…     FLAGGED; flags and reads only where a bit
//!   └──────┴────────────┴────────────┴───────┴──────     says so
//! ```
//!
//! Both protocols see the same data. A plain string has no flags, and its cas is computed from its
//! contents. A flagged string shows its data to Redis' commands, and keeps its flags when they
//! change it. Hashes (`hash/`) and other collections (`collection/`) have kinds of their own.

use super::kind;
pub(crate) use super::kind::{FLAGGED, HASH, HASH_TREE, LIST, SET, STRING, WRONG_TYPE, ZSET};
use base::hash;
use std::borrow::Cow;
use store::{Change, Item};

/// The head has flags.
const HAS_FLAGS: u8 = 1;
/// The value is stale. It may be used until a client stores a new one (memcached's X).
const STALE: u8 = 2;
/// A client has been asked to store a new value (memcached's Z).
const TOKEN_SENT: u8 = 4;
/// The head has the count of reads of the earlier values.
const HAS_READS: u8 = 8;

/// A string, as memcached's protocol sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text<'a> {
    pub(crate) flags: u32,
    pub(crate) cas: u64,
    pub(crate) stale: bool,
    pub(crate) token_sent: bool,
    /// [`Item::hits`] when the value was written, which counts the reads and writes of earlier
    /// values.
    pub(crate) reads_before: u8,
    pub(crate) data: &'a [u8],
}

impl<'a> Text<'a> {
    /// The string of an item; `None` for a collection.
    pub(crate) fn of(item: &Item<'a>) -> Option<Self> {
        match item.kind {
            STRING => {
                // The top bit separates it from the cas of written values, which count from one.
                let cas = hash::bytes(item.expires.unwrap_or(0), item.value) | 1 << 63;
                Some(Self { cas, data: item.value, ..FRESH })
            }
            FLAGGED => {
                let (&bits, rest) = item.value.split_first()?;
                let (cas, mut data) = rest.split_first_chunk()?;
                let mut flags = 0;
                if bits & HAS_FLAGS != 0 {
                    let (head, rest) = data.split_first_chunk()?;
                    flags = u32::from_le_bytes(*head);
                    data = rest;
                }
                let mut reads_before = 0;
                if bits & HAS_READS != 0 {
                    let (&reads, rest) = data.split_first()?;
                    (reads_before, data) = (reads, rest);
                }
                Some(Self {
                    flags,
                    cas: u64::from_le_bytes(*cas),
                    stale: bits & STALE != 0,
                    token_sent: bits & TOKEN_SENT != 0,
                    reads_before,
                    data,
                })
            }
            _ => None,
        }
    }

    /// The bytes to store: the head and the data.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(14 + self.data.len());
        let bit = |on, bit| if on { bit } else { 0 };
        out.push(
            bit(self.flags != 0, HAS_FLAGS)
                | bit(self.stale, STALE)
                | bit(self.token_sent, TOKEN_SENT)
                | bit(self.reads_before > 0, HAS_READS),
        );
        out.extend_from_slice(&self.cas.to_le_bytes());
        if self.flags != 0 {
            out.extend_from_slice(&self.flags.to_le_bytes());
        }
        if self.reads_before > 0 {
            out.push(self.reads_before);
        }
        out.extend_from_slice(self.data);
        out
    }

    /// The change that stores the string.
    pub(crate) fn change(&self, expires: Option<u64>) -> Change<'static> {
        Change::Set { value: Cow::Owned(self.encode()), kind: FLAGGED, expires }
    }

    /// The change that stores it in the place of a value that a client is fetching.
    pub(crate) fn held(&self, expires: Option<u64>) -> Change<'static> {
        Change::Hold { value: Cow::Owned(self.encode()), kind: FLAGGED, expires }
    }

    /// Whether this value was read before. The item has `hits`, and the last `counted` of them are
    /// those of the current request.
    pub(crate) fn was_read(&self, hits: u8, counted: u8) -> bool {
        // A count at its maximum grows no more, so such an item always counts as read.
        hits == u8::MAX || hits > self.reads_before.saturating_add(counted)
    }
}

/// The bytes of a string.
///
/// # Errors
/// The key holds a collection.
#[inline]
pub(crate) fn string<'a>(item: &Item<'a>) -> Result<&'a [u8], &'static str> {
    if item.kind == STRING {
        return Ok(item.value);
    }
    Text::of(item).map(|text| text.data).ok_or(WRONG_TYPE)
}

/// The change by which a command of Redis gives a string new bytes. A new string is plain. An old
/// one keeps its expiry and its flags; if it has a head, it gets the number `cas`.
pub(crate) fn rewrite(
    item: Option<&Item<'_>>,
    data: Vec<u8>,
    cas: impl FnOnce() -> u64,
) -> Change<'static> {
    let expires = item.and_then(|item| item.expires);
    match item.filter(|item| item.kind == FLAGGED).and_then(Text::of) {
        Some(old) => {
            let new = Text { flags: old.flags, cas: cas(), data: &data, ..FRESH };
            new.change(expires)
        }
        None => Change::set_owned(data, expires),
    }
}

/// Whether an item is a hash, in either form.
pub(crate) const fn is_hash(item: &Item<'_>) -> bool {
    matches!(item.kind, HASH | HASH_TREE)
}

/// The expiry of a key, in Unix milliseconds.
pub(crate) fn life(item: &Item<'_>) -> Option<u64> {
    if is_hash(item) { crate::values::hash::life(item) } else { item.expires }
}

/// The change that sets a key's expiry.
pub(crate) fn live_until(item: &Item<'_>, at: Option<u64>) -> Change<'static> {
    if is_hash(item) { crate::values::hash::live_until(item, at) } else { Change::Expire(at) }
}

/// The reply of TYPE.
pub(crate) fn type_name(item: &Item<'_>) -> &'static str {
    kind::type_name(item.kind).unwrap_or("string")
}

/// A string without data that is neither stale nor being fetched.
pub(crate) const FRESH: Text<'static> =
    Text { flags: 0, cas: 0, stale: false, token_sent: false, reads_before: 0, data: b"" };

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn item(kind: u8, value: &[u8]) -> Item<'_> {
        Item::outside(value, kind, None)
    }

    proptest! {
        #[test]
        fn reads_what_it_writes(
            flags: u32, cas: u64, stale: bool, token_sent: bool, reads_before: u8,
            data in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let text = Text { flags, cas, stale, token_sent, reads_before, data: &data };
            let value = text.encode();
            prop_assert_eq!(Text::of(&item(FLAGGED, &value)), Some(text));
            prop_assert_eq!(string(&item(FLAGGED, &value)), Ok(&data[..]));
        }

        /// Whatever the bytes are, no read goes beyond them.
        #[test]
        fn rubbish_does_no_harm(
            value in prop::collection::vec(any::<u8>(), 0..20), kind in 0u8..4,
        ) {
            let _ = Text::of(&item(kind, &value));
        }
    }

    #[test]
    fn a_rewritten_value_keeps_its_flags() {
        let old = Text { flags: 7, cas: 1, data: b"old", ..FRESH }.encode();
        let Change::Set { value, kind, .. } =
            rewrite(Some(&item(FLAGGED, &old)), b"new".into(), || 2)
        else {
            panic!("a value is set")
        };
        let new = Text::of(&item(kind, &value)).unwrap();
        assert_eq!((new.flags, new.cas, new.data), (7, 2, &b"new"[..]));
        let plain = rewrite(Some(&item(STRING, b"old")), b"new".into(), || 3);
        assert_eq!(plain, Change::set_owned(b"new".into(), None));
    }
}
