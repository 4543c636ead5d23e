//! A guard: the policy in force stays until miniature caches show that another has less waiting.
//!
//! Each policy of the recipe has a miniature of its own, and all of them see the same keys. The
//! cost of their misses is counted in groups of keys, so that the difference of two policies has a
//! known chance ([`super::adapt_k`]). The first policy is the preferred one. Another replaces it if
//! it is better beyond chance and by more than a little. A miniature of a rank that learns has few
//! keys to learn from, and shows the rank worse than it is. So the first policy returns as soon as
//! it is better beyond chance by any amount. The guard is no tuner: without evidence, nothing
//! changes. The pilot decides how often in a row another policy must be better
//! (`pilot/patience.rs`).

use super::{Spec, adapt_k};
use crate::snapshot::{Candidate, Pool};
use crate::{Evictor, Plan, Snapshot};

/// The registry entry.
pub const SPEC: Spec = Spec { name: "guard", by_curves: true, plan };

/// The saving in waiting by which another policy replaces the first, as a share.
const SHOWN: f64 = 0.05;

fn plan(snapshot: &Snapshot) -> Plan {
    let division: Vec<_> = snapshot.pools.iter().map(|pool| (pool.budget, choose(pool))).collect();
    let notes = snapshot.pools.iter().filter_map(compared).collect();
    Plan::of(SPEC.name, snapshot, &division, notes)
}

/// The wait for misses under a policy in its miniature, in microseconds.
fn waited(one: &Candidate) -> Option<f64> {
    one.waits.map(|waits| waits.iter().sum())
}

/// A sentence about the other policies' waiting in miniature, relative to the present one.
fn compared(pool: &Pool) -> Option<String> {
    let present = pool.candidates.iter().find(|one| one.evictor == pool.evictor)?;
    let now = waited(present).filter(|now| *now > 0.0)?;
    let others = pool.candidates.iter().filter(|one| one.evictor != pool.evictor);
    let others = others.filter_map(|one| {
        let more = 100.0 * (waited(one)? / now - 1.0);
        Some(format!("{} {more:+.1} %", one.evictor.setting()))
    });
    let others: Vec<_> = others.collect();
    let than = format!("in miniature, waiting relative to {}", pool.evictor.setting());
    (!others.is_empty()).then(|| format!("{than}: {}", others.join(", ")))
}

fn choose(pool: &Pool) -> Evictor {
    let present = pool.candidates.iter().find(|one| one.evictor == pool.evictor);
    let Some((present, now)) = present.and_then(|one| Some((one.waits?, waited(one)?))) else {
        return pool.evictor;
    };
    let known = pool.candidates.iter().filter_map(|one| Some((one, one.waits?, waited(one)?)));
    let best = known.min_by(|(.., a), (.., b)| a.total_cmp(b));
    match best {
        Some((best, waits, least)) => {
            let gain = (now - least) / now.max(f64::MIN_POSITIVE);
            let chance = least * adapt_k::chance_of(&present, &waits);
            let is_first = pool.candidates.first().is_some_and(|one| one.evictor == best.evictor);
            let is_shown = gain > if is_first { 0.0 } else { SHOWN } && now - least > chance;
            if is_shown { best.evictor } else { pool.evictor }
        }
        None => pool.evictor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use curve::{Bytes, GROUPS, MissRatioCurve};

    fn chosen(present: Evictor, waits: [[f64; GROUPS]; 2]) -> Evictor {
        let candidate = |(evictor, waits)| Candidate {
            waits: Some(waits),
            ..Candidate::new(evictor, MissRatioCurve::new([]))
        };
        let evictors = [Evictor::gittins(64), Evictor::klru_pool(5)];
        choose(&Pool {
            candidates: evictors.into_iter().zip(waits).map(candidate).collect(),
            budget: Bytes(100),
            evictor: present,
            ..Pool::default()
        })
    }

    fn spread(mean: f64, by: f64) -> [f64; GROUPS] {
        std::array::from_fn(|group| mean + if group % 2 == 0 { by } else { -by })
    }

    #[test]
    fn what_is_not_shown_changes_nothing() {
        let [auto, plain] = [Evictor::gittins(64), Evictor::klru_pool(5)];
        let (even, less) = (spread(1000.0, 0.0), spread(900.0, 0.0));
        assert_eq!(chosen(auto, [even, less]), plain, "a tenth less in all groups");
        assert_eq!(chosen(plain, [even, less]), plain);
        assert_eq!(chosen(plain, [less, even]), auto, "and back again");
        assert_eq!(chosen(plain, [spread(990.0, 0.0), even]), auto, "for next to nothing");
        assert_eq!(chosen(auto, [even, spread(900.0, 400.0)]), auto, "it may be chance");
        assert_eq!(chosen(auto, [even, spread(960.0, 0.0)]), auto, "too little");
        assert_eq!(choose(&Pool::default()), Pool::default().evictor, "nothing is known");
    }
}
