//! A hash in one piece of memory.
//!
//! ```text
//!    0      1                9
//!   ┌──────┬────────────────┬───────────┬───────────┬───────────────┬────────┬────────┬──
//!   │ bits │ the key's life │ field_len │ value_len │ field's life  │ field… │ value… │ …
//!   └──────┴────────────────┴───────────┴───────────┴───────────────┴────────┴────────┴──
//!     lengths take 1 to 5 bytes; lives 8, and are there only if a bit says so
//! ```
//!
//! In one piece a hash is an item like any other. A read walks through the fields in order; a write
//! copies the hash. For the records, sessions and counters in caches this is less work than a tree,
//! and takes less memory.

use super::layout::{PACKED_MAX, body, ends, probe, some_life};
use super::view::Field as View;
use crate::text::varint::{put_len, take_len};
use crate::values::kind::HASH;
use std::borrow::Cow;
use store::{Change, Item, Tree};

/// Fields may have an expiry.
const LIVES: u8 = 1;
/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    pub(crate) name: Cow<'a, [u8]>,
    pub(crate) value: Cow<'a, [u8]>,
    /// Its expiry, in Unix milliseconds.
    pub(crate) expires: Option<u64>,
}

/// Reads the fields of a hash in order, the expired ones included.
#[derive(Clone, Debug)]
struct Reader<'a> {
    rest: &'a [u8],
    lives: bool,
}

/// Takes an expiry off the front; 0 stands for none.
fn take_life(bytes: &mut &[u8]) -> Option<u64> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*head))
}

impl<'a> Reader<'a> {
    /// The reader, and the key's own expiry if the hash stores it (0 for none).
    fn new(value: &'a [u8]) -> (Self, Option<u64>) {
        let Some((&bits, mut rest)) = value.split_first() else {
            return (Self { rest: b"", lives: false }, None);
        };
        let lives = bits & LIVES != 0;
        let life = if lives { take_life(&mut rest) } else { None };
        (Self { rest, lives }, life)
    }

    fn field(&mut self) -> Option<(&'a [u8], &'a [u8], Option<u64>)> {
        let name_len = take_len(&mut self.rest)?;
        let value_len = take_len(&mut self.rest)?;
        let expires = if self.lives { some_life(take_life(&mut self.rest)?) } else { None };
        let (name, rest) = self.rest.split_at_checked(name_len)?;
        let (value, rest) = rest.split_at_checked(value_len)?;
        self.rest = rest;
        Some((name, value, expires))
    }
}

/// The fields that have not expired: name, value and expiry.
pub(super) fn fields(
    value: &[u8],
    now_ms: u64,
) -> impl Iterator<Item = (&[u8], &[u8], Option<u64>)> + Clone {
    let mut reader = Reader::new(value).0;
    std::iter::from_fn({
        move || loop {
            let field = reader.field()?;
            if field.2.is_none_or(|at| at > now_ms) {
                return Some(field);
            }
        }
    })
}

/// Whether a field has expired and is still stored.
pub(super) fn has_dead(value: &[u8], now_ms: u64) -> bool {
    let mut reader = Reader::new(value).0;
    let mut all = std::iter::from_fn(|| reader.field());
    all.any(|(.., expires)| expires.is_some_and(|at| at <= now_ms))
}

/// Whether fields may have an expiry.
pub(super) fn has_lives(value: &[u8]) -> bool {
    Reader::new(value).0.lives
}

/// The key's own expiry.
pub(super) fn life(item: &Item<'_>) -> Option<u64> {
    Reader::new(item.value).1.map_or(item.expires, some_life)
}

/// The change that sets the key's expiry.
pub(super) fn live_until(item: &Item<'_>, at: Option<u64>) -> Change<'static> {
    if Reader::new(item.value).1.is_none() {
        return Change::Expire(at);
    }
    let mut hash = Packed::of(item, 0);
    hash.expires = at;
    hash.change()
}

/// A hash that is being changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packed<'a> {
    /// The fields, the oldest first.
    pub(super) fields: Vec<Field<'a>>,
    /// The key's own expiry.
    pub(super) expires: Option<u64>,
}

impl<'a> Packed<'a> {
    /// The hash of an item, without the fields that have expired at `now_ms`.
    pub(super) fn of(item: &Item<'a>, now_ms: u64) -> Self {
        let fields = fields(item.value, now_ms).map(|(name, value, expires)| Field {
            name: Cow::Borrowed(name),
            value: Cow::Borrowed(value),
            expires,
        });
        Self { fields: fields.collect(), expires: life(item) }
    }

    /// The field with this name.
    pub(super) fn get(&self, name: &[u8]) -> Option<&Field<'a>> {
        self.fields.iter().find(|field| &*field.name == name)
    }

    /// Writes a field. Returns whether it is new.
    pub(super) fn put(&mut self, name: &[u8], value: Vec<u8>, expires: Option<u64>) -> bool {
        let value = Cow::Owned(value);
        if let Some(field) = self.fields.iter_mut().find(|field| &*field.name == name) {
            (field.value, field.expires) = (value, expires);
            return false;
        }
        self.fields.push(Field { name: Cow::Owned(name.to_vec()), value, expires });
        true
    }

    /// Removes a field. Returns whether it existed.
    pub(super) fn remove(&mut self, name: &[u8]) -> bool {
        let before = self.fields.len();
        self.fields.retain(|field| &*field.name != name);
        self.fields.len() < before
    }

    /// Whether it has become too long for one piece.
    pub(super) fn is_large(&self) -> bool {
        let bytes = self.fields.iter().map(|field| field.name.len() + field.value.len() + 2);
        self.fields.len() > 1 && bytes.sum::<usize>() > PACKED_MAX
    }

    /// A tree with the same fields.
    pub(super) fn tree(&self) -> Tree {
        let mut tree = Tree::default();
        for field in &self.fields {
            let body = body(&field.name, &field.value);
            probe(&field.name, |probe| tree.put(probe, field.expires, &body));
        }
        tree
    }

    /// The change that stores the hash, or removes the key if the hash is empty.
    pub(super) fn change(&self) -> Change<'static> {
        if self.fields.is_empty() {
            return Change::Remove;
        }
        let lives = self.fields.iter().any(|field| field.expires.is_some());
        let bytes = self.fields.iter().map(|field| field.name.len() + field.value.len() + 18);
        let mut out = head(lives, self.expires);
        out.reserve(bytes.sum::<usize>());
        for field in &self.fields {
            write(&mut out, lives, (&field.name, &field.value, field.expires));
        }
        let last = self.fields.iter().map(|field| field.expires).collect::<Option<Vec<_>>>();
        let last = last.and_then(|all| all.into_iter().max());
        let expires = ends(self.expires, last);
        Change::Set { value: Cow::Owned(out), kind: HASH, expires }
    }
}

fn head(lives: bool, expires: Option<u64>) -> Vec<u8> {
    let mut out = vec![if lives { LIVES } else { 0 }];
    if lives {
        out.extend_from_slice(&expires.unwrap_or(0).to_le_bytes());
    }
    out
}

fn write(out: &mut Vec<u8>, lives: bool, (name, value, expires): View<'_>) {
    put_len(out, name.len());
    put_len(out, value.len());
    if lives {
        out.extend_from_slice(&expires.unwrap_or(0).to_le_bytes());
    }
    out.extend_from_slice(name);
    out.extend_from_slice(value);
}

/// Writes a hash of any length, field by field.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn new(life: Option<u64>) -> Self {
        Self(head(true, life))
    }

    pub(super) fn add(&mut self, field: View<'_>) {
        write(&mut self.0, true, field);
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::View as Super;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn item(value: &[u8], expires: Option<u64>) -> Item<'_> {
        Item::outside(value, HASH, expires)
    }

    proptest! {
        /// Compares it with a map that gets the same changes: fields, their expiry, and the key's.
        #[test]
        fn is_a_map(
            changes in prop::collection::vec(
                (prop::collection::vec(any::<u8>(), 0..3),
                 prop::option::of(prop::collection::vec(any::<u8>(), 0..300)),
                 prop::option::of(1u64..100)), 1..20),
            key_life in prop::option::of(1u64..100), now_ms in 0u64..100,
        ) {
            let (mut value, mut expires) = (vec![], None);
            let mut model: BTreeMap<Vec<u8>, (Vec<u8>, Option<u64>)> = BTreeMap::new();
            for (name, new, life) in &changes {
                let item = item(&value, expires);
                let mut hash =
                    if value.is_empty() { Packed::default() } else { Packed::of(&item, 0) };
                hash.expires = key_life;
                if let Some(new) = new {
                    prop_assert_eq!(hash.put(name, new.clone(), *life), !model.contains_key(name));
                    model.insert(name.clone(), (new.clone(), *life));
                } else {
                    prop_assert_eq!(hash.remove(name), model.remove(name).is_some());
                }
                (value, expires) = match hash.change() {
                    Change::Set { value, expires, .. } => (value.into_owned(), expires),
                    _ => (vec![], None),
                };
            }
            prop_assert_eq!(value.is_empty(), model.is_empty());
            if !model.is_empty() {
                prop_assert_eq!(life(&item(&value, expires)), key_life);
                let all: Option<Vec<u64>> = model.values().map(|(_, life)| *life).collect();
                let last = all.and_then(|all| all.into_iter().max());
                prop_assert_eq!(expires, [key_life, last].into_iter().flatten().min());
            }
            model.retain(|_, (_, life)| life.is_none_or(|at| at > now_ms));
            let read: BTreeMap<Vec<u8>, (Vec<u8>, Option<u64>)> = fields(&value, now_ms)
                .map(|(name, value, life)| (name.to_vec(), (value.to_vec(), life)))
                .collect();
            prop_assert_eq!(&read, &model);
            for (name, (value_of, life)) in &model {
                let found = Super::Packed(&value).find(name, now_ms);
                prop_assert_eq!(found, Some((&value_of[..], *life)));
            }
        }

        #[test]
        fn rubbish_does_no_harm(value in prop::collection::vec(any::<u8>(), 0..60)) {
            fields(&value, 5).for_each(drop);
            Super::Packed(&value).encoding(512, 64);
            Super::Packed(&value).walk(7, 9, 5, drop);
            let _ = live_until(&item(&value, Some(3)), None);
        }
    }
}
