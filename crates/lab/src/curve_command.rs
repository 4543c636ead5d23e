//! The miss ratio at every size, from one pass over a trace.
//!
//! The trace is read once. It is read twice where the number of its keys or bytes must be known
//! first: for `--rate auto`, for simulated caches and for intervals. The trace is never kept in
//! memory, so it may be larger than memory.

mod answer;
mod parts;
mod show;
mod survey;
#[cfg(test)]
mod tests;

use crate::whole_file;
use anyhow::{anyhow, bail, ensure};
use base::hash::mix;
use base::{Access, Bytes, MissRatio};
use curve::{Bands, Choice, MissRatioCurve, Model, Params, Part, Spec};
use load::open::{Options, open};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use survey::{Count, Survey};
use trace::{Sample, Source};

/// Minimum number of sampled keys for a trustworthy curve. `--rate auto` aims at `KEYS_GOAL`, which
/// leaves a margin for chance.
const KEYS_MIN: u64 = 8_192;
const KEYS_GOAL: f64 = 8_500.0;

/// Largest fall of the miss ratio that still counts as a plateau.
const LEVEL: f64 = 0.005;

/// Accesses per block handed to the models. A simulated cache takes a large block and works through
/// all of it while its own data is in the processor's cache. For the other models, the block itself
/// fits in the processor's cache.
const BLOCK_OF_CACHES: usize = 1 << 15;
const BLOCK: usize = 1 << 11;

/// The miss ratio at every size, from one pass over a trace.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  larder curve trace.csv.zst
  larder curve trace.csv.zst --model krr,kaet --k 1,5,16 --rate auto --against exact
  larder curve trace.csv.zst --model miniature --policy lru,klru:5 --rate 0.05
  larder curve trace.csv.zst --model shards --rate 0.01 --goal 5% --at 4GiB --step 1GiB
  larder curve trace.csv.zst --part 1/4 --state 1.counts
  larder curve merge 1.counts 2.counts 3.counts 4.counts")]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    of_parts: Option<OfParts>,
    #[command(flatten)]
    of_trace: Draw,
}

#[derive(clap::Subcommand, Debug)]
enum OfParts {
    Merge(parts::Args),
}

/// Arguments of a run over one trace.
#[derive(clap::Args, Debug)]
struct Draw {
    /// The trace: a file in any known format
    #[arg(default_value = "", hide_default_value = true)]
    trace: String,
    /// Models, comma separated; `list` names them
    #[arg(long, value_delimiter = ',', default_value = "krr", value_name = "MODEL")]
    model: Vec<String>,
    /// Candidates of an eviction, comma separated, for models of K-LRU
    #[arg(long, value_delimiter = ',', default_value = "5", value_name = "K",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(policy::K_MAX)))]
    k: Vec<u32>,
    /// Evictions keep a pool of 16 candidates, as Redis does
    #[arg(long)]
    pool: bool,
    /// Policies, comma separated, for `exact` and `miniature`; without it K-LRU
    #[arg(long, value_delimiter = ',', value_name = "POLICY")]
    policy: Vec<String>,
    /// Share of the keys to watch, or `auto` for one that keeps 8192 keys; comma separated
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "RATE")]
    rate: Vec<String>,
    /// Keys to watch at most: the rate falls as more come
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    keys_max: Option<u64>,
    /// Draw and compare the curves of every so many requests, each by itself, and report the mean
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), value_name = "REQUESTS")]
    interval: Option<u64>,
    /// Compare with this model at rate 1 and give the mean absolute error: `exact` simulates
    #[arg(long, value_name = "MODEL")]
    against: Option<String>,
    /// Give a band of two standard errors of sampling to either side, from eight parts of the keys
    #[arg(long)]
    bands: bool,
    /// Reproduces the run; another seed watches other keys. Comma separated
    #[arg(long, value_delimiter = ',', default_value = "1")]
    seed: Vec<u64>,
    /// Watch this part of the keys, such as 1/4; parts add up by `larder curve merge`
    #[arg(long, value_name = "I/N", value_parser = parts::part,
        conflicts_with_all = ["bands", "against", "interval"])]
    part: Option<Part>,
    /// Write what was counted to a file, for `larder curve merge`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bands", "interval"])]
    state: Option<PathBuf>,
    #[command(flatten)]
    asked: Asked,
    #[command(flatten)]
    read: Options,
}

/// Questions to ask of the curves, and the form of the answer.
#[derive(clap::Args, Debug)]
struct Asked {
    /// Sizes to report, spread evenly up to all bytes that the trace touches
    #[arg(long, default_value_t = 40, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    sizes: u32,
    /// How much memory for a miss ratio of at most this, such as 5%
    #[arg(long, value_parser = answer::ratio, value_name = "RATIO")]
    goal: Option<MissRatio>,
    /// The miss ratio of a cache of this size, and what one step more buys
    #[arg(long, value_parser = some_bytes, value_name = "SIZE")]
    at: Option<Bytes>,
    /// The step of --at
    #[arg(long, value_parser = some_bytes, default_value = "1GiB", value_name = "SIZE")]
    step: Bytes,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Write a page with all curves on one chart
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Parses a size, and refuses zero.
fn some_bytes(text: &str) -> Result<Bytes, String> {
    let size = Bytes::parse(text)?;
    if size == Bytes(0) { Err("write a size of at least one byte".into()) } else { Ok(size) }
}

/// One model run over the trace.
#[derive(Debug, Serialize)]
struct Answer {
    trace: String,
    model: &'static str,
    /// Candidates of an eviction, where the model is one of K-LRU.
    k: Option<u32>,
    pool: Option<bool>,
    /// Policy whose miss ratio the model predicts.
    policy: String,
    /// Share of the keys watched, at the end.
    rate: f64,
    seed: u64,
    points: Vec<(u64, f64)>,
    /// Size, and the lower and upper end of the band for its miss ratio.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    band: Vec<(u64, f64, f64)>,
    /// Sizes and miss ratios of the reference model, at the sizes of `points`.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<Vec<(u64, f64)>>,
    /// Mean absolute error over the points, and over the intervals where there are several.
    mae: Option<f64>,
    /// Largest absolute error.
    error_max: Option<f64>,
    seconds: f64,
    /// Nanoseconds per access to a watched key, including the time to draw the curve.
    ns_per_sampled_access: f64,
    model_bytes: u64,
    /// Miss ratios that two pools reach when they share the keys between them: the corners of the
    /// lower hull.
    hull: Vec<(u64, f64)>,
    /// Ranges of sizes in which the miss ratio hardly falls: first and last size, the last more
    /// than twice the first.
    plateaus: Vec<(u64, u64)>,
    requests: u64,
    reads: u64,
    keys: u64,
    footprint: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<answer::Goal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<answer::Step>,
}

/// A model's parameters and costs, as an answer reports them.
struct Made<'a> {
    spec: &'static Spec,
    params: &'a Params,
    /// Share of the keys watched, at the end.
    rate: f64,
    seed: u64,
    seconds: f64,
    /// Memory of the model.
    bytes: Bytes,
}

impl Made<'_> {
    /// The answer at the sizes of `points`, without a comparison.
    fn answer(
        &self,
        trace: &str,
        curve: &MissRatioCurve,
        points: &[(u64, f64)],
        survey: &Survey,
        asked: &Asked,
    ) -> Answer {
        let reported = through(points);
        let flat = reported.plateaus(LEVEL);
        let k = depends_on_k(self.spec).then_some(self.params.k);
        let k = k.filter(|_| self.params.policy.is_none());
        Answer {
            trace: trace.to_owned(),
            model: self.spec.name,
            k,
            pool: k.map(|_| self.params.pool),
            policy: (self.spec.predicts)(self.params).to_string(),
            rate: self.rate,
            seed: self.seed,
            points: points.to_vec(),
            band: vec![],
            against: None,
            mae: None,
            error_max: None,
            seconds: self.seconds,
            ns_per_sampled_access: self.seconds * 1e9
                / (survey.requests as f64 * self.rate).max(1.0),
            model_bytes: self.bytes.0,
            hull: reported.hull().points().iter().map(|(size, ratio)| (size.0, ratio.0)).collect(),
            plateaus: flat.into_iter().map(|(from, to)| (from.0, to.0)).collect(),
            requests: survey.requests,
            reads: survey.reads,
            keys: survey.keys,
            footprint: survey.footprint,
            goal: asked.goal.map(|goal| answer::Goal::of(curve, survey, goal)),
            at: asked.at.map(|size| answer::Step::of(curve, survey, size, asked.step)),
        }
    }
}

impl Answer {
    fn curve(&self) -> MissRatioCurve {
        through(&self.points)
    }
}

fn through(points: &[(u64, f64)]) -> MissRatioCurve {
    MissRatioCurve::new(points.iter().map(|&(size, ratio)| (Bytes(size), MissRatio(ratio))))
}

/// A model and its state while the trace is read.
struct Run {
    spec: &'static Spec,
    params: Params,
    model: Bands,
    seconds: f64,
    /// Seed that chooses the watched keys.
    seed: u64,
    /// Sum of the curves of all intervals so far, at the sizes to report.
    sums: Vec<f64>,
    /// Sum of the absolute differences from the oracle, at the same sizes; `error_max` is the
    /// largest single difference.
    errors: Vec<f64>,
    error_max: f64,
    /// Index of the run that this run is compared with.
    oracle: Option<usize>,
    /// Whether the user asked for this run; false for a run that only serves as an oracle.
    wanted: bool,
}

impl Run {
    fn new(spec: &'static Spec, params: Params, bands: bool, wanted: bool) -> Self {
        let model = if bands { Bands::new(spec, &params) } else { Bands::alone(spec, &params) };
        Self {
            spec,
            model,
            seconds: 0.0,
            seed: params.seed,
            params,
            sums: vec![],
            errors: vec![],
            error_max: 0.0,
            oracle: None,
            wanted,
        }
    }

    fn predicts(&self) -> String {
        (self.spec.predicts)(&self.params).to_string()
    }
}

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

fn show(asked: &Asked, title: &str, answers: Vec<Answer>) -> anyhow::Result<()> {
    if let Some(path) = &asked.html {
        show::page(path, title, &answers)?;
    }
    if asked.json {
        return show::json(answers);
    }
    show::text(title, &answers);
    Ok(())
}

fn answers(args: &Draw) -> anyhow::Result<Vec<Answer>> {
    let source = open(&args.trace, &args.read)?;
    let sample = source.sample();
    ensure!(
        sample.is_none() || args.rate == ["1"] && args.seed == [1] && args.interval.is_none(),
        "trace '{}' is a sample already: leave --rate, --seed and --interval out",
        args.trace
    );
    let known = match why_twice(args)? {
        Some(why) if args.trace == "-" => {
            bail!(
                "{why}: the trace is read twice, which standard input cannot be: save it to a file"
            )
        }
        Some(_) => Some(Survey::of(&args.trace, &args.read)?),
        None => None,
    };
    let no_reads = || format!("trace '{}' has no reads: there is no miss ratio", args.trace);
    ensure!(known.is_none_or(|survey| survey.reads > 0), no_reads());
    let sizes = known.map_or(vec![], |survey| survey.sizes(args.asked.sizes));
    let mut runs = plan(args, known.as_ref(), sample, &sizes)?;
    let (survey, intervals) = match sample {
        Some(sample) => (feed_sample(source, sample, &mut runs)?, 0),
        None => feed(args, source, known, &sizes, &mut runs)?,
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
        return Ok(Some("--rate auto goes by the number of keys".into()));
    }
    if args.interval.is_some() {
        return Ok(Some("--interval compares at sizes that are shares of all bytes".into()));
    }
    for name in args.model.iter().chain(&args.against) {
        if runs_caches(curve::find(name).map_err(|error| anyhow!(error))?) {
            return Ok(Some(format!("{name} runs caches whose sizes are shares of all bytes")));
        }
    }
    Ok(None)
}

/// One run for each model and each K or policy it depends on, and one oracle for each policy.
fn plan(
    args: &Draw,
    survey: Option<&Survey>,
    sample: Option<Sample>,
    sizes: &[Bytes],
) -> anyhow::Result<Vec<Run>> {
    let base = Params {
        pool: args.pool,
        keys_max: args.keys_max.map_or(usize::MAX, |keys| keys as usize),
        sizes: sizes.to_vec(),
        part: args.part.unwrap_or(Part::WHOLE),
        ..Params::default()
    };
    let policies = args.policy.iter().map(|text| policy::parse(text).map_err(|e| anyhow!(e)));
    let policies: Vec<Choice> = policies.collect::<Result<_, _>>()?;
    let rates: Vec<f64> = match sample {
        Some(sample) => vec![sample.rate],
        None => args.rate.iter().map(|text| rate(text, survey)).collect::<anyhow::Result<_>>()?,
    };
    if let Some(survey) = survey {
        warn(rates.iter().copied(), survey);
    }
    let mut runs = vec![];
    for name in &args.model {
        let spec = curve::find(name).map_err(|error| anyhow!(error))?;
        for params in variants(spec, &base, &args.k, &policies) {
            for &rate in &rates {
                // The seed chooses the sample, so a further seed adds nothing where all keys are
                // watched.
                let is_sample = rate < 1.0 || args.keys_max.is_some();
                let seeds = if is_sample { &args.seed[..] } else { &args.seed[..1] };
                for &seed in seeds {
                    let params = Params { rate, seed, ..params.clone() };
                    runs.push(Run::new(spec, params, args.bands, true));
                }
            }
        }
    }
    if let Some(name) = &args.against {
        let spec = curve::find(name).map_err(|error| anyhow!(error))?;
        for at in 0..runs.len() {
            let wanted = runs[at].predicts();
            let known = runs.iter().position(|run| !run.wanted && run.predicts() == wanted);
            let oracle = known.unwrap_or(runs.len());
            if oracle == runs.len() {
                let policy = Some((runs[at].spec.predicts)(&runs[at].params));
                let params = runs[at].params.clone();
                // The oracle takes another seed, or a simulator would confirm itself.
                let seed = !params.seed;
                let keys_max = usize::MAX;
                let params = Params { policy, rate: 1.0, keys_max, seed, ..params };
                let oracle = Run::new(spec, params, false, false);
                runs.push(Run { seed: runs[at].seed, ..oracle });
            }
            runs[at].oracle = Some(oracle);
        }
    }
    Ok(runs)
}

/// One set of parameters for each value that makes a difference to the model.
fn variants(spec: &Spec, base: &Params, ks: &[u32], policies: &[Choice]) -> Vec<Params> {
    if runs_caches(spec) && !policies.is_empty() {
        let with = |policy: &Choice| Params { policy: Some(policy.clone()), ..base.clone() };
        return policies.iter().map(with).collect();
    }
    if !depends_on_k(spec) {
        return vec![base.clone()];
    }
    ks.iter().map(|&k| Params { k, ..base.clone() }).collect()
}

/// Whether the model simulates any policy it is given.
fn runs_caches(spec: &Spec) -> bool {
    let lru = policy::parse("lru").ok();
    (spec.predicts)(&Params { policy: lru, k: 2, ..Params::default() }).to_string() == "lru"
        && depends_on_k(spec)
}

fn depends_on_k(spec: &Spec) -> bool {
    let of = |k| (spec.predicts)(&Params { k, ..Params::default() }).to_string();
    of(2) != of(3)
}

fn rate(text: &str, survey: Option<&Survey>) -> anyhow::Result<f64> {
    if let (Some(survey), "auto") = (survey, text) {
        return Ok((KEYS_GOAL / survey.keys.max(1) as f64).min(1.0));
    }
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1.0 => Ok(rate),
        _ => bail!("--rate {text}: write a number above 0 and at most 1, or auto"),
    }
}

/// Warns about each rate that watches too few keys.
fn warn(rates: impl Iterator<Item = f64>, survey: &Survey) {
    let mut rates: Vec<f64> = rates.filter(|&rate| rate < 1.0).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    for rate in rates {
        let keys = rate * survey.keys as f64;
        if keys < KEYS_MIN as f64 {
            eprintln!(
                "larder: rate {rate} watches about {keys:.0} keys; below {KEYS_MIN} the curve is \
                 not to be trusted: use --rate auto"
            );
        }
    }
}

/// Shows the trace to all runs. Returns its survey and the number of complete intervals.
fn feed(
    args: &Draw,
    mut source: Box<dyn Source>,
    known: Option<Survey>,
    sizes: &[Bytes],
    runs: &mut [Run],
) -> anyhow::Result<(Survey, u64)> {
    let samples = |run: &Run| run.params.rate < 1.0 || args.keys_max.is_some();
    let mut count = Count::beside(args.part.is_some() || runs.iter().all(samples));
    let progress = survey::progress("models", known.map(|survey| survey.requests));
    let interval = args.interval.unwrap_or(u64::MAX);
    let length = if runs.iter().any(|run| runs_caches(run.spec)) { BLOCK_OF_CACHES } else { BLOCK };
    let (mut block, mut copy) = (Vec::<Access>::with_capacity(length), vec![]);
    let (mut intervals, mut left) = (0, interval);
    loop {
        block.clear();
        source.read(&mut block, left.min(length as u64) as usize)?;
        if known.is_none() {
            for access in &block {
                count.see(access);
            }
        }
        if block.is_empty() {
            break;
        }
        for (at, &seed) in args.seed.iter().enumerate() {
            let salt = mix(seed);
            let is_last = at + 1 == args.seed.len();
            if !is_last {
                copy.clone_from(&block);
            }
            let drawn = if is_last { &mut block } else { &mut copy };
            for access in &mut *drawn {
                access.key = mix(access.key ^ salt);
            }
            for run in runs.iter_mut().filter(|run| run.seed == seed) {
                let start = Instant::now();
                run.model.accesses(drawn);
                run.seconds += start.elapsed().as_secs_f64();
            }
        }
        progress.inc(block.len() as u64);
        left -= block.len() as u64;
        if left == 0 {
            compare(sizes, runs);
            for run in &mut *runs {
                run.model.forget(0.0);
            }
            (intervals, left) = (intervals + 1, interval);
        }
    }
    progress.finish_and_clear();
    Ok((known.unwrap_or_else(|| count.survey()), intervals))
}

/// Shows a sample of a trace to all runs, with the counts of the requests left out of it.
fn feed_sample(
    mut source: Box<dyn Source>,
    sample: Sample,
    runs: &mut [Run],
) -> anyhow::Result<Survey> {
    let mut count = Count::of_sample(sample.rate);
    let progress = survey::progress("models", None);
    let salt = mix(sample.seed);
    loop {
        let next = source.next().transpose()?;
        let passed = source.passed();
        count.pass(passed);
        for run in &mut *runs {
            run.model.skip(passed.reads);
        }
        let Some(mut access) = next else { break };
        count.see(&access);
        access.key = mix(access.key ^ salt);
        let start = Instant::now();
        for run in &mut *runs {
            run.model.access(&access);
        }
        let seconds = start.elapsed().as_secs_f64() / runs.len().max(1) as f64;
        for run in &mut *runs {
            run.seconds += seconds;
        }
        progress.inc(1 + passed.requests);
    }
    progress.finish_and_clear();
    Ok(count.survey())
}

/// Draws all curves and adds them to the sums of their runs. A run with an oracle also adds its
/// differences from the oracle.
fn compare(sizes: &[Bytes], runs: &mut [Run]) {
    let draw = |run: &mut Run| -> Vec<f64> {
        let start = Instant::now();
        let curve = run.model.curve();
        run.seconds += start.elapsed().as_secs_f64();
        sizes.iter().map(|&size| curve.at(size).0).collect()
    };
    let curves: Vec<Vec<f64>> = runs.iter_mut().map(draw).collect();
    for (run, curve) in runs.iter_mut().zip(&curves) {
        run.sums.resize(sizes.len(), 0.0);
        run.errors.resize(sizes.len(), 0.0);
        for (at, ratio) in curve.iter().enumerate() {
            run.sums[at] += ratio;
            let error = run.oracle.map_or(0.0, |oracle| (ratio - curves[oracle][at]).abs());
            run.errors[at] += error;
            run.error_max = run.error_max.max(error);
        }
    }
}

fn collect(
    args: &Draw,
    survey: &Survey,
    sizes: &[Bytes],
    runs: &mut [Run],
    intervals: u64,
) -> Vec<Answer> {
    let means = |sums: &[f64]| -> Vec<(u64, f64)> {
        sizes.iter().zip(sums).map(|(size, sum)| (size.0, sum / intervals as f64)).collect()
    };
    let points: Vec<Vec<(u64, f64)>> = runs.iter().map(|run| means(&run.sums)).collect();
    let wanted = runs.iter_mut().zip(&points).filter(|(run, _)| run.wanted);
    let answer = |(run, own): (&mut Run, &Vec<(u64, f64)>)| {
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
        Answer {
            band,
            mae: against.as_ref().map(|_| error),
            error_max: against.as_ref().map(|_| run.error_max),
            against,
            ..made.answer(&args.trace, curve, own, survey, &args.asked)
        }
    };
    wanted.map(answer).collect()
}
