//! The learnt state for another run: lifetimes, fetches and watched keys as plain numbers.
//!
//! Times are in requests as counted, so the next run continues the count of the last one. Only
//! counts above zero are kept.

use super::class::{AGES, CLASSES, Past};
use super::counts::AgeCounts;
use super::fetches::PENALTIES;
use super::learner::Learner;
use super::table::app;
use super::watched::Watched;
use base::Filter;
use serde::{Deserialize, Serialize};

/// The state of a [`Learner`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnerState {
    /// The threshold of the filter that chooses the watched keys.
    threshold: u64,
    look_at: u64,
    looked: u64,
    tenants: Vec<KnownTenant>,
    keys: Vec<KnownKey>,
}

/// The learnt counts of one tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct KnownTenant {
    /// Class, bucket of ages, and the counts there: hits, ends and exposure.
    lifetimes: Vec<(u8, u8, [f32; 3])>,
    /// Class of a fetch, class of the next fetch, and the count of that pair.
    fetches: Vec<(u8, u8, f32)>,
}

/// A watched key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KnownKey {
    key: u64,
    last: u32,
    born: u16,
    hits: u8,
    tenant: u8,
    size_class: u8,
    penalty: u8,
}

const _: () = assert!(AGES <= 1 << u8::BITS, "a bucket is a byte");

impl Learner {
    /// The learnt state, for another run.
    pub fn known(&self) -> LearnerState {
        let tenant = |at: usize| {
            let lifetimes = self.lived.get(at).into_iter().flat_map(|lived| {
                let of = |(class, counts): (usize, AgeCounts)| {
                    let ages = 0..counts.hits.len();
                    let at = |age: usize| {
                        let ends = counts.ends.get(age).copied().unwrap_or_default();
                        (class as u8, age as u8, [counts.hits[age], ends, counts.risk[age]])
                    };
                    ages.map(at).collect::<Vec<_>>()
                };
                lived.known().flat_map(of)
            });
            let fetches = self.fetches.get(at).into_iter().flat_map(|fetches| {
                let of = |(class, next): (usize, &[f32; PENALTIES])| {
                    let count = |(to, &count): (usize, &f32)| (class as u8, to as u8, count);
                    next.iter().enumerate().map(count).collect::<Vec<_>>()
                };
                fetches.iter().enumerate().flat_map(of)
            });
            KnownTenant {
                lifetimes: lifetimes.filter(|(.., counts)| *counts != [0.0; 3]).collect(),
                fetches: fetches.filter(|(.., count)| *count != 0.0).collect(),
            }
        };
        let key = |(&key, known): (&u64, &Watched)| {
            let Watched {
                last, past: Past { born, hits }, app: tenant, size_class, penalty, ..
            } = *known;
            KnownKey { key, last, born, hits, tenant, size_class, penalty }
        };
        let mut keys: Vec<_> = self.watched.iter().map(key).collect();
        // Sorted, so that the same knowledge gives the same bytes.
        keys.sort_by_key(|known| known.key);
        LearnerState {
            threshold: self.filter.threshold(),
            look_at: self.look_at,
            looked: self.looked,
            tenants: (0..self.lived.len()).map(tenant).collect(),
            keys,
        }
    }

    /// Continues with the state of another run. `number_of` maps a tenant's number there to its
    /// number here; the state of tenants without one is dropped.
    pub fn recall(&mut self, known: &LearnerState, number_of: impl Fn(u16) -> Option<u16>) {
        self.filter = Filter::below(known.threshold);
        (self.look_at, self.looked) = (known.look_at, known.looked);
        self.recency.end();
        let app_of = |at: usize| {
            let number = number_of(u16::try_from(at).ok()?)?;
            Some(app(number).min(self.tenants - 1))
        };
        let apps: Vec<Option<usize>> = (0..known.tenants.len()).map(app_of).collect();
        for (tenant, app) in known.tenants.iter().zip(&apps) {
            let Some(app) = *app else { continue };
            self.make_room(app);
            for (class, lifetimes) in by_class(&tenant.lifetimes) {
                self.lived[app].recall(class, &lifetimes);
            }
            for &(class, next, count) in &tenant.fetches {
                let (class, next) = (usize::from(class) % PENALTIES, usize::from(next) % PENALTIES);
                self.fetches.of(app)[class][next] += count;
            }
        }
        for known in &known.keys {
            let Some(&Some(app)) = apps.get(usize::from(known.tenant)) else { continue };
            let KnownKey { key, last, born, hits, size_class, penalty, .. } = *known;
            let past = Past { born, hits };
            let app = app as u8;
            let watched = Watched { last, past, app, size_class, penalty, missed: false };
            self.watched.entry(key).or_insert(watched);
        }
    }
}

/// Counts of each class, from entries that list one class after the other.
fn by_class(known: &[(u8, u8, [f32; 3])]) -> impl Iterator<Item = (usize, AgeCounts)> {
    known.chunk_by(|a, b| a.0 == b.0).map(|of_class| {
        let len = of_class.iter().map(|&(_, age, _)| usize::from(age) % AGES + 1).max();
        let [mut hits, mut ends, mut risk] = [0; 3].map(|_| vec![0.0; len.unwrap_or_default()]);
        for &(_, age, [hit, end, passed]) in of_class {
            let age = usize::from(age) % AGES;
            (hits[age], ends[age], risk[age]) = (hit, end, passed);
        }
        if ends.iter().all(|ends| *ends == 0.0) {
            ends = vec![];
        }
        (usize::from(of_class[0].0) % CLASSES, AgeCounts { hits, risk, ends })
    })
}

#[cfg(test)]
mod tests {
    use super::super::{ClassFetches, KeyEvent, Learner};
    use super::*;
    use base::hash::mix;

    /// Two tenants change their numbers between two runs, and a third is gone. The tables equal the
    /// earlier ones, and a lifetime that began in the first run ends in the second.
    #[test]
    fn another_run_goes_on() {
        let mut before = Learner::new(3);
        for now in 1..60_000u64 {
            let key = (now % 3, now / 3 % [100, 700, 5_000][now as usize % 3]);
            before.access(key.0 as u16, mix(key.1 << 2 | key.0), KeyEvent::Read, now, 1);
            before.fetched(mix(key.1 << 2 | key.0), 4);
        }
        before.learn(60_000, 500, 60_000);
        let known = before.known();
        let mut after = Learner::new(2);
        after.recall(&known, |number| [Some(1), Some(0), None][usize::from(number)]);
        assert!(after.watched() > 700 && after.watched() < before.watched());
        assert!(!after.is_due(60_001, 500));
        // The second run counts its evictions from its own beginning.
        let (old, new) = (before.learn(61_000, 500, 61_000), after.learn(61_000, 500, 1_000));
        for (number, then, class, age) in [(1, 0, 64 + 9, 200), (0, 1, 64 + 12, 1_500)] {
            let off = new.index(number, class, age) / old.index(then, class, age);
            assert!((off - 1.0).abs() < 0.1, "{number} {class} {age}: {off}");
        }
        let mut fetches = [ClassFetches { mean: 100.0, count: 100.0 }; PENALTIES];
        fetches[4].mean = 5_000.0;
        assert!(after.expected(0, &fetches)[4] > 4_500.0);
        let again = after.known();
        let mut third = Learner::new(2);
        third.recall(&again, Some);
        assert_eq!(third.known().tenants, again.tenants, "nothing is lost on the way");
    }
}
