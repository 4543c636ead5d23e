//! Categories of commands: `+@read`, `-@dangerous`.
//!
//! Most categories follow from a command's flags and group. A command that does not fit this rule
//! lists its categories itself.

use crate::facts::Facts;
use crate::facts::flag;
use crate::facts::table;

/// Every category, in the order of ACL CAT. A category of commands that Larder does not have is
/// empty.
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

/// The names of a command's categories.
pub(crate) fn of(command: &Facts) -> Vec<&'static str> {
    let parent = command.name.split('|').next().unwrap_or_default();
    let said = command.categories.or_else(|| {
        let parent = table::find(parent.as_bytes()).map(table::get)?;
        parent.categories
    });
    // A command that consists only of subcommands does nothing itself.
    let only_subcommands = command.has_subcommands && command.arity == -2;
    let mut found = vec![];
    if !only_subcommands {
        for (flag, names) in [
            (flag::WRITE, &["write"][..]),
            (flag::READ, &["read"]),
            (flag::ADMIN, &["admin", "dangerous"]),
            (flag::PUBSUB, &["pubsub"]),
            (flag::BLOCKING, &["blocking"]),
        ] {
            // The commands of a script are checked when the script calls them.
            if command.has(flag) && !command.has(flag::CARRIES) {
                found.extend(names);
            }
        }
        match (said, command.group) {
            (Some(names), _) => found.extend(names),
            (None, "generic") => found.push("keyspace"),
            (None, "transactions") => found.push("transaction"),
            // A flag marks the commands about channels; the other commands of the group are not in
            // `@pubsub`.
            (None, "pubsub") => {}
            (None, "sorted-set") => found.push("sortedset"),
            (None, group) if NAMES.contains(&group) => found.push(group),
            (None, _) => {}
        }
    }
    found.push(if command.has(flag::FAST) { "fast" } else { "slow" });
    let mut all: Vec<&str> = NAMES.into_iter().filter(|name| found.contains(name)).collect();
    all.dedup();
    all
}
