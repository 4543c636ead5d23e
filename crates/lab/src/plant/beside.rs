//! The live store beside its simulation, at equal contents.
//!
//! A store spends a part of its memory on tables and on the rest of its pages, so at equal memory
//! it holds less than the simulation. What both decide can only be compared if both hold as much:
//! the simulation gets the bytes that the live store's items took on average. A read does not
//! change the size of its key, as it may in a trace. All else differs as in production: the rank in
//! few bits, candidates by the layout of the table, and what the pilot learns by looking.

use super::{Bounds, LivePlant, SampledPlant, SimulatedStore};
use base::hash::KeyMap;
use base::{Access, Bytes, Micros};
use load::open::{Options, open};
use policy::Outcome;
use std::path::Path;
use tune::{Pilot, recipe};

/// The traces, each with two sizes of memory in MiB.
const CELLS: [(&str, [f64; 2]); 6] = [
    ("twitter_c52_a", [4.0, 16.0]),
    ("c2k_web07", [16.0, 64.0]),
    ("arc_oltp", [8.0, 32.0]),
    ("tencent_blk_2706", [32.0, 100.0]),
    ("mooncake_synth", [18.0, 70.0]),
    ("hp_ajw", [4.0, 12.0]),
];

/// Maximum number of requests of a trace.
const REQUESTS: usize = 400_000;

/// Time between two looks of the pilot, by requests: recorded times are too unequal.
const LOOK: usize = 2_000;

/// The difference between miss ratios that counts as equal: half a percentage point.
const POINTS: f64 = 0.005;

/// Moments of the second half at which the contents are added up.
const MOMENTS: usize = 10;

/// Plays the requests, and calls `look` at some moments of the second half. Returns the miss ratio
/// of the second half.
fn play<S: SimulatedStore>(mut store: S, requests: &[Access], mut look: impl FnMut(&S)) -> f64 {
    let mut pilot = Pilot::new(recipe::parse("auto").unwrap(), 1);
    let (mut reads, mut misses) = (0u64, 0u64);
    for (at, access) in requests.iter().enumerate() {
        let counts = at >= requests.len() / 2;
        if at % LOOK == 0 {
            store.advance(access.time);
            pilot.tick(&mut store);
        }
        if counts && at % (requests.len() / 2 / MOMENTS) == 0 {
            look(&store);
        }
        let outcome = store.access(access);
        if counts && access.op == base::Op::Get {
            reads += 1;
            misses += u64::from(outcome == Outcome::Miss);
        }
    }
    misses as f64 / reads as f64
}

/// Plays a trace to both with these seeds; prints and returns the difference of their mean miss
/// ratios.
fn compare(name: &str, requests: &[Access], memory: Bytes, seeds: u64) -> f64 {
    let bounds = [Bounds::none("all")];
    let recipe = recipe::parse("auto").unwrap();
    // The sizes change little, so the last one stands for all.
    let sizes: KeyMap<u64> = requests.iter().map(|one| (one.key, one.size.get())).collect();
    let (mut live, mut simulated, mut contents) = (0.0, 0.0, 0);
    for seed in 1..=seeds {
        let (mut held, mut looks) = (0, 0);
        let look = |store: &LivePlant| {
            looks += 1;
            let there = sizes.iter().filter(|(key, _)| store.holds(0, **key));
            held += there.map(|(_, size)| size).sum::<u64>();
        };
        live += play(LivePlant::new(&recipe, memory, &bounds, seed), requests, look);
        contents = held / looks;
        simulated += play(SampledPlant::new(Bytes(contents), &bounds, seed), requests, |_| ());
    }
    let (live, simulated) = (live / seeds as f64, simulated / seeds as f64);
    println!(
        "{name:<17} {memory:>9} holds {:>9}: live {live:.4}, simulated {simulated:.4}, {:+.2}",
        Bytes(contents),
        100.0 * (live - simulated)
    );
    live - simulated
}

/// The requests of a recorded trace, a millisecond apart, if it is there.
fn requests(name: &str) -> Option<Vec<Access>> {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let path = traces.join(format!("{name}.csv.zst"));
    if !path.exists() {
        skip::skip("traces", "shared/traces beside the repository");
        return None;
    }
    let mut source = open(path.to_str().unwrap(), &Options::default()).unwrap();
    let all = std::iter::from_fn(|| source.next()).take(REQUESTS).map(Result::unwrap);
    let mut sizes = KeyMap::default();
    let spaced = |(at, access): (usize, Access)| {
        let (time, penalty) = (Micros::from_millis(at as u64), Micros::from_millis(1));
        if access.op == base::Op::Set {
            sizes.insert(access.key, access.size);
        }
        let size = *sizes.entry(access.key).or_insert(access.size);
        Access { time, penalty, size, tenant: 0, ..access }
    };
    Some(all.enumerate().map(spaced).collect())
}

/// Two cells; all twelve, with three seeds, if `LARDER_ALL_CELLS` is set.
#[test]
fn the_live_store_misses_as_often_as_its_simulation() {
    let is_all = std::env::var_os("LARDER_ALL_CELLS").is_some();
    let (cells, sizes, seeds) = if is_all { (&CELLS[..], 2, 3) } else { (&CELLS[1..3], 1, 1) };
    let mut off = vec![];
    for (name, memory) in cells {
        let Some(requests) = requests(name) else { continue };
        for mib in &memory[..sizes] {
            let memory = Bytes((mib * f64::from(1 << 20)) as u64);
            off.push((name, compare(name, &requests, memory, seeds)));
        }
    }
    assert!(off.iter().all(|(_, off)| off.abs() < 5.0 * POINTS), "{off:?}");
    // The store may miss less.
    let worse: Vec<_> = off.iter().filter(|(_, off)| *off >= POINTS).collect();
    assert!(worse.len() <= if is_all { 2 } else { 0 }, "{worse:?}");
}
