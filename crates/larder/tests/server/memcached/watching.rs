//! Reports of memcached's protocol on clients and items: `watch`, `stats`, dumps.

use super::Text;
use crate::client::Client;
use crate::process::serve_both;
use std::time::Duration;

#[test]
fn watchers_see_what_others_do() {
    let (_server, port) = serve_both("");
    let (mut client, mut watcher) = (Text::new(port), Text::new(port));
    watcher.send(b"watch fetchers mutations deletions\r\n");
    assert_eq!(watcher.line(), "OK");
    client.ask("set a:b 0 60 5|hello");
    client.ask("get a:b");
    client.ask("delete a:b");
    client.ask("mg a:b v");
    client.ask(&format!("set a:c 0 0 1048577|{}", "x".repeat((1 << 20) + 1)));
    client.ask("add a:b 0 0 1|x");
    client.ask("add a:b 0 0 1|x");
    let expected = [
        "type=item_get key=a%3Ab status=not_found",
        "type=item_store key=a%3Ab status=stored cmd=set ttl=60",
        "type=item_get key=a%3Ab status=found",
        "type=deleted key=a%3Ab cmd=delete clsid=1 cfd=",
        "type=item_get key=a%3Ab status=not_found",
        "type=item_store key=a%3Ac status=too_large cmd=set ttl=0",
        "type=item_get key=a%3Ab status=not_found",
        "type=item_store key=a%3Ab status=stored cmd=add",
        "type=item_get key=a%3Ab status=found",
        "type=item_store key=a%3Ab status=not_stored cmd=add",
    ];
    for parts in expected {
        let line = watcher.line();
        assert!(line.starts_with("ts=") && line.contains(parts), "{line}");
    }
}

/// `watch evictions` shows every eviction, also of items that Redis clients wrote.
#[test]
fn evictions_can_be_watched() {
    let (server, port) = serve_both("--maxmemory 1mb");
    let mut watcher = Text::new(port);
    watcher.send(b"watch evictions\r\n");
    assert_eq!(watcher.line(), "OK");
    let mut client = Client::new(server.addr());
    let value = "x".repeat(1_000);
    client.ask_all((0..5_000).map(|at| format!("SET key:{at} {value}")));
    let line = watcher.line();
    assert!(line.starts_with("ts=") && line.contains(" type=eviction key=key%3A"), "{line}");
    assert!(line.contains(" fetch=no ttl=-1 la="), "{line}");
    assert!(line.ends_with(" clsid=1 size=1000"), "{line}");
}

/// A watcher that does not read is told later how many lines it has missed.
#[test]
fn slow_watchers_stay() {
    let (_server, port) = serve_both("");
    let (mut client, mut watcher) = (Text::new(port), Text::new(port));
    watcher.send(b"watch\r\n");
    assert_eq!(watcher.line(), "OK");
    let key = "k".repeat(240);
    for _ in 0..200 {
        client.send(format!("get {key}\r\n").repeat(500).as_bytes());
        for _ in 0..500 {
            assert_eq!(client.line(), "END");
        }
    }
    let mut shown = 0;
    let missed = loop {
        // Lines go on while the watcher reads.
        client.ask("get again");
        match watcher.line() {
            line if line.starts_with("skipped=") => break line[8..].parse::<u64>().unwrap(),
            line => assert!(line.starts_with("ts="), "{line}"),
        }
        shown += 1;
    };
    assert!(missed > 0 && shown > 1_000, "{missed} {shown}");
    assert!(watcher.line().contains("type=item_get"));
}

/// `stats conns` lists every socket with its state.
#[test]
fn connections_are_listed_with_their_states() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let (_server, port) = serve_both(&format!("--memcached-unixsocket {}", path.display()));
    let (mut client, mut half, mut watcher) = (Text::new(port), Text::new(port), Text::new(port));
    watcher.send(b"watch\r\n");
    watcher.line();
    half.send(b"set foo 0 0 6\r\n");
    let _local = std::os::unix::net::UnixStream::connect(&path).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let listed = client.ask("stats conns");
    let socket = format!("unix:{}", path.display());
    for line in [
        format!(":addr tcp:127.0.0.1:{port}"),
        format!(":addr {socket}"),
        format!(":listen_addr {socket}"),
        format!(":listen_addr tcp:127.0.0.1:{port}"),
        ":state conn_listening".into(),
        ":state conn_parse_cmd".into(),
        ":state conn_watch".into(),
        ":state conn_nread".into(),
        ":state conn_read".into(),
    ] {
        assert!(listed.contains(&format!("{line}\r\n")), "{line}: {listed}");
    }
}

/// `stats reset` also clears the counts of prefixes.
#[test]
fn reset_forgets_prefixes() {
    let (_server, port) = serve_both("");
    let mut client = Text::new(port);
    client.ask("stats detail on");
    client.ask("set p:a 0 0 1|x");
    assert_eq!(client.ask("stats detail dump"), "PREFIX p get 0 hit 0 set 1 del 0\r\nEND");
    client.ask("stats reset");
    assert_eq!(client.ask("stats detail dump"), "END");
}

/// The last access is an age in seconds, and it grows without any request.
#[test]
fn the_last_access_is_told_in_seconds() {
    let (_server, port) = serve_both("");
    let mut client = Text::new(port);
    client.ask("set a 0 0 1|x");
    assert_eq!(client.ask("mg a l"), "HD l0");
    std::thread::sleep(Duration::from_millis(4_500));
    let age = client.ask("mg a l");
    assert!(["HD l2", "HD l3", "HD l4"].contains(&age.as_str()), "{age}");
}

/// The lines of a dump can be sent back as requests, whatever the keys are.
#[test]
fn dumps_can_be_replayed() {
    let (_server, port) = serve_both("");
    let mut client = Text::new(port);
    client.ask("set 100%_#:;plain 5 0 1|x");
    client.ask("ms AAECAyB/ 1 b|y");
    let dump = client.ask("lru_crawler mgdump all");
    let mut lines: Vec<_> = dump.split("\r\n").collect();
    assert_eq!(lines.pop(), Some("EN"));
    lines.sort_unstable();
    assert_eq!(lines, ["mg 100%_#:;plain", "mg AAECAyB/ b"]);
    for line in lines {
        assert!(client.ask(&format!("{line} v")).starts_with("VA 1"), "{line}");
    }
    client.send(b"lru_crawler metadump all\r\n");
    let (first, second) = (client.line(), client.line());
    for line in [first, second] {
        assert!(
            line.starts_with("key=100%25_%23%3A%3Bplain exp=-1 la=") && line.ends_with(" flags=5")
                || line.starts_with("key=%00%01%02%03%20%7F exp=-1 "),
            "{line}"
        );
    }
    assert_eq!(client.line(), "END");
    assert_eq!(client.ask("stats cachedump 1 0"), "ITEM 100%_#:;plain [1 b; 0 s]\r\nEND");
    assert_eq!(client.ask("stats cachedump 2 0"), "END");
}
