//! Dictionaries that leave the store with their items, and come back before them.

use crate::compression::dictionary::Dictionary;
use crate::compression::octaves::{DICTIONARY_MAX, OCTAVES, RATIO_MAX, State};
use crate::compression::outside::{DictionaryUse, HeldDictionary, SharedDictionary};
use crate::room::compression_state::Known;
use crate::sync::shim::lock;
use crate::{Now, Store};
use base::TenantId;
use std::sync::Arc;

impl Store {
    /// The use of a dictionary for new items of a tenant; `None` if it has none any more. It waits
    /// until a call of [`Store::compress`] in another thread ends.
    pub fn dictionary_use(
        &self,
        tenant: TenantId,
        dictionary: &SharedDictionary,
    ) -> Option<DictionaryUse> {
        let worker = lock(&self.compression.worker);
        let known = worker.tenants.get(usize::from(tenant))?;
        let number = known.dictionaries.number(|own| Arc::ptr_eq(own, &dictionary.0))?;
        let octave = known.octaves.iter().position(|of| of.state == State::Ready(number))?;
        Some(DictionaryUse { octave: octave as u8, ratio: known.octaves[octave].ratio })
    }

    /// Gives a tenant a dictionary of an earlier run or of a dump, unless it has it already; new
    /// items use it too, if no other is in use for them. It makes room like any write. `None` if
    /// the bytes are no dictionary, or the tenant has too many.
    pub fn restore_dictionary(
        &self,
        tenant: TenantId,
        bytes: &[u8],
        of: Option<DictionaryUse>,
        now: Now,
    ) -> Option<HeldDictionary> {
        let at = usize::from(tenant);
        if bytes.len() > DICTIONARY_MAX || at >= self.tenants() {
            return None;
        }
        let mut worker = lock(&self.compression.worker);
        let len = worker.tenants.len().max(at + 1);
        worker.tenants.resize(len, Known::default());
        let same = worker.tenants[at].dictionaries.number(|own| *own.raw == *bytes);
        let number = if let Some(number) = same {
            number
        } else {
            let dictionary = Dictionary::from_bytes(bytes.to_vec())?;
            self.add_dictionary(&mut worker, tenant, dictionary, now)?
        };
        let hold = Arc::new(());
        let known = &mut worker.tenants[at];
        known.held.push((number, Arc::downgrade(&hold)));
        if let Some(DictionaryUse { octave, ratio }) = of
            && usize::from(octave) < OCTAVES
            && known.octaves[usize::from(octave)].state == State::Unknown
            && (0.0..=RATIO_MAX).contains(&ratio)
        {
            known.octaves[usize::from(octave)].learn(ratio, number, 0, 0);
        }
        let is_used = known.octaves.iter().any(|octave| octave.state == State::Ready(number));
        known.retired.retain(|&retired| retired != number);
        if !is_used {
            known.retired.push(number);
        }
        Some(HeldDictionary { number, _hold: hold })
    }
}
