//! Recipes in virtual time: the pilot of the live server, on a simulated store.
//!
//! The traces are the tenants; of a single trace, the clients are. They are read once for their
//! footprint and their spans, and once more for each recipe and size.

use super::args::{Args, LIVE};
use super::size::Size;
use crate::compressed::CompressArgs;
use crate::plant::{self, Bounds, LivePlant, SimulatedStore, Simulation};
use crate::report::{Axis, Chart, Format, Page, Series, Table, json, sign};
use crate::requests::Requests;
use crate::survey::{Penalties, Survey};
use crate::whole_file;
use anyhow::{Result, anyhow};
use base::{Bytes, TenantId};
use serde::Serialize;
use tune::pilot::Epoch;
use tune::{Evictor, Recipe, recipe};

/// Result of one recipe at one size.
#[derive(Debug, Serialize)]
pub(super) struct RecipeRun {
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
    /// Bytes stored for each plain byte of a value, if the user asked for a cache that compresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    compress_ratio: Option<f64>,
    tenants: Vec<TenantRun>,
    /// The last epochs, each with its forecasts and outcomes.
    pub(super) history: Vec<Epoch>,
}

#[derive(Debug, Serialize)]
struct TenantRun {
    #[serde(rename = "tenant")]
    name: String,
    requests: u64,
    misses: u64,
    miss_ratio: f64,
    mean_us: f64,
    used_bytes: u64,
    items: u64,
    /// Policy at the end, of the pool that holds the tenant.
    policy: Evictor,
}

/// Runs every recipe at every size.
pub(super) fn run(args: &Args) -> Result<()> {
    if let Some(path) = &args.html {
        whole_file::check(path, &args.traces)?;
    }
    let flown = flown(args)?;
    if args.json {
        json::print(&flown)?;
    } else {
        if let Some(line) = args.compress.sentence() {
            println!("{line}");
        }
        println!("{}", table(&flown));
    }
    if let Some(path) = &args.html {
        whole_file::write(path, &args.traces, &page(&flown, args.compress).to_string())?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

/// Results of every recipe at every size.
pub(super) fn flown(args: &Args) -> Result<Vec<RecipeRun>> {
    let parse = |text: &String| {
        let live = text.trim().strip_prefix(LIVE);
        let recipe = recipe::parse(live.unwrap_or(text)).map_err(|error| anyhow!(error))?;
        Ok((recipe, live.is_some()))
    };
    let recipes = args.recipe.iter().map(parse).collect::<Result<Vec<_>>>()?;
    let survey = Survey::of(&args.traces, &args.read)?;
    let penalties = survey.penalties(&args.penalty)?;
    let mut flown = vec![];
    for (recipe, is_live) in recipes {
        for size in &args.size {
            let mut one = run_recipe(args, &survey, &penalties, recipe, is_live, size)?;
            if is_live {
                one.recipe.insert_str(0, LIVE);
            }
            flown.push(one);
        }
    }
    Ok(flown)
}

fn run_recipe(
    args: &Args,
    survey: &Survey,
    penalties: &Penalties,
    recipe: Recipe,
    is_live: bool,
    size: &Size,
) -> Result<RecipeRun> {
    let memory = size.of(survey.footprint().0);
    let bounds: Vec<_> = survey.names.iter().map(|name| Bounds::none(name)).collect();
    let plant: Box<dyn SimulatedStore> = if is_live {
        Box::new(LivePlant::new(&recipe, memory, &bounds, args.seed))
    } else {
        plant::of(&recipe, memory, &bounds, args.seed)?
    };
    let mut flight = Simulation::over(plant, recipe, args.seed);
    let mut requests = Requests::open(&args.traces, &args.read, &survey.stretch)?;
    let mut compressor = args.compress.compressor(&args.read);
    while let Some(access) = requests.next()? {
        let mut access = penalties.of(&access);
        compressor.compress(std::slice::from_mut(&mut access));
        flight.access(&access);
    }
    compressor.warn(&args.traces.join("' and '"));
    let everybody = 0..survey.names.len() as TenantId;
    let counts = flight.counts(everybody.clone());
    let tenant = |(name, id): (&String, TenantId)| {
        let counts = flight.plant.counts(id);
        TenantRun {
            name: name.clone(),
            requests: counts.gets,
            misses: counts.misses,
            miss_ratio: counts.miss_ratio(),
            mean_us: counts.mean_us(),
            used_bytes: flight.plant.used_by(id).0,
            items: flight.plant.items_of(id),
            policy: flight.plant.evictor(id),
        }
    };
    Ok(RecipeRun {
        recipe: recipe.to_string(),
        size: size.to_string(),
        size_bytes: memory.0,
        requests: counts.gets,
        misses: counts.misses,
        miss_ratio: counts.miss_ratio(),
        mean_us: counts.mean_us(),
        used_bytes: flight.plant.used().0,
        footprint_bytes: survey.footprint().0,
        seed: args.seed,
        compress_ratio: args.compress.compress_ratio,
        tenants: survey.names.iter().zip(everybody).map(tenant).collect(),
        history: flight.pilot.history().iter().cloned().collect(),
    })
}

/// Charts over sizes, or over the last epochs where there is one size, and the table.
fn page(flown: &[RecipeRun], compress: CompressArgs) -> Page {
    let mut page = Page::new("Recipes on traces");
    sign(&mut page);
    if let Some(line) = compress.sentence() {
        page.paragraph(&line);
    }
    let sizes = flown.iter().filter(|one| one.recipe == flown[0].recipe).count();
    let all: [(&str, &str, Format, Read); 2] = [
        ("Mean wait for misses", "of all reads", Format::Micros, |one| one.mean_us),
        ("Reads that miss", "of all reads", Format::Percent, |one| one.miss_ratio),
    ];
    for (title, label, format, of) in all.into_iter().filter(|_| sizes > 1) {
        page.chart(&Chart {
            title: title.into(),
            x: Axis { log: true, ..Axis::new("memory", Format::Bytes) },
            y: Axis::new(label, format),
            series: over_sizes(flown, of),
            ..Chart::default()
        });
    }
    for one in flown.iter().filter(|_| sizes == 1) {
        page.chart(&epochs(one));
    }
    page.table(&table(flown));
    page
}

/// Reads a figure of a run.
type Read = fn(&RecipeRun) -> f64;

/// A line for each recipe.
fn over_sizes(flown: &[RecipeRun], of: Read) -> Vec<Series> {
    let mut lines: Vec<Series> = vec![];
    for one in flown {
        let point = (one.size_bytes as f64, of(one));
        match lines.iter_mut().find(|line| line.name == one.recipe) {
            Some(line) => line.points.push(point),
            None => lines.push(Series::new(&one.recipe, vec![point])),
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines
}

/// A chart of the budget of each pool at the end of the last epochs.
fn epochs(flown: &RecipeRun) -> Chart {
    let mut lines: Vec<Series> = vec![];
    for epoch in &flown.history {
        for pool in &epoch.pools {
            let point = (epoch.epoch as f64, pool.budget.as_f64());
            match lines.iter_mut().find(|line| line.name == pool.name) {
                Some(line) => line.points.push(point),
                None => lines.push(Series::new(&pool.name, vec![point])),
            }
        }
    }
    Chart {
        title: format!("{} at {}: budget of each pool", flown.recipe, flown.size),
        x: Axis::new("epoch", Format::Number),
        y: Axis::new("memory", Format::Bytes),
        series: lines,
        ..Chart::default()
    }
}

/// A row for each tenant, and one for all where there are several.
fn table(flown: &[RecipeRun]) -> Table {
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
    table
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

    fn flown(traces: &[&str], words: &[&str]) -> Result<Vec<RecipeRun>> {
        let words = ["simulate"].iter().chain(traces).chain(words);
        super::flown(&Cli::try_parse_from(words)?.args)
    }

    /// The loop's misses cost ten times as much. The pilot gives it the memory that it needs; a
    /// shared cache does not.
    #[test]
    fn the_pilot_flies_over_traces() {
        let words = ["--recipe", "static,kredis", "--size", "40%", "--penalty", "loop=10ms"];
        let flown = flown(&TRACES, &[&words[..], &["--penalty", "1ms"]].concat()).unwrap();
        let [shared, steered] = &flown[..] else { panic!("two recipes") };
        assert_eq!((shared.requests, steered.requests), (120_000, 120_000));
        assert!(shared.history.iter().all(|epoch| epoch.moved == Bytes(0)));
        assert!(steered.history.iter().any(|epoch| epoch.moved > Bytes(0)));
        assert!(steered.mean_us < 0.7 * shared.mean_us, "{flown:?}");
        assert!(table(&flown).to_string().contains("kredis"));
        let page = page(&flown, CompressArgs::default()).to_string();
        assert!(page.contains("kredis at 40%") && page.contains("<svg"), "{page}");
    }

    /// Values at a third of their bytes save misses at the same memory, live and simulated.
    #[test]
    fn recipes_fly_with_compressed_values() {
        let words = ["--recipe", "static,store:static", "--size", "40%"];
        let plain = flown(&TRACES, &words).unwrap();
        let less = flown(&TRACES, &[&words[..], &["--compress-ratio", "33%"]].concat()).unwrap();
        for (plain, less) in plain.iter().zip(&less) {
            assert_eq!(plain.footprint_bytes, less.footprint_bytes);
            assert!(2 * less.misses < plain.misses, "{} {}", less.misses, plain.misses);
        }
    }

    /// Bytes of keys and values of each tenant.
    fn contents(flown: &RecipeRun, sizes: [u64; 2]) -> [f64; 2] {
        std::array::from_fn(|at| (flown.tenants[at].items * sizes[at]) as f64)
    }

    /// Every recipe runs on the live store, in virtual time, and on a simulated store that holds as
    /// many bytes of keys and values. The simulated store has no tables, no learnt state and no
    /// unused ends of pages. Both divide alike and miss alike.
    #[test]
    fn every_recipe_flies_on_the_store() {
        const SIZES: [u64; 2] = [200, 500];
        let traces = [
            "synth:zipf:keys=20000:skew=0.9:size=const/200:requests=200000:rate=2000",
            "synth:zipf:keys=100000:skew=0.3:size=const/500:requests=200000",
        ];
        for known in recipe::ALL {
            // A recipe without curves moves a page an interval.
            let by_page = known.pools.needs_pages() && known.model.is_none();
            let text = match known.interval {
                0 => known.name.to_owned(),
                _ if by_page => format!("{}:interval=100", known.name),
                _ => format!("{}:interval=5000", known.name),
            };
            let live = format!("{LIVE}{text}");
            let live = &flown(&traces, &["--recipe", &live, "--size", "3MB"]).unwrap()[0];
            assert!(live.used_bytes <= live.size_bytes, "{text}");
            let held = contents(live, SIZES);
            let wanted = held[0] + held[1];
            let run_recipe = |size: f64| {
                let words = ["--recipe", &text, "--size", &format!("{size:.0}")];
                flown(&traces, &words).unwrap().remove(0)
            };
            let mut simulated = run_recipe(wanted);
            let mut holds = contents(&simulated, SIZES);
            if known.pools.needs_pages() {
                simulated = run_recipe(wanted * wanted / (holds[0] + holds[1]));
                holds = contents(&simulated, SIZES);
            }
            let off = live.miss_ratio - simulated.miss_ratio;
            let share = held[0] / wanted - holds[0] / (holds[0] + holds[1]);
            println!("{text}: misses {off:+.4}, the first tenant's share {share:+.3}");
            // The live store moves pages whenever victims differ, so it may divide better.
            let (least, most, share_max) =
                if by_page { (-0.03, 0.015, 0.25) } else { (-0.01, 0.01, 0.05) };
            assert!(least < off && off < most && share.abs() < share_max, "{text}: {off} {share}");
            for tenant in &live.tenants {
                let of = simulated.tenants.iter().find(|one| one.name == tenant.name).unwrap();
                assert_eq!(tenant.requests, of.requests);
                // Of two K that miss alike, either may be chosen.
                assert_eq!(tenant.policy.policy, of.policy.policy, "{text}");
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

    /// There are values of two sizes. A plain memcached stays divided as the first requests wanted,
    /// while the pilot moves its pages.
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
            (["--recipe", "static", "--penalty", "shop=1ms"], "the tenants of the traces are"),
            (["--recipe", "static", "--penalty", "soon"], "0.5ms"),
        ] {
            let error = flown(&TRACES, &words).unwrap_err().to_string();
            assert!(error.contains(fix), "{error}");
        }
    }
}
