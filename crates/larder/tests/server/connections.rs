//! CLIENT LIST and CLIENT KILL: the connections that a filter selects, and the fields shown of
//! each.

use crate::client::Client;
use crate::process::serve;
use std::time::{Duration, Instant};

/// The names of the connections that a filter selects, oldest first.
fn listed(client: &mut Client, filter: &str) -> Vec<String> {
    let lines = client.value(&format!("CLIENT LIST {filter}"));
    let name =
        |line: &str| line.split(' ').find_map(|word| word.strip_prefix("name=")).map(str::to_owned);
    lines.lines().filter_map(name).collect()
}

fn named(server: &crate::process::Server, name: &str) -> Client {
    let mut client = Client::new(server.addr());
    client.ask(&format!("CLIENT SETNAME {name}"));
    client
}

#[test]
fn every_filter_chooses() {
    let server = serve("--user 'bob on >pw ~* &* +@all'");
    let mut me = named(&server, "me");
    let mut ear = named(&server, "ear");
    ear.ask("SUBSCRIBE x");
    let mut bob = named(&server, "bob");
    bob.ask("AUTH bob pw");
    bob.ask("SELECT 3");
    bob.ask("CLIENT SETINFO lib-name lib");
    bob.ask("CLIENT SETINFO lib-ver 1.2");
    bob.ask("MULTI");
    let id = |client: &mut Client, name: &str| {
        let line = client.value(&format!("CLIENT LIST NAME {name}"));
        line.split(' ').next().unwrap().replace("id=", "")
    };
    let (ear_id, bob_id) = (id(&mut me, "ear"), id(&mut me, "bob"));
    let address = ear.stream.local_addr().unwrap().to_string();
    for (filter, names) in [
        (String::new(), &["me", "ear", "bob"][..]),
        (format!("ID {ear_id} {bob_id}"), &["ear", "bob"]),
        (format!("ID {ear_id} ID {bob_id}"), &["ear", "bob"]),
        (format!("NOT-ID {ear_id} {bob_id}"), &["me"]),
        (format!("ADDR {address}"), &["ear"]),
        (format!("NOT-ADDR {address}"), &["me", "bob"]),
        (format!("LADDR {}", server.addr()), &["me", "ear", "bob"]),
        ("IP 127.0.0.1".into(), &["me", "ear", "bob"]),
        ("NOT-IP 127.0.0.1".into(), &[]),
        ("USER bob".into(), &["bob"]),
        ("NOT-USER bob".into(), &["me", "ear"]),
        ("TYPE pubsub".into(), &["ear"]),
        ("NOT-TYPE pubsub".into(), &["me", "bob"]),
        ("TYPE normal".into(), &["me", "bob"]),
        ("TYPE replica".into(), &[]),
        ("NAME ear".into(), &["ear"]),
        ("NOT-NAME ear".into(), &["me", "bob"]),
        ("FLAGS x".into(), &["bob"]),
        ("FLAGS P".into(), &["ear"]),
        ("NOT-FLAGS P NOT-FLAGS x".into(), &["me", "ear"]),
        ("LIB-NAME lib LIB-VER 1.2".into(), &["bob"]),
        ("LIB-VER 9 LIB-VER 1.2 NAME x NAME bob".into(), &["bob"]),
        ("USER bob USER default TYPE pubsub TYPE normal DB 9 DB 0".into(), &["me"]),
        ("NOT-LIB-VER 1.2 NOT-LIB-VER 9 NOT-NAME me NOT-NAME ear".into(), &["me", "bob"]),
        ("NOT-LIB-NAME lib".into(), &["me", "ear"]),
        ("NOT-LIB-VER 1.2".into(), &["me", "ear"]),
        ("DB 3".into(), &["bob"]),
        ("NOT-DB 3".into(), &["me", "ear"]),
        ("CAPA r".into(), &[]),
        ("NOT-CAPA r".into(), &["me", "ear", "bob"]),
        ("IDLE 1000".into(), &[]),
        ("MAXAGE 1000".into(), &[]),
        ("SKIPME no USER default".into(), &["me", "ear"]),
        ("USER default TYPE normal".into(), &["me"]),
    ] {
        assert_eq!(listed(&mut me, &filter), names, "{filter}");
    }
    for (filter, error) in [
        ("ID x", "Invalid client ID"),
        ("TYPE x", "Unknown client type 'x'"),
        ("USER x", "No such user 'x'"),
        ("FLAGS q", "Unknown flags found in the provided filter: q"),
        ("DB 16", "DB number should be between 0 and 15"),
        ("IDLE 0", "idle should be greater than 0"),
        ("MAXAGE x", "maxage is not an integer or out of range"),
        ("SKIPME x", "syntax error"),
        ("NOT-IDLE 1", "syntax error"),
        ("NAME", "syntax error"),
    ] {
        let reply = me.ask(&format!("CLIENT LIST {filter}"));
        assert!(reply.starts_with(&format!("-ERR {error}")), "{filter}: {reply}");
    }
    assert_eq!(me.ask("CLIENT KILL NOT-USER default"), ":1\r\n");
    assert_eq!(bob.reply(), b"");
    assert_eq!(me.ask("CLIENT KILL TYPE normal"), ":0\r\n", "but for who asks");
    assert_eq!(me.ask("CLIENT KILL NAME ear LADDR none"), ":0\r\n");
    assert_eq!(me.ask("CLIENT KILL NAME ear"), ":1\r\n");
}

/// A CLIENT LIST after a CLIENT KILL does not show the killed client, whichever thread it belongs
/// to.
#[test]
fn who_is_killed_is_gone_at_once() {
    let server = serve("--io-threads 4");
    let mut me = Client::new(server.addr());
    for round in 0..50 {
        let mut other = named(&server, "other");
        assert_eq!(me.ask("CLIENT KILL LIB-VER 9 NAME other LIB-VER ''"), ":1\r\n");
        assert_eq!(listed(&mut me, "NAME other"), [""; 0], "round {round}");
        assert_eq!(me.ask("CLIENT KILL NAME other"), ":0\r\n");
        assert_eq!(other.reply(), b"");
    }
}

#[test]
fn a_line_shows_what_a_client_is_in_the_middle_of() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("HELLO 3");
    client.ask("SSUBSCRIBE s");
    client.ask("SUBSCRIBE a b");
    client.reply();
    client.ask("CLIENT TRACKING ON BCAST");
    client.ask("WATCH x y x");
    let line = client.value("CLIENT INFO");
    for word in ["flags=PtB", "sub=2", "psub=0", "ssub=1", "watch=2", "redir=0", "resp=3"] {
        assert!(line.contains(&format!(" {word} ")), "{word}: {line}");
    }
    let counted = |line: &str, name: &str| {
        let mut words = line.split_whitespace();
        let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        value.unwrap().parse::<u64>().unwrap()
    };
    let again = client.value("CLIENT INFO");
    assert_eq!(counted(&again, "tot-cmds"), counted(&line, "tot-cmds") + 1);
    assert!(counted(&again, "tot-net-in") > counted(&line, "tot-net-in"));
    client.ask("UNWATCH");
    client.ask("CLIENT TRACKING OFF");
    let line = client.value("CLIENT INFO");
    for word in ["flags=P", "watch=0", "redir=-1"] {
        assert!(line.contains(&format!(" {word} ")), "{word}: {line}");
    }
}

/// The server closes a connection after QUIT at once, without waiting for another event.
#[test]
fn quit_closes_at_once() {
    let server = serve("");
    let took = (0..5).map(|_| {
        let mut client = Client::new(server.addr());
        client.ask("PING");
        let began = Instant::now();
        assert_eq!(client.ask("QUIT"), "+OK\r\n");
        assert_eq!(client.reply(), b"", "the server closes");
        began.elapsed()
    });
    let least = took.min().unwrap();
    assert!(least < Duration::from_millis(300), "{least:?}");
}
