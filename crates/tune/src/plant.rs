//! What the pilot steers, seen through what it can observe and what it can move.
//!
//! Behind the trait are our own store, a simulated store in virtual time, or somebody else's cache
//! driven from outside. The pilot knows no more of any of them than this file.

use crate::Evictor;
pub use crate::slab::SlabClass;
use base::{Bytes, Filter, Micros, Sample, TenantId};

/// A cache whose memory can be divided while it runs.
pub trait Plant {
    /// What there is to see, and the samples since the last call.
    fn read(&mut self) -> Reading;
    /// Carries out a step. It may take effect at the pace of the insertions that follow: nothing
    /// is evicted only because a budget shrank.
    fn apply(&mut self, step: &Step);
}

/// What a plant shows.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// When, on the clock of whoever drives the plant.
    pub now: Micros,
    /// Memory to divide; zero where there is no limit, and nothing to plan.
    pub limit: Bytes,
    /// Memory in use, with what is taken beside items; nothing where nobody says.
    pub used: Bytes,
    /// What the models may take beside it; as much as helps where nobody pays for it.
    pub model_memory: Option<Bytes>,
    /// Keys that the models of a pool watch however little memory that is: where nothing is said,
    /// so many that more would teach little.
    pub model_keys_min: Option<usize>,
    /// The tenants that compete for it.
    pub tenants: Vec<TenantReading>,
    /// Sampled requests, per key in the order they came.
    pub samples: Vec<Sample>,
    /// Samples lost so far because nobody took them in time.
    pub dropped: u64,
    /// Size classes and their pages, where memory is divided in pages.
    pub slabs: Vec<SlabClass>,
    /// What tenants were promised.
    pub goals: Vec<Goal>,
    /// What an eviction took lately, in microseconds, where all pools evict alike and somebody
    /// measured; 0 where nobody did.
    pub eviction_us: f64,
}

/// A measured eviction is believed within these multiples of what it takes where it was first
/// measured: beyond, it is something else that took the time.
const DEARNESS: (f64, f64) = (0.2, 10.0);

impl Reading {
    /// What an eviction takes by what [`Evictor::overhead_us`] says of the one in force.
    pub(crate) fn dearness(&self, evictor: Evictor) -> f64 {
        if self.eviction_us <= 0.0 {
            return 1.0;
        }
        (self.eviction_us / evictor.overhead_us()).clamp(DEARNESS.0, DEARNESS.1)
    }
}

/// A promise to a tenant, to be kept with the least memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// To whom.
    pub tenant: TenantId,
    /// What.
    pub target: Target,
    /// Where memory cannot meet all, higher ones are met first.
    pub priority: u32,
}

/// What a [`Goal`] promises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// At most this share of the reads misses.
    MissRatio(f64),
    /// Reads wait for misses so many microseconds at most, in the mean.
    MeanUs(f64),
}

/// What a plant shows of one tenant. Counts are since the start.
#[derive(Clone, Debug, Default)]
pub struct TenantReading {
    /// Its number.
    pub id: TenantId,
    /// Its name.
    pub name: String,
    /// Memory it uses.
    pub used: Bytes,
    /// Items it holds.
    pub items: u64,
    /// Reads.
    pub gets: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Writes.
    pub sets: u64,
    /// Mean cost of a miss, where one was measured.
    pub penalty: Option<Micros>,
    /// Memory it must have.
    pub min: Bytes,
    /// Memory it may have at most.
    pub max: Option<Bytes>,
    /// How much its misses count.
    pub weight: f64,
    /// The same by class, of penalties or of sizes, where the plant tells classes apart.
    pub classes: Vec<Part>,
}

/// What a plant shows of the items of a tenant that are of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// The class: of penalties ([`base::penalty`]), 0 for items of which nobody knows what they
    /// cost; or of sizes, as the plant numbers them.
    pub class: u8,
    /// Memory they use.
    pub used: Bytes,
    /// Reads; those that missed count where their fill was measured.
    pub gets: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Writes.
    pub sets: u64,
    /// Mean cost of a miss, where one was measured.
    pub penalty: Option<Micros>,
}

impl TenantReading {
    /// The tenant's items of one class, or all of them.
    pub fn part(&self, class: Option<u8>) -> Part {
        let Some(class) = class else {
            let Self { used, gets, misses, sets, penalty, .. } = *self;
            return Part { class: 0, used, gets, misses, sets, penalty };
        };
        let known = self.classes.iter().find(|part| part.class == class);
        known.copied().unwrap_or(Part { class, ..Part::default() })
    }
}

/// What the pilot asks of a plant.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Every pool, with the tenants that share it. Budgets sum to the limit at most, and differ
    /// from those of the step before by a bounded number of bytes.
    pub pools: Vec<PoolStep>,
    /// How much the waiting of each tenant counts, by its number; 1 where none is named. For
    /// policies that go by what misses cost, where tenants share a pool.
    pub prices: Vec<f64>,
}

/// One pool of a [`Step`].
#[derive(Clone, Debug, PartialEq)]
pub struct PoolStep {
    /// Its tenants.
    pub tenants: Vec<TenantId>,
    /// The class that its items are of, of penalties or of sizes; of any where none is named.
    pub class: Option<u8>,
    /// Its memory.
    pub budget: Bytes,
    /// Its policy.
    pub evictor: Evictor,
    /// Which of its keys to sample; [`Filter::NONE`] switches its tap off.
    pub filter: Filter,
}
