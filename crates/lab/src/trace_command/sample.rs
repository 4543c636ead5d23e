//! `larder trace sample`: all requests of some keys.
//!
//! Reading takes the time of a trace of terabytes, while a sample of its keys has all that a model
//! needs. Sampled at one key in a thousand, a large trace fits on one machine.

use super::copy::in_trace;
use super::print_line;
use super::progress::Progress;
use crate::interrupt::Interrupt;
use crate::output;
use crate::report;
use anyhow::{Context, bail, ensure};
use base::Filter;
use base::hash::mix;
use load::open::{self, Options};
use serde::Serialize;
use trace::{Access, Sample, Sought, Totals};

/// Keep all requests to some keys, chosen by their hash
///
/// The sample remembers its rate, and how many requests were left out between those that stayed:
/// `larder curve` needs no more to be told.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  larder trace sample cluster52.csv.zst web.compact --rate 0.01
  ls *.csv.zst | xargs -P 8 -I F larder trace sample F F.compact --rate 0.001
  larder curve web.compact --model krr")]
pub(super) struct Args {
    /// Trace to read: a file, - for standard input, or synth:NAME:…
    trace: String,
    /// File to write, in the compact format, - for standard output
    output: String,
    /// Share of the keys to keep, above 0 and at most 1
    #[arg(long, value_name = "RATE")]
    rate: f64,
    /// Another seed keeps other keys
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: Options,
}

/// Counts of the requests read and kept.
#[derive(Debug, Serialize)]
pub(super) struct Sampled<'a> {
    trace: &'a str,
    output: &'a str,
    rate: f64,
    requests: u64,
    kept: u64,
    bytes: u64,
}

/// Requests between two checks for Ctrl-C.
const BLOCK: u64 = 1 << 16;

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let Args { trace, output, rate, seed, json, reading } = args;
    if !(*rate > 0.0 && *rate <= 1.0) {
        bail!("--rate {rate}: write a number above 0 and at most 1");
    }
    let kept = take(trace, reading, output, Sample { rate: *rate, seed: *seed })?;
    if *json && output != "-" {
        return report::json::print(&kept);
    }
    let Sampled { requests, kept, bytes, .. } = kept;
    let text = format!("{kept} of {requests} requests, those of {:.4} % of the keys", 100.0 * rate);
    if output == "-" {
        eprintln!("{text}");
        return Ok(());
    }
    Ok(print_line(&format!("{output}: {text}, {}", report::format::bytes(bytes)))?)
}

/// Writes a sample of a trace to a file.
pub(super) fn take<'a>(
    trace: &'a str,
    reading: &Options,
    output: &'a str,
    sample: Sample,
) -> anyhow::Result<Sampled<'a>> {
    let spec = output::written(output, Some("compact"))?;
    let mut source = open::open(trace, reading)?;
    ensure!(source.sample().is_none(), "{trace} is already a sample");
    let mut writing = output::create(output, &[trace.to_owned()], spec, &Totals::default())?;
    writing.sample(sample);
    let (filter, salt) = (Filter::with_rate(sample.rate), mix(sample.seed));
    let interrupt = Interrupt::listen()?;
    let mut progress = Progress::new("sampling");
    let mut keeps = |key: u64| filter.keeps(mix(key ^ salt));
    let (mut requests, mut kept, mut next_look) = (0, 0, BLOCK);
    loop {
        let Sought { passed, found, is_over } = source.seek(&mut keeps, BLOCK);
        requests += passed.requests;
        writing.pass(passed);
        if let Some(access) = found {
            let access: Access = access.with_context(|| in_trace(trace))?;
            writing.put(&access, source.key()).with_context(|| format!("writing '{output}'"))?;
            requests += 1;
            kept += 1;
        }
        if requests >= next_look {
            next_look = requests + BLOCK;
            progress.steps(BLOCK);
            ensure!(!interrupt.is_wanted(), "interrupted: '{output}' was not written");
        }
        if is_over {
            break;
        }
    }
    let bytes = writing.finish()?;
    Ok(Sampled { trace, output, rate: sample.rate, requests, kept, bytes })
}
