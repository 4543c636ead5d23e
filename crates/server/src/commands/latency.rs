//! LATENCY: recent slow events, and the duration of commands.

use super::introspection::by_name;
use crate::call::{Call, Command, Done, Failure, wrong_number};
use crate::facts::flag::{ADMIN, NO_SCRIPT};
use crate::facts::table::get;
use crate::services::clock::Clock;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[Command::container("latency", NO_SCRIPT, LATENCY).doc(
    "server",
    "2.8.13",
    "Times of commands.",
)];

const LATENCY: &[Command] = &[
    Command::new("latency|doctor", 2, ADMIN, doctor).doc(
        "server",
        "2.8.13",
        "Advice about spikes.",
    ),
    Command::new("latency|latest", 2, ADMIN, latest).doc("server", "2.8.13", "Latest spikes."),
    Command::new("latency|history", 3, ADMIN, history).doc("server", "2.8.13", "Past spikes."),
    Command::new("latency|graph", 3, ADMIN, graph).doc("server", "2.8.13", "Spikes as a graph."),
    Command::new("latency|reset", -2, ADMIN, reset).doc("server", "2.8.13", "Forgets spikes."),
    Command::new("latency|histogram", -2, ADMIN, histogram).doc(
        "server",
        "7.0.0",
        "How long commands take, from a sample of them.",
    ),
    Command::new("latency|help", 2, 0, help).doc("server", "2.8.13", "The subcommands of LATENCY."),
];

/// The one event that is watched, by its name in Redis: making room took long.
const EVENT: &str = "eviction-cycle";

/// The events, oldest first: their time in Unix seconds, and their duration in milliseconds.
fn spikes(call: &Call<'_>) -> Vec<(u64, u64)> {
    let threshold_ms = call.view.settings.latency_threshold_ms;
    let spikes = call.server.store.pauses().spikes;
    let all = spikes.into_iter().map(|spike| (spike.unix_ms / 1_000, spike.nanos / 1_000_000));
    all.filter(|(_, ms)| threshold_ms > 0 && *ms >= threshold_ms).collect()
}

fn latest(call: &mut Call<'_>) -> Done {
    let spikes = spikes(call);
    let Some((at, ms)) = spikes.last() else {
        call.out.array(0);
        return Ok(());
    };
    call.out.array(1);
    call.out.array(4);
    call.out.bulk(EVENT.as_bytes());
    call.out.integer(*at as i64);
    call.out.integer(*ms as i64);
    call.out.integer(spikes.iter().map(|(_, ms)| *ms).max().unwrap_or(0) as i64);
    Ok(())
}

fn history(call: &mut Call<'_>) -> Done {
    let spikes = if call.is(2, EVENT) { spikes(call) } else { vec![] };
    call.out.array(spikes.len());
    for (at, ms) in spikes {
        call.out.array(2);
        call.out.integer(at as i64);
        call.out.integer(ms as i64);
    }
    Ok(())
}

/// The columns of a graph, its rows, and the heights of a cell: empty, three steps, full.
const COLUMNS: usize = 80;
const ROWS: usize = 4;
const HEIGHTS: [char; 5] = [' ', '_', 'o', '#', '|'];

/// Draws the spikes as columns, each with its age below.
fn graph(call: &mut Call<'_>) -> Done {
    let spikes = if call.is(2, EVENT) { spikes(call) } else { vec![] };
    let times = || spikes.iter().map(|(_, ms)| *ms);
    let (Some(low), Some(high)) = (times().min(), times().max()) else {
        let event = call.text(2);
        return Err(Failure::err(&format!("No samples available for event '{event}'")));
    };
    let head = format!("{EVENT} - high {high} ms, low {low} ms (all time high {high} ms)\n");
    let now = Clock::unix_us() / 1_000_000;
    let columns: Vec<_> =
        spikes.iter().map(|(at, ms)| (*ms, age(now.saturating_sub(*at)))).collect();
    let graphs: Vec<_> = columns.chunks(COLUMNS).map(|columns| draw(columns, low, high)).collect();
    call.out.verbatim(&(head + &"-".repeat(COLUMNS) + "\n" + &graphs.join("\n")));
    Ok(())
}

/// A number of seconds, in its largest unit.
fn age(seconds: u64) -> String {
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Draws values between `low` and `high`, with labels that read downwards.
fn draw(columns: &[(u64, String)], low: u64, high: u64) -> String {
    let each = HEIGHTS.len() - 2;
    let level = |value: u64| {
        let steps = (each * ROWS) as u64;
        ((value - low) * steps / (high - low).max(1)).min(steps - 1) as usize
    };
    let bar = |value, row: usize| {
        let below = each * (ROWS - 1 - row);
        HEIGHTS[(level(value) + 1).saturating_sub(below).min(each + 1)]
    };
    let labels = columns.iter().map(|(_, label)| label.len()).max().unwrap_or(0);
    let letter = |label: &str, row: usize| label.chars().nth(row).unwrap_or(' ');
    let line = |row: usize| -> String {
        let cells = columns.iter().map(|(value, label)| match row.checked_sub(ROWS) {
            None => bar(*value, row),
            Some(0) => ' ',
            Some(row) => letter(label, row - 1),
        });
        cells.chain(['\n']).collect()
    };
    (0..=ROWS + labels).map(line).collect()
}

/// Forgets the events, and replies with the number of kinds of events that it forgot.
fn reset(call: &mut Call<'_>) -> Done {
    let is_meant = call.args.len() == 2 || (2..call.args.len()).any(|at| call.is(at, EVENT));
    let forgets = is_meant && !spikes(call).is_empty();
    if is_meant {
        call.server.store.forget_spikes();
    }
    call.out.integer(i64::from(forgets));
    Ok(())
}

/// The calls of each timed command, counted at or below powers of two of microseconds.
fn histogram(call: &mut Call<'_>) -> Done {
    let mut timed = call.server.stats.latencies();
    if call.args.len() > 2 {
        let chosen = call.args.iter_from(2).map(|name| {
            by_name(name).map(|command| command.name).ok_or_else(|| wrong_number("latency"))
        });
        let chosen: Vec<&str> = chosen.filter_map(Result::ok).collect();
        timed.retain(|number, _| {
            let name = get(*number).name;
            let container = name.split_once('|').map_or(name, |(container, _)| container);
            chosen.contains(&name) || chosen.contains(&container)
        });
    }
    let totals = call.server.stats.totals(call.server.counters());
    call.out.map(timed.len());
    for (number, buckets) in timed {
        let calls = totals.commands[number as usize].calls;
        let sampled: u64 = buckets.iter().map(|(_, count)| count).sum();
        call.out.bulk(get(number).name.as_bytes());
        call.out.map(2);
        call.out.bulk(b"calls");
        call.out.integer(calls as i64);
        call.out.bulk(b"histogram_usec");
        let edges = cumulative(&buckets, calls as f64 / sampled.max(1) as f64);
        call.out.map(edges.len());
        for (edge, count) in edges {
            call.out.integer(edge as i64);
            call.out.integer(count as i64);
        }
    }
    Ok(())
}

/// Counts at or below 1, 2, 4 … microseconds, scaled up, as long as they grow.
fn cumulative(buckets: &[(u64, u64)], scale: f64) -> Vec<(u64, u64)> {
    let mut edges = vec![];
    let (mut sum, mut edge, mut rest) = (0, 1, buckets);
    while !rest.is_empty() {
        let before = sum;
        while let [(upper, count), tail @ ..] = rest
            && *upper <= edge
        {
            sum += count;
            rest = tail;
        }
        if sum > before {
            edges.push((edge, (sum as f64 * scale).round() as u64));
        }
        edge *= 2;
    }
    edges
}

/// Advice: a summary of the events, and settings that would make them fewer.
fn doctor(call: &mut Call<'_>) -> Done {
    let spikes = spikes(call);
    let threshold_ms = call.view.settings.latency_threshold_ms;
    let longest = spikes.iter().map(|(_, ms)| *ms).max();
    let text = match longest {
        _ if threshold_ms == 0 => {
            "The latency monitor is off: CONFIG SET latency-monitor-threshold sets the \
             milliseconds from which an eviction counts as an event."
                .to_owned()
        }
        None => format!("No write spent {threshold_ms} ms or more on evictions."),
        Some(longest) => format!(
            "{} writes spent {threshold_ms} ms or more on evictions, the longest {longest} ms. \
             Evictions for large values take long: store smaller values, or raise maxmemory.",
            spikes.len()
        ),
    };
    call.out.verbatim(&text);
    Ok(())
}

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "LATENCY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "DOCTOR",
        "    Advice about the events.",
        "HISTORY <event> | LATEST",
        "    The times of an event, or the latest of each.",
        "HISTOGRAM [<command> ...]",
        "    How long commands take.",
        "GRAPH <event>",
        "    The times of an event as a graph.",
        "RESET [<event> ...]",
        "    Forget events.",
        "HELP",
        "    Print this help.",
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// redis-server 7 draws the same graph.
    #[test]
    fn graphs_are_those_of_redis() {
        let labelled = |all: &[(u64, &str)]| -> Vec<(u64, String)> {
            all.iter().map(|(value, label)| (*value, (*label).to_owned())).collect()
        };
        let two = draw(&labelled(&[(50, "2s"), (30, "1s")]), 30, 50);
        assert_eq!(two, "# \n| \n| \n|_\n  \n21\nss\n");
        let ages = [5, 61, 7_300, 200_000].map(age);
        assert_eq!(ages, ["5s", "1m", "2h", "2d"]);
    }

    #[test]
    fn counts_never_fall_and_end_at_all() {
        let edges = cumulative(&[(0, 5), (1, 1), (3, 2), (100, 2)], 10.0);
        assert_eq!(edges, [(1, 60), (4, 80), (128, 100)]);
    }
}
