//! The dictionaries of a file: compressed items keep their form there, and name a dictionary by its
//! number in the file.
//!
//! ```text
//!   ┌ Dictionary ┐ ┌ Items ──────┐ ┌ Compressed ─────────────────────┐ ┌ Dictionary ┐
//!   │ 2          │ │ plain items │ │ (2, item) (1, item) (2, item) … │ │ 3          │ …
//!   └────────────┘ └─────────────┘ └─────────────────────────────────┘ └────────────┘
//! ```
//!
//! A dictionary comes before the first item that names it. The form 0 is a plain item, 1 one
//! without a dictionary, and others are numbers of dictionaries. If a dictionary is damaged, its
//! items are not restored.

use base::TenantId;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;
use store::{
    DictionaryUse, HeldDictionary, Now, SharedDictionary, Store, StoredForm, without_dictionary,
};

/// The form of a plain item.
pub(crate) const PLAIN: u32 = 0;
/// The form of a compressed item without a dictionary.
const WITHOUT: u32 = 1;

/// A dictionary in a file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record<'a> {
    /// The form of the items that it is for.
    pub(crate) form: u32,
    /// The number of the tenant, as items have it.
    pub(crate) tenant: u16,
    /// The octave of the lengths of new values that it is for, and their ratio.
    octave: Option<(u8, f32)>,
    #[serde(borrow, with = "serde_bytes")]
    bytes: &'a [u8],
}

impl Record<'_> {
    /// Gives a tenant of this server the dictionary.
    pub(crate) fn restore(
        &self,
        store: &Store,
        tenant: TenantId,
        now: Now,
    ) -> Option<HeldDictionary> {
        let of = self.octave.map(|(octave, ratio)| DictionaryUse { octave, ratio });
        store.restore_dictionary(tenant, self.bytes, of, now)
    }
}

/// The dictionaries of a file that is being written.
#[derive(Debug, Default)]
pub(crate) struct WrittenDictionaries {
    forms: HashMap<SharedDictionary, u32>,
    /// Dictionaries that items name, but which the file has not yet.
    due: Vec<(u32, TenantId, SharedDictionary)>,
}

impl WrittenDictionaries {
    /// The form of an item in this file.
    pub(crate) fn form(&mut self, tenant: TenantId, form: StoredForm) -> u32 {
        match form {
            StoredForm::Plain => PLAIN,
            StoredForm::Compressed(None) => WITHOUT,
            StoredForm::Compressed(Some(dictionary)) => {
                let new = self.forms.len() as u32 + WITHOUT + 1;
                *self.forms.entry(dictionary).or_insert_with_key(|dictionary| {
                    self.due.push((new, tenant, dictionary.clone()));
                    new
                })
            }
        }
    }

    /// The payloads of the dictionaries that must be in the file before the items so far, with
    /// their forms.
    pub(crate) fn due(
        &mut self,
        store: &Store,
        encode: impl Fn(&Record<'_>) -> io::Result<Vec<u8>>,
    ) -> io::Result<Vec<(u32, Vec<u8>)>> {
        let payload = |(form, tenant, dictionary): (u32, TenantId, SharedDictionary)| {
            let of = store.dictionary_use(tenant, &dictionary);
            let octave = of.map(|of| (of.octave, of.ratio));
            let record = Record { form, tenant, octave, bytes: dictionary.bytes() };
            Ok((form, encode(&record)?))
        };
        self.due.drain(..).map(payload).collect()
    }
}

/// The dictionaries of a file that is being read, by the forms of their items.
#[derive(Debug, Default)]
pub(crate) struct Restored(HashMap<u32, Option<HeldDictionary>>);

impl Restored {
    /// Adds a dictionary that a tenant got; `None` for a damaged one.
    pub(crate) fn add(&mut self, form: u32, held: Option<HeldDictionary>) {
        self.0.insert(form, held);
    }

    /// Whether a dictionary must be read before items of this form.
    pub(crate) fn lacks(&self, form: u32) -> bool {
        form > WITHOUT && !self.0.contains_key(&form)
    }

    /// A compressed value as the store has it; `None` if it has no dictionary any more, or is none.
    pub(crate) fn value(&self, form: u32, value: &[u8]) -> Option<Vec<u8>> {
        if form == WITHOUT {
            return without_dictionary(value);
        }
        self.0.get(&form)?.as_ref()?.adopt(value)
    }
}
