//! The price of memory if tenants share a pool: the saving by one more byte, each tenant's share,
//! and the cost of floors to other tenants.
//!
//! All items compete by the savings of their bytes, so evicted items have the same worth in every
//! tenant. That worth is the price of a byte: the saving that evicted bytes would have brought. If
//! a tenant's victims are worth less, a floor lets it hold more than it would get. If they are
//! worth more, a ceiling keeps it from taking more.

use super::share;
use crate::pilot;
use crate::shared::{Shared, View};
use ::report::words::wait;
use base::{Bytes, TenantId};
use serde_json::{Value, json};

/// The largest number of tenants in the reply.
const SHOWN_MAX: usize = 64;
/// A floor is said to bind if victims are worth less than this share of the price.
const BELOW: f64 = 0.5;

/// A tenant's memory, and its worth.
struct Holding {
    name: String,
    used: Bytes,
    min: Bytes,
    /// The weight of the tenant's waiting time.
    counts: f64,
    /// The waiting time that a MiB of this tenant saves, in microseconds per second.
    saves: Option<f64>,
}

/// The current worth of memory.
pub(crate) struct Price {
    /// The waiting time that one more MiB would save, in microseconds per second.
    per_mib: f64,
    holdings: Vec<Holding>,
}

impl Price {
    /// The price that recent victims show, at this rate of requests.
    fn of(shared: &Shared, view: &View, prices: &[f64], ops_per_s: f64) -> Option<Self> {
        let (store, now) = (&shared.store, shared.clock.now());
        // A density is the saving for one request to a shard.
        let scale = f64::from(1 << 20) * ops_per_s / store.shards() as f64;
        let (mut sum, mut weight) = (0.0, 0.0);
        let mut holdings = vec![];
        for (at, name) in view.names.iter().enumerate().take(SHOWN_MAX) {
            let tenant = view.tenant(at as TenantId);
            let (mut own, mut evicted) = (0.0, 0.0);
            for class in store.size_class_stats(at as TenantId, now) {
                let count = class.evicted.max(class.victims.count) as f64;
                if class.victims.count > 0 && class.victims.density > 0.0 {
                    own += count * class.victims.density;
                    evicted += count;
                }
            }
            sum += own;
            weight += evicted;
            holdings.push(Holding {
                name: name.clone(),
                used: store.tenant_stats(at as TenantId).used,
                min: tenant.min,
                counts: prices.get(at).copied().unwrap_or(1.0),
                saves: (evicted > 0.0).then(|| own / evicted * scale),
            });
        }
        (weight > 0.0).then(|| Self { per_mib: sum / weight * scale, holdings })
    }

    /// The waiting time that a MiB of a tenant saves, in microseconds per second.
    pub(crate) fn saves_us(&self, tenant: TenantId) -> Option<f64> {
        self.holdings.get(usize::from(tenant))?.saves
    }

    /// The price as sentences and a table.
    pub(super) fn lines(&self, used: Bytes) -> Vec<String> {
        let mut text = vec![
            format!("A MiB more would save about {} of waiting a second.", wait(self.per_mib)),
            format!(
                "{:<16} {:>10} {:>6} {:>7} {:>16}",
                "tenant", "holds", "share", "counts", "a MiB saves"
            ),
        ];
        text.extend(self.holdings.iter().map(|one| {
            let saves = one.saves.map_or("-".to_owned(), |us| format!("{} a second", wait(us)));
            let share = share(one.used, used);
            let short: String = one.name.chars().take(16).collect();
            let (used, counts) = (one.used.to_string(), one.counts);
            format!("{short:<16} {used:>10} {:>4.0} % {counts:>7.2} {saves:>16}", 100.0 * share)
        }));
        for one in &self.holdings {
            let Some(saves) = one.saves.filter(|saves| *saves < BELOW * self.per_mib) else {
                continue;
            };
            if one.min > Bytes(0) && one.used.0 <= one.min.0 + one.min.0 / 16 {
                let lost = (self.per_mib - saves) * one.used.as_f64() / f64::from(1 << 20);
                let (name, min) = (&one.name, one.min);
                text.push(format!(
                    "The floor of {name}, {min}, costs the others about {} of waiting a second.",
                    wait(lost)
                ));
            }
        }
        text
    }

    pub(super) fn document(&self) -> Value {
        let tenant = |one: &Holding| {
            json!({
                "name": one.name,
                "used": one.used.0,
                "counts": one.counts,
                "us_per_s_per_mib": one.saves,
            })
        };
        let tenants: Vec<_> = self.holdings.iter().map(tenant).collect();
        json!({"us_per_s_per_mib": self.per_mib, "tenants": tenants})
    }
}

/// The price under the recipe in force; `None` if the recipe has no prices.
pub(crate) fn price(shared: &Shared, view: &View) -> Option<Price> {
    if !pilot::recipe_of(&view.settings).has_prices() {
        return None;
    }
    let shown = shared.published.shown();
    let status = shown.status.as_ref()?;
    let reads = status.plan.as_ref()?.pools.iter().map(|pool| pool.reads_per_s).sum();
    Price::of(shared, view, &status.prices, reads)
}
