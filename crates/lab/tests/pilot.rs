//! Tests of the pilot in virtual time, against a simulated store.
//!
//! A run is a function of its seed: workloads, arrivals, draws and models. The rules are checked
//! after every epoch, and a failure names the scenario, the seed and the epoch. The canaries at the
//! end break a rule on purpose: they prove that the harness would notice.

use base::{Access, Bytes, Micros};
use lab::plant::{Bounds, Counts, SampledPlant, SimulatedStore};
use std::fmt::Write;
use trace::Source;
use tune::pilot::Decision;
use tune::{Evictor, Pilot, Plant, Reading, Recipe, Step, recipe};

/// Time between two looks of the pilot at the plant.
const TICK: Micros = Micros::from_millis(100);

/// Maximum memory that a pool loses in an epoch, as a share of its memory, and of the limit: the
/// pilot's promise, written down a second time.
const LOSS_MAX: (f64, f64) = (0.25, 1.0 / 256.0);

/// A tenant: a name, and generators that take turns.
struct Load {
    bounds: Bounds,
    /// Seconds of each phase, and the generator's text without requests, seed and tenant.
    phases: Vec<(u64, String)>,
}

fn load(name: &str, seconds: u64, generator: &str) -> Load {
    Load { bounds: Bounds::none(name), phases: vec![(seconds, generator.to_owned())] }
}

struct Scenario {
    name: &'static str,
    memory: Bytes,
    loads: Vec<Load>,
}

/// Accesses of one tenant, phase after phase.
struct Feed {
    tenant: u16,
    seed: u64,
    phases: Vec<(u64, String)>,
    source: Option<Box<dyn Source>>,
    begun: Micros,
    next: Option<Access>,
}

impl Feed {
    fn new(tenant: u16, seed: u64, load: &Load) -> Self {
        let phases = load.phases.iter().rev().cloned().collect();
        let mut feed = Self { tenant, seed, phases, source: None, begun: Micros(0), next: None };
        feed.advance();
        feed
    }

    /// Fetches the next access; at the end of a phase it opens the next one. A silent phase has no
    /// generator.
    fn advance(&mut self) {
        let mut end = Micros(u64::MAX);
        loop {
            if let Some(source) = &mut self.source {
                let (seconds, _) = self.phases.last().expect("the phase of the source");
                end = end.min(self.begun + Micros::from_secs(*seconds));
                if let Some(access) = source.next() {
                    let access = access.expect("generators do not fail");
                    let time = self.begun + access.time;
                    if time < end {
                        self.next = Some(Access { time, tenant: self.tenant, ..access });
                        return;
                    }
                }
                self.begun = end;
                end = Micros(u64::MAX);
                self.phases.pop();
                self.source = None;
            }
            let Some((seconds, text)) = self.phases.last() else {
                self.next = None;
                return;
            };
            if text.is_empty() {
                self.begun += Micros::from_secs(*seconds);
                self.phases.pop();
                continue;
            }
            let seed = self.seed + u64::from(self.tenant) * 1000 + self.phases.len() as u64;
            let text = format!(
                "{text}:requests=100000000:seed={seed}:arrivals=poisson:prefix=t{}-",
                self.tenant
            );
            self.source = Some(trace::synth::open(&text, &trace::ReadOptions::default()).unwrap());
        }
    }
}

/// Result of a run: the pilot, the plant, and counts.
struct Run {
    pilot: Pilot,
    plant: SampledPlant,
    /// Counts of each tenant at the end of each epoch.
    epochs: Vec<Vec<Counts>>,
}

impl Run {
    /// Mean wait of a read in microseconds, over all tenants, from an epoch on.
    fn mean_wait(&self, from: usize) -> f64 {
        let (mut gets, mut waited) = (0, 0);
        for (end, start) in self.epochs[self.epochs.len() - 1].iter().zip(&self.epochs[from]) {
            gets += end.gets - start.gets;
            waited += end.waited.0 - start.waited.0;
        }
        waited as f64 / gets as f64
    }

    fn misses(&self, from: usize) -> f64 {
        let (mut gets, mut misses) = (0, 0);
        for (end, start) in self.epochs[self.epochs.len() - 1].iter().zip(&self.epochs[from]) {
            gets += end.gets - start.gets;
            misses += end.misses - start.misses;
        }
        misses as f64 / gets as f64
    }

    fn evictor(&self, tenant: u16) -> Evictor {
        let pool = self.plant.pools().find(|pool| pool.tenants.contains(&tenant));
        pool.expect("every tenant has a pool").evictor
    }

    fn budget(&self, tenant: u16) -> f64 {
        let pool = self.plant.pools().find(|pool| pool.tenants.contains(&tenant));
        pool.expect("every tenant has a pool").budget.as_f64()
    }

    /// Bytes moved from epoch `from` on, in all, as a share of the memory.
    fn moved(&self, from: usize) -> f64 {
        let history = self.pilot.history();
        let moved: f64 = history.iter().skip(from).map(|epoch| epoch.moved.as_f64()).sum();
        moved / self.pilot.status().memory.as_f64()
    }

    fn log(&self) -> String {
        let mut text = String::new();
        for epoch in self.pilot.history() {
            let _ = write!(
                text,
                "\n{:>3} {:?} gain {:.3} of {:.3}:",
                epoch.epoch, epoch.decision, epoch.gain, epoch.threshold
            );
            for pool in &epoch.pools {
                let _ = write!(
                    text,
                    " [{} {} {} {} mr {:.3} {:.3}]",
                    pool.name,
                    pool.budget,
                    pool.used,
                    pool.evictor,
                    pool.forecast.unwrap_or(f64::NAN),
                    pool.outcome.unwrap_or(f64::NAN)
                );
            }
        }
        text
    }
}

/// A change of the steps between the pilot and the plant: none, or a canary.
type Meddle = fn(&mut Step, u64);

struct Steered<'a> {
    plant: &'a mut SampledPlant,
    meddle: Meddle,
    steps: &'a mut u64,
}

impl Plant for Steered<'_> {
    fn read(&mut self) -> Reading {
        self.plant.read()
    }

    fn apply(&mut self, step: &Step) {
        let mut step = step.clone();
        (self.meddle)(&mut step, *self.steps);
        *self.steps += 1;
        self.plant.apply(&step);
    }
}

fn run(scenario: &Scenario, recipe: &str, seed: u64) -> Run {
    try_run(scenario, recipe, seed, |_, _| {}, |_, _, _| {})
        .unwrap_or_else(|broken| panic!("{}, {recipe}, seed {seed}: {broken}", scenario.name))
}

fn try_run(
    scenario: &Scenario,
    recipe: &str,
    seed: u64,
    meddle: Meddle,
    mut at_epoch: impl FnMut(usize, &mut Pilot, &mut SampledPlant),
) -> Result<Run, String> {
    let bounds: Vec<_> = scenario.loads.iter().map(|load| load.bounds.clone()).collect();
    let mut plant = SampledPlant::new(scenario.memory, &bounds, seed);
    let mut pilot = Pilot::new(recipe::parse(recipe).unwrap(), seed);
    let mut feeds: Vec<_> = scenario
        .loads
        .iter()
        .enumerate()
        .map(|(tenant, load)| Feed::new(tenant as u16, seed, load))
        .collect();
    let mut epochs = vec![];
    let mut before: Option<Division> = None;
    let (mut tick, mut steps) = (Micros(0), 0);
    loop {
        let next = feeds.iter_mut().filter(|feed| feed.next.is_some());
        let Some(feed) = next.min_by_key(|feed| feed.next.map(|access| access.time)) else { break };
        let access = feed.next.expect("filtered");
        while access.time >= tick {
            plant.advance(tick);
            let mut steered = Steered { plant: &mut plant, meddle, steps: &mut steps };
            let ended = pilot.tick(&mut steered);
            tick += TICK;
            let division = Division::of(&plant, &scenario.loads);
            if ended {
                let pools = pilot.history().back().map_or(vec![], |epoch| epoch.pools.clone());
                // A pool without requests lends its memory at once.
                let idle: Vec<_> = pools.iter().map(|pool| pool.reads_per_s == 0.0).collect();
                division
                    .check(before.as_ref(), pilot.recipe(), &idle)
                    .map_err(|broken| format!("epoch {}: {broken}", epochs.len() + 1))?;
                let tenants = 0..scenario.loads.len() as u16;
                epochs.push(tenants.map(|tenant| plant.counts(tenant)).collect());
                at_epoch(epochs.len(), &mut pilot, &mut plant);
            }
            // A changed limit or recipe divides anew; only changes within an epoch are bounded.
            before = Some(Division::of(&plant, &scenario.loads));
        }
        plant.access(&access);
        feed.advance();
        if plant.used() > scenario.memory {
            return Err(format!("{} of {} in use", plant.used(), scenario.memory));
        }
    }
    Ok(Run { pilot, plant, epochs })
}

/// A division of the memory and the rules it must obey.
struct Division {
    limit: Bytes,
    pools: Vec<(Bytes, Bytes, Evictor)>,
}

impl Division {
    fn of(plant: &SampledPlant, loads: &[Load]) -> Self {
        let pools = plant.pools().map(|pool| {
            let min = pool.tenants.iter().map(|&at| loads[usize::from(at)].bounds.min).sum();
            (pool.budget, min, pool.evictor)
        });
        Self { limit: plant.limit(), pools: pools.collect() }
    }

    fn check(&self, before: Option<&Self>, recipe: &Recipe, idle: &[bool]) -> Result<(), String> {
        let sum: Bytes = self.pools.iter().map(|pool| pool.0).sum();
        if sum > self.limit {
            return Err(format!("budgets of {sum} in {}", self.limit));
        }
        for (at, (budget, min, _)) in self.pools.iter().enumerate() {
            if budget < min {
                return Err(format!("pool {at} has {budget}, below its floor {min}"));
            }
        }
        let Some(before) = before.filter(|before| before.pools.len() == self.pools.len()) else {
            return Ok(());
        };
        let (mut gained, mut lent) = (0.0, 0.0);
        for (at, (new, old)) in self.pools.iter().zip(&before.pools).enumerate() {
            let change = new.0.as_f64() - old.0.as_f64();
            gained += change.max(0.0);
            if change < 0.0 && idle.get(at) == Some(&true) {
                lent -= change;
                continue;
            }
            if -change > LOSS_MAX.0 * old.0.as_f64() + LOSS_MAX.1 * self.limit.as_f64() + 1.0 {
                return Err(format!("pool {at} falls from {} to {} at once", old.0, new.0));
            }
            if change != 0.0 && new.2 != old.2 {
                return Err(format!("pool {at} changes budget and policy at once"));
            }
        }
        if gained - lent > recipe.move_max * self.limit.as_f64() + 1.0 {
            return Err(format!("{} moved in an epoch", Bytes(gained as u64)));
        }
        Ok(())
    }
}

const MIB: u64 = 1 << 20;

/// Four tenants with different skew, sizes, rates and backends; together they touch three times the
/// memory.
fn mix(seconds: u64) -> Scenario {
    let loads = vec![
        load("web", seconds, "zipf:keys=40000:skew=0.9:size=const/400:rate=8000:penalty=const/200"),
        load(
            "cart",
            seconds,
            "zipf:keys=20000:skew=0.7:size=const/300:rate=4000:penalty=const/2000",
        ),
        load("scan", seconds, "scan:keys=1000000:size=const/900:rate=3000:penalty=const/400"),
        load("report", seconds, "loop:keys=9000:size=const/1000:rate=2000:penalty=const/1000"),
    ];
    Scenario { name: "mix", memory: Bytes(12 * MIB), loads }
}

/// On an uneven mix the tuned cache waits far less than the plain one.
#[test]
fn beats_the_plain_cache_on_a_mix() {
    for seed in 1..=3 {
        let plain = run(&mix(60), "static", seed).mean_wait(10);
        let tuned = run(&mix(60), "kredis", seed);
        let wait = tuned.mean_wait(10);
        println!("seed {seed}: {plain:.0} µs plain, {wait:.0} µs tuned");
        assert!(wait < 0.8 * plain, "seed {seed}: {plain:.0} µs -> {wait:.0} µs{}", tuned.log());
        // The loop is larger than its possible share: only random replacement keeps a part of it.
        assert_eq!(tuned.evictor(3), Evictor::klru(1), "{}", tuned.log());
    }
}

/// With tenants and keys that are all alike there is nothing to gain, and little may be lost to
/// noise.
#[test]
fn does_no_harm_on_white_noise() {
    let noise = "uniform:keys=20000:size=const/500:rate=4000:penalty=const/1000";
    let scenario = Scenario {
        name: "white noise",
        memory: Bytes(12 * MIB),
        loads: ["a", "b", "c", "d"].map(|name| load(name, 60, noise)).into(),
    };
    for seed in 1..=3 {
        let plain = run(&scenario, "static", seed).mean_wait(10);
        let tuned = run(&scenario, "kredis", seed);
        let wait = tuned.mean_wait(10);
        println!("seed {seed}: {plain:.0} µs plain, {wait:.0} µs tuned");
        assert!(wait < 1.01 * plain, "seed {seed}: {plain:.0} µs -> {wait:.0} µs{}", tuned.log());
    }
}

/// Equally popular keys come from a near and a far backend. The far ones are worth more, and only
/// their penalty shows it.
#[test]
fn classes_of_penalties_are_weighed() {
    let from = |penalty: &str| {
        format!("zipf:keys=30000:skew=0.7:size=const/300:rate=4000:penalty=const/{penalty}")
    };
    let scenario = Scenario {
        name: "near and far",
        memory: Bytes(5 * MIB),
        loads: vec![load("near", 40, &from("120")), load("far", 40, &from("2000"))],
    };
    for seed in 1..=3 {
        let plain = run(&scenario, "static", seed).mean_wait(10);
        let tuned = run(&scenario, "predis", seed);
        let wait = tuned.mean_wait(10);
        println!("seed {seed}: {plain:.0} µs plain, {wait:.0} µs tuned");
        assert!(wait < 0.8 * plain, "seed {seed}: {plain:.0} µs -> {wait:.0} µs{}", tuned.log());
        // Three classes: unmeasured, below 150 µs, below 2.55 ms.
        assert_eq!(tuned.plant.pools().count(), 3, "{}", tuned.log());
    }
}

/// A load that does not change needs no moves, once it is known.
#[test]
fn comes_to_rest() {
    for seed in 4..=6 {
        let tuned = run(&mix(100), "kredis", seed);
        let late = 60;
        let reversed = |epoch: &tune::pilot::Epoch| epoch.decision == Decision::Reversed;
        let back = tuned.pilot.history().iter().skip(late).filter(|e| reversed(e)).count();
        let moved = tuned.moved(late);
        println!("seed {seed}: {:.1} % of the memory moved in 40 epochs", 100.0 * moved);
        assert!(moved < 0.1 && back <= 1, "seed {seed}: {moved} moved{}", tuned.log());
    }
}

/// The pilot checks its forecasts itself; this test checks that they come true.
#[test]
fn forecasts_come_true() {
    let tuned = run(&mix(80), "kredis", 7);
    let mut errors = vec![];
    for pool in tuned.pilot.history().iter().skip(50).flat_map(|epoch| &epoch.pools) {
        // The scan comes in bursts of several epochs: no forecast from the past holds for it.
        if let (Some(forecast), Some(outcome), false) =
            (pool.forecast, pool.outcome, pool.name == "scan")
        {
            errors.push((forecast - outcome).abs());
        }
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    println!("mean error of {} forecasts: {mean:.4}", errors.len());
    assert!(errors.len() >= 80 && mean < 0.04, "{mean} over {}{}", errors.len(), tuned.log());
}

/// Two tenants change roles half way, and the memory follows.
#[test]
fn follows_the_phases() {
    let busy = "zipf:keys=30000:skew=0.8:size=const/400:rate=8000:penalty=const/1000";
    let calm = "zipf:keys=30000:skew=0.8:size=const/400:rate=400:penalty=const/1000";
    let phases = |order: [&str; 2]| order.map(|text| (40, text.to_owned())).into();
    let scenario = Scenario {
        name: "phases",
        memory: Bytes(8 * MIB),
        loads: vec![
            Load { bounds: Bounds::none("day"), phases: phases([busy, calm]) },
            Load { bounds: Bounds::none("night"), phases: phases([calm, busy]) },
        ],
    };
    let mut shares = vec![];
    let tuned = try_run(
        &scenario,
        "kredis",
        8,
        |_, _| {},
        |epoch, _, plant| {
            if epoch == 38 || epoch == 78 {
                let budgets: Vec<_> = plant.pools().map(|pool| pool.budget.as_f64()).collect();
                shares.push(budgets[0] / (budgets[0] + budgets[1]));
            }
        },
    );
    let tuned = tuned.unwrap();
    assert!(shares[0] > 0.6 && shares[1] < 0.4, "{shares:?}{}", tuned.log());
}

/// A silent tenant keeps nothing but a floor while another can use the memory, and regains its part
/// later.
#[test]
fn silence_frees_memory() {
    let busy = "zipf:keys=40000:skew=0.7:size=const/400:rate=5000:penalty=const/1000";
    let phases = [busy, "", busy].map(|text| (30, text.to_owned()));
    let scenario = Scenario {
        name: "silence",
        memory: Bytes(8 * MIB),
        loads: vec![
            load("steady", 90, busy),
            Load { bounds: Bounds::none("sleeper"), phases: phases.into() },
        ],
    };
    let mut asleep = 1.0;
    let tuned = try_run(
        &scenario,
        "kredis",
        9,
        |_, _| {},
        |epoch, _, plant| {
            if epoch == 58 {
                asleep = plant.used_by(1).as_f64() / plant.used().as_f64();
            }
        },
    );
    let tuned = tuned.unwrap();
    let awake = tuned.budget(1) / (tuned.budget(0) + tuned.budget(1));
    assert!(asleep < 0.1, "{asleep}{}", tuned.log());
    assert!(awake > 0.35, "{awake}{}", tuned.log());
}

/// Floors and caps hold in every epoch, as the harness checks, also where the plan would exceed
/// them.
#[test]
fn bounds_hold() {
    let mut scenario = mix(40);
    scenario.loads[0].bounds.min = Bytes(4 * MIB);
    scenario.loads[3].bounds.max = Some(Bytes(2 * MIB));
    let tuned = run(&scenario, "kredis", 10);
    assert!(tuned.budget(0) >= (4 * MIB) as f64 && tuned.budget(3) <= (2 * MIB) as f64);
    assert!(tuned.plant.used_by(0) >= Bytes(4 * MIB - 1000), "{}", tuned.log());
    // The floors exceed the memory: no tenant gets more than the whole, and nothing panics.
    for load in &mut scenario.loads {
        load.bounds = Bounds { min: Bytes(5 * MIB), ..Bounds::none(&load.bounds.name) };
    }
    let broken = try_run(&scenario, "kredis", 11, |_, _| {}, |_, _, _| {}).err();
    assert!(broken.is_some_and(|broken| broken.contains("below its floor")));
}

/// By hits, the cheap but busy tenant counts; by latency, the slow one. No tenant is starved for
/// hits.
#[test]
fn the_objective_decides() {
    let scenario = Scenario {
        name: "objectives",
        memory: Bytes(6 * MIB),
        loads: vec![
            load("busy", 50, "zipf:keys=30000:skew=0.8:size=const/300:rate=8000:penalty=const/100"),
            load(
                "slow",
                50,
                "zipf:keys=30000:skew=0.8:size=const/300:rate=3000:penalty=const/5000",
            ),
        ],
    };
    let by_hits = run(&scenario, "kredis:objective=hits", 12);
    let by_latency = run(&scenario, "kredis", 12);
    assert!(by_hits.misses(20) < by_latency.misses(20));
    assert!(by_hits.mean_wait(20) > by_latency.mean_wait(20));
    assert!(by_hits.budget(1) > (MIB) as f64, "{}", by_hits.log());
}

/// The recipe and the limit change during the run; cached items stay.
#[test]
fn changes_live() {
    let mut kept = vec![];
    let tuned = try_run(
        &mix(60),
        "static",
        13,
        |_, _| {},
        |epoch, pilot, plant| {
            match epoch {
                15 => pilot.set_recipe(recipe::parse("kredis").unwrap()),
                35 => plant.set_limit(Bytes(8 * MIB)),
                45 => plant.set_limit(Bytes(12 * MIB)),
                55 => pilot.set_recipe(recipe::parse("static").unwrap()),
                _ => {}
            }
            kept.push((
                plant.used(),
                plant.pools().count(),
                plant.pools().all(|pool| pool.filter.rate() > 0.0),
            ));
        },
    );
    let tuned = tuned.unwrap();
    let full = Bytes(11 * MIB);
    assert!(kept[14].0 > full && kept[16].0 > full, "{kept:?}");
    assert_eq!((kept[13].1, kept[13].2), (1, false), "a plain cache is not tapped");
    assert_eq!((kept[20].1, kept[20].2), (4, true));
    assert_eq!((kept[57].1, kept[57].2), (1, false));
    assert!(tuned.plant.used() > full);
}

/// A run is a function of its seed.
#[test]
fn same_seed_same_run() {
    let log = |seed| run(&mix(20), "kredis", seed).log();
    assert_eq!(log(14), log(14));
    assert_ne!(log(14), log(15));
}

/// A pilot without limits would be caught: each canary breaks one rule, and the harness names it.
#[test]
fn canaries_are_caught() {
    let canaries: [(Meddle, &str); 4] = [
        (|step, _| step.pools[0].budget += Bytes(13 * MIB), "budgets of"),
        (|step, _| step.pools[3].budget = Bytes(0), "below its floor"),
        (
            |step, at| {
                let half = Bytes(step.pools[0].budget.0 / 2);
                if at > 4 {
                    step.pools[0].budget -= half;
                    step.pools[1].budget += half;
                }
            },
            "at once",
        ),
        (
            |step, at| {
                step.pools[0].evictor = Evictor::klru(1 + (at % 2) as u8);
                step.pools[0].budget -= Bytes(at % 2);
            },
            "budget and policy",
        ),
    ];
    let mut scenario = mix(30);
    scenario.loads[3].bounds.min = Bytes(MIB);
    for (meddle, words) in canaries {
        let broken = try_run(&scenario, "kredis", 16, meddle, |_, _, _| {}).err();
        assert!(broken.as_ref().is_some_and(|text| text.contains(words)), "{words}: {broken:?}");
    }
}

/// The gain is the planner's: with equal shares that nobody moves, clients wait far longer.
#[test]
fn doing_nothing_is_not_enough() {
    let idle = run(&mix(60), "kredis:planner=nothing", 1);
    let tuned = run(&mix(60), "kredis", 1).mean_wait(10);
    let wait = idle.mean_wait(10);
    println!("{wait:.0} µs with equal shares, {tuned:.0} µs tuned");
    assert_eq!(idle.moved(0), 0.0);
    assert!(tuned < 0.85 * wait, "{wait} {tuned}");
}
