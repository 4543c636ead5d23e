//! Rules that every recipe of the list keeps, over the same tenants. A new recipe is tested by its
//! name in the list.

use super::Args;
use super::recipe::{RecipeRun, flown};
use clap::Parser;
use std::collections::HashSet;
use tune::recipe;
use tune::{Evictor, Recipe};

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

/// Epoch of the recipes in these tests: the traces last twenty seconds.
const EPOCH: &str = "epoch=0.5";

const MIXED: [&str; 3] = [
    "synth:zipf:keys=12000:skew=0.9:size=lognormal/200/0.5:rate=3000:requests=60000:\
     penalty=const/200",
    "synth:loop:keys=3000:size=const/500:rate=2000:requests=40000:penalty=const/2000",
    "synth:uniform:keys=6000:size=const/120:rate=1500:requests=30000:penalty=const/900",
];

const NOISE: [&str; 2] = [
    "synth:uniform:keys=8000:size=const/300:rate=3000:requests=60000:penalty=const/1000:seed=3",
    "synth:uniform:keys=8000:size=const/300:rate=3000:requests=60000:penalty=const/1000:seed=4",
];

fn run_recipe(traces: &[&str], recipe: &str, seed: &str) -> RecipeRun {
    let words = ["--recipe", recipe, "--size", "40%", "--seed", seed];
    let args = Cli::parse_from(["simulate"].iter().chain(traces).chain(&words)).args;
    flown(&args).unwrap().pop().unwrap()
}

/// Name of a recipe, with an epoch that is short enough for the traces.
fn short(recipe: &Recipe) -> String {
    format!("{}:{EPOCH}", recipe.name)
}

#[test]
fn plans_keep_to_the_memory() {
    for recipe in recipe::ALL {
        let flown = run_recipe(&MIXED, &short(recipe), "1");
        assert_eq!(flown.requests, 130_000, "{}: reads that nobody counted", recipe.name);
        assert!(flown.used_bytes <= flown.size_bytes, "{}: {flown:?}", recipe.name);
        assert!(flown.history.len() > 20, "{}: {} epochs", recipe.name, flown.history.len());
        for epoch in &flown.history {
            let budgets: u64 = epoch.pools.iter().map(|pool| pool.budget.0).sum();
            assert!(budgets <= flown.size_bytes, "{}: {epoch:?}", recipe.name);
            let names: HashSet<_> = epoch.pools.iter().map(|pool| &pool.name).collect();
            assert_eq!(names.len(), epoch.pools.len(), "{}: {epoch:?}", recipe.name);
            let most = recipe.move_max * flown.size_bytes as f64 + 1.0;
            let bounded = recipe.pools.needs_pages() || epoch.moved.as_f64() <= most;
            assert!(bounded, "{}: moves {} of {most}", recipe.name, epoch.moved);
            let ratios = epoch.pools.iter().flat_map(|pool| [pool.forecast, pool.outcome]);
            for ratio in ratios.flatten() {
                assert!((0.0..=1.0).contains(&ratio), "{}: {epoch:?}", recipe.name);
            }
            let known = |evictor: &Evictor| recipe.evictors.contains(evictor);
            let all_known = epoch.pools.iter().all(|pool| known(&pool.evictor));
            assert!(all_known, "{}: {epoch:?}", recipe.name);
        }
    }
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    for recipe in recipe::ALL {
        let run = |seed| serde_json::to_string(&run_recipe(&MIXED, &short(recipe), seed)).unwrap();
        assert_eq!(run("1"), run("1"), "{}", recipe.name);
    }
}

/// All keys are alike, and all misses: there is nothing to gain, and little may be lost.
#[test]
fn white_noise_is_left_alone() {
    for recipe in recipe::ALL {
        let idle = if recipe.pools.needs_pages() {
            format!("{}:planner=memcached:{EPOCH}", recipe.name)
        } else {
            "static".to_owned()
        };
        let (plain, steered) =
            (run_recipe(&NOISE, &idle, "2"), run_recipe(&NOISE, &short(recipe), "2"));
        let (plain, wait) = (plain.mean_us, steered.mean_us);
        println!("{}: {plain:.1} µs plain, {wait:.1} µs", recipe.name);
        assert!(wait < 1.01 * plain, "{}: {plain} µs -> {wait} µs", recipe.name);
    }
}

#[test]
fn its_text_reads_back() {
    for recipe in recipe::ALL {
        for text in [recipe.name.to_owned(), short(recipe)] {
            let parsed = recipe::parse(&text).unwrap();
            assert_eq!(recipe::parse(&parsed.to_string()).unwrap(), parsed, "{text}");
        }
    }
}
