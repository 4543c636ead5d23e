//! The module's view of the traffic.
//!
//! The server shows every command before its execution, and sends events for missed, new and
//! removed keys. A hit has no event, so the filter looks up a sampled key without touching it. The
//! look-up gives whether the key exists, and its size.
//!
//! A key that is not sampled costs its hash. For a command with one argument only that argument is
//! read: the command's name matters only if its key is sampled. The counts of tenants' requests
//! come from one command in 64 on average, chosen at random.
//!
//! From 7.2 on the filter knows the client, and so the database of a key. Before 7.2 the module
//! looks for the key in all databases. A key found in none waits for the event of its miss or its
//! birth, which comes before the next command.

use crate::exchange::{Exchange, Seen};
use crate::fetches::Fetches;
use crate::keys::SeenKeys;
use crate::name::Name;
use crate::server::{Context, db_of};
use crate::stamps::{class_of_code, code_of};
use crate::tenants::Tenants;
use crate::untouching::Untouching;
use crate::verbs::{self, Deed, Verb};
use base::penalty::class_of;
use base::{Filter, Micros, Prng, Sample, Sighting, hash};
use std::cell::{Cell, RefCell};
use std::time::Instant;

/// One command in this many, on average, is counted for the owners of its keys and stands for the
/// others. The interval is random, as commands in a batch may repeat a pattern.
const COUNTED: u64 = 64;

/// The seed of the hash: every run samples the same keys.
const SEED: u64 = 0;

/// The hash of a key.
#[inline]
pub(crate) fn hash_of(key: &[u8]) -> u64 {
    hash::bytes(SEED, key)
}

/// A sampled request that waits for its database.
#[derive(Clone, Copy, Debug)]
struct Pending {
    key: u64,
    request: SampledRequest,
}

/// A sampled request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampledRequest {
    pub(crate) sighting: Sighting,
    key_length: usize,
    value: Option<usize>,
    ttl: Micros,
    pub(crate) client: u64,
    /// The time of the fetch that it ended, if fetches of all keys are timed.
    fetched: Option<Micros>,
}

/// Observes the traffic.
#[derive(Debug)]
pub(crate) struct Eye {
    started: Instant,
    filter: Cell<Filter>,
    /// The filter for the keys that the rank learns from, among those of `filter`.
    watch: Cell<Filter>,
    /// Commands before the next one that is counted.
    uncounted: Cell<u64>,
    prng: RefCell<Prng>,
    pub(crate) samples: Cell<u64>,
    pending: RefCell<Vec<Pending>>,
    /// Whether any request is pending.
    waits: Cell<bool>,
    pub(crate) fetches: Fetches,
    pub(crate) keys: SeenKeys,
    pub(crate) untouching: Untouching,
}

/// A command in the form that the server shows.
pub(crate) trait CommandWords {
    /// The number of its words, with its name.
    fn count(&self) -> usize;
    /// The word at a position.
    fn word(&self, at: usize) -> Name<'_>;
    /// The bytes of the word at a position.
    fn bytes(&self, at: usize) -> &[u8];
    /// The client that sent it, where the server tells.
    fn client(&self) -> Option<u64>;
}

/// The context, tenants and exchange that the eye uses.
pub(crate) struct Sight<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) tenants: &'a RefCell<Tenants>,
    pub(crate) exchange: &'a Exchange,
}

impl Eye {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            filter: Cell::new(Filter::NONE),
            watch: Cell::new(Filter::NONE),
            uncounted: Cell::new(0),
            prng: RefCell::new(Prng::new(3)),
            samples: Cell::new(0),
            pending: RefCell::default(),
            waits: Cell::new(false),
            fetches: Fetches::default(),
            keys: SeenKeys::default(),
            untouching: Untouching::default(),
        }
    }

    /// Time on the plant's clock.
    pub(crate) fn now(&self) -> Micros {
        Micros(self.started.elapsed().as_micros() as u64)
    }

    /// Sets the filter that chooses the keys to sample for models, and that for the keys that the
    /// rank learns from.
    pub(crate) fn set_filter(&self, filter: Filter, watch: Filter) {
        let is_wider = watch.threshold() > filter.threshold();
        self.filter.set(if is_wider { watch } else { filter });
        self.watch.set(watch);
    }

    /// The filter that chooses the keys to sample.
    pub(crate) fn filter(&self) -> Filter {
        self.filter.get()
    }

    /// Examines a command before its execution.
    #[inline]
    pub(crate) fn see(&self, command: &impl CommandWords, sight: &Sight<'_>) {
        let left = self.uncounted.get();
        self.uncounted.set(left.wrapping_sub(1));
        let count = command.count();
        let is_single = count == 2 && left > 0 && !self.waits.get();
        if is_single {
            let hash = hash_of(command.bytes(1));
            if !self.filter.get().keeps(hash) {
                if self.keys.is_on() {
                    self.note(command, hash);
                }
                return;
            }
        }
        self.see_all(command, count, left == 0, sight);
    }

    /// Notes the request of a command with one argument.
    #[inline]
    fn note(&self, command: &impl CommandWords, hash: u64) {
        let verb = verbs::find(command.bytes(0));
        if let Some(verb) = verb.filter(|_| !self.untouching.is_of(command)) {
            self.keys.see(hash, verb.deed, || command.client().unwrap_or_default());
        }
    }

    /// Examines all keys of a command.
    fn see_all(
        &self,
        command: &impl CommandWords,
        count: usize,
        is_counted: bool,
        sight: &Sight<'_>,
    ) {
        if is_counted {
            self.uncounted.set(self.prng.borrow_mut().below(2 * COUNTED - 1));
        }
        if self.waits.replace(false) {
            // No event came for these requests: their databases stay unknown.
            self.pending.borrow_mut().clear();
        }
        if count < 2 {
            return;
        }
        let Some(verb) = verbs::find(command.bytes(0)) else {
            self.untouching.see(command, |client| db_of(client).is_some());
            return;
        };
        if self.untouching.is_of(command) {
            return;
        }
        let client = || command.client().unwrap_or_default();
        let is_one = verb.places(count).nth(1).is_none();
        if self.keys.is_on() && !is_one {
            self.keys.begin_several();
        }
        for place in verb.places(count) {
            let name = command.word(place);
            let hash = hash_of(name.bytes());
            if is_counted {
                tally(verb, command, name, sight);
            }
            let fetched = if self.keys.is_on() {
                if is_one {
                    self.keys.see(hash, verb.deed, client);
                } else {
                    self.keys.see_one_of_several(hash, verb.deed, client);
                }
                self.end_fetch(verb, place, hash, name, command, sight)
            } else {
                None
            };
            if self.filter.get().keeps(hash) && sight.exchange.has_room() {
                self.sample(verb, place, (hash, fetched), name, command, sight);
            }
        }
    }

    /// Examines a sampled key and sends the request to the pilot.
    fn sample(
        &self,
        verb: &Verb,
        place: usize,
        (hash, fetched): (u64, Option<Micros>),
        name: Name<'_>,
        command: &impl CommandWords,
        sight: &Sight<'_>,
    ) {
        let db = db(command, name, sight);
        if let (Some(db), Ok(tenants)) = (db, sight.tenants.try_borrow()) {
            let owner = usize::from(tenants.owner(db, name.bytes()));
            let is_watched = self.watch.get().keeps(hash);
            let is_of = |filter: Filter| is_watched || filter.keeps(hash);
            if tenants.all.get(owner).is_some_and(|tenant| !is_of(tenant.filter)) {
                return;
            }
        }
        let found = db.and_then(|db| {
            sight.context.select(db).then(|| sight.context.look(name, false)).flatten()
        });
        let written = || {
            let at = verb.value(place)?;
            (at < command.count()).then(|| command.word(at).bytes().len())
        };
        let (sighting, value) = match verb.deed {
            Deed::Read if found.is_some() => (Sighting::Hit, found.and_then(|f| f.length)),
            Deed::Read => (Sighting::Miss, None),
            Deed::Write(_) => (Sighting::Write, written()),
            Deed::Change => (Sighting::Write, found.and_then(|f| f.length)),
            Deed::Remove => (Sighting::Delete, None),
        };
        let request = SampledRequest {
            sighting,
            key_length: name.bytes().len(),
            value,
            ttl: ttl(verb, command),
            client: command.client().unwrap_or_default(),
            fetched,
        };
        if let Some(db) = db {
            self.tell(db, name.bytes(), hash, request, sight);
        } else {
            self.pending.borrow_mut().push(Pending { key: hash, request });
            self.waits.set(true);
        }
    }

    /// Completes a pending request: an event names the database of its key.
    pub(crate) fn met(&self, db: u16, key: &[u8], sight: &Sight<'_>) {
        if !self.waits.get() {
            return;
        }
        let hash = hash_of(key);
        let found = {
            let mut pending = self.pending.borrow_mut();
            let at = pending.iter().position(|pending| pending.key == hash);
            at.map(|at| pending.swap_remove(at))
        };
        if let Some(found) = found {
            self.tell(db, key, hash, found.request, sight);
        }
    }

    /// Sends a request to the pilot.
    fn tell(&self, db: u16, key: &[u8], hash: u64, request: SampledRequest, sight: &Sight<'_>) {
        let time = self.now();
        let Ok(mut tenants) = sight.tenants.try_borrow_mut() else { return };
        let owner = tenants.owner(db, key);
        let fetched = if self.keys.is_stamped() {
            request.fetched
        } else {
            self.time(owner, hash, request, time, &mut tenants)
        };
        let size = match request.sighting {
            Sighting::Miss | Sighting::Delete => 0,
            _ => tenants.size(owner, request.key_length, request.value),
        };
        self.samples.set(self.samples.get() + 1);
        let SampledRequest { sighting, ttl, .. } = request;
        let penalty = tenants.penalty(owner);
        let sample = Sample { time, key: hash, tenant: owner, sighting, size, ttl, penalty };
        let fetched = fetched.map_or(0, |took| class_of_code(code_of(class_of(took))));
        sight.exchange.send(Seen { sample, tick: self.keys.tick(), fetched, is_expiry: false });
    }

    /// Tells the pilot of a sampled key that expired.
    pub(crate) fn expired(&self, db: u16, key: &[u8], sight: &Sight<'_>) {
        let hash = hash_of(key);
        if self.watch.get().keeps(hash)
            && let Ok(tenants) = sight.tenants.try_borrow()
        {
            let (zero, tenant) = (Micros(0), tenants.owner(db, key));
            let sample = Sample {
                time: self.now(),
                key: hash,
                tenant,
                sighting: Sighting::Delete,
                size: 0,
                ttl: zero,
                penalty: zero,
            };
            sight.exchange.send(Seen {
                sample,
                tick: self.keys.tick(),
                fetched: 0,
                is_expiry: true,
            });
        }
    }
}

/// Counts a request that finds its key, or a write, for the key's owner. Events count the misses.
fn tally(verb: &Verb, command: &impl CommandWords, name: Name<'_>, sight: &Sight<'_>) {
    let Some(db) = db(command, name, sight) else { return };
    let is_there = sight.context.select(db) && sight.context.look(name, false).is_some();
    let Ok(mut tenants) = sight.tenants.try_borrow_mut() else { return };
    let owner = tenants.owner(db, name.bytes());
    let Some(tenant) = tenants.get_mut(owner) else { return };
    match verb.deed {
        Deed::Read if is_there => tenant.hits += COUNTED,
        Deed::Write(_) | Deed::Change => tenant.sets += COUNTED,
        Deed::Read | Deed::Remove => {}
    }
}

/// The database of a request: the only one, its client's, or the one that holds its key. To ask for
/// a client's database costs the server half a GET, since it also returns the client's address.
pub(crate) fn db(command: &impl CommandWords, name: Name<'_>, sight: &Sight<'_>) -> Option<u16> {
    if let Some(only) = sight.tenants.try_borrow().ok()?.only_db() {
        return Some(only);
    }
    if let Some(client) = command.client() {
        return Some(db_of(client).unwrap_or_default());
    }
    let dbs: Vec<u16> = sight.tenants.borrow().dbs.iter().map(|(db, _)| *db).collect();
    dbs.into_iter()
        .find(|&db| sight.context.select(db) && sight.context.look(name, false).is_some())
}

/// The time to live that a command gives its key; zero for none.
fn ttl(verb: &Verb, command: &impl CommandWords) -> Micros {
    let number = |at: usize| -> Option<u64> {
        std::str::from_utf8(command.word(at).bytes()).ok()?.parse().ok()
    };
    let count = command.count();
    let found = match verb.deed {
        Deed::Write(3) if count > 2 => {
            let is_ms =
                command.word(0).bytes().first().is_some_and(|c| c.eq_ignore_ascii_case(&b'p'));
            number(2).map(|n| n.saturating_mul(if is_ms { 1_000 } else { 1_000_000 }))
        }
        Deed::Write(2) => (3..count.saturating_sub(1)).find_map(|at| {
            let scale = match command.word(at).bytes() {
                word if word.eq_ignore_ascii_case(b"ex") => 1_000_000,
                word if word.eq_ignore_ascii_case(b"px") => 1_000,
                _ => return None,
            };
            number(at + 1).map(|n| n.saturating_mul(scale))
        }),
        _ => None,
    };
    Micros(found.unwrap_or_default())
}
