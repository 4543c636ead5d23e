//! Plans for synthetic tenants: they pay, and their forecasts are true.

use super::answer::{self, PlanOutput};
use super::args::Args;
use super::command::answer;
use clap::Parser;
use load::open::{Options, open};
use std::collections::HashMap;
use trace::Source;
use tune::recipe;

#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

fn args(words: &[&str]) -> Args {
    let words = ["plan"].iter().chain(words);
    Cli::try_parse_from(words).unwrap().args
}

const MIX: &str = "synth:mix:requests=100000:zipf:keys=20000:size=const/200+loop:keys=4000:\
                   size=const/500";

fn plan(words: &[&str]) -> anyhow::Result<PlanOutput> {
    answer(&args(words))
}

fn share(tenant: &answer::TenantAnswer) -> &answer::Share {
    tenant.share.as_ref().unwrap()
}

fn budget(tenant: &answer::TenantAnswer) -> u64 {
    share(tenant).budget
}

/// The plan must beat both a shared cache and equal shares, and its forecast must be true.
#[test]
fn a_division_that_pays() {
    let answer = plan(&[MIX, "--memory", "2mb", "--penalty", "2=3ms"]).unwrap();
    assert_eq!(answer.tenants.len(), 2);
    let sum: u64 = answer.tenants.iter().map(budget).sum();
    assert!(sum <= answer.memory && answer.memory == 2 << 20);
    let overall = &answer.overall.outcomes;
    assert!(overall.planned.mean_us < 0.9 * overall.shared.mean_us, "{answer:?}");
    assert!(overall.planned.mean_us < 0.9 * overall.equal.mean_us, "{answer:?}");
    for tenant in &answer.tenants {
        let error = (share(tenant).forecast.unwrap() - tenant.outcomes.planned.miss_ratio).abs();
        assert!(error < 0.03, "{tenant:?}");
    }
    let json = serde_json::to_value(&answer).unwrap();
    assert_eq!(json["tenants"][1]["name"], "2");
    assert!(json["overall"]["planned"]["mean_us"].is_number());
}

/// A recipe may divide classes of penalties or of sizes. The forecasts are of these, and true.
#[test]
fn every_recipe_with_curves_is_planned() {
    for known in recipe::ALL {
        let words = [MIX, "--memory", "2mb", "--penalty", "2=3ms", "--recipe", known.name];
        let planned = plan(&words);
        if known.model.is_none_or(|model| model == curve::miniature::SPEC.name) {
            assert!(planned.unwrap_err().to_string().contains("larder simulate"));
            continue;
        }
        let answer = planned.unwrap();
        assert_eq!(answer.tenants.len(), 2);
        assert!(answer.to_string().contains("forecast"));
        let outcomes = &answer.overall.outcomes;
        assert!(outcomes.planned.mean_us < 1.02 * outcomes.shared.mean_us, "{answer:?}");
        for pool in &answer.pools {
            let error = (pool.share.forecast.unwrap() - pool.outcomes.planned.miss_ratio).abs();
            assert!(error < 0.03, "{}: {pool:?}", known.name);
        }
        let reads: u64 = answer.pools.iter().map(|pool| pool.reads).sum();
        assert!(answer.pools.is_empty() || reads == 100_000, "{answer:?}");
    }
}

#[test]
fn a_share_is_of_all_bytes_touched() {
    let whole = plan(&[MIX, "--memory", "100%"]).unwrap();
    let footprint: u64 = whole.tenants.iter().map(|tenant| tenant.footprint).sum();
    assert_eq!(whole.memory, footprint);
    let mut source = open(MIX, &Options::default()).unwrap();
    let mut sizes = HashMap::new();
    while let Some(access) = source.next() {
        let access = access.unwrap();
        sizes.insert((access.tenant, access.key), u64::from(access.size));
    }
    // The sample holds all keys, because they are few.
    assert_eq!(footprint, sizes.values().sum::<u64>());
    assert!(whole.tenants[1].outcomes.planned.miss_ratio < 0.1);
}

#[test]
fn bounds_are_kept_and_errors_name_the_fix() {
    let words = [MIX, "--memory", "2mb", "--min", "1=1mb", "--max", "2=512kb"];
    let answer = plan(&words).unwrap();
    assert!(budget(&answer.tenants[0]) >= 1 << 20 && budget(&answer.tenants[1]) <= 512 << 10);
    for (words, fix) in [
        (vec![MIX, "--memory", "2mb", "--min", "web=1mb"], "the tenants of the traces are 1, 2"),
        (vec![MIX, "--memory", "2mb", "--min", "1mb"], "TENANT=VALUE"),
        (vec![MIX, "--memory", "lots"], "512mb"),
        (vec![MIX, "--memory", "0%"], "not a share"),
        (vec![MIX, "--memory", "1mb", "--penalty", "1=soon"], "0.5ms"),
    ] {
        let error = plan(&words).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|text| text.contains(fix)), "{words:?}: {error:?}");
    }
}
