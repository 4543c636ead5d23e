//! The command: plans the models, shows them the trace, and collects their answers.

use super::answer::{CurveOutput, Made, through};
use super::args::{Args, Draw, OfParts, QuestionArgs};
use super::feed::{compare, feed, feed_sample};
use super::plan::{plan, runs_caches, warn};
use super::run::ModelRun;
use super::survey::Survey;
use super::{parts, show};
use crate::whole_file;
use anyhow::{anyhow, bail, ensure};
use base::Bytes;
use curve::Model;
use load::open::open_with_part;

/// Runs the command.
///
/// # Errors
/// A message that states the cause and the fix.
pub fn run(args: Args) -> anyhow::Result<()> {
    if let Some(OfParts::Merge(args)) = &args.of_parts {
        let (title, answers) = parts::merged(args)?;
        return show(&args.asked, &title, answers);
    }
    let args = args.of_trace;
    if args.model.iter().any(|name| name == "list") {
        for spec in curve::ALL {
            println!("{}", spec.name);
        }
        return Ok(());
    }
    ensure!(!args.trace.is_empty(), "name a trace: larder curve trace.csv.zst");
    if let Some(path) = &args.asked.html {
        whole_file::check(path, std::slice::from_ref(&args.trace))?;
    }
    if let Some(path) = &args.state {
        whole_file::check(path, std::slice::from_ref(&args.trace))?;
    }
    let answers = answers(&args)?;
    show(&args.asked, &args.trace, answers)
}

fn show(asked: &QuestionArgs, title: &str, answers: Vec<CurveOutput>) -> anyhow::Result<()> {
    if let Some(path) = &asked.html {
        show::page(path, title, &answers)?;
    }
    if asked.json {
        return show::json(answers);
    }
    show::text(title, &answers);
    Ok(())
}

pub(super) fn answers(args: &Draw) -> anyhow::Result<Vec<CurveOutput>> {
    let (source, part) = open_with_part(&args.trace, &args.read)?;
    let sample = source.sample();
    ensure!(
        sample.is_none() || args.rate == ["1"] && args.seed == [1] && args.interval.is_none(),
        "trace '{}' is already a sample: leave --rate, --seed and --interval out",
        args.trace
    );
    let known = match why_twice(args)? {
        Some(why) if args.trace == "-" => {
            bail!(
                "{why}, so the command reads the trace twice, and it can read standard input only \
                 once: save the trace to a file"
            )
        }
        Some(_) => Some(Survey::of(&args.trace, &args.read)?),
        None => None,
    };
    let no_reads = || format!("trace '{}' has no reads, so it has no miss ratio", args.trace);
    ensure!(known.is_none_or(|survey| survey.reads > 0), no_reads());
    let sizes = known.map_or(vec![], |survey| survey.sizes(args.asked.sizes));
    let mut runs = plan(args, known.as_ref(), sample, &sizes)?;
    let (survey, intervals) = match sample {
        Some(sample) => (feed_sample(args, (source, part), sample, &mut runs)?, 0),
        None => feed(args, (source, part), known, &sizes, &mut runs)?,
    };
    ensure!(survey.reads > 0, no_reads());
    let sizes = survey.sizes(args.asked.sizes);
    if intervals == 0 {
        // An interval that was cut short may hold too little to compare.
        compare(&sizes, &mut runs);
    }
    if known.is_none() {
        warn(runs.iter().map(|run| run.params.rate), &survey);
    }
    if let Some(path) = &args.state {
        parts::save(path, args, &survey, &runs)?;
    }
    Ok(collect(args, &survey, &sizes, &mut runs, intervals.max(1)))
}

/// Why the trace must be surveyed before the models see it, if it must.
fn why_twice(args: &Draw) -> anyhow::Result<Option<String>> {
    if args.rate.iter().any(|rate| rate == "auto") {
        return Ok(Some("--rate auto depends on the number of keys".into()));
    }
    if args.interval.is_some() {
        return Ok(Some("the sizes of --interval are shares of the footprint".into()));
    }
    for name in args.model.iter().chain(&args.against) {
        if runs_caches(curve::find(name).map_err(|error| anyhow!(error))?) {
            return Ok(Some(format!(
                "the sizes of the caches that {name} runs are shares of the footprint"
            )));
        }
    }
    Ok(None)
}

fn collect(
    args: &Draw,
    survey: &Survey,
    sizes: &[Bytes],
    runs: &mut [ModelRun],
    intervals: u64,
) -> Vec<CurveOutput> {
    let means = |sums: &[f64]| -> Vec<(u64, f64)> {
        sizes.iter().zip(sums).map(|(size, sum)| (size.0, sum / intervals as f64)).collect()
    };
    let points: Vec<Vec<(u64, f64)>> = runs.iter().map(|run| means(&run.sums)).collect();
    let wanted = runs.iter_mut().zip(&points).filter(|(run, _)| run.wanted);
    let answer = |(run, own): (&mut ModelRun, &Vec<(u64, f64)>)| {
        let curve = &match args.interval {
            None => run.model.curve(),
            Some(_) => through(own),
        };
        let band = run.model.at(sizes);
        let band = band.into_iter().map(|(size, low, high)| (size.0, low.0, high.0)).collect();
        let against = run.oracle.map(|oracle| points[oracle].clone());
        let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
        let error = mean(&run.errors) / intervals as f64;
        let made = Made {
            spec: run.spec,
            params: &run.params,
            rate: run.model.rate(),
            seed: run.seed,
            seconds: run.seconds,
            bytes: run.model.bytes(),
        };
        CurveOutput {
            band,
            compress_ratio: args.compress.compress_ratio,
            mae: against.as_ref().map(|_| error),
            error_max: against.as_ref().map(|_| run.error_max),
            against,
            ..made.answer(&args.trace, curve, own, survey, &args.asked)
        }
    };
    wanted.map(answer).collect()
}
