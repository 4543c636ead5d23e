//! What the server says of its commands and of itself: COMMAND, LATENCY, and the stubs
//! that tools ask for.

use super::flag::{self, ADMIN};
use super::{Call, Command, Done, SYNTAX, all, find, get, wrong_number};
use crate::acl::category;
use crate::glob;

/// This family.
pub(super) const COMMANDS: &[Command] = &[
    Command { subcommands: COMMAND, ..Command::new("command", -1, 0, list_all) }.doc(
        "server",
        "2.8.13",
        "The commands there are.",
    ),
    Command::container("latency", ADMIN, LATENCY).doc("server", "2.8.13", "Times of commands."),
    Command::container("module", ADMIN, MODULE).doc("server", "4.0.0", "Modules: there are none."),
];

const COMMAND: &[Command] = &[
    Command::new("command|count", 2, 0, count).doc("server", "2.8.13", "Counts the commands."),
    Command::new("command|info", -2, 0, info).doc("server", "2.8.13", "Describes commands."),
    Command::new("command|docs", -2, 0, docs).doc("server", "7.0.0", "Documents commands."),
    Command::new("command|list", -2, 0, names).doc("server", "7.0.0", "Names the commands."),
    Command::new("command|getkeys", -3, 0, getkeys).doc(
        "server",
        "2.8.13",
        "The keys of a command.",
    ),
    Command::new("command|help", 2, 0, help).doc("server", "5.0.0", "The subcommands of COMMAND."),
];

const LATENCY: &[Command] = &[
    Command::new("latency|latest", 2, ADMIN, latest).doc("server", "2.8.13", "Latest spikes."),
    Command::new("latency|history", 3, ADMIN, history).doc("server", "2.8.13", "Past spikes."),
    Command::new("latency|reset", -2, ADMIN, reset).doc("server", "2.8.13", "Forgets spikes."),
    Command::new("latency|histogram", -2, ADMIN, histogram).doc(
        "server",
        "7.0.0",
        "How long commands take, from a sample of them.",
    ),
];

const MODULE: &[Command] =
    &[Command::new("module|list", 2, ADMIN, nothing).doc("server", "4.0.0", "Modules.")];

fn nothing(call: &mut Call<'_>) -> Done {
    call.out.array(0);
    Ok(())
}

fn count(call: &mut Call<'_>) -> Done {
    call.out.integer(all().len() as i64);
    Ok(())
}

fn list_all(call: &mut Call<'_>) -> Done {
    call.out.array(all().len());
    for command in all() {
        describe(call, command);
    }
    Ok(())
}

/// What COMMAND INFO says: name, arity, flags, keys, categories, and what is not used here.
fn describe(call: &mut Call<'_>, command: &Command) {
    let out = &mut call.out;
    out.array(10);
    out.bulk(command.name.as_bytes());
    out.integer(i64::from(command.arity));
    let names: Vec<&str> =
        flag::NAMES.iter().filter(|(flag, _)| command.has(*flag)).map(|(_, name)| *name).collect();
    out.set(names.len());
    for name in names {
        out.simple(name);
    }
    out.integer(i64::from(command.keys.first));
    out.integer(i64::from(command.keys.last));
    out.integer(i64::from(command.keys.step));
    let categories = category::of(command);
    out.set(categories.len());
    for category in categories {
        out.simple(&format!("@{category}"));
    }
    out.array(0);
    out.array(0);
    out.array(command.subcommands.len());
    for subcommand in command.subcommands {
        describe(call, subcommand);
    }
}

/// A command by its name, or `command|subcommand`.
pub(super) fn by_name(name: &[u8]) -> Option<&'static Command> {
    let mut parts = name.splitn(2, |&byte| byte == b'|');
    let command = get(find(parts.next()?)?);
    match parts.next() {
        None => Some(command),
        Some(_) => command
            .subcommands
            .iter()
            .find(|subcommand| subcommand.name.as_bytes().eq_ignore_ascii_case(name)),
    }
}

fn info(call: &mut Call<'_>) -> Done {
    if call.args.len() == 2 {
        return list_all(call);
    }
    call.out.array(call.args.len() - 2);
    for name in call.args.iter_from(2) {
        match by_name(name) {
            Some(command) => describe(call, command),
            None => call.out.null(),
        }
    }
    Ok(())
}

fn docs(call: &mut Call<'_>) -> Done {
    let chosen: Vec<&Command> = if call.args.len() == 2 {
        all().collect()
    } else {
        call.args.iter_from(2).filter_map(by_name).collect()
    };
    call.out.map(chosen.len());
    for command in chosen {
        document(call, command);
    }
    Ok(())
}

fn document(call: &mut Call<'_>, command: &Command) {
    let out = &mut call.out;
    out.bulk(command.name.as_bytes());
    let arguments = arguments(command);
    out.map(3 + usize::from(!arguments.is_empty()) + usize::from(!command.subcommands.is_empty()));
    for (name, text) in
        [("summary", command.summary), ("since", command.since), ("group", command.group)]
    {
        out.bulk(name.as_bytes());
        out.bulk(text.as_bytes());
    }
    if !arguments.is_empty() {
        out.bulk(b"arguments");
        out.array(arguments.len());
        for (name, kind, many) in arguments {
            out.map(2 + usize::from(many));
            out.bulk(b"name");
            out.bulk(name.as_bytes());
            out.bulk(b"type");
            out.bulk(kind.as_bytes());
            if many {
                out.bulk(b"flags");
                out.set(2);
                out.simple("optional");
                out.simple("multiple");
            }
        }
    }
    if !command.subcommands.is_empty() {
        call.out.bulk(b"subcommands");
        call.out.map(command.subcommands.len());
        for subcommand in command.subcommands {
            document(call, subcommand);
        }
    }
}

/// The arguments as far as arity and keys tell: (name, type, whether more may follow).
fn arguments(command: &Command) -> Vec<(&'static str, &'static str, bool)> {
    let names = 1 + usize::from(command.name.contains('|'));
    let fixed = (command.arity.unsigned_abs() as usize).saturating_sub(names);
    let mut all: Vec<_> = (0..fixed)
        .map(|at| {
            let is_key = command.keys.first > 0 && at + names == command.keys.first as usize;
            if is_key { ("key", "key", false) } else { ("argument", "string", false) }
        })
        .collect();
    if command.arity < 0 && command.subcommands.is_empty() {
        all.push(("more", "string", true));
    }
    all
}

fn names(call: &mut Call<'_>) -> Done {
    let mut chosen: Vec<&Command> = all().collect();
    match call.args.len() {
        2 => {}
        5 if call.is(2, "filterby") => {
            let value = call.arg(4);
            if call.is(3, "pattern") {
                chosen.retain(|command| glob::matches_ignore_case(value, command.name.as_bytes()));
            } else if call.is(3, "aclcat") {
                let wanted = String::from_utf8_lossy(value).to_ascii_lowercase();
                chosen.retain(|command| category::of(command).contains(&wanted.as_str()));
            } else if call.is(3, "module") {
                chosen.clear();
            } else {
                return Err(SYNTAX.into());
            }
        }
        _ => return Err(SYNTAX.into()),
    }
    call.out.array(chosen.len());
    for command in chosen {
        call.out.bulk(command.name.as_bytes());
    }
    Ok(())
}

fn getkeys(call: &mut Call<'_>) -> Done {
    let mut command = by_name(call.arg(2)).ok_or("ERR Invalid command specified")?;
    if !command.subcommands.is_empty() {
        let name = [command.name.as_bytes(), b"|", call.arg(3)].concat();
        command = by_name(&name).ok_or("ERR Invalid command specified")?;
    }
    let args = call.args.len() - 2;
    if !command.accepts(args) {
        return Err("ERR Invalid number of arguments specified for command".into());
    }
    if command.keys.first == 0 {
        return Err("ERR The command has no key arguments".into());
    }
    let keys = command.key_places(args);
    call.out.array(keys.len());
    for at in keys {
        call.out.bulk(call.arg(at + 2));
    }
    Ok(())
}

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "(no subcommand)",
        "    Describe all commands.",
        "COUNT",
        "    Count the commands.",
        "DOCS [<command> ...] | INFO [<command> ...]",
        "    Document or describe commands; all without a name.",
        "GETKEYS <full-command>",
        "    The keys of a command.",
        "LIST [FILTERBY (ACLCAT <category> | PATTERN <pattern>)]",
        "    Name the commands.",
        "HELP",
        "    Print this help.",
    ])
}

/// The one event that is watched, as Redis calls it: room had to be made, and it took long.
const EVENT: &str = "eviction-cycle";

/// When it happened, in Unix seconds, and for how many milliseconds, oldest first.
fn spikes(call: &Call<'_>) -> Vec<(u64, u64)> {
    let threshold_ms = call.view.settings.latency_threshold_ms;
    let spikes = call.shared.store.pauses().spikes;
    let all = spikes.into_iter().map(|spike| (spike.unix_ms / 1_000, spike.nanos / 1_000_000));
    all.filter(|(_, ms)| threshold_ms > 0 && *ms >= threshold_ms).collect()
}

fn latest(call: &mut Call<'_>) -> Done {
    let spikes = spikes(call);
    let Some((at, ms)) = spikes.last() else { return nothing(call) };
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

/// Answers how many events were forgotten.
fn reset(call: &mut Call<'_>) -> Done {
    let is_meant = call.args.len() == 2 || (2..call.args.len()).any(|at| call.is(at, EVENT));
    let forgets = is_meant && !spikes(call).is_empty();
    if is_meant {
        call.shared.store.forget_spikes();
    }
    call.out.integer(i64::from(forgets));
    Ok(())
}

/// The calls of each timed command at or below powers of two of microseconds.
fn histogram(call: &mut Call<'_>) -> Done {
    let mut timed = call.shared.stats.latencies();
    if call.args.len() > 2 {
        let chosen = call.args.iter_from(2).map(|name| {
            by_name(name).map(|command| command.name).ok_or_else(|| wrong_number("latency"))
        });
        let chosen: Vec<&str> = chosen.filter_map(Result::ok).collect();
        timed.retain(|number, _| chosen.contains(&get(*number).name));
    }
    let totals = call.shared.stats.totals(call.shared.counters());
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

/// Counts at or below 1, 2, 4 … microseconds, scaled up, while they grow.
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

/// Reached by the tests of the list alone.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_never_fall_and_end_at_all() {
        let edges = cumulative(&[(0, 5), (1, 1), (3, 2), (100, 2)], 10.0);
        assert_eq!(edges, [(1, 60), (4, 80), (128, 100)]);
    }

    #[test]
    fn arguments_follow_arity() {
        assert_eq!(arguments(by_name(b"get").unwrap()), [("key", "key", false)]);
        assert_eq!(arguments(by_name(b"object|freq").unwrap())[0], ("key", "key", false));
        assert!(arguments(by_name(b"mset").unwrap()).last().unwrap().2);
    }
}
