//! Answers to a question that is asked again and again while the load stands still.
//!
//! An operator who asks twice should hear one answer. At the moment of the claims, the report is
//! asked how much memory would leave each tenant four fifths of its misses, and how long clients
//! would wait under one shared LRU cache. Both questions are repeated every minute, and the
//! answers should lie within the bands of the first ones.

use super::load::Traffic;
use anyhow::{Result, anyhow};
use report::Report;
use report::claim::{self, Claim};
use report::sizing::{Need, Sizing};
use tune::recipe;

/// Seconds between two questions.
const EVERY_S: u64 = 60;

/// The wanted miss ratio, as a share of the present one.
const WANTED: f64 = 0.8;

/// Number of tenants that the report is asked about.
const TENANTS: usize = 3;

/// The first answers.
#[derive(Clone, Debug)]
struct First {
    /// Tenant, wanted miss ratio, and the band of the memory that gives it, in bytes.
    memory: Vec<(usize, f64, [u64; 2])>,
    /// Waiting under one shared LRU cache; `None` if the report does not tell it.
    lru: Option<Claim>,
}

/// A later answer, with the first one and its band to either side: in bytes, or in shares of the
/// present waiting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    first: f64,
    band: f64,
    /// Infinite if no memory was said to be enough.
    now: f64,
}

impl Again {
    pub(super) fn is_held(&self) -> bool {
        (self.now - self.first).abs() <= self.band
    }
}

fn need(report: &Report, tenant: usize, wanted: f64) -> Option<Need> {
    Some(Sizing::of(&report.tenants[tenant])?.need(wanted))
}

/// Waiting under one shared LRU cache, as the report's first sentence tells it.
fn lru(report: &Report) -> Option<Claim> {
    claim::policy(report, "allkeys-lru").filter(Claim::is_sound)
}

impl First {
    fn of(report: &Report) -> Self {
        let memory = |tenant: usize| {
            let ratio = report.tenants[tenant].recent.miss_ratio().filter(|ratio| *ratio > 0.0)?;
            match need(report, tenant, WANTED * ratio)? {
                Need::Memory { least, most: Some(most), .. } => {
                    Some((tenant, WANTED * ratio, [least, most]))
                }
                Need::Memory { .. } | Need::Never { .. } => None,
            }
        };
        let asked = 0..report.tenants.len().min(TENANTS);
        Self { memory: asked.filter_map(memory).collect(), lru: lru(report) }
    }

    /// The answers of a later report to the same questions.
    fn again(&self, report: &Report) -> Vec<Again> {
        let memory = |&(tenant, wanted, [least, most]): &(usize, f64, [u64; 2])| {
            let now = match need(report, tenant, wanted) {
                Some(Need::Memory { bytes, .. }) => bytes as f64,
                Some(Need::Never { .. }) | None => f64::INFINITY,
            };
            let (least, most) = (least as f64, most as f64);
            Again { first: least.midpoint(most), band: 0.5 * (most - least), now }
        };
        let share = |claim: &Claim| claim.change() / claim.now;
        let lru = self.lru.as_ref().zip(lru(report)).map(|(first, later)| Again {
            first: share(first),
            band: first.band() / first.now,
            now: share(&later),
        });
        self.memory.iter().map(memory).chain(lru).collect()
    }
}

/// The answers of `seconds` seconds, from second `from` on. Empty if the load changes within them.
pub(super) fn answers(load: &Traffic, from: u64, seconds: u64, seed: u64) -> Result<Vec<Again>> {
    if !load.is_steady_from(from) {
        return Ok(vec![]);
    }
    let recipe = recipe::parse(load.recipe).map_err(|error| anyhow!(error))?;
    let mut store = load.store(recipe, seed);
    let (mut first, mut again, mut due): (Option<First>, _, _) = (None, vec![], from);
    for (access, is_of_nothing) in load.requests(from + seconds, seed) {
        if access.time.0 / 1_000_000 >= due {
            due += EVERY_S;
            let report = store.report();
            match &first {
                None => first = Some(First::of(&report)),
                Some(first) => again.extend(first.again(&report)),
            }
        }
        store.access(&access, is_of_nothing);
    }
    Ok(again)
}
