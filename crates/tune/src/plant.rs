//! The interface between the pilot and the cache that it steers: readings in, steps out.
//!
//! The trait is implemented by Larder's own store, by a simulated store in virtual time, and by
//! foreign caches that are driven from outside. The pilot knows each of them only through the
//! types of this file.

use crate::Evictor;
use base::{Bytes, Filter, Micros, Sample, TenantId};
use policy::rank::Victims;
use std::ops::RangeInclusive;

/// A cache whose memory can be divided while it runs.
pub trait Plant {
    /// Returns the present counters of the cache and the samples since the last call.
    fn read(&mut self) -> Reading;
    /// Carries out a step. It may take effect at the pace of the insertions that follow: nothing
    /// is evicted only because a budget shrank.
    fn apply(&mut self, step: &Step);
}

/// A cache of a kind that is chosen at run time.
impl<P: Plant + ?Sized> Plant for Box<P> {
    fn read(&mut self) -> Reading {
        (**self).read()
    }

    fn apply(&mut self, step: &Step) {
        (**self).apply(step);
    }
}

/// One observation of a plant: memory, tenants, samples and goals.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Time of the reading, on the clock of the code that drives the plant.
    pub now: Micros,
    /// Memory to divide. Zero means that the cache has no limit, so there is nothing to plan.
    pub limit: Bytes,
    /// Memory in use, including overhead beside the items; zero if the plant does not report it.
    pub used: Bytes,
    /// Memory that the models may use beside `limit`. `None` lets them use as much as helps.
    pub model_memory: Option<Bytes>,
    /// Minimum number of keys that the models of a pool watch, even beyond `model_memory`. `None`
    /// means a default above which more keys teach little.
    pub model_keys_min: Option<usize>,
    /// The tenants that compete for the memory.
    pub tenants: Vec<TenantReading>,
    /// Sampled requests. The requests of one key are in the order of their arrival.
    pub samples: Vec<Sample>,
    /// Samples lost so far because the pilot did not read them in time.
    pub dropped: u64,
    /// Size classes and their pages, if memory is divided in pages.
    pub slabs: Vec<SlabClass>,
    /// Promises to tenants.
    pub goals: Vec<Goal>,
    /// Recent duration of an eviction in microseconds, measured while all pools evict alike; 0 if
    /// there is no measurement.
    pub eviction_us: f64,
}

/// Bounds for the ratio of the measured duration of an eviction to [`Evictor::overhead_us`]. Beyond
/// them, something else took the time.
const DEARNESS: (f64, f64) = (0.2, 10.0);

impl Reading {
    /// Ratio of the measured duration of an eviction to [`Evictor::overhead_us`] of `evictor`, the
    /// policy in force. It is within [`DEARNESS`], and 1 without a measurement.
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
    /// The tenant that receives the promise.
    pub tenant: TenantId,
    /// The promised bound.
    pub target: Target,
    /// Rank among goals: if memory cannot meet all of them, goals of higher priority come first.
    pub priority: u32,
}

/// The quantity that a [`Goal`] bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// At most this share of the reads misses.
    MissRatio(f64),
    /// The mean wait of a read for misses is at most this many microseconds.
    MeanUs(f64),
}

/// The counters and settings of one tenant. Counts are since the start.
#[derive(Clone, Debug, Default)]
pub struct TenantReading {
    /// Number of the tenant.
    pub id: TenantId,
    /// Name of the tenant.
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
    /// Mean cost of a miss, if one was measured.
    pub penalty: Option<Micros>,
    /// Memory it must have.
    pub min: Bytes,
    /// Memory it may have at most.
    pub max: Option<Bytes>,
    /// Weight of its misses.
    pub weight: f64,
    /// Counters per class of penalties or of sizes, if the plant distinguishes classes.
    pub classes: Vec<Part>,
}

/// The counters of one class of a tenant's items.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// The class. It is a class of penalties ([`base::penalty`]), with 0 for items of unknown
    /// penalty, or a class of sizes as the plant numbers them.
    pub class: u8,
    /// Memory they use.
    pub used: Bytes,
    /// Reads. A read that missed counts in the class in which its fill was measured.
    pub gets: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Writes.
    pub sets: u64,
    /// Mean cost of a miss, if one was measured.
    pub penalty: Option<Micros>,
}

impl TenantReading {
    /// Counters of the tenant's items of one class, or of all its items if `class` is `None`.
    pub fn part(&self, class: Option<u8>) -> Part {
        let Some(class) = class else {
            let Self { used, gets, misses, sets, penalty, .. } = *self;
            return Part { class: 0, used, gets, misses, sets, penalty };
        };
        let known = self.classes.iter().find(|part| part.class == class);
        known.copied().unwrap_or(Part { class, ..Part::default() })
    }
}

/// The plant's data about a tenant's items of one size class. Counts are since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlabClass {
    /// The tenant that owns the items.
    pub tenant: TenantId,
    /// Number of the class, as in [`crate::Part::class`].
    pub class: u8,
    /// Bytes of a page.
    pub page: Bytes,
    /// Bytes of a chunk: the size in samples of its items.
    pub chunk: Bytes,
    /// Pages that it holds.
    pub pages: u64,
    /// Free chunks of its pages.
    pub free: u64,
    /// Items evicted for want of a chunk.
    pub evicted: u64,
    /// Hits on items close to eviction: the last page's worth of the order.
    pub tail_hits: u64,
    /// Requests, of any class, since the last use of its next victim; zero without a victim.
    pub tail_age: u64,
    /// Recent worth of its victims, if the policy ranks by hit density.
    pub victims: Victims,
}

impl SlabClass {
    /// The sizes in samples of its items. An item too large for half a page has one or more pages
    /// to itself.
    pub(crate) const fn sizes(&self) -> RangeInclusive<u64> {
        if self.chunk.0 < self.page.0 {
            self.chunk.0..=self.chunk.0
        } else {
            self.page.0 / 2 + 1..=u64::MAX
        }
    }
}

/// A division of memory that the pilot asks a plant to put into effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Every pool, with the tenants that share it. The sum of the budgets is at most the limit.
    /// Budgets differ from the budgets of the step before by a bounded number of bytes.
    pub pools: Vec<PoolStep>,
    /// Weight of each tenant's waiting, by tenant number; 1 for tenants beyond the end. Policies
    /// that rank by the cost of a miss use it while tenants share a pool.
    pub prices: Vec<f64>,
}

/// One pool of a [`Step`].
#[derive(Clone, Debug, PartialEq)]
pub struct PoolStep {
    /// Its tenants.
    pub tenants: Vec<TenantId>,
    /// The class of its items, of penalties or of sizes; `None` for items of every class.
    pub class: Option<u8>,
    /// Its memory.
    pub budget: Bytes,
    /// Its policy.
    pub evictor: Evictor,
    /// Selects the keys to sample; [`Filter::NONE`] samples none.
    pub filter: Filter,
}
