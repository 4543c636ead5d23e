//! Compressed values outside the store, in a file: they keep their form, and a file has their
//! dictionaries beside them.
//!
//! ```text
//!   store ─▶ form of a value, dictionary ─▶ file: dictionaries, each once, by its own numbers
//!   store ◀─ dictionary: the same or a new number ◀─ file; then the values, with that number
//! ```
//!
//! Frames have no checksum, so a value with another dictionary than its own would be another value.
//! Therefore the file must notice a damaged dictionary, and a number that was given for a
//! dictionary holds as long as the caller keeps it ([`HeldDictionary`]).

use crate::compression::dictionary::Dictionary;
use crate::compression::form::{Form, NUMBER};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The form of a value that leaves the store as it is stored.
#[derive(Clone, Debug)]
pub enum StoredForm {
    /// The value itself.
    Plain,
    /// A compressed value, and its dictionary if it has one.
    Compressed(Option<SharedDictionary>),
}

/// A dictionary of a store.
#[derive(Clone, Debug)]
pub struct SharedDictionary(pub(crate) Arc<Dictionary>);

impl SharedDictionary {
    /// Its bytes, for a file.
    pub fn bytes(&self) -> &[u8] {
        &self.0.raw
    }
}

/// Two are equal if they are one dictionary of one store.
impl PartialEq for SharedDictionary {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedDictionary {}

impl Hash for SharedDictionary {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// The use of a dictionary: the values that it is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DictionaryUse {
    /// The octave of their lengths.
    pub octave: u8,
    /// Bytes stored for each plain byte.
    pub ratio: f32,
}

/// The number of a dictionary in a tenant's list, which stays as long as this value.
#[derive(Clone, Debug)]
pub struct HeldDictionary {
    pub(crate) number: u16,
    /// Keeps the number from being given up.
    pub(crate) _hold: Arc<()>,
}

impl HeldDictionary {
    /// A compressed value of a file, with this number; `None` if it is none.
    pub fn adopt(&self, stored: &[u8]) -> Option<Vec<u8>> {
        with_number(stored, self.number)
    }
}

/// A compressed value of a file that has no dictionary; `None` if it is none.
pub fn without_dictionary(stored: &[u8]) -> Option<Vec<u8>> {
    with_number(stored, 0)
}

fn with_number(stored: &[u8], number: u16) -> Option<Vec<u8>> {
    Form::of(stored).ok()?;
    Some([&number.to_le_bytes(), &stored[NUMBER..]].concat())
}
