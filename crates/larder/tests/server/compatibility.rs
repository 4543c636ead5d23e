//! `docs/compatibility.md`: every command of Redis 7.2 and memcached 1.6, supported or not.
//!
//! This test makes the page from the server's own answers: `COMMAND LIST` says which commands
//! exist, and the recordings say which are compared with Redis and memcached byte for byte. The
//! test fails when the page differs from the server; `LARDER_WRITE=1 cargo test -p larder
//! compatibility` writes the page anew.

use crate::client::Client;
use crate::process::{serve, serve_both};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use wire::resp::Reply;

/// Commands of Redis 7.2: one group a line, with its commands as words.
const REDIS: &str = include_str!("compatibility/redis-7.2.txt");
const MEMCACHED: &str = include_str!("compatibility/memcached-1.6.txt");

/// First words of the requests in a recording.
fn recorded(text: &str) -> BTreeSet<String> {
    let requests = text.lines().step_by(2).zip(text.lines().skip(1).step_by(2));
    requests
        .filter(|(_, reply)| reply.trim() != "(any)")
        .filter_map(|(request, _)| request.split_whitespace().next())
        .map(|word| word.trim_matches('"').to_ascii_lowercase())
        .collect()
}

fn page() -> String {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let reply = client.ask("COMMAND LIST");
    let Reply::Array(names) = Reply::decode(reply.as_bytes()).unwrap().unwrap().0 else {
        panic!("COMMAND LIST answers an array")
    };
    let names = names.iter().filter_map(Reply::as_bytes);
    let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
    let there: BTreeSet<String> = names.filter(|name| !name.contains('|')).collect();
    let mut compared = recorded(include_str!("replies/recorded.txt"));
    compared.extend(recorded(include_str!("replies/scripts_recorded.txt")));
    let mut out = String::from(
        "# Compatibility\n\n\
         A run of the tests writes this page\n\
         (`LARDER_WRITE=1 cargo test -p larder compatibility`).\n\
         *compared*: tests compare the replies byte for byte with those of redis-server 7.0 (of\n\
         scripts with 7.2) or of memcached 1.6.45. *tested*: Larder has the command, and other\n\
         tests use it. [Differences](differences.md) lists what differs.\n\n\
         ## Commands of Redis 7.2\n",
    );
    let mut known = BTreeSet::new();
    for line in REDIS.lines().filter(|line| !line.is_empty()) {
        let (group, commands) = line.split_once(": ").unwrap();
        let _ = write!(out, "\n### {group}\n\n| command | |\n|---|---|\n");
        for command in commands.split(' ') {
            known.insert(command.to_owned());
            let mark = match (there.contains(command), compared.contains(command)) {
                (true, true) => "compared",
                (true, false) => "tested",
                (false, _) => "–",
            };
            let _ = writeln!(out, "| {} | {mark} |", command.to_ascii_uppercase());
        }
    }
    let more: Vec<String> =
        there.difference(&known).map(|name| name.to_ascii_uppercase()).collect();
    out.push_str("\nBeyond Redis 7.2:\n\n");
    for name in more {
        let _ = writeln!(out, "- {name}");
    }
    let (_server, port) = serve_both("");
    let mut text = crate::memcached::Text::new(port);
    let compared = recorded(include_str!("memcached/recorded.txt"));
    out.push_str("\n## Commands of memcached 1.6\n\n| command | |\n|---|---|\n");
    for line in MEMCACHED.lines() {
        let (command, request) = line.split_once(": ").unwrap();
        // `Text::ask` sends `mn` behind every request, so `mn` itself needs no request.
        let is_there = command == "mn" || text.ask(request) != "ERROR";
        let word = command.split(' ').next().unwrap();
        let mark = match (is_there, compared.contains(word) && word == command) {
            (true, true) => "compared",
            (true, false) => "tested",
            (false, _) => "–",
        };
        let _ = writeln!(out, "| `{command}` | {mark} |");
    }
    out
}

/// The error for a command of Redis that Larder lacks says why, and names an alternative.
#[test]
fn what_is_not_there_says_so() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let words = REDIS.lines().filter_map(|line| line.split_once(": "));
    let names = words.flat_map(|(_, names)| names.split(' ')).chain(["sentinel"]);
    let there = client.ask("COMMAND LIST");
    let mut absent = 0;
    for name in names.filter(|name| !there.contains(&format!("\r\n{name}\r\n"))) {
        absent += 1;
        let error = client.ask(&format!("{name} a b"));
        let begin = format!("-ERR unknown command '{name}', which is not supported: ");
        assert!(error.starts_with(&begin), "{error}");
    }
    assert!(absent > 40, "only {absent} are not there: is the list whole?");
    for (command, word) in [
        ("XADD a * b c", "no streams"),
        ("REPLICAOF NO ONE", "does not replicate"),
        ("SENTINEL MASTERS", "not a sentinel"),
    ] {
        assert!(client.ask(command).contains(word), "{command}");
    }
}

#[test]
fn reference_compatibility_is_what_the_server_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compatibility.md");
    let page = page();
    if std::env::var_os("LARDER_WRITE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/compatibility.md is out of date: LARDER_WRITE=1 cargo test -p larder compatibility"
    );
}

/// The answer of COMMAND INFO for a command: arity, the flags that matter here, keys, categories.
fn facts(client: &mut Client, name: &str) -> Option<String> {
    const FLAGS: &[&str] =
        &["write", "readonly", "denyoom", "admin", "pubsub", "fast", "no_auth", "no_multi"];
    let reply = client.ask(&format!("COMMAND INFO {name}"));
    let Reply::Array(found) = Reply::decode(reply.as_bytes()).unwrap().unwrap().0 else {
        panic!("COMMAND INFO answers an array")
    };
    let Reply::Array(parts) = &found[0] else { return None };
    let number = |at: usize| match parts[at] {
        Reply::Integer(number) => number,
        ref other => panic!("{name}: {other:?}"),
    };
    let words = |at: usize| {
        let Reply::Array(words) = &parts[at] else { panic!("{name}: no words") };
        let words = words.iter().filter_map(Reply::as_bytes);
        let words = words.map(|word| String::from_utf8_lossy(word).into_owned());
        words.collect::<BTreeSet<_>>()
    };
    let mut flags = words(2);
    flags.retain(|flag| FLAGS.contains(&flag.as_str()));
    let keys = (number(3), number(4), number(5));
    Some(format!("{} {flags:?} {keys:?} {:?}", number(1), words(6)))
}

/// Compares every command and subcommand that Redis and Larder both have. Clients, proxies and ACL
/// rules rely on these facts.
#[test]
fn facts_of_commands_are_those_of_redis() {
    /// Newer Redis takes other numbers of arguments, MONITOR here takes more, and a channel is no
    /// key.
    const OTHERS: &[&str] = &[
        "command|getkeys",
        "command|getkeysandflags",
        "monitor",
        "spublish",
        "ssubscribe",
        "sunsubscribe",
        "zrank",
        "zrevrank",
    ];
    let server = serve("");
    let mut client = Client::new(server.addr());
    let set = |text: &str, mark: &str| {
        let words = text.split(',').filter(|word| !["", "-"].contains(word));
        words.map(|word| format!("{mark}{word}")).collect::<BTreeSet<_>>()
    };
    let (mut compared, mut differ) = (0, vec![]);
    for line in include_str!("compatibility/commands-7.0.txt").lines() {
        let (name, recorded) = line.split_once(": ").unwrap();
        let Some(here) = facts(&mut client, name).filter(|_| !OTHERS.contains(&name)) else {
            continue;
        };
        let words: Vec<&str> = recorded.split(' ').collect();
        let keys = words[2].replace(',', ", ");
        let (flags, categories) = (set(words[1], ""), set(words[3], "@"));
        let there = format!("{} {flags:?} ({keys}) {categories:?}", words[0]);
        if here != there {
            differ.push(format!("{name}: {here}, and in Redis {there}"));
        }
        compared += 1;
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(compared > 170, "{compared}");
}
