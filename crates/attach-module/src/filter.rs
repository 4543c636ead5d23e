//! What the module sees of the traffic.
//!
//! The server shows every command before it is executed, and tells of keys that a read did not
//! find, that were born or died. A hit has no event, so a sampled key is looked at in the filter,
//! without a trace: there it is, or not, and as large as it was.
//!
//! A key that is not sampled pays for its hash. Of a command with one argument no more is asked
//! than that argument: which command it is matters once its key is sampled. What tenants were
//! asked for is counted from one command in so many, chosen at random.
//!
//! Where it matters in which database a key is, the filter knows the client from 7.2 on, and so
//! its database. Before that, a key is sought in all databases; one that is in none waits for the
//! event that its miss or its birth causes, which comes before the next command.

use crate::exchange::Exchange;
use crate::name::Name;
use crate::server::{Context, db_of};
use crate::tenants::Tenants;
use crate::untouching::Untouching;
use crate::verbs::{self, Deed, Verb};
use base::hash::KeyMap;
use base::{Filter, Micros, Prng, Sample, Sighting, TenantId, hash};
use std::cell::{Cell, RefCell};
use std::time::Instant;

/// One command in so many is counted for the owners of its keys, and stands for the others: in the
/// mean, as what comes in batches may repeat itself.
const COUNTED: u64 = 64;

/// Fetches under way that are timed at once; of more, all are forgotten.
const FETCHES_MAX: usize = 1 << 12;

/// A fetch that takes longer was given up.
const FETCH_MAX: Micros = Micros::from_secs(10);

/// Seeds the hash: the same keys are sampled in every run.
const SEED: u64 = 0;

/// A sampled request that waits for its database.
#[derive(Clone, Copy, Debug)]
struct Pending {
    key: u64,
    request: Request,
}

/// A sampled request.
#[derive(Clone, Copy, Debug)]
struct Request {
    sighting: Sighting,
    key_length: usize,
    value: Option<usize>,
    ttl: Micros,
    client: u64,
}

/// The eye on the traffic.
#[derive(Debug)]
pub(crate) struct Eye {
    started: Instant,
    filter: Cell<Filter>,
    /// Commands before the next one that is counted.
    uncounted: Cell<u64>,
    prng: RefCell<Prng>,
    pub(crate) samples: Cell<u64>,
    pending: RefCell<Vec<Pending>>,
    /// Whether any is pending.
    waits: Cell<bool>,
    fetches: RefCell<KeyMap<(u64, Micros)>>,
    pub(crate) untouching: Untouching,
}

/// A command as the server shows it.
pub(crate) trait Command {
    /// Its words, its name included.
    fn count(&self) -> usize;
    /// One of its words.
    fn word(&self, at: usize) -> Name<'_>;
    /// Whose it is, where the server says.
    fn client(&self) -> Option<u64>;
}

/// Where the eye looks things up.
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
            uncounted: Cell::new(0),
            prng: RefCell::new(Prng::new(3)),
            samples: Cell::new(0),
            pending: RefCell::default(),
            waits: Cell::new(false),
            fetches: RefCell::default(),
            untouching: Untouching::default(),
        }
    }

    /// Time on the plant's clock.
    pub(crate) fn now(&self) -> Micros {
        Micros(self.started.elapsed().as_micros() as u64)
    }

    /// Chooses the keys to sample.
    pub(crate) fn set_filter(&self, filter: Filter) {
        self.filter.set(filter);
    }

    /// The keys that are sampled.
    pub(crate) fn filter(&self) -> Filter {
        self.filter.get()
    }

    /// A command is about to be executed.
    #[inline]
    pub(crate) fn see(&self, command: &impl Command, sight: &Sight<'_>) {
        let left = self.uncounted.get();
        self.uncounted.set(left.wrapping_sub(1));
        let count = command.count();
        let is_single = count == 2 && left > 0 && !self.waits.get();
        if is_single && !self.filter.get().keeps(hash::bytes(SEED, command.word(1).bytes())) {
            return;
        }
        self.see_all(command, count, left == 0, sight);
    }

    /// Looks at all keys of a command.
    fn see_all(&self, command: &impl Command, count: usize, is_counted: bool, sight: &Sight<'_>) {
        if is_counted {
            self.uncounted.set(self.prng.borrow_mut().below(2 * COUNTED - 1));
        }
        if self.waits.replace(false) {
            // No event told of these: nobody knows whose they are.
            self.pending.borrow_mut().clear();
        }
        if count < 2 {
            return;
        }
        let Some(verb) = verbs::find(command.word(0).bytes()) else {
            self.untouching.see(command, |client| db_of(client).is_some());
            return;
        };
        if self.untouching.is_of(command) {
            return;
        }
        for place in verb.places(count) {
            let name = command.word(place);
            let hash = hash::bytes(SEED, name.bytes());
            if is_counted {
                tally(verb, command, name, sight);
            }
            if self.filter.get().keeps(hash) {
                self.sample(verb, place, hash, name, command, sight);
            }
        }
    }

    /// Looks at a sampled key and tells the pilot of it.
    fn sample(
        &self,
        verb: &Verb,
        place: usize,
        hash: u64,
        name: Name<'_>,
        command: &impl Command,
        sight: &Sight<'_>,
    ) {
        let db = db(command, name, sight);
        if let (Some(db), Ok(tenants)) = (db, sight.tenants.try_borrow()) {
            let owner = usize::from(tenants.owner(db, name.bytes()));
            if tenants.all.get(owner).is_some_and(|tenant| !tenant.filter.keeps(hash)) {
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
        let request = Request {
            sighting,
            key_length: name.bytes().len(),
            value,
            ttl: ttl(verb, command),
            client: command.client().unwrap_or_default(),
        };
        if let Some(db) = db {
            self.tell(db, name.bytes(), hash, request, sight);
        } else {
            self.pending.borrow_mut().push(Pending { key: hash, request });
            self.waits.set(true);
        }
    }

    /// A key whose database is known now: an event tells of it.
    pub(crate) fn met(&self, db: u16, key: &[u8], sight: &Sight<'_>) {
        if !self.waits.get() {
            return;
        }
        let hash = hash::bytes(SEED, key);
        let found = {
            let mut pending = self.pending.borrow_mut();
            let at = pending.iter().position(|pending| pending.key == hash);
            at.map(|at| pending.swap_remove(at))
        };
        if let Some(found) = found {
            self.tell(db, key, hash, found.request, sight);
        }
    }

    /// Tells the pilot of a request.
    fn tell(&self, db: u16, key: &[u8], hash: u64, request: Request, sight: &Sight<'_>) {
        let time = self.now();
        let Ok(mut tenants) = sight.tenants.try_borrow_mut() else { return };
        let owner = tenants.owner(db, key);
        self.time(owner, hash, request, time, &mut tenants);
        let size = match request.sighting {
            Sighting::Miss | Sighting::Delete => 0,
            _ => tenants.size(owner, request.key_length, request.value),
        };
        self.samples.set(self.samples.get() + 1);
        let Request { sighting, ttl, .. } = request;
        let penalty = tenants.penalty(owner);
        sight.exchange.send(Sample {
            time,
            key: hash,
            tenant: owner,
            sighting,
            size,
            ttl,
            penalty,
        });
    }

    /// Starts the watch at a miss and stops it at the write of the same client.
    fn time(
        &self,
        owner: TenantId,
        hash: u64,
        request: Request,
        time: Micros,
        tenants: &mut Tenants,
    ) {
        let mut fetches = self.fetches.borrow_mut();
        match request.sighting {
            Sighting::Miss => {
                if fetches.len() >= FETCHES_MAX {
                    fetches.clear();
                }
                let (_, since) = fetches.entry(hash).or_insert((request.client, time));
                if time.saturating_sub(*since) > FETCH_MAX {
                    fetches.insert(hash, (request.client, time));
                }
            }
            Sighting::Write => {
                let Some((client, since)) = fetches.remove(&hash) else { return };
                let took = time.saturating_sub(since);
                if client == request.client && took <= FETCH_MAX {
                    tenants.fetched(owner, took);
                }
            }
            Sighting::Hit | Sighting::Delete => _ = fetches.remove(&hash),
        }
    }
}

/// Counts a request that finds its key, or writes, for the key's owner. What finds no key is
/// told by an event.
fn tally(verb: &Verb, command: &impl Command, name: Name<'_>, sight: &Sight<'_>) {
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

/// The database of a request: the only one, its client's, or that in which its key is. To ask for a
/// client's takes the server as long as half a GET, since it tells its address as well.
fn db(command: &impl Command, name: Name<'_>, sight: &Sight<'_>) -> Option<u16> {
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
fn ttl(verb: &Verb, command: &impl Command) -> Micros {
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
