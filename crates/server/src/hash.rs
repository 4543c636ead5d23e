//! Hashes: fields and their values, in one piece of memory.
//!
//! ```text
//!    0      1                9
//!   ┌──────┬────────────────┬───────────┬───────────┬───────────────┬────────┬────────┬──
//!   │ bits │ the key's life │ field_len │ value_len │ field's life  │ field… │ value… │ …
//!   └──────┴────────────────┴───────────┴───────────┴───────────────┴────────┴────────┴──
//!     lengths take 1 to 5 bytes; lives 8, and are there only if a bit says so
//! ```
//!
//! One piece, because it is then an item like any other: charged to the byte, evicted, modelled
//! and given back as a whole, whatever it holds. A read looks through the fields in order; a write
//! copies the hash. For the records, sessions and counters that caches hold this is less work than
//! a table with a pointer to each field; a hash of a megabyte pays some tens of microseconds a
//! write.
//!
//! Fields may die before their key. A dead field is not shown, and goes with the next write. Where
//! every field has a life, the item's own expiry is that of the last, so that the whole is swept
//! like any dead item; the key's own life is kept aside.

use crate::value::HASH;
use std::borrow::Cow;
use store::{Change, Item};

/// Fields may have lives.
const LIVES: u8 = 1;
/// What Redis would keep in one piece: so many fields, of so many bytes.
const LISTPACK_FIELDS: usize = 128;
const LISTPACK_BYTES: usize = 64;

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    pub(crate) name: Cow<'a, [u8]>,
    pub(crate) value: Cow<'a, [u8]>,
    /// When it dies, in Unix milliseconds.
    pub(crate) expires: Option<u64>,
}

/// Reads the fields of a hash in order, dead ones included.
#[derive(Clone, Debug)]
struct Reader<'a> {
    rest: &'a [u8],
    lives: bool,
}

fn take_len(bytes: &mut &[u8]) -> Option<usize> {
    let (mut len, mut shift) = (0u64, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        len |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return usize::try_from(len).ok();
        }
        shift += 7;
        if shift > 28 {
            return None;
        }
    }
}

fn put_len(out: &mut Vec<u8>, mut len: usize) {
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
}

/// The end of a life, 0 for none.
fn take_life(bytes: &mut &[u8]) -> Option<u64> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*head))
}

/// What a stored life means.
fn some_life(at: u64) -> Option<u64> {
    (at > 0).then_some(at)
}

impl<'a> Reader<'a> {
    /// The reader, and the key's life, 0 for none, if it is kept aside.
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

/// The live fields of a hash and their values.
pub(crate) fn fields(
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

/// When the next field of a hash dies, in Unix milliseconds.
pub(crate) fn next_death(value: &[u8], now_ms: u64) -> Option<u64> {
    fields(value, now_ms).filter_map(|(.., expires)| expires).min()
}

/// Whether a field of a hash has died since it was written.
pub(crate) fn has_dead(value: &[u8], now_ms: u64) -> bool {
    let mut reader = Reader::new(value).0;
    let mut all = std::iter::from_fn(|| reader.field());
    all.any(|(.., expires)| expires.is_some_and(|at| at <= now_ms))
}

/// The value of a field, and when it dies.
pub(crate) fn find<'a>(
    value: &'a [u8],
    name: &[u8],
    now_ms: u64,
) -> Option<(&'a [u8], Option<u64>)> {
    let mut fields = fields(value, now_ms);
    fields.find(|(found, ..)| *found == name).map(|(_, value, expires)| (value, expires))
}

/// When the key's life ends.
pub(crate) fn life(item: &Item<'_>) -> Option<u64> {
    Reader::new(item.value).1.map_or(item.expires, some_life)
}

/// The change that lets the key live until then.
pub(crate) fn live_until(item: &Item<'_>, at: Option<u64>) -> Change<'static> {
    if Reader::new(item.value).1.is_none() {
        return Change::Expire(at);
    }
    let mut hash = Hash::of(item, 0);
    hash.expires = at;
    hash.change()
}

/// How Redis would hold it.
pub(crate) fn encoding(value: &[u8]) -> &'static str {
    let mut reader = Reader::new(value).0;
    let lives = reader.lives;
    let mut count = 0;
    while let Some((name, value, _)) = reader.field() {
        count += 1;
        if count > LISTPACK_FIELDS || name.len().max(value.len()) > LISTPACK_BYTES {
            return "hashtable";
        }
    }
    if lives { "listpackex" } else { "listpack" }
}

/// A hash to be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hash<'a> {
    /// The fields, the oldest first.
    pub(crate) fields: Vec<Field<'a>>,
    /// When the key dies.
    pub(crate) expires: Option<u64>,
}

impl<'a> Hash<'a> {
    /// The hash of an item, without the fields that are dead by `now_ms`.
    pub(crate) fn of(item: &Item<'a>, now_ms: u64) -> Self {
        let fields = fields(item.value, now_ms).map(|(name, value, expires)| Field {
            name: Cow::Borrowed(name),
            value: Cow::Borrowed(value),
            expires,
        });
        Self { fields: fields.collect(), expires: life(item) }
    }

    /// The field of that name.
    pub(crate) fn get(&mut self, name: &[u8]) -> Option<&mut Field<'a>> {
        self.fields.iter_mut().find(|field| &*field.name == name)
    }

    /// Sets a field, whose life then has no end; whether it is new.
    pub(crate) fn set(&mut self, name: &[u8], value: Vec<u8>) -> bool {
        let is_new = self.put(name, value);
        if let Some(field) = self.get(name).filter(|_| !is_new) {
            field.expires = None;
        }
        is_new
    }

    /// Sets a field, whose life stays as it is; whether it is new.
    pub(crate) fn put(&mut self, name: &[u8], value: Vec<u8>) -> bool {
        let value = Cow::Owned(value);
        if let Some(field) = self.get(name) {
            field.value = value;
            return false;
        }
        self.fields.push(Field { name: Cow::Owned(name.to_vec()), value, expires: None });
        true
    }

    /// Removes a field; whether there was one.
    pub(crate) fn remove(&mut self, name: &[u8]) -> bool {
        let before = self.fields.len();
        self.fields.retain(|field| &*field.name != name);
        self.fields.len() < before
    }

    /// The change that stores it; an empty hash goes.
    pub(crate) fn change(&self) -> Change<'static> {
        if self.fields.is_empty() {
            return Change::Remove;
        }
        let lives = self.fields.iter().any(|field| field.expires.is_some());
        let bytes = self.fields.iter().map(|field| field.name.len() + field.value.len() + 18);
        let mut out = Vec::with_capacity(9 + bytes.sum::<usize>());
        out.push(if lives { LIVES } else { 0 });
        if lives {
            out.extend_from_slice(&self.expires.unwrap_or(0).to_le_bytes());
        }
        for field in &self.fields {
            put_len(&mut out, field.name.len());
            put_len(&mut out, field.value.len());
            if lives {
                out.extend_from_slice(&field.expires.unwrap_or(0).to_le_bytes());
            }
            out.extend_from_slice(&field.name);
            out.extend_from_slice(&field.value);
        }
        // The last field takes the key with it.
        let last = self.fields.iter().map(|field| field.expires).collect::<Option<Vec<_>>>();
        let last = last.and_then(|all| all.into_iter().max());
        let expires = match (self.expires, last) {
            (Some(key), Some(last)) => Some(key.min(last)),
            (key, last) => key.or(last),
        };
        Change::Set { value: Cow::Owned(out), kind: HASH, expires }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn item(value: &[u8], expires: Option<u64>) -> Item<'_> {
        Item::outside(value, HASH, expires)
    }

    proptest! {
        /// Against a map that plays along: what is set is found, lives are kept, the key's too.
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
                let mut hash = if value.is_empty() { Hash::default() } else { Hash::of(&item, 0) };
                hash.expires = key_life;
                if let Some(new) = new {
                    prop_assert_eq!(hash.set(name, new.clone()), !model.contains_key(name));
                    hash.get(name).unwrap().expires = *life;
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
                prop_assert_eq!(find(&value, name, now_ms), Some((&value_of[..], *life)));
            }
        }

        #[test]
        fn rubbish_does_no_harm(value in prop::collection::vec(any::<u8>(), 0..60)) {
            fields(&value, 5).for_each(drop);
            encoding(&value);
            let _ = live_until(&item(&value, Some(3)), None);
        }
    }
}
