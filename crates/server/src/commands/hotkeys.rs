//! HOTKEYS: the keys that cost most while a session runs.

use crate::call::{Call, Command, Done, Failure, SYNTAX};
use crate::facts::flag::ADMIN;
use crate::services::clock::Clock;
use crate::services::hot_keys::Wanted;
use crate::text::os::cpu_seconds;
use std::time::Duration;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[Command::container("hotkeys", 0, HOTKEYS)
    .categories(&["admin", "dangerous"])
    .doc("server", "8.6.0", "The most expensive keys.")];

const HOTKEYS: &[Command] = &[
    Command::new("hotkeys|start", -2, ADMIN, start).doc("server", "8.6.0", "Starts counting."),
    Command::new("hotkeys|stop", 2, ADMIN, stop).doc("server", "8.6.0", "Stops counting."),
    Command::new("hotkeys|reset", 2, ADMIN, reset).doc("server", "8.6.0", "Forgets the counts."),
    Command::new("hotkeys|get", 2, ADMIN, report).doc("server", "8.6.0", "Shows the counts."),
    Command::new("hotkeys|help", 2, 0, help).doc("server", "8.6.0", "The subcommands of HOTKEYS."),
];

/// The largest number of keys in a reply.
const COUNT_MAX: i64 = 64;

/// `HOTKEYS START METRICS n [CPU] [NET] [COUNT k] [DURATION seconds] [SAMPLE ratio]`.
fn start(call: &mut Call<'_>) -> Done {
    let mut wanted = Wanted { cpu: false, net: false, count: 10, duration: None, sample: 1 };
    let mut at = 2;
    while at < call.args.len() {
        if at + 1 == call.args.len() {
            return Err(SYNTAX.into());
        }
        let number = call.integer(at + 1)?;
        if call.is(at, "metrics") {
            for _ in 0..number.clamp(0, 2) {
                if call.is(at + 2, "cpu") {
                    wanted.cpu = true;
                } else if call.is(at + 2, "net") {
                    wanted.net = true;
                } else {
                    return Err(Failure::err("METRICS count does not match number of metrics"));
                }
                at += 1;
            }
            if i64::from(wanted.cpu) + i64::from(wanted.net) != number {
                return Err(Failure::err("METRICS count does not match number of metrics"));
            }
        } else if call.is(at, "count") {
            if !(1..=COUNT_MAX).contains(&number) {
                return Err(Failure::err("COUNT must be between 1 and 64"));
            }
            wanted.count = number as usize;
        } else if call.is(at, "duration") {
            if !(0..=1_000_000).contains(&number) {
                return Err(Failure::err("DURATION must be between 0 and 1000000"));
            }
            wanted.duration = (number > 0).then(|| Duration::from_secs(number as u64));
        } else if call.is(at, "sample") {
            if number < 1 {
                return Err(Failure::err("SAMPLE ratio must be positive"));
            }
            wanted.sample = number as u64;
        } else if call.is(at, "slots") {
            return Err(Failure::err("SLOTS parameter cannot be used in non-cluster mode"));
        } else {
            return Err(SYNTAX.into());
        }
        at += 2;
    }
    if !wanted.cpu && !wanted.net {
        return Err(Failure::err("METRICS parameter is required"));
    }
    if !call.server.stats.hot_keys.start(wanted, Clock::unix_us() / 1_000, cpu_seconds()) {
        return Err(Failure::err("hotkeys tracking session already in progress"));
    }
    call.ok()
}

fn stop(call: &mut Call<'_>) -> Done {
    if call.server.stats.hot_keys.stop() {
        return call.ok();
    }
    call.out.null();
    Ok(())
}

fn reset(call: &mut Call<'_>) -> Done {
    if call.server.stats.hot_keys.reset() {
        return call.ok();
    }
    Err(Failure::err("hotkeys tracking session in progress, stop tracking first"))
}

fn report(call: &mut Call<'_>) -> Done {
    let Some(report) = call.server.stats.hot_keys.report(cpu_seconds()) else {
        call.out.null();
        return Ok(());
    };
    let wanted = report.wanted;
    let out = &mut call.out;
    out.array(1);
    out.map(7 + 3 * usize::from(wanted.cpu) + 2 * usize::from(wanted.net));
    for (name, number) in [
        ("tracking-active", u64::from(report.active)),
        ("sample-ratio", wanted.sample),
        ("all-commands-all-slots-us", report.total.nanos / 1_000),
        ("net-bytes-all-commands-all-slots", report.total.bytes),
        ("collection-start-time-unix-ms", report.started_unix_ms),
        ("collection-duration-ms", report.duration.as_millis() as u64),
    ] {
        out.bulk(name.as_bytes());
        out.integer(number as i64);
    }
    out.bulk(b"selected-slots");
    out.array(1);
    out.array(2);
    out.integer(0);
    out.integer(16_383);
    let mut lists = vec![];
    if wanted.cpu {
        for (name, seconds) in
            [("total-cpu-time-user-ms", report.cpu.0), ("total-cpu-time-sys-ms", report.cpu.1)]
        {
            out.bulk(name.as_bytes());
            out.integer((seconds * 1_000.0) as i64);
        }
        lists.push(("by-cpu-time-us", report.by_cpu));
    }
    if wanted.net {
        out.bulk(b"total-net-bytes");
        out.integer(report.total.bytes as i64);
        lists.push(("by-net-bytes", report.by_net));
    }
    for (name, list) in lists {
        out.bulk(name.as_bytes());
        out.array(2 * list.len());
        for (key, cost) in list {
            out.bulk(&key);
            out.integer(cost as i64);
        }
    }
    Ok(())
}

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "HOTKEYS <subcommand> [<arg> ...]. Subcommands are:",
        "START METRICS <count> [CPU] [NET] [COUNT <k>] [DURATION <seconds>] [SAMPLE <ratio>]",
        "    Start counting the time and the bytes of commands by key.",
        "STOP | GET | RESET",
        "    Stop counting; show the counts; remove the counts.",
        "HELP",
        "    Print this help.",
    ])
}
