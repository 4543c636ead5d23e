//! Writes the accesses of one trace as another.

use super::print_line;
use super::progress::Progress;
use crate::interrupt::Interrupt;
use crate::output;
use crate::report;
use crate::whole_file;
use anyhow::{Context, ensure};
use base::{TenantId, Tick};
use load::open::{self, Options};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use trace::format::Loss;
use trace::{Source, Totals};

/// Format of the trace to write, and of the report about it.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct Target {
    /// Format to write: compact, lcs, csv, columns or oracleGeneral; else the file's name tells
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

/// Result of a copy.
#[derive(Debug, Serialize)]
struct Written<'a> {
    trace: &'a str,
    output: &'a str,
    format: &'a str,
    requests: u64,
    /// Facts that the format could not hold.
    losses: Vec<Lost>,
    /// Tenants with names in the trace that was read; only their numbers are written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tenants: BTreeMap<TenantId, String>,
    skipped: u64,
    lost: u64,
    bytes: u64,
}

/// A loss, and the number of requests that it affects.
#[derive(Debug, Serialize)]
struct Lost {
    requests: u64,
    loss: &'static str,
}

impl Lost {
    fn of((loss, requests): (&Loss, u64)) -> Self {
        Self { requests, loss: loss.about() }
    }
}

/// The next request to the object of each request, and totals of the trace.
#[derive(Default)]
struct Foresight {
    next: Vec<Tick>,
    totals: Totals,
}

/// Writes the trace `from` to the file `to`, and reports it.
pub(super) fn copy(from: &str, reading: &Options, to: &str, target: &Target) -> anyhow::Result<()> {
    tell(&write(from, reading, to, target)?, to == "-", target.json)
}

fn write<'a>(
    from: &'a str,
    reading: &Options,
    to: &'a str,
    target: &Target,
) -> anyhow::Result<Written<'a>> {
    let spec = output::written(to, target.to.as_deref())?;
    let inputs = [from.to_owned()];
    if to != "-" {
        whole_file::check(Path::new(to), &inputs)?;
    }
    // A pipe cannot be read twice.
    let ahead = if spec.looks_ahead && from != "-" {
        look_ahead(&mut *open::open(from, reading)?).with_context(|| in_trace(from))?
    } else {
        Foresight::default()
    };
    let mut source = open::open(from, reading)?;
    let mut writing = output::create(to, &inputs, spec, &ahead.totals)?;
    let interrupt = Interrupt::listen()?;
    let mut progress = Progress::new("writing");
    let mut written = 0;
    let mut losses = vec![0; spec.loses.len()];
    let mut named = BTreeSet::new();
    let mut has_words = false;
    while let Some(access) = source.next() {
        if interrupt.is_wanted() {
            // Requests from a pipe cannot be had again, so they are kept.
            ensure!(from == "-", "interrupted: '{to}' was not written");
            break;
        }
        let mut access = access.with_context(|| in_trace(from))?;
        if let Some(next) = ahead.next.get(written) {
            access.next = *next;
        }
        for (count, loss) in losses.iter_mut().zip(spec.loses) {
            *count += u64::from(loss.hits(&access, source.key()));
        }
        if let Some(name) = source.tenant_name(access.tenant)
            && named.insert(access.tenant)
        {
            has_words = writing.name_tenant(access.tenant, name);
        }
        writing.put(&access, source.key()).with_context(|| format!("writing '{to}'"))?;
        written += 1;
        progress.step();
    }
    let bytes = writing.finish()?;
    drop(progress);
    Ok(Written {
        trace: from,
        output: to,
        format: spec.name,
        requests: written as u64,
        losses: spec
            .loses
            .iter()
            .zip(losses)
            .filter(|(_, count)| *count > 0)
            .map(Lost::of)
            .collect(),
        tenants: if has_words { BTreeMap::new() } else { open::tenant_names(&*source) },
        skipped: source.skipped(),
        lost: source.lost(),
        bytes,
    })
}

pub(super) fn in_trace(name: &str) -> String {
    format!("trace '{name}'")
}

/// Reads the whole trace. Takes eight bytes a request, and thirty-two an object.
fn look_ahead(source: &mut dyn Source) -> Result<Foresight, trace::Error> {
    let mut ahead = Foresight::default();
    // The object's last request, and its largest size so far.
    let mut objects: HashMap<u64, (usize, u64)> = HashMap::new();
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
    ahead.totals.object_bytes = objects.values().map(|(_, size)| size).sum();
    Ok(ahead)
}

/// Reports a copy, on standard error where standard output is the trace.
fn tell(written: &Written, on_stdout: bool, json: bool) -> anyhow::Result<()> {
    for Lost { requests, loss } in &written.losses {
        eprintln!("larder: {} does not hold everything: {requests} {loss}", written.format);
    }
    for (number, name) in &written.tenants {
        eprintln!("larder: tenant '{name}' becomes {number}");
    }
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
        counted(written.skipped, "malformed skipped"),
        counted(written.lost, "known to be lost"),
    );
    if on_stdout {
        eprintln!("{text}");
        return Ok(());
    }
    let bytes = report::format::bytes(written.bytes);
    Ok(print_line(&format!("{}: {text}, {bytes}", written.output))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A trace that is also the output must not be emptied before it is read.
    #[test]
    fn a_trace_is_not_written_over_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let link = folder.path().join("b.csv");
        fs::write(&path, "0,k,1,1,0,get,0\n").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for to in [&path, &link] {
            let (from, to) = (path.to_str().unwrap(), to.to_str().unwrap());
            let error = copy(from, &Options::default(), to, &Target::default()).unwrap_err();
            assert!(error.to_string().contains("name another file"), "{error}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "0,k,1,1,0,get,0\n");
    }

    /// After an error, half a trace must not stand there as if it were whole.
    #[test]
    fn on_an_error_nothing_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad.csv");
        fs::write(&path, "0,k,1,1,0,get,0\n".repeat(100_000) + "bad\n").unwrap();
        for to in ["a.csv", "a.compact.zst", "a.lcs", "a.csv.gz", "no/where.csv"] {
            let to = folder.path().join(to);
            let (from, to) = (path.to_str().unwrap(), to.to_str().unwrap());
            copy(from, &Options::default(), to, &Target::default()).unwrap_err();
            assert_eq!(names(folder.path()), ["bad.csv"], "{to}");
        }
    }

    /// A format that turns writes into reads must say so.
    #[test]
    fn what_a_format_cannot_hold_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let lines = ["0,k,1,9,web,set,5", "1500000,17,2,9,7,get,0", "3000000,17,2,9,7,delete,0"];
        fs::write(&path, lines.join("\n")).unwrap();
        let losses = |to: &str| {
            let to = folder.path().join(to).to_str().unwrap().to_owned();
            let from = path.to_str().unwrap();
            let written = write(from, &Options::default(), &to, &Target::default()).unwrap();
            let tenants: Vec<_> = written.tenants.into_iter().collect();
            assert_eq!(tenants, [(0, "web".to_owned())], "{to}");
            written.losses.into_iter().map(|lost| (lost.requests, lost.loss)).collect::<Vec<_>>()
        };
        assert_eq!(losses("a.compact"), []);
        let keys = (1, "requests have a hash instead of the key");
        let times = (1, "requests have times in whole seconds");
        assert_eq!(losses("a.lcs"), [keys, times]);
        let others = [
            (2, "writes and deletions become reads"),
            (2, "requests lose their tenant"),
            (1, "requests lose their time to live"),
            keys,
            times,
        ];
        assert_eq!(losses("a.oracleGeneral"), others);
    }
}
