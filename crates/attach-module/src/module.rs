//! The state of the module, and its reactions to calls by the server.
//!
//! All code but the pilot runs on the server's thread. The server calls the module while the module
//! calls the server: for example, an eviction causes an event. So every part has its own cell, and
//! no cell stays borrowed across a call of the server.

use crate::act::{ActingState, Hand};
use crate::census::Census;
use crate::exchange::{Exchange, Look};
use crate::filter::{CommandWords, Eye, Sight, hash_of};
use crate::learn;
use crate::memory;
use crate::name::OwnName;
use crate::server::{Context, ServerMemory};
use crate::settings::Settings;
use crate::tenants::Tenants;
use base::Bytes;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Memory of all rings together, as a divisor of `maxmemory`.
const RINGS: u64 = 200;

/// Memory kept free so that the server need not evict between two ticks, as a divisor of
/// `maxmemory`.
const SPARE: u64 = 200;

/// Memory for entries of evicted keys, as a divisor of `maxmemory`; at least an eighth of the
/// number of keys.
const EVICTED: u64 = 400;

/// The table has room for at most this many times the present keys.
const FULL_MAX: f64 = 4.0;

/// Minimum change of the memory to divide that the pilot learns of, as a share of this memory.
const DRIFT: f64 = 1.0 / 64.0;

/// Steps of the walk through each database at each tick of cron, to learn sizes of keys.
const DRAWS: usize = 16;

/// Services of the server that the module needs beside its context.
pub(crate) trait Host {
    /// Arms a timer that calls the module back after `after_ms` milliseconds.
    fn arm(&self, context: Context<'_>, after_ms: i64);
}

/// The beginning of a key, or the kind of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Born,
    Expired,
    Evicted,
    /// Removed on request, or renamed.
    Removed,
}

/// The module.
pub(crate) struct Module {
    host: Box<dyn Host>,
    /// A context for the filter, which has none.
    pub(crate) context: Context<'static>,
    pub(crate) settings: RefCell<Settings>,
    pub(crate) tenants: RefCell<Tenants>,
    pub(crate) eye: Eye,
    pub(crate) hand: Hand,
    census: RefCell<Census>,
    pub(crate) exchange: Arc<Exchange>,
    /// The last text that the module returned to the server.
    pub(crate) given: RefCell<Option<OwnName>>,
    /// Generation of the settings from which the tenants were created.
    generation: Cell<u64>,
    databases: u16,
    limit: Cell<u64>,
    looks: Cell<u64>,
}

impl Module {
    pub(crate) fn new(
        host: Box<dyn Host>,
        context: Context<'static>,
        exchange: Arc<Exchange>,
        databases: u16,
    ) -> Self {
        Self {
            host,
            context,
            settings: RefCell::default(),
            tenants: RefCell::new(Tenants::new(&[], databases, 0)),
            eye: Eye::new(),
            hand: Hand::new(),
            census: RefCell::default(),
            exchange,
            given: RefCell::default(),
            generation: Cell::new(0),
            databases,
            limit: Cell::new(0),
            looks: Cell::new(0),
        }
    }

    /// Asks the server for a call of [`Module::on_timer`].
    pub(crate) fn arm(&self, context: Context<'_>, after_ms: i64) {
        self.host.arm(context, after_ms);
    }

    fn sight(&self) -> Sight<'_> {
        Sight { context: self.context, tenants: &self.tenants, exchange: &self.exchange }
    }

    /// Called before a command is executed.
    #[inline]
    pub(crate) fn on_command(&self, command: &impl CommandWords) {
        self.eye.see(command, &self.sight());
        if self.hand.room.is_near() && self.eye.keys.wrote() {
            self.hand.arm(self, self.context);
        }
    }

    /// Called when a read did not find its key.
    pub(crate) fn on_miss(&self, db: u16, key: &[u8]) {
        if let Ok(mut tenants) = self.tenants.try_borrow_mut() {
            let owner = tenants.owner(db, key);
            if let Some(tenant) = tenants.get_mut(owner) {
                tenant.misses += 1;
            }
        }
        self.eye.missed(key);
        self.eye.met(db, key, &self.sight());
    }

    /// Called when a key was created or removed.
    pub(crate) fn on_life(&self, db: u16, key: &[u8], life: Life) {
        let is_born = life == Life::Born;
        if let Ok(mut tenants) = self.tenants.try_borrow_mut() {
            tenants.count(db, key, is_born);
        }
        let keys = &self.eye.keys;
        match life {
            Life::Born => {
                if keys.is_stamped() {
                    keys.born(hash_of(key));
                    if keys.is_large() {
                        self.hand.room.wrote_large(db, key);
                    }
                }
                self.eye.met(db, key, &self.sight());
            }
            Life::Evicted => {
                if keys.is_stamped() {
                    keys.died(hash_of(key), true);
                }
                let room = &self.hand.room;
                if !room.is_evicting.get() {
                    room.server_evicted.set(room.server_evicted.get() + 1);
                }
            }
            Life::Expired | Life::Removed => {
                if keys.is_stamped() {
                    keys.died(hash_of(key), false);
                }
                if life == Life::Expired {
                    self.eye.expired(db, key, &self.sight());
                }
            }
        }
    }

    /// Called when a database was flushed, or all databases if `db` is `None`.
    pub(crate) fn on_flush(&self, db: Option<u16>) {
        if let Ok(mut tenants) = self.tenants.try_borrow_mut() {
            tenants.flushed(db);
        }
    }

    /// Called ten times a second: counts, learns, publishes a look, and follows the pilot's step.
    pub(crate) fn on_cron(&self, context: Context<'_>) {
        let memory = context.memory();
        let dbs: Vec<_> = (0..self.databases)
            .filter(|&db| context.select(db))
            .map(|db| (db, context.db_size()))
            .filter(|(_, keys)| *keys > 0)
            .collect();
        self.take_settings(&memory, &dbs);
        let own = memory::used();
        let counted = memory.used.saturating_sub(memory.uncounted);
        let fixed = memory.fixed + own;
        let data = counted.saturating_sub(fixed);
        self.tenants.borrow_mut().recount(dbs);
        self.hand.draws.explore(&self.tenants, context, DRAWS);
        self.tenants.borrow_mut().weigh(data);
        if self.is_counted() {
            self.take_census(context);
        } else {
            self.hand.arm(self, context);
        }
        self.looks.set(self.looks.get() + 1);
        if self.looks.get().is_multiple_of(10) {
            self.tenants.borrow_mut().fade();
        }
        self.obey(context, &memory);
        self.look_at_keys(&memory);
        self.hand.look(self, context, counted, memory.limit);
        self.show(memory, fixed);
    }

    /// Called by the timer: evicts, or goes on counting keys.
    pub(crate) fn on_timer(&self, context: Context<'_>) {
        self.hand.arrived();
        if self.is_counted() {
            self.hand.tick(self, context);
        } else {
            self.take_census(context);
            self.hand.arm(self, context);
        }
    }

    /// Whether the number of keys of every tenant is known.
    fn is_counted(&self) -> bool {
        let shared: Vec<u16> = self.tenants.borrow().shared().collect();
        self.census.borrow().knows(shared.into_iter())
    }

    /// Creates the tenants again if the settings changed.
    fn take_settings(&self, memory: &ServerMemory, dbs: &[(u16, u64)]) {
        let settings = self.settings.borrow();
        if self.generation.get() == settings.generation {
            return;
        }
        let bounded = settings.tenants.iter().any(|tenant| tenant.max.is_some());
        let ring = match memory.limit {
            // Under one rank only a ceiling needs keys of one tenant.
            _ if learn::ranks(&settings.recipe) && !bounded => 0,
            0 => 1 << 20,
            limit => limit / RINGS,
        };
        let tenants = Tenants::new(&settings.tenants, self.databases, ring as usize);
        self.generation.set(settings.generation);
        *self.tenants.borrow_mut() = tenants;
        let is_empty = |db: &u16| dbs.iter().all(|(full, _)| full != db);
        let empty = (0..self.databases).filter(is_empty).collect();
        *self.census.borrow_mut() = Census::with_empty(empty);
        self.hand.follow(None);
        self.hand.draws.forget();
        self.hand.room.forget();
        self.eye.keys.count(learn::ranks(&settings.recipe));
        self.exchange.ask(None);
    }

    /// Adapts the table of keys, the reserve and the rank, where keys are ranked.
    fn look_at_keys(&self, memory: &ServerMemory) {
        let keys = &self.eye.keys;
        let (ranks, held) = {
            let tenants = self.tenants.borrow();
            (self.hand.ranks(), tenants.dbs.iter().map(|(_, keys)| keys).sum::<u64>())
        };
        if ranks {
            let evicted = held.min(memory.limit / EVICTED / 4).max(held / 8);
            // Until memory is full, there is room for the keys to come: growth forgets some.
            let full = (memory.limit as f64 / memory.used.max(1) as f64).clamp(1.0, FULL_MAX);
            keys.stamp(held, ((held + evicted) as f64 * full) as u64);
            let mean = memory.used / held.max(1);
            keys.large_from.set(mean as usize);
        } else {
            keys.unstamp();
        }
        let room = &self.hand.room;
        if let Some(rank) = self.exchange.take_rank() {
            room.learn(rank);
        }
        room.look(if ranks { memory.limit } else { 0 }, keys.tick(), self.hand.evicted.get());
    }

    /// Scans databases that tenants share for a while, and corrects the tenants' counts of keys.
    fn take_census(&self, context: Context<'_>) {
        let shared: Vec<u16> = self.tenants.borrow().shared().collect();
        let changes = || self.tenants.borrow().all.iter().map(|tenant| tenant.changes).collect();
        let found =
            self.census.borrow_mut().go_on(&shared, changes, |db, scan, found, is_first| {
                context.select(db)
                    && scan.go_on(context, &mut |key, _| {
                        let mut tenants = self.tenants.borrow_mut();
                        let owner = tenants.owner(db, key);
                        if let Some(count) = found.get_mut(usize::from(owner)) {
                            *count += 1;
                        }
                        if is_first && let Some(tenant) = tenants.get_mut(owner) {
                            tenant.ring.push(db, key, tenant.items.max(1) as u64);
                        }
                    })
            });
        let Some(found) = found else { return };
        let mut tenants = self.tenants.borrow_mut();
        for (owner, keys, before) in found.tenants {
            let since = tenants.all[usize::from(owner)].changes.saturating_sub(before);
            let off = (tenants.counted(found.db, owner) - keys).unsigned_abs();
            if found.is_first || off > since {
                tenants.correct(found.db, owner, keys);
            }
        }
    }

    /// Follows the pilot's step, and determines whether the module may act.
    fn obey(&self, context: Context<'_>, memory: &ServerMemory) {
        let (act, recipe) = {
            let settings = self.settings.borrow();
            (settings.act, settings.recipe)
        };
        let state = if self.exchange.broken.load(Relaxed) {
            ActingState::Held("the pilot has stopped: MODULE UNLOAD larder and load it again")
        } else if !act {
            ActingState::Observing
        } else if !recipe.steers() {
            ActingState::Held("recipe static makes no plans: set larder.recipe")
        } else if memory.limit == 0 {
            ActingState::Held("there is no memory limit to divide: set maxmemory")
        } else if memory.policy == "noeviction" {
            ActingState::Held("maxmemory-policy noeviction keeps every key: set allkeys-lru")
        } else if !context.is_serving_master() {
            ActingState::Held("this server is a replica or is loading")
        } else if !self.is_counted() {
            ActingState::Held("it is still counting the keys of the tenants")
        } else {
            ActingState::Acting
        };
        self.hand.draws.volatile.set(memory.policy.starts_with("volatile"));
        *self.hand.state.borrow_mut() = state;
        self.exchange.with_step(|step| {
            let models = self.tenants.borrow_mut().follow(step.as_ref());
            self.eye.set_filter(models, self.exchange.watch());
            self.hand.follow(step);
        });
    }

    /// Publishes a look for the pilot.
    fn show(&self, memory: ServerMemory, fixed: u64) {
        let limit = match memory.limit {
            0 => 0,
            limit => limit.saturating_sub(fixed).saturating_sub(limit / SPARE),
        };
        let drift = self.limit.get().abs_diff(limit) as f64;
        if drift > DRIFT * limit as f64 || limit == 0 {
            self.limit.set(limit);
        }
        let settings = self.settings.borrow();
        let tenants = self.tenants.borrow();
        self.exchange.publish_look(Look {
            generation: self.generation.get(),
            recipe: Some(settings.recipe),
            limit: Bytes(self.limit.get()),
            tenants: tenants.reading(),
            goals: tenants.goals(),
            evicted: tenants.all.iter().map(|tenant| tenant.evicted).collect(),
            state: self.hand.says(),
            acts: self.hand.acts(),
            tick: self.eye.keys.tick(),
            evictions: self.hand.evicted.get() + self.hand.room.server_evicted.get(),
            costs: tenants.costs(),
            work: self.hand.ranks().then(|| self.hand.room.work()),
            server: memory,
        });
    }
}

impl Hand {
    /// Whether plans are carried out.
    pub(crate) fn acts(&self) -> bool {
        matches!(*self.state.borrow(), ActingState::Acting)
    }

    /// A sentence on whether the module acts, without a full stop.
    pub(crate) fn says(&self) -> String {
        match &*self.state.borrow() {
            ActingState::Observing => {
                "it only observes: CONFIG SET larder.act yes lets it act".to_owned()
            }
            ActingState::Acting => "it acts".to_owned(),
            ActingState::Held(why) => format!("it only observes, because {why}"),
        }
    }
}
