//! A pilot at work on a simulated store, request by request.
//!
//! The pilot looks at the store ten times a second of virtual time, and sooner where requests come
//! so thick that the queue of samples would fill. Where nothing is asked for, nobody looks.

use crate::plant::{Bounds, Counts, SimulatedPlant};
use base::{Access, Bytes, Micros, TenantId};
use policy::Outcome;
use tune::{Pilot, Recipe};

/// Virtual time between two looks.
const LOOK: Micros = Micros::from_millis(100);

/// Requests between two looks at most: fewer than the plant keeps samples.
const LOOK_REQUESTS: u32 = 1 << 14;

/// A recipe in virtual time.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) plant: SimulatedPlant,
    pub(crate) pilot: Pilot,
    next_look: Micros,
    unseen: u32,
}

impl Flight {
    /// An empty store of `memory` for these tenants, steered by `recipe`.
    pub(crate) fn new(recipe: Recipe, memory: Bytes, tenants: &[Bounds], seed: u64) -> Self {
        Self {
            plant: SimulatedPlant::new(memory, tenants, seed),
            pilot: Pilot::new(recipe, seed),
            next_look: Micros(0),
            unseen: 0,
        }
    }

    /// Serves a request, after the looks that are due before it.
    pub(crate) fn access(&mut self, access: &Access) -> Outcome {
        self.access_told(access, None)
    }

    /// The same for a key whose penalty is told to be of a class.
    pub(crate) fn access_told(&mut self, access: &Access, told: Option<u8>) -> Outcome {
        if access.time >= self.next_look || self.unseen >= LOOK_REQUESTS {
            self.plant.advance(access.time);
            self.pilot.tick(&mut self.plant);
            self.next_look = access.time + LOOK;
            self.unseen = 0;
        }
        self.unseen += 1;
        self.plant.access_told(access, told)
    }

    /// What tenants asked for and got, together.
    pub(crate) fn counts(&self, tenants: impl Iterator<Item = TenantId>) -> Counts {
        tenants.map(|tenant| self.plant.counts(tenant)).sum()
    }
}
