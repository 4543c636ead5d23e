//! Writes the accesses of one trace as another.

use super::print_line;
use super::progress::Progress;
use crate::open::{self, Options};
use crate::report;
use anyhow::Context;
use base::Tick;
use serde::Serialize;
use std::collections::HashMap;
use trace::{Source, Totals};

/// Where a trace is written, and how.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct Target {
    /// Format to write: csv, compact, lcs or oracleGeneral; else the name of the file tells
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

/// What was written.
#[derive(Debug, Serialize)]
struct Written<'a> {
    trace: &'a str,
    output: &'a str,
    format: &'a str,
    requests: u64,
    skipped: u64,
    lost: u64,
    bytes: u64,
}

/// When each object is asked for next, by request, and what the trace holds in all.
#[derive(Default)]
struct Ahead {
    next: Vec<Tick>,
    totals: Totals,
}

/// Writes the trace `from` to the file `to`.
pub(super) fn copy(from: &str, reading: &Options, to: &str, target: &Target) -> anyhow::Result<()> {
    let spec = open::written(to, target.to.as_deref())?;
    // What is read from a pipe cannot be read twice.
    let ahead = if spec.looks_ahead && from != "-" {
        look_ahead(&mut *open::open(from, reading)?).with_context(|| in_trace(from))?
    } else {
        Ahead::default()
    };
    let mut source = open::open(from, reading)?;
    let mut output = open::create(to, spec, &ahead.totals)?;
    let mut progress = Progress::new("writing");
    let mut written = 0;
    while let Some(access) = source.next() {
        let mut access = access.with_context(|| in_trace(from))?;
        if let Some(next) = ahead.next.get(written) {
            access.next = *next;
        }
        output.put(&access, source.key()).with_context(|| format!("writing '{to}'"))?;
        written += 1;
        progress.step();
    }
    output.finish()?;
    drop(progress);
    let bytes = std::fs::metadata(to).map_or(0, |file| file.len());
    let written = Written {
        trace: from,
        output: to,
        format: spec.name,
        requests: written as u64,
        skipped: source.skipped(),
        lost: source.lost(),
        bytes,
    };
    tell(&written, to == "-", target.json)
}

pub(super) fn in_trace(name: &str) -> String {
    format!("trace '{name}'")
}

/// Reads the whole trace: eight bytes a request, thirty-two an object.
fn look_ahead(source: &mut dyn Source) -> Result<Ahead, trace::Error> {
    let mut ahead = Ahead::default();
    // The object's last request, and the largest size it had.
    let mut objects: HashMap<u64, (usize, u32)> = HashMap::new();
    let mut progress = Progress::new("looking ahead");
    while let Some(access) = source.next() {
        let access = access?;
        let at = ahead.next.len();
        let (last, size) = objects.entry(access.key).or_insert((at, 0));
        if *last != at {
            ahead.next[*last] = Tick(at as u64);
        }
        *last = at;
        *size = (*size).max(access.value_size);
        ahead.next.push(Tick::NEVER);
        ahead.totals.count(access.time, access.op, access.value_size);
        progress.step();
    }
    ahead.totals.objects = objects.len() as u64;
    ahead.totals.object_bytes = objects.values().map(|(_, size)| u64::from(*size)).sum();
    Ok(ahead)
}

/// Says what was written, on standard error where standard output is the trace.
fn tell(written: &Written, on_stdout: bool, json: bool) -> anyhow::Result<()> {
    if json && !on_stdout {
        return report::json::print(written);
    }
    let counted = |count: u64, what: &str| match count {
        0 => String::new(),
        count => format!(", {count} {what}"),
    };
    let text = format!(
        "{} requests as {}{}{}",
        written.requests,
        written.format,
        counted(written.skipped, "malformed passed over"),
        counted(written.lost, "known to be lost"),
    );
    if on_stdout {
        eprintln!("{text}");
        return Ok(());
    }
    let bytes = report::format::bytes(written.bytes);
    Ok(print_line(&format!("{}: {text}, {bytes}", written.output))?)
}
