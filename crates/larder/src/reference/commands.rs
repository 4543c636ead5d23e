//! The page of commands: every command that a client of Redis may send, by group.

use super::page::{Page, page};
use server::CommandDoc;
use std::collections::BTreeMap;

const HEAD: &str = "\
# Commands

The code writes this page. *words* is the number of words in a call, including the command's own;
`+` allows any larger number. *since* is the first version of Redis with the command.
[Compatibility](compatibility.md) lists the commands of Redis and memcached and whether Larder has
them, and [differences](differences.md) what differs. `COMMAND DOCS` gives the same answers.
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
