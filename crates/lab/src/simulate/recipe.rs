//! Recipes in virtual time: the pilot of the live server, on a simulated store.
//!
//! The traces are the tenants, or the clients of a single one. They are read once for their
//! footprint and their spans, and once more for each recipe and size.

use super::size::Size;
use super::{Args, LIVE};
use crate::plant::{Bounds, SimulatedPlant};
use crate::product::Steered;
use crate::report::{Table, json};
use crate::requests::{Footprint, Requests, duration};
use crate::simulation::{Simulation, Store};
use crate::slab_plant::{SlabPlant, Slabs};
use anyhow::{Result, anyhow, ensure};
use base::{Access, Bytes, Micros, TenantId};
use serde::Serialize;
use std::collections::BTreeMap;
use tune::pilot::Epoch;
use tune::recipe::Pools;
use tune::{Evictor, Recipe, recipe};

/// The cost of a miss where neither the trace nor the command line tells.
const PENALTY_DEFAULT: Micros = Micros::from_millis(1);

/// One recipe at one size.
#[derive(Debug, Serialize)]
pub(super) struct Flown {
    recipe: String,
    size: String,
    pub(super) size_bytes: u64,
    /// Reads.
    pub(super) requests: u64,
    misses: u64,
    miss_ratio: f64,
    /// Mean time waited for misses, over all reads.
    pub(super) mean_us: f64,
    pub(super) used_bytes: u64,
    footprint_bytes: u64,
    seed: u64,
    tenants: Vec<Tenant>,
    /// The last epochs, each with what it expected and what came.
    pub(super) history: Vec<Epoch>,
}

#[derive(Debug, Serialize)]
struct Tenant {
    #[serde(rename = "tenant")]
    name: String,
    requests: u64,
    misses: u64,
    miss_ratio: f64,
    mean_us: f64,
    used_bytes: u64,
    /// At the end, of the pool the tenant is in.
    policy: Evictor,
}

/// What a first look at the traces tells.
struct Survey {
    names: Vec<String>,
    footprint: u64,
    /// How much slower each trace must run to span as much time as the longest.
    stretch: Vec<f64>,
    /// Whether any request says what its miss costs.
    has_penalties: bool,
}

/// Runs every recipe at every size.
pub(super) fn run(args: &Args) -> Result<()> {
    let flown = flown(args)?;
    if args.json {
        return json::print(&flown);
    }
    print!("{}", show(&flown));
    Ok(())
}

/// Every recipe at every size.
pub(super) fn flown(args: &Args) -> Result<Vec<Flown>> {
    let parse = |text: &String| {
        let live = text.trim().strip_prefix(LIVE);
        let recipe = recipe::parse(live.unwrap_or(text)).map_err(|error| anyhow!(error))?;
        Ok((recipe, live.is_some()))
    };
    let recipes = args.recipe.iter().map(parse).collect::<Result<Vec<_>>>()?;
    let survey = survey(args)?;
    let penalties = penalties(&args.penalty, &survey)?;
    let mut flown = vec![];
    for (recipe, is_live) in recipes {
        for size in &args.size {
            let mut one = fly(args, &survey, &penalties, recipe, is_live, size)?;
            if is_live {
                one.recipe.insert_str(0, LIVE);
            }
            flown.push(one);
        }
    }
    Ok(flown)
}

fn survey(args: &Args) -> Result<Survey> {
    let mut requests = Requests::open(&args.traces, &args.read, &[])?;
    let mut footprints: Vec<Footprint> = vec![];
    let mut ends: Vec<Micros> = vec![];
    let mut has_penalties = false;
    while let Some(access) = requests.next()? {
        let at = usize::from(access.tenant);
        if footprints.len() <= at {
            footprints.resize_with(at + 1, Footprint::default);
            ends.resize(at + 1, Micros(1));
        }
        footprints[at].see(&access);
        ends[at] = ends[at].max(access.time);
        has_penalties |= access.penalty > Micros(0);
    }
    ensure!(!ends.is_empty(), "the traces hold no request");
    let last = ends.iter().max().copied().unwrap_or_default();
    let several = args.traces.len() > 1;
    let stretch = ends.iter().map(|end| last.as_f64() / end.as_f64());
    Ok(Survey {
        names: requests.names,
        footprint: footprints.iter().map(|footprint| footprint.bytes().0).sum(),
        stretch: if several { stretch.collect() } else { vec![] },
        has_penalties,
    })
}

/// What a miss of each tenant costs, where it is not the trace that tells.
fn penalties(said: &[String], survey: &Survey) -> Result<Vec<Option<Micros>>> {
    let mut by_name = BTreeMap::new();
    for text in said {
        let (name, value) = text.rsplit_once('=').unwrap_or(("", text));
        ensure!(
            name.is_empty() || survey.names.iter().any(|known| known == name),
            "there is no tenant '{name}': the traces have {}",
            survey.names.join(", ")
        );
        by_name.insert(name, duration(value)?);
    }
    let default = (!survey.has_penalties).then_some(PENALTY_DEFAULT);
    let of = |name: &String| by_name.get(name.as_str()).or(by_name.get("")).copied().or(default);
    Ok(survey.names.iter().map(of).collect())
}

fn fly(
    args: &Args,
    survey: &Survey,
    penalties: &[Option<Micros>],
    recipe: Recipe,
    is_live: bool,
    size: &Size,
) -> Result<Flown> {
    let memory = size.of(survey.footprint);
    let bounds: Vec<_> = survey.names.iter().map(|name| Bounds::none(name)).collect();
    if is_live {
        let plant = Steered::new(&recipe, memory, &bounds, args.seed);
        return fly_over(plant, args, survey, penalties, recipe, size);
    }
    if recipe.pools == Pools::Slab {
        let slabs = Slabs::within(memory);
        ensure!(
            memory.0 >= u64::from(slabs.page),
            "{memory} hold no page of slabs: give {recipe} at least {}",
            Bytes(u64::from(slabs.page))
        );
        let plant = SlabPlant::new(memory, slabs, &bounds).evicting(recipe.evictors[0], args.seed);
        return fly_over(plant, args, survey, penalties, recipe, size);
    }
    let plant = SimulatedPlant::new(memory, &bounds, args.seed);
    fly_over(plant, args, survey, penalties, recipe, size)
}

fn fly_over(
    plant: impl Store,
    args: &Args,
    survey: &Survey,
    penalties: &[Option<Micros>],
    recipe: Recipe,
    size: &Size,
) -> Result<Flown> {
    let memory = size.of(survey.footprint);
    let mut flight = Simulation::over(plant, recipe, args.seed);
    let mut requests = Requests::open(&args.traces, &args.read, &survey.stretch)?;
    while let Some(access) = requests.next()? {
        let penalty = penalties[usize::from(access.tenant)].unwrap_or(access.penalty);
        flight.access(&Access { penalty, ..access });
    }
    let everybody = 0..survey.names.len() as TenantId;
    let counts = flight.counts(everybody.clone());
    let tenant = |(name, id): (&String, TenantId)| {
        let counts = flight.plant.counts(id);
        Tenant {
            name: name.clone(),
            requests: counts.gets,
            misses: counts.misses,
            miss_ratio: counts.miss_ratio(),
            mean_us: counts.mean_us(),
            used_bytes: flight.plant.used_by(id).0,
            policy: flight.plant.evictor(id),
        }
    };
    Ok(Flown {
        recipe: recipe.to_string(),
        size: size.to_string(),
        size_bytes: memory.0,
        requests: counts.gets,
        misses: counts.misses,
        miss_ratio: counts.miss_ratio(),
        mean_us: counts.mean_us(),
        used_bytes: flight.plant.used().0,
        footprint_bytes: survey.footprint,
        seed: args.seed,
        tenants: survey.names.iter().zip(everybody).map(tenant).collect(),
        history: flight.pilot.history().iter().cloned().collect(),
    })
}

/// A line for each tenant and one for all; of a single tenant that is the same.
fn show(flown: &[Flown]) -> String {
    let head = ["recipe", "size", "tenant", "reads", "miss ratio", "mean wait", "uses", "policy"];
    let mut table = Table::new(head);
    for flown in flown {
        let mut line = |tenant: &str, reads: u64, miss_ratio: f64, mean: f64, used, policy| {
            table.row([
                flown.recipe.clone(),
                flown.size.clone(),
                tenant.to_owned(),
                reads.to_string(),
                format!("{miss_ratio:.4}"),
                format!("{mean:.1} µs"),
                Bytes(used).to_string(),
                policy,
            ]);
        };
        for one in &flown.tenants {
            let policy = one.policy.to_string();
            line(&one.name, one.requests, one.miss_ratio, one.mean_us, one.used_bytes, policy);
        }
        if flown.tenants.len() > 1 {
            let used = flown.used_bytes;
            line("all", flown.requests, flown.miss_ratio, flown.mean_us, used, String::new());
        }
    }
    format!("{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    const TRACES: [&str; 2] = [
        "synth:zipf:keys=20000:skew=0.9:size=const/200:requests=60000",
        "synth:loop:keys=4000:size=const/500:requests=60000",
    ];

    fn flown(traces: &[&str], words: &[&str]) -> Result<Vec<Flown>> {
        let words = ["simulate"].iter().chain(traces).chain(words);
        super::flown(&Cli::try_parse_from(words)?.args)
    }

    /// The loop waits ten times as long: the pilot gives it what it needs, a shared cache does not.
    #[test]
    fn the_pilot_flies_over_traces() {
        let words = ["--recipe", "static,kredis", "--size", "40%", "--penalty", "loop=10ms"];
        let flown = flown(&TRACES, &[&words[..], &["--penalty", "1ms"]].concat()).unwrap();
        let [shared, steered] = &flown[..] else { panic!("two recipes") };
        assert_eq!((shared.requests, steered.requests), (120_000, 120_000));
        assert!(shared.history.iter().all(|epoch| epoch.moved == Bytes(0)));
        assert!(steered.history.iter().any(|epoch| epoch.moved > Bytes(0)));
        assert!(steered.mean_us < 0.7 * shared.mean_us, "{flown:?}");
        assert!(show(&flown).contains("kredis"));
    }

    /// Every recipe on the live store, in virtual time: with a quarter more memory, for its tables,
    /// what it learns and the rest of pages, it misses what the simulated store misses.
    #[test]
    fn every_recipe_flies_on_the_store() {
        const MORE: f64 = 0.025;
        let traces = [
            "synth:zipf:keys=20000:skew=0.9:size=const/200:requests=200000:rate=2000",
            "synth:zipf:keys=10000:skew=0.6:size=const/500:requests=200000",
        ];
        for known in recipe::ALL {
            let text = match known.interval {
                0 => known.name.to_owned(),
                _ => format!("{}:interval=5000", known.name),
            };
            let live = format!("{LIVE}{text}");
            let simulated = &flown(&traces, &["--recipe", &text, "--size", "2MB"]).unwrap()[0];
            let live = &flown(&traces, &["--recipe", &live, "--size", "2.5MB"]).unwrap()[0];
            println!("{text}: {:.4} live, {:.4} simulated", live.miss_ratio, simulated.miss_ratio);
            assert!(live.used_bytes <= live.size_bytes, "{text}");
            assert!(live.miss_ratio < simulated.miss_ratio + MORE, "{text}");
            for tenant in &live.tenants {
                let of = simulated.tenants.iter().find(|one| one.name == tenant.name).unwrap();
                assert_eq!(tenant.requests, of.requests);
                assert_eq!(tenant.policy, of.policy, "{text}");
            }
        }
    }

    /// One cache, whose K follows the misses of its miniatures.
    #[test]
    fn dlru_finds_the_k_of_a_loop() {
        let words = ["--recipe", "dlru:interval=10000:rate=1", "--size", "60%"];
        let flown = flown(&TRACES[1..], &words).unwrap();
        assert_eq!(flown[0].tenants[0].policy, Evictor::klru(1), "{flown:?}");
        let known = |epoch: &Epoch| epoch.pools[0].forecast.is_some();
        assert!(flown[0].history.iter().all(known));
    }

    /// Two sizes of values, one of which was there first: a plain memcached stays divided as the
    /// first requests wanted, the pilot moves its pages.
    #[test]
    fn slabs_follow_the_requests() {
        let traces = [
            "synth:zipf:keys=4000:skew=0.9:size=const/3000:requests=90000:rate=3000",
            "synth:zipf:keys=30000:skew=0.8:size=const/200:requests=90000",
        ];
        let words = ["--recipe", "lama:planner=memcached,lama:interval=6000", "--size", "25%"];
        let all = flown(&traces, &words).unwrap();
        let [plain, steered] = &all[..] else { panic!("two recipes") };
        assert!(steered.history.iter().any(|epoch| epoch.moved > Bytes(0)));
        assert!(steered.misses < plain.misses, "{} {}", steered.misses, plain.misses);
        assert!(steered.used_bytes <= steered.size_bytes);
        let balanced = ["rankcache:planner=memcached", "rankcache:interval=100"].join(",");
        let flown = flown(&traces, &["--recipe", &balanced, "--size", "25%"]).unwrap();
        let [plain, steered] = &flown[..] else { panic!("two recipes") };
        assert!(plain.history.iter().all(|epoch| epoch.moved == Bytes(0)));
        assert!(steered.history.iter().any(|epoch| epoch.moved > Bytes(0)));
        assert!(20 * steered.misses < 19 * plain.misses, "{} {}", steered.misses, plain.misses);
        assert_eq!(steered.tenants[0].policy, Evictor::lhd(64));
    }

    #[test]
    fn errors_name_the_fix() {
        for (words, fix) in [
            (["--recipe", "static", "--penalty", "shop=1ms"], "the traces have"),
            (["--recipe", "static", "--penalty", "soon"], "0.5ms"),
        ] {
            let error = flown(&TRACES, &words).unwrap_err().to_string();
            assert!(error.contains(fix), "{error}");
        }
    }
}
