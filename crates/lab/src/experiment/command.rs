//! `larder experiment`: finds an experiment by its name, runs it, and prints its findings.

use super::findings::Findings;
use super::setting::{Experiment, Setting};
use super::{ALL, live};
use crate::report::json;
use crate::whole_file;
use anyhow::{Result, anyhow, ensure};
use std::path::PathBuf;

/// The papers' experiments, in virtual time or live
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  larder experiment list
  larder experiment kredis-tenants
  larder experiment dlru-fixed-k --traces ../traces --json
  larder experiment kredis --live --quick --peer redis=redis-server")]
pub struct Args {
    /// Name of the experiment, or `list`
    #[arg(value_name = "NAME")]
    name: String,
    /// Play smaller and shorter loads
    #[arg(long)]
    quick: bool,
    /// The first seed
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with = "live")]
    seed: u64,
    /// Number of seeds, one run each; 3, or 1 with --quick
    #[arg(long, value_name = "N", conflicts_with = "live",
        value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Folder with recorded traces, for experiments that can use them; without it they generate
    /// their loads
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Only the load of this name, for `claims`
    #[arg(long, value_name = "NAME", conflicts_with = "live")]
    load: Option<String>,
    /// Write a page with all tables
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    live: live::Args,
}

/// Runs the command.
///
/// # Errors
/// A sentence that names the failure and its fix.
#[expect(clippy::needless_pass_by_value, reason = "all subcommands have the same signature")]
pub fn run(args: Args) -> Result<()> {
    if args.name == "list" {
        list();
        return Ok(());
    }
    if let Some(path) = &args.html {
        whole_file::check(path, &[])?;
    }
    if let Some(setting) = args.live.setting(args.quick, args.traces.clone())? {
        let experiment = find(&args.name, live::ALL)?;
        let mut findings = Findings::of_rounds();
        (experiment.run)(&setting, &mut findings)?;
        return tell(&args, (experiment.name, experiment.about), &findings);
    }
    let experiment = find(&args.name, ALL)?;
    let has_loads = experiment.name == "claims";
    ensure!(args.load.is_none() || has_loads, "--load works only with the experiment claims");
    let seeds = args.seeds.unwrap_or(if args.quick { 1 } else { 3 });
    let setting = Setting {
        quick: args.quick,
        seeds: (args.seed..args.seed.saturating_add(seeds)).collect(),
        traces: args.traces.clone(),
        load: args.load.clone(),
    };
    let mut findings = Findings::default();
    (experiment.run)(&setting, &mut findings)?;
    tell(&args, (experiment.name, experiment.about), &findings)
}

fn list() {
    println!("In virtual time:");
    for experiment in ALL {
        println!("  {:<18} {}", experiment.name, experiment.about);
    }
    println!("Live, with --live:");
    for experiment in live::ALL {
        println!("  {:<18} {}", experiment.name, experiment.about);
    }
}

fn tell(args: &Args, (name, about): (&'static str, &str), findings: &Findings) -> Result<()> {
    if let Some(path) = &args.html {
        whole_file::write(path, &[], &findings.page(name, about).to_string())?;
    }
    if args.json {
        return json::print(&findings.document(name, args.seed));
    }
    println!("{name}: {about}\n");
    print!("{findings}");
    Ok(())
}

fn find<S>(name: &str, all: &[&'static Experiment<S>]) -> Result<&'static Experiment<S>> {
    all.iter().copied().find(|experiment| experiment.name == name).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|experiment| experiment.name).collect();
        anyhow!("there is no experiment '{name}': choose one of {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_found() {
        fn check<S>(all: &[&'static Experiment<S>]) {
            for experiment in all {
                assert_eq!(find(experiment.name, all).unwrap().name, experiment.name);
            }
            let names: HashSet<_> = all.iter().map(|experiment| experiment.name).collect();
            assert_eq!(names.len(), all.len());
            assert!(find("fame", all).err().unwrap().to_string().contains(all[0].name));
        }
        check(ALL);
        check(live::ALL);
    }
}
