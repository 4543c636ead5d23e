//! A pilot at work on a simulated store, request by request.
//!
//! The pilot looks at the store ten times a second of virtual time, and sooner where requests come
//! so thick that the queue of samples would fill. Where nothing is asked for, nobody looks.

use crate::plant::{Bounds, Counts, SimulatedPlant};
use base::{Access, Bytes, Micros, TenantId};
use policy::Outcome;
use tune::tides::{Tides, Turn};
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
    ferry: Option<Ferry>,
}

/// Takes items of tenants whose load ebbs to the disk and back.
#[derive(Debug)]
struct Ferry {
    tenants: Vec<Tidal>,
    /// Bytes a second that are brought back.
    rate: f64,
    /// Since when items are being brought back.
    loading: Option<Micros>,
    turns: u64,
}

/// A tenant whose load may ebb.
#[derive(Debug)]
struct Tidal {
    tides: Tides,
    /// Reads counted so far.
    reads: u64,
    /// The division at the ebb.
    division: Vec<(String, Bytes)>,
}

impl Ferry {
    fn look(&mut self, now: Micros, plant: &mut SimulatedPlant, pilot: &mut Pilot) {
        for (number, tenant) in (0..).zip(&mut self.tenants) {
            let gets = plant.counts(number).gets;
            let more = gets - std::mem::replace(&mut tenant.reads, gets);
            match tenant.tides.see(now, more) {
                Some(Turn::Ebb) => {
                    plant.dump(number);
                    tenant.division = pilot.division();
                    self.turns += 1;
                }
                Some(Turn::Flood) => {
                    pilot.expect(&tenant.division, plant);
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

impl Flight {
    /// An empty store of `memory` for these tenants, steered by `recipe`.
    pub(crate) fn new(recipe: Recipe, memory: Bytes, tenants: &[Bounds], seed: u64) -> Self {
        Self {
            plant: SimulatedPlant::new(memory, tenants, seed),
            pilot: Pilot::new(recipe, seed),
            next_look: Micros(0),
            unseen: 0,
            ferry: None,
        }
    }

    /// Dumps in valleys and loads before peaks: reads are counted in buckets of this length, and
    /// memory is brought back within `lead`.
    pub(crate) fn with_tides(mut self, bucket: Micros, lead: Micros, tenants: usize) -> Self {
        let tenant = |_| Tidal { tides: Tides::new(bucket, lead), reads: 0, division: vec![] };
        self.ferry = Some(Ferry {
            tenants: (0..tenants).map(tenant).collect(),
            rate: 2.0 * self.plant.limit().as_f64() / (lead.as_f64() / 1e6),
            loading: None,
            turns: 0,
        });
        self
    }

    /// How often items were dumped.
    pub(crate) fn dumps(&self) -> u64 {
        self.ferry.as_ref().map_or(0, |ferry| ferry.turns)
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
            if let Some(ferry) = &mut self.ferry {
                ferry.look(access.time, &mut self.plant, &mut self.pilot);
            }
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
