//! The reading of the trace, which all models see.

use super::args::Draw;
use super::plan::runs_caches;
use super::run::ModelRun;
use super::survey::{Count, Survey};
use crate::progress::Progress;
use base::hash::mix;
use base::{Access, Bytes};
use curve::Model;
use std::time::Instant;
use trace::file::ReadPart;
use trace::{Sample, Source};

/// Accesses per block handed to the models. A simulated cache takes a large block and works through
/// all of it while its own data is in the processor's cache. For the other models, the block itself
/// fits in the processor's cache.
const BLOCK_OF_CACHES: usize = 1 << 15;
const BLOCK: usize = 1 << 11;

/// Shows the trace to all runs. Returns its survey and the number of complete intervals.
pub(super) fn feed(
    args: &Draw,
    (mut source, part): (Box<dyn Source>, Option<ReadPart>),
    known: Option<Survey>,
    sizes: &[Bytes],
    runs: &mut [ModelRun],
) -> anyhow::Result<(Survey, u64)> {
    let samples = |run: &ModelRun| run.params.rate < 1.0 || args.keys_max.is_some();
    let mut compressor = args.compress.compressor(&args.read);
    let mut count = Count::beside(args.part.is_some() || runs.iter().all(samples));
    let progress = Progress::reading("models", known.map(|survey| survey.requests), part);
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
        compressor.compress(&mut block);
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
        progress.add(block.len() as u64);
        left -= block.len() as u64;
        if left == 0 {
            compare(sizes, runs);
            for run in &mut *runs {
                run.model.forget(0.0);
            }
            (intervals, left) = (intervals + 1, interval);
        }
    }
    compressor.warn(&args.trace);
    Ok((known.unwrap_or_else(|| count.survey()), intervals))
}

/// Shows a sample of a trace to all runs, with the counts of the requests left out of it.
pub(super) fn feed_sample(
    args: &Draw,
    (mut source, part): (Box<dyn Source>, Option<ReadPart>),
    sample: Sample,
    runs: &mut [ModelRun],
) -> anyhow::Result<Survey> {
    let mut compressor = args.compress.compressor(&args.read);
    let mut count = Count::of_sample(sample.rate);
    let progress = Progress::reading("models", None, part);
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
        compressor.compress(std::slice::from_mut(&mut access));
        access.key = mix(access.key ^ salt);
        let start = Instant::now();
        for run in &mut *runs {
            run.model.access(&access);
        }
        let seconds = start.elapsed().as_secs_f64() / runs.len().max(1) as f64;
        for run in &mut *runs {
            run.seconds += seconds;
        }
        progress.add(1 + passed.requests);
    }
    Ok(count.survey())
}

/// Draws all curves and adds them to the sums of their runs. A run with an oracle also adds its
/// differences from the oracle.
pub(super) fn compare(sizes: &[Bytes], runs: &mut [ModelRun]) {
    let draw = |run: &mut ModelRun| -> Vec<f64> {
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
