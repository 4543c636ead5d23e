//! The classes of a memcached as tenants of a report, for `--http`.
//!
//! memcached does not count misses by class. Here its misses are divided like its writes, because
//! most writes fill a miss.

use super::told::{ClassStats, MemcachedStats, PAGE};
use base::Bytes;
use report::{Counters, Server, Tenant};
use std::collections::BTreeMap;

/// Estimated misses of each class since the first look.
#[derive(Debug, Default)]
pub(super) struct Tally {
    before: Option<MemcachedStats>,
    misses: BTreeMap<u8, u64>,
}

impl Tally {
    /// Adds the misses since the last look. A new process of the server starts again from zero.
    pub(super) fn look(&mut self, told: &MemcachedStats) {
        let before = self.before.replace(told.clone());
        let Some(before) = before.filter(|before| told.is_of_same_process(before)) else {
            self.misses.clear();
            return;
        };
        let missed = told.misses.saturating_sub(before.misses);
        let written = |class: &ClassStats| {
            let sets = before.class(class.number).map_or(0, |before| before.sets);
            class.sets.saturating_sub(sets)
        };
        let all: u64 = told.classes.iter().map(written).sum();
        for class in &told.classes {
            let share = written(class) as f64 / all.max(1) as f64;
            *self.misses.entry(class.number).or_default() += (missed as f64 * share).round() as u64;
        }
    }

    /// The classes as tenants; the budget of each is its wanted pages.
    pub(super) fn tenants(&self, told: &MemcachedStats, wanted: &[(u8, f64)]) -> Vec<Tenant> {
        let tenant = |class: &ClassStats| {
            let pages = wanted.iter().find(|(number, _)| *number == class.number);
            Tenant {
                name: format!("class {}", Bytes(class.share)),
                used: class.pages * PAGE,
                budget: pages.map(|(_, pages)| (pages * PAGE as f64) as u64),
                weight: 1.0,
                policy: "lru".to_owned(),
                items: class.items,
                counters: Counters {
                    hits: class.hits,
                    misses: self.misses.get(&class.number).copied().unwrap_or_default(),
                    writes: class.sets,
                    evicted: class.evicted,
                    ..Counters::default()
                },
                ..Tenant::default()
            }
        };
        told.classes.iter().map(tenant).collect()
    }
}

/// The server as a whole, as a report describes it.
pub(super) fn server(told: &MemcachedStats, recipe: &str) -> Server {
    Server {
        version: format!("{} attached to memcached {}", env!("CARGO_PKG_VERSION"), told.version),
        uptime_s: told.uptime_s,
        recipe: recipe.to_owned(),
        policy: "lru".to_owned(),
        maxmemory: told.limit,
        divided: told.limit,
        used: told.held() * PAGE,
        clients: told.clients,
        ..Server::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_are_divided_as_writes_are() {
        let class =
            |number, sets| ClassStats { number, sets, share: 1_024, ..ClassStats::default() };
        let told = |misses, sets: [u64; 2]| MemcachedStats {
            misses,
            classes: vec![class(1, sets[0]), class(2, sets[1])],
            ..MemcachedStats::default()
        };
        let mut tally = Tally::default();
        tally.look(&told(50, [10, 10]));
        tally.look(&told(150, [40, 20]));
        let tenants = tally.tenants(&told(150, [40, 20]), &[(2, 3.0)]);
        let misses: Vec<_> = tenants.iter().map(|tenant| tenant.counters.misses).collect();
        assert_eq!(misses, [75, 25]);
        assert_eq!((tenants[0].budget, tenants[1].budget), (None, Some(3 << 20)));
    }
}
