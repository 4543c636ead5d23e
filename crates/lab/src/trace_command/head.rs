//! `larder trace head`.

use super::copy::in_trace;
use super::print_line;
use crate::report;
use crate::report::table::Table;
use anyhow::Context;
use base::{Access, Op, Tick, printable};
use load::open::{self, Options};
use serde::Serialize;
use trace::Source;

/// Print the first requests of a trace
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: larder trace head -n 5 web.csv.zst")]
pub(super) struct Args {
    /// Trace to read: a file, - for standard input, or synth:NAME:…
    trace: String,
    /// Requests to print
    #[arg(short, long = "requests", value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..))]
    n: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reading: Options,
}

#[derive(Debug, Serialize)]
struct Row {
    time_us: u64,
    key: String,
    key_size: u32,
    value_size: u64,
    tenant: u16,
    /// Name of the tenant, where the trace has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_name: Option<String>,
    op: &'static str,
    ttl_us: u64,
    penalty_us: u64,
    /// Next request to the key; `None` where the trace does not state it.
    next: Option<u64>,
}

impl Row {
    fn new(access: &Access, source: &dyn Source) -> Self {
        let key = source.key();
        Self {
            time_us: access.time.0,
            key: String::from_utf8_lossy(key).into_owned(),
            key_size: access.key_size,
            value_size: access.value_size,
            tenant: access.tenant,
            tenant_name: source.tenant_name(access.tenant).map(str::to_owned),
            op: word(access.op),
            ttl_us: access.ttl.0,
            penalty_us: access.penalty.0,
            next: (access.next != Tick::NEVER).then_some(access.next.0),
        }
    }
}

const fn word(op: Op) -> &'static str {
    match op {
        Op::Get => "get",
        Op::Set => "set",
        Op::Delete => "delete",
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let mut source = open::open(&args.trace, &args.reading)?;
    let mut rows = vec![];
    for _ in 0..args.n {
        let Some(access) = source.next() else { break };
        let access = access.with_context(|| in_trace(&args.trace))?;
        rows.push(Row::new(&access, &*source));
    }
    if args.json {
        return report::json::print(&rows);
    }
    let names =
        ["time_us", "key", "key_size", "value_size", "tenant", "op", "ttl_us", "penalty_us"];
    let mut table = Table::new(names.into_iter().chain(["next"]));
    for row in &rows {
        table.row([
            row.time_us.to_string(),
            printable(&row.key).into_owned(),
            row.key_size.to_string(),
            row.value_size.to_string(),
            row.tenant_name
                .as_ref()
                .map_or_else(|| row.tenant.to_string(), |name| printable(name).into_owned()),
            row.op.to_owned(),
            row.ttl_us.to_string(),
            row.penalty_us.to_string(),
            row.next.map_or_else(|| "-".to_owned(), |next| next.to_string()),
        ]);
    }
    Ok(print_line(&table.to_string())?)
}
