//! Categories of commands: `+@read`, `-@dangerous`.
//!
//! Most follow from a command's flags and its group; the few that do not are listed.

use crate::commands::{Command, flag};

/// Every category, in the order ACL CAT lists them. Those of what is not there are empty.
pub(crate) const NAMES: [&str; 21] = [
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];

/// Commands whose categories are other than flags and group say.
const LISTED: &[(&str, &[&str])] = &[
    ("asking", &["connection"]),
    ("command", &["connection"]),
    ("dbsize", &["keyspace"]),
    ("flushall", &["keyspace", "dangerous"]),
    ("flushdb", &["keyspace", "dangerous"]),
    ("hotkeys", &["admin", "dangerous"]),
    ("info", &["dangerous"]),
    ("keys", &["dangerous"]),
    ("lastsave", &["admin", "dangerous"]),
    ("readonly", &["connection"]),
    ("readwrite", &["connection"]),
    ("role", &["admin", "dangerous"]),
    ("wait", &["connection"]),
];

/// The names of a command's categories.
pub(crate) fn of(command: &Command) -> Vec<&'static str> {
    // A command that is only its subcommands does nothing itself.
    let name = command.name.split('|').next().unwrap_or_default();
    let only_subcommands = !command.subcommands.is_empty() && command.arity == -2;
    let mut found = vec![];
    if !only_subcommands {
        for (flag, names) in [
            (flag::WRITE, &["write"][..]),
            (flag::READ, &["read"]),
            (flag::ADMIN, &["admin", "dangerous"]),
            (flag::PUBSUB, &["pubsub"]),
        ] {
            if command.has(flag) {
                found.extend(names);
            }
        }
        match command.group {
            "generic" if name != "wait" => found.push("keyspace"),
            "transactions" => found.push("transaction"),
            group if NAMES.contains(&group) => found.push(group),
            _ => {}
        }
        let listed = LISTED.iter().filter(|(listed, _)| *listed == name);
        found.extend(listed.flat_map(|(_, names)| *names));
    }
    found.push(if command.has(flag::FAST) { "fast" } else { "slow" });
    let mut all: Vec<&str> = NAMES.into_iter().filter(|name| found.contains(name)).collect();
    all.dedup();
    all
}
