//! Every planner in the list, against the guarantees common to all planners.

use curve::{Bytes, MissRatio, MissRatioCurve};
use policy::rank::Victims;
use proptest::prelude::*;
use tune::slab::{Look, Slab};
use tune::snapshot::{Candidate, Pool, Promise};
use tune::{Evictor, Objective, Snapshot, Target, planner};

prop_compose! {
    fn any_curve()(points in proptest::collection::vec((1u64..4_000, 0.0f64..1.0), 0..8))
        -> MissRatioCurve
    {
        MissRatioCurve::new(points.into_iter().map(|(size, ratio)| (Bytes(size), MissRatio(ratio))))
    }
}

prop_compose! {
    fn any_look()(
        requests in 0u64..1_000,
        misses in 0u64..500,
        evicted in 0u64..500,
        tail_hits in 0u64..100,
        tail_age in 0u64..10_000,
        free in 0u64..60,
        dirty: bool,
    ) -> Look {
        Look { requests, reads: requests, misses, evicted, tail_hits, tail_age, free, dirty }
    }
}

prop_compose! {
    /// A slab class with pages of a hundred bytes.
    fn any_slab()(
        pages in 0u64..20,
        chunk in 1u64..100,
        window in proptest::collection::vec(any_look(), 0..12),
        (count, density) in (0u64..100, 0.0f64..9.0),
    ) -> Slab {
        let victims = Victims { count, density };
        Slab { page: Bytes(100), chunk: Bytes(chunk), pages, victims, window }
    }
}

prop_compose! {
    fn any_pool()(
        curves in proptest::collection::vec(any_curve(), 0..3),
        reads_per_s in 0.0f64..1e5,
        penalty_us in 0.0f64..1e4,
        weight in 0.1f64..10.0,
        floor in 0u64..400,
        cap in proptest::option::of(400u64..3_000),
        budget in 0u64..1_000,
        asked in proptest::option::of(0u64..2_000),
        slab in proptest::option::of(any_slab()),
    ) -> Pool {
        let evictors = [Evictor::klru(5), Evictor::klru(1)];
        let candidates = evictors.into_iter().zip(curves);
        Pool {
            dearness: 1.0,
            name: "pool".to_owned(),
            candidates: candidates.map(|(evictor, curve)| Candidate::new(evictor, curve)).collect(),
            reads_per_s,
            penalty_us,
            weight,
            floor: Bytes(floor),
            cap: cap.map(Bytes),
            // A slab class may hold more or less than its budget.
            budget: Bytes(budget),
            evictor: Evictor::klru(5),
            asked: asked.map(Bytes),
            slab,
        }
    }
}

prop_compose! {
    fn any_snapshot()(
        pools in proptest::collection::vec(any_pool(), 1..6),
        spare in 0u64..4_000,
        units_max in 1usize..200,
        band in proptest::option::of(0usize..20),
        objective in 0usize..3,
        goals in proptest::collection::vec((0usize..6, 0.0f64..1.0, 0u32..3), 0..3),
    ) -> Snapshot {
        let used: u64 = pools.iter().map(|pool| pool.budget.0).sum();
        Snapshot {
            memory: Bytes(used + spare),
            units_max,
            band,
            objective: [Objective::Hits, Objective::Latency, Objective::Misses][objective],
            switch_margin: 0.01,
            goals: goals
                .into_iter()
                .map(|(at, target, priority)| Promise {
                    name: "owner".to_owned(),
                    pools: vec![at % pools.len()],
                    target: Target::MissRatio(target),
                    priority,
                })
                .collect(),
            pools,
        }
    }
}

proptest! {
    /// No planner divides more than the memory, and the forecast is that of its division.
    #[test]
    fn never_more_than_there_is(snapshot in any_snapshot()) {
        for spec in planner::ALL {
            let plan = (spec.plan)(&snapshot);
            prop_assert_eq!(plan.pools.len(), snapshot.pools.len());
            let sum: Bytes = plan.pools.iter().map(|share| share.budget).sum();
            prop_assert!(sum <= snapshot.memory, "{}: {} of {}", spec.name, sum, snapshot.memory);
            prop_assert_eq!(plan.cost, snapshot.total(plan.division()));
            prop_assert_eq!(plan.planner, spec.name);
        }
    }

    /// Planners by curves meet the floors that can be met, respect the caps, and leave pools
    /// without curves alone.
    #[test]
    fn bounds_are_met(snapshot in any_snapshot()) {
        let known = |pool: &&Pool| !pool.candidates.is_empty();
        let held: u64 =
            snapshot.pools.iter().filter(|p| !known(p)).map(|pool| pool.budget.0).sum();
        let floors: u64 = snapshot.pools.iter().filter(known).map(|pool| pool.floor.0).sum();
        for name in ["dp", "hull", "qos"] {
            let plan = (planner::find(name).unwrap().plan)(&snapshot);
            for (share, pool) in plan.pools.iter().zip(&snapshot.pools) {
                if !known(&pool) {
                    prop_assert_eq!(share.budget, pool.budget);
                    continue;
                }
                let cap = pool.cap.unwrap_or(snapshot.memory).max(pool.floor);
                prop_assert!(share.budget <= cap, "{}: {} of {}", name, share.budget, cap);
                if held + floors <= snapshot.memory.0 {
                    prop_assert!(share.budget >= pool.floor, "{}: {:?}", name, plan);
                }
            }
            let cut = plan.notes.iter().any(|note| note.contains("floors"));
            prop_assert_eq!(cut, held + floors > snapshot.memory.0);
        }
    }
}

fn pool(name: &str, curve: &[(u64, f64)], reads_per_s: f64, budget: u64) -> Pool {
    let points = curve.iter().map(|&(size, ratio)| (Bytes(size), MissRatio(ratio)));
    let evictor = Evictor::klru(5);
    Pool {
        name: name.to_owned(),
        candidates: vec![Candidate::new(evictor, MissRatioCurve::new(points))],
        reads_per_s,
        penalty_us: 1000.0,
        weight: 1.0,
        floor: Bytes(0),
        cap: None,
        budget: Bytes(budget),
        evictor,
        dearness: 1.0,
        asked: None,
        slab: None,
    }
}

fn snapshot(memory: u64, pools: Vec<Pool>) -> Snapshot {
    Snapshot {
        memory: Bytes(memory),
        units_max: 100,
        band: None,
        objective: Objective::Latency,
        switch_margin: 0.01,
        pools,
        goals: vec![],
    }
}

/// Memory goes to the pool whose waiting it saves most; memory without a use becomes a reserve.
#[test]
fn all_memory_is_handed_out() {
    let flat = pool("flat", &[(1, 1.0)], 1e4, 500);
    let steep = pool("steep", &[(100, 0.5), (300, 0.1)], 1e3, 500);
    let plan = (planner::find("dp").unwrap().plan)(&snapshot(1000, vec![flat, steep]));
    let sum: u64 = plan.pools.iter().map(|share| share.budget.0).sum();
    assert!(plan.pools[1].budget >= Bytes(300) && sum >= 998, "{plan}");
}

/// A merged curve takes the better policy at each size, and remembers which one it is. If the other
/// is better by less than the margin, the present policy stays.
#[test]
fn the_policy_follows_the_size() {
    let mut cyclic = pool("loop", &[(1000, 1.0), (1001, 0.0)], 1e3, 500);
    let random =
        MissRatioCurve::new([(Bytes(1000), MissRatio(0.2)), (Bytes(2000), MissRatio(0.1))]);
    cyclic.candidates.push(Candidate::new(Evictor::klru(1), random));
    for (memory, expected) in [(500, Evictor::klru(1)), (1500, Evictor::klru(5))] {
        let plan = (planner::find("dp").unwrap().plan)(&snapshot(memory, vec![cyclic.clone()]));
        assert_eq!(plan.pools[0].evictor, expected, "{plan}");
    }
    let mut close = pool("close", &[(1000, 0.5)], 1e3, 500);
    let hardly = MissRatioCurve::new([(Bytes(1000), MissRatio(0.498))]);
    close.candidates.push(Candidate::new(Evictor::klru(1), hardly));
    let plan = (planner::find("dp").unwrap().plan)(&snapshot(1000, vec![close]));
    assert_eq!(plan.pools[0].evictor, Evictor::klru(5), "{plan}");
}

/// kRedis' own table shows three of four tenants below a plain cache when only hits count. Here the
/// slow tenant stays within a tenth of the miss ratio of an equal share.
#[test]
fn hits_alone_starve_nobody() {
    let busy = pool("busy", &[(1000, 0.0)], 1e5, 500);
    let slow = pool("slow", &[(1000, 0.0)], 1e2, 500);
    let mut snapshot = snapshot(1000, vec![busy, slow]);
    let plan = (planner::find("dp").unwrap().plan)(&snapshot);
    assert!(plan.pools[1].miss_ratio.unwrap() > 0.9, "{plan}");
    snapshot.objective = Objective::Hits;
    let plan = (planner::find("dp").unwrap().plan)(&snapshot);
    assert!(plan.pools[1].miss_ratio.unwrap() <= 0.5 * 1.1 + 1e-9, "{plan}");
}

/// Floors that do not fit are cut, those of heavier tenants last, with a note in the plan.
#[test]
fn impossible_floors_are_cut_by_weight() {
    let mut pools: Vec<_> = ["a", "b"].map(|name| pool(name, &[(1000, 0.0)], 1e3, 500)).into();
    for (pool, weight) in pools.iter_mut().zip([3.0, 1.0]) {
        (pool.floor, pool.weight) = (Bytes(800), weight);
    }
    for name in ["dp", "hull"] {
        let plan = (planner::find(name).unwrap().plan)(&snapshot(1000, pools.clone()));
        assert!((749..=751).contains(&plan.pools[0].budget.0), "{plan}");
        assert!((249..=251).contains(&plan.pools[1].budget.0), "{plan}");
        assert!(plan.notes[0].contains("do not fit"), "{plan}");
    }
}

/// A band limits the move of each pool in a plan; beyond it a cliff is reached in several plans.
#[test]
fn a_band_bounds_each_pool() {
    let cliff = pool("cliff", &[(600, 1.0), (601, 0.0)], 1e3, 400);
    let slope = pool("slope", &[(1000, 0.9)], 1e3, 600);
    let mut snapshot = snapshot(1000, vec![cliff, slope]);
    snapshot.band = Some(30);
    let plan = (planner::find("dp").unwrap().plan)(&snapshot);
    assert!(plan.pools[0].budget >= Bytes(610), "{plan}");
    snapshot.band = Some(5);
    let plan = (planner::find("dp").unwrap().plan)(&snapshot);
    assert!(plan.pools[0].budget <= Bytes(450), "{plan}");
}

/// Each pool gets what an operator asked for, within its bounds; the others share the rest.
#[test]
fn manual_does_as_told() {
    let mut pools: Vec<_> = ["a", "b", "c"].map(|name| pool(name, &[(1000, 0.0)], 1e3, 300)).into();
    (pools[0].asked, pools[0].cap) = (Some(Bytes(700)), Some(Bytes(600)));
    let manual = planner::find("manual").unwrap().plan;
    let plan = manual(&snapshot(1000, pools.clone()));
    let budgets: Vec<_> = plan.pools.iter().map(|share| share.budget.0).collect();
    assert_eq!(budgets, [600, 200, 200]);
    pools[1].asked = Some(Bytes(1400));
    let plan = manual(&snapshot(1000, pools));
    assert_eq!(plan.pools[0].budget, Bytes(300), "{plan}");
    assert!(plan.notes[0].contains("asks for"), "{plan}");
}
