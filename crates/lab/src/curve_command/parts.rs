//! Curves of a trace too large for one machine: counts of parts are kept in files and added up.
//!
//! ```text
//! file     a line that names the form and its version │ u64 checksum │ what was counted
//! ```
//!
//! Each process reads the trace and watches its own part of the keys. Its counts take some hundred
//! kilobytes, however long the trace is. Any means may start the processes, on any machines:
//! `xargs`, Slurm, or a loop.

use super::answer::{CurveOutput, Made};
use super::args::{Draw, MergeArgs, QuestionArgs};
use super::run::ModelRun;
use super::survey::Survey;
use crate::whole_file::WholeFile;
use anyhow::{Context, Result, anyhow, bail, ensure};
use base::{Bytes, hash};
use curve::{ModelCounts, Params, Part};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// First bytes of a file, with the version of the form that follows.
const MAGIC: &[u8] = b"larder counts 1\n";

/// Counts of some parts of a trace, as a file holds them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PartsFile {
    trace: String,
    survey: Survey,
    /// Number of parts into which the keys are divided, and the parts counted here.
    of: u32,
    parts: BTreeSet<u32>,
    models: Vec<Counted>,
}

/// Settings and counts of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Counted {
    model: String,
    k: u32,
    pool: bool,
    rate: f64,
    seed: u64,
    counts: ModelCounts,
    seconds: f64,
    /// Memory of the models.
    bytes: u64,
}

/// Writes the counts of the models of these runs to a file.
pub(super) fn save(path: &Path, args: &Draw, survey: &Survey, runs: &[ModelRun]) -> Result<()> {
    let part = args.part.unwrap_or(Part::WHOLE);
    let of_run = |run: &ModelRun| {
        let counts = curve::Model::counted(&run.model).ok_or_else(|| {
            anyhow!(
                "the counts of {} cannot be added: choose olken, shards, krr, aet, eaet or kaet",
                run.spec.name
            )
        })?;
        Ok(Counted {
            model: run.spec.name.to_owned(),
            k: run.params.k,
            pool: run.params.pool,
            rate: run.params.rate,
            seed: run.seed,
            counts,
            seconds: run.seconds,
            bytes: curve::Model::bytes(&run.model).0,
        })
    };
    let models = runs.iter().filter(|run| run.wanted).map(of_run).collect::<Result<_>>()?;
    let state = PartsFile {
        trace: args.trace.clone(),
        survey: *survey,
        of: part.of,
        parts: BTreeSet::from([part.at]),
        models,
    };
    write(path, std::slice::from_ref(&args.trace), &state)
}

fn write(path: &Path, inputs: &[String], state: &PartsFile) -> Result<()> {
    let body = postcard::to_stdvec(state)?;
    let file = WholeFile::begin(path, inputs)?;
    let mut to = file.writer()?;
    let cannot = || format!("cannot write {}", path.display());
    to.write_all(MAGIC).with_context(cannot)?;
    to.write_all(&hash::bytes(0, &body).to_le_bytes()).with_context(cannot)?;
    to.write_all(&body).with_context(cannot)?;
    file.keep()?;
    Ok(())
}

fn read(path: &Path) -> Result<PartsFile> {
    let shown = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    let name = MAGIC.len() - 2;
    if bytes.starts_with(&MAGIC[..name]) && !bytes.starts_with(MAGIC) {
        bail!("{shown} was written by another version: count its part again");
    }
    let rest = bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<8>());
    let Some((sum, body)) = rest else {
        bail!("{shown} holds no counts: name files that larder curve --state wrote");
    };
    ensure!(
        hash::bytes(0, body) == u64::from_le_bytes(*sum),
        "{shown} is damaged: count its part again"
    );
    let state: PartsFile = postcard::from_bytes(body)
        .with_context(|| format!("{shown} is damaged: count its part again"))?;
    let is_sound = state.parts.iter().all(|&at| Part { at, of: state.of }.is_sound())
        && state.models.iter().all(|counted| counted.counts.are_sound());
    ensure!(is_sound, "{shown} holds impossible numbers: count its part again");
    Ok(state)
}

/// Adds the counts of other parts of the same trace.
fn add(state: &mut PartsFile, other: PartsFile, path: &Path) -> Result<()> {
    let shown = path.display();
    let kinds = |state: &PartsFile| -> Vec<_> {
        let kind =
            |one: &Counted| (one.model.clone(), one.k, one.pool, one.rate.to_bits(), one.seed);
        state.models.iter().map(kind).collect()
    };
    ensure!(
        kinds(state) == kinds(&other),
        "{shown} has other models than the files before it: count all parts with the same options"
    );
    ensure!(
        state.survey.requests == other.survey.requests && state.survey.reads == other.survey.reads,
        "{shown} is from another trace: it has {} requests, the files before it have {}",
        other.survey.requests,
        state.survey.requests
    );
    ensure!(
        state.of == other.of,
        "{shown} is one of {} parts, the files before it of {}: count all parts with the same \
         options",
        other.of,
        state.of
    );
    if let Some(twice) = state.parts.intersection(&other.parts).next() {
        bail!(
            "{shown} and a file before it both hold part {}/{}: name each part once",
            twice + 1,
            state.of
        );
    }
    state.parts.extend(other.parts);
    for (own, other) in state.models.iter_mut().zip(other.models) {
        own.counts.add(&other.counts).map_err(|why| anyhow!("{shown}: {why}"))?;
        own.seconds += other.seconds;
        own.bytes += other.bytes;
    }
    Ok(())
}

/// The curves of all parts together, with a title.
pub(super) fn merged(args: &MergeArgs) -> Result<(String, Vec<CurveOutput>)> {
    let Some((first, rest)) = args.files.split_first() else { bail!("name at least one file") };
    let mut state = read(first)?;
    for path in rest {
        add(&mut state, read(path)?, path)?;
    }
    let missing = state.of as usize - state.parts.len();
    if missing > 0 {
        eprintln!(
            "larder: {missing} of {} parts are missing: the curve is that of a sample",
            state.of
        );
    }
    if let Some(path) = &args.state {
        let inputs: Vec<_> =
            args.files.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        write(path, &inputs, &state)?;
    }
    let of_model = |counted: &Counted| of_model(counted, &state, &args.asked);
    let answers = state.models.iter().map(of_model).collect::<Result<_>>()?;
    let title = match state.parts.len() {
        1 => state.trace.clone(),
        parts => format!("{} in {parts} parts", state.trace),
    };
    Ok((title, answers))
}

fn of_model(counted: &Counted, state: &PartsFile, asked: &QuestionArgs) -> Result<CurveOutput> {
    let spec = curve::find(&counted.model).map_err(|error| anyhow!(error))?;
    let Counted { k, pool, rate, seed, seconds, .. } = *counted;
    let params = Params { k, pool, rate, seed, ..Params::default() };
    let begun = Instant::now();
    let curve = counted.counts.curve(spec, &params).map_err(|error| anyhow!(error))?;
    let seconds = seconds + begun.elapsed().as_secs_f64();
    let survey = &state.survey;
    let points: Vec<(u64, f64)> =
        survey.sizes(asked.sizes).iter().map(|&size| (size.0, curve.at(size).0)).collect();
    let share = state.parts.len() as f64 / f64::from(state.of);
    let made = Made {
        spec,
        params: &params,
        rate: rate * share,
        seed,
        seconds,
        bytes: Bytes(counted.bytes),
    };
    Ok(made.answer(&state.trace, &curve, &points, survey, asked))
}
