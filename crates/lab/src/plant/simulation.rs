//! A pilot at work on a simulated store, request by request.
//!
//! The pilot looks at the store ten times a second of virtual time. It looks sooner if so many
//! requests arrive that the queue of samples would fill. Without requests it does not look.

use super::offload::Offload;
use super::{Bounds, Counts, SampledPlant, SimulatedStore};
use base::{Access, Bytes, Micros, TenantId};
use policy::Outcome;
use tune::{Pilot, Recipe};

/// Virtual time between two looks.
const LOOK: Micros = Micros::from_millis(100);

/// Maximum number of requests between two looks, smaller than the plant's queue of samples.
const LOOK_REQUESTS: u32 = 1 << 14;

/// A store under a recipe, in virtual time.
#[derive(Debug)]
pub(crate) struct Simulation<S = SampledPlant> {
    pub(crate) plant: S,
    pub(crate) pilot: Pilot,
    look: Micros,
    next_look: Micros,
    unseen: u32,
    offload: Option<Offload>,
}

impl Simulation {
    /// An empty store of `memory` for these tenants, steered by `recipe`.
    pub(crate) fn new(recipe: Recipe, memory: Bytes, tenants: &[Bounds], seed: u64) -> Self {
        Self::over(SampledPlant::new(memory, tenants, seed), recipe, seed)
    }

    /// Dumps in valleys and loads before peaks. Reads are counted in buckets of this length, and
    /// items are loaded back within `lead`.
    pub(crate) fn with_offload(mut self, bucket: Micros, lead: Micros, tenants: usize) -> Self {
        self.offload = Some(Offload::new(bucket, lead, tenants, self.plant.limit()));
        self
    }

    /// Number of times that a tenant's items were dumped.
    pub(crate) fn dumps(&self) -> u64 {
        self.offload.as_ref().map_or(0, Offload::dumps)
    }

    /// Serves a request after the looks that are due before it. `hint` may give the penalty class
    /// of the key.
    pub(crate) fn access_with_hint(&mut self, access: &Access, hint: Option<u8>) -> Outcome {
        self.look(access);
        self.plant.access_with_hint(access, hint)
    }
}

impl<S: SimulatedStore> Simulation<S> {
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
            if let Some(offload) = &mut self.offload {
                offload.look(access.time, &mut self.plant, &mut self.pilot);
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
