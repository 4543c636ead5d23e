//! A pilot at work on a simulated store, request by request.
//!
//! The pilot looks at the store ten times a second of virtual time. It looks sooner if so many
//! requests arrive that the queue of samples would fill. Without requests it does not look.

use crate::plant::{Bounds, Counts, SimulatedPlant};
use base::{Access, Bytes, Micros, TenantId};
use policy::Outcome;
use tune::periodic::{PeriodicLoad, Turn};
use tune::{Evictor, Pilot, Plant, Recipe};

/// Virtual time between two looks.
const LOOK: Micros = Micros::from_millis(100);

/// Maximum number of requests between two looks, smaller than the plant's queue of samples.
const LOOK_REQUESTS: u32 = 1 << 14;

/// A simulated store that can be simulated.
pub trait Store: Plant {
    /// Serves a request of a known tenant. A read that misses waits for its penalty and writes.
    fn access(&mut self, access: &Access) -> Outcome;
    /// Lets time pass.
    fn advance(&mut self, now: Micros);
    /// Counts of a tenant's requests, misses and waiting so far.
    fn counts(&self, tenant: TenantId) -> Counts;
    /// Memory in use.
    fn used(&self) -> Bytes;
    /// Memory in use by a tenant.
    fn used_by(&self, tenant: TenantId) -> Bytes;
    /// Items of a tenant.
    fn items_of(&self, tenant: TenantId) -> u64;
    /// How items of a tenant are evicted.
    fn evictor(&self, tenant: TenantId) -> Evictor;
    /// Called after each epoch.
    fn ended_epoch(&mut self) {}
    /// The store, if it can dump and load items.
    fn offloads(&mut self) -> Option<&mut SimulatedPlant> {
        None
    }
}

/// A store under a recipe, in virtual time.
#[derive(Debug)]
pub(crate) struct Simulation<S = SimulatedPlant> {
    pub(crate) plant: S,
    pub(crate) pilot: Pilot,
    look: Micros,
    next_look: Micros,
    unseen: u32,
    offload: Option<Offload>,
}

/// Dumps the items of tenants in a valley of their load to disk, and loads them back.
#[derive(Debug)]
struct Offload {
    tenants: Vec<PeriodicTenant>,
    /// Bytes loaded back per second.
    rate: f64,
    /// Time up to which loading has progressed; `None` while nothing is being loaded.
    loading: Option<Micros>,
    turns: u64,
}

/// A tenant whose load may have a period.
#[derive(Debug)]
struct PeriodicTenant {
    load: PeriodicLoad,
    /// Reads counted so far.
    reads: u64,
    /// The division at the start of the valley.
    division: Vec<(String, Bytes)>,
}

impl Offload {
    fn look(&mut self, now: Micros, plant: &mut SimulatedPlant, pilot: &mut Pilot) {
        for (number, tenant) in (0..).zip(&mut self.tenants) {
            let gets = plant.counts(number).gets;
            let more = gets - std::mem::replace(&mut tenant.reads, gets);
            match tenant.load.see(now, more) {
                Some(Turn::Valley) => {
                    plant.dump(number);
                    tenant.division = pilot.division();
                    self.turns += 1;
                }
                Some(Turn::Peak) => {
                    pilot.restore(&tenant.division, plant);
                    self.loading = Some(now);
                }
                None => {}
            }
        }
        if let Some(since) = self.loading {
            let bytes = Bytes((self.rate * now.saturating_sub(since).as_f64() / 1e6) as u64);
            self.loading = (bytes == Bytes(0) || plant.load(bytes)).then_some(now);
        }
    }
}

impl Simulation {
    /// An empty store of `memory` for these tenants, steered by `recipe`.
    pub(crate) fn new(recipe: Recipe, memory: Bytes, tenants: &[Bounds], seed: u64) -> Self {
        Self::over(SimulatedPlant::new(memory, tenants, seed), recipe, seed)
    }

    /// Dumps in valleys and loads before peaks. Reads are counted in buckets of this length, and
    /// items are loaded back within `lead`.
    pub(crate) fn with_offload(mut self, bucket: Micros, lead: Micros, tenants: usize) -> Self {
        let tenant = |_| PeriodicTenant {
            load: PeriodicLoad::new(bucket, lead),
            reads: 0,
            division: vec![],
        };
        self.offload = Some(Offload {
            tenants: (0..tenants).map(tenant).collect(),
            rate: 2.0 * self.plant.limit().as_f64() / (lead.as_f64() / 1e6),
            loading: None,
            turns: 0,
        });
        self
    }

    /// Number of times that a tenant's items were dumped.
    pub(crate) fn dumps(&self) -> u64 {
        self.offload.as_ref().map_or(0, |offload| offload.turns)
    }

    /// Serves a request after the looks that are due before it. `hint` may give the penalty class
    /// of the key.
    pub(crate) fn access_with_hint(&mut self, access: &Access, hint: Option<u8>) -> Outcome {
        self.look(access);
        self.plant.access_with_hint(access, hint)
    }
}

impl<S: Store> Simulation<S> {
    /// A store steered by `recipe`.
    pub(crate) fn over(plant: S, recipe: Recipe, seed: u64) -> Self {
        let pilot = Pilot::new(recipe, seed);
        Self { plant, pilot, look: LOOK, next_look: Micros(0), unseen: 0, offload: None }
    }

    /// Sets the virtual time between two looks.
    pub(crate) fn every(self, look: Micros) -> Self {
        Self { look, ..self }
    }

    /// Serves a request after the look that is due before it, if any.
    pub(crate) fn access(&mut self, access: &Access) -> Outcome {
        self.look(access);
        self.plant.access(access)
    }

    /// Takes the look that is due before a request, if any.
    pub(crate) fn look(&mut self, access: &Access) {
        if access.time >= self.next_look || self.unseen >= LOOK_REQUESTS {
            self.plant.advance(access.time);
            if self.pilot.tick(&mut self.plant) {
                self.plant.ended_epoch();
            }
            if let (Some(offload), Some(plant)) = (&mut self.offload, self.plant.offloads()) {
                offload.look(access.time, plant, &mut self.pilot);
            }
            self.next_look = access.time + self.look;
            self.unseen = 0;
        }
        self.unseen += 1;
    }

    /// The sum of the counts of these tenants.
    pub(crate) fn counts(&self, tenants: impl Iterator<Item = TenantId>) -> Counts {
        tenants.map(|tenant| self.plant.counts(tenant)).sum()
    }
}

impl Store for SimulatedPlant {
    fn access(&mut self, access: &Access) -> Outcome {
        self.access_with_hint(access, None)
    }

    fn advance(&mut self, now: Micros) {
        self.advance(now);
    }

    fn counts(&self, tenant: TenantId) -> Counts {
        self.counts(tenant)
    }

    fn used(&self) -> Bytes {
        self.used()
    }

    fn used_by(&self, tenant: TenantId) -> Bytes {
        self.used_by(tenant)
    }

    fn items_of(&self, tenant: TenantId) -> u64 {
        self.items_of(tenant)
    }

    fn evictor(&self, tenant: TenantId) -> Evictor {
        let pool = self.pools().find(|pool| pool.tenants.contains(&tenant));
        pool.map_or(Evictor::klru_pool(5), |pool| pool.evictor)
    }

    fn offloads(&mut self) -> Option<&mut SimulatedPlant> {
        Some(self)
    }
}
