//! The server page: the process itself. Connections, times of commands, memory by use, evictions,
//! threads.

use super::PageData;
use super::cards::{self, by, named, number, plain, text};
use super::phrases::{bar, link, prose};
use super::process;
use super::series::{over_time, places, points, seconds};
use crate::draw::html::escape;
use crate::draw::{Axis, Colour, Format, Series};
use crate::words::{count, percent, size, span, wait};
use crate::{CommandTimes, MemoryUse, Process, Server, Tenant, ThreadUse, say};
use std::fmt::Write;

pub(super) fn render(shown: &PageData<'_>) -> String {
    let server = &shown.report.server;
    let mut out = format!(
        "<h1>Larder {}, up for {}, with {} connected clients</h1>\n",
        escape(&server.version),
        span(server.uptime_s),
        count(server.clients)
    );
    match &shown.report.process {
        Some(process) => out += &sentence(shown, process),
        None => {
            out += "<p>This server is steered from outside: its connections, commands and threads \
                    are known to itself only.</p>\n";
        }
    }
    let mut charts = String::from("<div class=\"charts\">\n");
    let own = process::charts(shown);
    let all = points(shown, None);
    let each = seconds(&all);
    let reads = Series::new("reads", places(&all, |point| Some(f64::from(point.reads) / each)));
    let missed = Series::new("misses", places(&all, |point| Some(f64::from(point.misses) / each)));
    let series = vec![
        Series { colour: Some(Colour::Ink), ..reads },
        Series { colour: Some(Colour::Soft), ..missed },
    ];
    charts += &over_time(shown, "Reads", Axis::new("per second", Format::Number), series).svg();
    if own.is_empty() {
        let bytes = places(&all, |point| Some(1024.0 * f64::from(point.used_kib)));
        let series = vec![Series { colour: Some(Colour::Ink), ..Series::new("data", bytes) }];
        charts +=
            &over_time(shown, "Memory of data", Axis::new("bytes", Format::Bytes), series).svg();
    }
    charts += &own;
    charts += "</div>\n";
    out += &section("Over time", &charts);
    if let Some(process) = &shown.report.process {
        out += &tables(shown, process);
    }
    out + &evictions(shown)
}

/// A part of the page, which a narrow screen shows closed.
fn section(title: &str, body: &str) -> String {
    format!(
        "<details class=\"part\" open><summary><h2>{}</h2></summary>\n{body}</details>\n",
        prose(title)
    )
}

fn sentence(shown: &PageData<'_>, process: &Process) -> String {
    let server = &shown.report.server;
    let (received, sent) = process.bytes_per_s;
    let text = format!(
        "{} of at most {} clients are connected; {} connections were accepted and {} refused since \
         the start; {} clients were closed because a buffer reached its limit. In the last second \
         the server ran {} commands, received {} and sent {}.",
        count(server.clients),
        count(process.clients_max),
        count(process.connections),
        count(process.refused_connections),
        count(process.cut),
        count(process.commands_per_s),
        size(received),
        size(sent),
    );
    format!("<p>{}</p>\n", prose(&text))
}

fn tables(shown: &PageData<'_>, process: &Process) -> String {
    let server = &shown.report.server;
    let mut out = commands(shown, &process.commands);
    out += &memory(shown, &process.memory);
    if server.maxmemory > 0 {
        let _ = writeln!(out, "<p>{}</p>", prose(&limit(server, process)));
    }
    if let Some(told) = say::all_compressed(shown.report) {
        let _ = writeln!(out, "<p>{}</p>", escape(&told));
    }
    out += &threads(shown, &process.threads);
    let (mean, longest) = process.evicting_us;
    let _ = writeln!(
        out,
        "<p>{} operations made room for themselves since the start: {} in the mean, {} at \
         most.</p>",
        count(process.evicting),
        wait(mean),
        wait(longest)
    );
    out
}

/// The limit beside what the process takes.
fn limit(server: &Server, process: &Process) -> String {
    let resident: u64 = process.memory.iter().map(|one| one.bytes).sum();
    let (limit, above) = (server.maxmemory, resident.saturating_sub(server.maxmemory));
    let mut says = format!(
        "maxmemory, {}, is {} for data and tables, which have {}, and a reserve of {} for what \
         grows beside them: models, buffers and gaps.",
        size(limit),
        size(server.divided),
        size(server.used),
        size(process.reserve),
    );
    if above > limit / 20 {
        let _ = write!(
            says,
            " The process is {} larger than maxmemory. A limit below sixteen times the memory of \
             an empty server does not count the program itself: leave room for it beside the \
             limit.",
            size(above)
        );
    }
    says
}

/// The commands by the time that they took, with quantiles.
fn commands(shown: &PageData<'_>, commands: &[CommandTimes]) -> String {
    let columns = [
        text("command"),
        number("calls"),
        number("errors"),
        number("time in all"),
        number("mean"),
        number("50 %"),
        number("99 %"),
        number("99.9 %"),
    ];
    let row = |one: &CommandTimes| {
        let quantile = |at: usize| {
            let us = one.quantiles_us.map(|quantiles| quantiles[at]);
            let text = us.map_or("–".to_owned(), |us| format!("≤ {}", wait(us as f64)));
            by(us.map_or(-1.0, |us| us as f64), text)
        };
        let mean = one.mean_us;
        vec![
            plain(&one.name),
            by(one.calls as f64, count(one.calls)),
            by(one.failed as f64, count(one.failed)),
            by(one.total_us(), wait(one.total_us())),
            by(mean.unwrap_or(-1.0), mean.map_or("–".to_owned(), wait)),
            quantile(0),
            quantile(1),
            quantile(2),
        ]
    };
    if commands.is_empty() {
        return "<p>No command has been called yet.</p>\n".to_owned();
    }
    let table = cards::table(shown, "/server", &columns, commands.iter().map(row).collect());
    section(
        "Commands since the start, by the time they took",
        &format!(
            "{table}<p class=\"legend\">Times are from a sample of the calls, inside the server, \
             without the network.</p>\n"
        ),
    )
}

/// Resident memory by its use.
fn memory(shown: &PageData<'_>, memory: &[MemoryUse]) -> String {
    let all: u64 = memory.iter().map(|one| one.bytes).sum();
    let columns =
        [text("use"), number("bytes"), number("share"), text("of all"), text("what it is")];
    let row = |one: &MemoryUse| {
        let share = one.bytes as f64 / all.max(1) as f64;
        vec![
            plain(&one.name),
            by(one.bytes as f64, size(one.bytes)),
            by(share, percent(share)),
            by(share, bar(share, "")),
            plain(&one.help),
        ]
    };
    let table = cards::table(shown, "/server", &columns, memory.iter().map(row).collect());
    section(&format!("Memory by use: {} resident", size(all)), &table)
}

fn threads(shown: &PageData<'_>, threads: &[ThreadUse]) -> String {
    let columns = [
        text("thread"),
        number("busy"),
        text("of a processor"),
        number("processor time"),
        number("commands"),
    ];
    let row = |one: &ThreadUse| {
        let busy = one.busy;
        vec![
            plain(&one.name),
            by(busy.unwrap_or(-1.0), busy.map_or("–".to_owned(), percent)),
            by(busy.unwrap_or(-1.0), busy.map_or("–".to_owned(), |busy| bar(busy, ""))),
            by(one.cpu_s, wait(1e6 * one.cpu_s)),
            by(
                one.commands.map_or(-1.0, |commands| commands as f64),
                one.commands.map_or("–".to_owned(), count),
            ),
        ]
    };
    section("Threads", &cards::table(shown, "/server", &columns, threads.iter().map(row).collect()))
}

/// The items that left the cache, by tenant and cause, since the start.
fn evictions(shown: &PageData<'_>) -> String {
    let columns = [
        text("tenant"),
        number("evicted for room"),
        number("bytes evicted"),
        number("expired, swept"),
        number("expired, for room"),
        number("expired, on a read"),
        number("deleted"),
        number("not admitted"),
    ];
    let row = |tenant: &Tenant| {
        let counters = &tenant.counters;
        let number = |number: u64| by(number as f64, count(number));
        let on_read = counters.misses_expired;
        vec![
            named(&tenant.name, link(shown, &tenant.name)),
            number(counters.evicted),
            by(counters.evicted_bytes as f64, size(counters.evicted_bytes)),
            number(counters.expired_swept),
            number(counters.expired_for_room),
            number(on_read),
            number(counters.deletes),
            number(counters.not_admitted),
        ]
    };
    let rows: Vec<_> = shown.report.tenants.iter().map(row).collect();
    section(
        "What left the cache since the start, by cause",
        &cards::table(shown, "/server", &columns, rows),
    )
}
