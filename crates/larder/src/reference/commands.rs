//! The page of commands: every command that a client of Redis may send, by group.

use super::page::{Page, page};
use server::CommandDoc;
use std::collections::BTreeMap;

const HEAD: &str = "\
# Commands

Made from the code. *words* are those of a call, the command's own among them; `+` stands for any
number more. *since* is the version of Redis that had it first.
[Compatibility](compatibility.md) has what Redis and memcached have beside these, and
[differences](differences.md) what differs. A server says the same of itself: `COMMAND DOCS`.
";

pub(super) fn pages() -> Vec<Page> {
    vec![page("docs/commands.md", text())]
}

/// The group of a command on the page. Larder's own commands form a group of their own, whatever
/// COMMAND DOCS says.
fn group(about: &CommandDoc) -> &'static str {
    match about.name.split('|').next() {
        Some("larder") => "Larder's own",
        _ => about.group,
    }
}

fn text() -> String {
    let mut groups: BTreeMap<&str, Vec<CommandDoc>> = BTreeMap::new();
    for about in server::about() {
        groups.entry(group(&about)).or_default().push(about);
    }
    let mut text = HEAD.to_owned();
    for (group, mut commands) in groups {
        commands.sort_by_key(|about| about.name);
        text.extend(["\n## ", group, "\n\n| command | words | since | |\n|---|---|---|---|\n"]);
        for CommandDoc { name, since, arity, summary, .. } in commands {
            let name = name.replace('|', " ").to_ascii_uppercase();
            let more = if arity < 0 { "+" } else { "" };
            let words = arity.unsigned_abs();
            let since = if group == "Larder's own" { "–" } else { since };
            let row = format!("| `{name}` | {words}{more} | {since} | {summary} |\n");
            text.push_str(&row);
        }
    }
    text
}

/// Every command has a summary that ends with a full stop and keeps the table's columns whole.
#[test]
fn every_command_says_what_it_does() {
    for about in server::about() {
        assert!(about.summary.ends_with('.') && !about.summary.contains('|'), "{about:?}");
    }
}
