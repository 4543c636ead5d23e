//! Causes of misses that the pilot finds from sampled keys, against those of an unbounded cache.
//! The live store plays recorded traces, to which times to live and removals were added.

use super::annotator::{Annotator, Cause};
use crate::plant::{Bounds, LivePlant, SimulatedStore as _};
use base::hash::mix;
use base::{Access, Bytes, Micros};
use load::open::{Options, open};
use policy::Outcome;
use std::path::Path;
use tune::{Pilot, recipe};

/// Maximum number of requests of a trace.
const REQUESTS: usize = 300_000;

/// Time between two looks of the pilot.
const LOOK: Micros = Micros::from_millis(200);

/// Largest error in the share of a cause: one percentage point of the reads.
const POINTS: f64 = 0.01;

/// The requests of a trace, with a time to live for every third key, and a removal after every
/// fortieth request.
fn requests(path: &Path) -> Vec<Access> {
    let mut source = open(path.to_str().unwrap(), &Options::default()).unwrap();
    let read: Vec<Access> =
        std::iter::from_fn(|| source.next()).take(REQUESTS).map(Result::unwrap).collect();
    let life = Micros((read.last().unwrap().time.0 / 12).max(1_000_000));
    let mut all = Vec::with_capacity(read.len() + read.len() / 40);
    for (at, access) in read.into_iter().enumerate() {
        let ttl = if mix(access.key).is_multiple_of(3) { life } else { Micros(0) };
        let access = Access { tenant: 0, ttl, ..access };
        all.push(access);
        if mix(at as u64).is_multiple_of(40) {
            all.push(Access { time: access.time, ..Access::delete(access.key) });
        }
    }
    all
}

/// Shares of the reads that miss by each cause: by the unbounded cache, and by the pilot.
fn shares(requests: &[Access], memory: Bytes) -> [[f64; 4]; 2] {
    let recipe = recipe::parse("auto").unwrap();
    let mut store = LivePlant::new(&recipe, memory, &[Bounds::none("all")], 1);
    let mut pilot = Pilot::new(recipe, 1);
    let mut known = Annotator::default();
    let (mut oracle, mut reads, mut misses, mut looked) = ([0u64; 4], 0u64, 0u64, Micros(0));
    for access in requests {
        if access.time.saturating_sub(looked) >= LOOK {
            looked = access.time;
            store.advance(access.time);
            pilot.tick(&mut store);
        }
        let cause = known.see(access).unwrap();
        if access.op != base::Op::Get {
            store.access(access);
            continue;
        }
        reads += 1;
        if store.access(access) == Outcome::Miss {
            misses += 1;
            let at = match cause {
                Cause::First => 0,
                Cause::Evicted => 1,
                Cause::Expired => 2,
                Cause::Deleted => 3,
            };
            oracle[at] += 1;
        }
    }
    pilot.tick(&mut store);
    let [never, evicted, expired, deleted, early] = pilot.causes(0);
    assert_eq!(early, 0, "every read is filled at once");
    let sampled = [never, evicted, expired, deleted];
    let all: u64 = sampled.iter().sum();
    assert!(pilot.sampled_misses(0) > 1_000, "{sampled:?}");
    let ratio = misses as f64 / reads as f64;
    println!("{} of {misses} misses were sampled", pilot.sampled_misses(0));
    [
        oracle.map(|count| count as f64 / reads as f64),
        sampled.map(|count| ratio * count as f64 / all as f64),
    ]
}

#[test]
fn the_pilot_tells_why_reads_miss() {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    for (name, memory) in [
        ("twitter_c52_a", 8 << 20),
        ("cp_w106", 64 << 20),
        ("adaptsize_req", 16 << 20),
        ("arc_oltp", 8 << 20),
    ] {
        let path = traces.join(format!("{name}.csv.zst"));
        if !path.exists() {
            skip::skip("traces", "shared/traces beside the repository");
            continue;
        }
        let [oracle, told] = shares(&requests(&path), Bytes(memory));
        println!("{name}: {oracle:.4?} exact, {told:.4?} told");
        for (exact, told) in oracle.iter().zip(told) {
            assert!((exact - told).abs() < POINTS, "{name}: {oracle:.4?} exact, {told:.4?} told");
        }
        assert!(oracle[2] > 0.001 && oracle[3] > 0.001, "{name}: there is nothing to tell");
    }
}
