//! The cost of misses: the time from a client's read that misses to the same client's write.
//!
//! Where keys are ranked, the fetches of all keys are timed. Else those of sampled keys are.

use crate::filter::{CommandWords, Eye, SampledRequest, Sight, db, hash_of};
use crate::name::Name;
use crate::tenants::Tenants;
use crate::verbs::{Deed, Verb};
use base::hash::KeyMap;
use base::{Micros, Sighting, TenantId};
use std::cell::RefCell;

/// The most fetches timed at once; when they are more, all are forgotten.
const FETCHES_MAX: usize = 1 << 12;

/// A longer fetch counts as abandoned.
const FETCH_MAX: Micros = Micros::from_secs(10);

/// Fetches of missing keys, from a client's read to the same client's write.
#[derive(Debug, Default)]
pub(crate) struct Fetches(RefCell<KeyMap<(u64, Micros)>>);

impl Fetches {
    /// Starts the timer of a fetch, unless one runs.
    pub(crate) fn miss(&self, hash: u64, client: u64, time: Micros) {
        let mut fetches = self.0.borrow_mut();
        if fetches.len() >= FETCHES_MAX {
            fetches.clear();
        }
        let (_, since) = fetches.entry(hash).or_insert((client, time));
        if time.saturating_sub(*since) > FETCH_MAX {
            fetches.insert(hash, (client, time));
        }
    }

    /// Stops the timer of a fetch, and returns its time if this client began it.
    pub(crate) fn write(
        &self,
        hash: u64,
        client: u64,
        time: impl FnOnce() -> Micros,
    ) -> Option<Micros> {
        let (began, since) = self.0.borrow_mut().remove(&hash)?;
        let took = time().saturating_sub(since);
        (began == client && took <= FETCH_MAX).then_some(took)
    }

    /// Forgets a fetch.
    pub(crate) fn end(&self, hash: u64) {
        self.0.borrow_mut().remove(&hash);
    }
}

impl Eye {
    /// Ends the fetch of a key that is written, where fetches of all keys are timed, and returns
    /// its time.
    pub(crate) fn end_fetch(
        &self,
        verb: &Verb,
        place: usize,
        hash: u64,
        name: Name<'_>,
        command: &impl CommandWords,
        sight: &Sight<'_>,
    ) -> Option<Micros> {
        if !matches!(verb.deed, Deed::Write(_) | Deed::Change) || !self.keys.is_stamped() {
            return None;
        }
        let value = verb.value(place).filter(|&at| at < command.count());
        self.keys.length.set(value.map_or(0, |at| command.word(at).bytes().len()));
        let client = command.client().unwrap_or_default();
        let took = self.fetches.write(hash, client, || self.now())?;
        self.keys.fetched(hash, took);
        let db = db(command, name, sight).unwrap_or_default();
        if let Ok(mut tenants) = sight.tenants.try_borrow_mut() {
            let owner = tenants.owner(db, name.bytes());
            tenants.fetched(owner, took);
        }
        Some(took)
    }

    /// Starts the timer of a fetch of a key that was not found, where fetches of all keys are
    /// timed.
    pub(crate) fn missed(&self, key: &[u8]) {
        if self.keys.is_stamped() {
            let hash = hash_of(key);
            if let Some(client) = self.keys.missed(hash) {
                self.fetches.miss(hash, client, self.now());
            }
        }
    }

    /// Starts the timer of a fetch at a miss and stops it at the same client's write.
    pub(crate) fn time(
        &self,
        owner: TenantId,
        hash: u64,
        request: SampledRequest,
        time: Micros,
        tenants: &mut Tenants,
    ) -> Option<Micros> {
        match request.sighting {
            Sighting::Miss => self.fetches.miss(hash, request.client, time),
            Sighting::Write => {
                let took = self.fetches.write(hash, request.client, || time)?;
                tenants.fetched(owner, took);
                return Some(took);
            }
            Sighting::Hit | Sighting::Delete => self.fetches.end(hash),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetch_is_timed_for_its_client() {
        let fetches = Fetches::default();
        fetches.miss(1, 7, Micros(100));
        fetches.miss(1, 8, Micros(150));
        assert_eq!(fetches.write(1, 7, || Micros(400)), Some(Micros(300)));
        assert_eq!(fetches.write(1, 7, || Micros(400)), None, "it is over");
        fetches.miss(1, 7, Micros(100));
        assert_eq!(fetches.write(1, 9, || Micros(400)), None, "another client's");
        fetches.miss(1, 7, Micros(100));
        fetches.end(1);
        assert_eq!(fetches.write(1, 7, || Micros(400)), None);
    }
}
