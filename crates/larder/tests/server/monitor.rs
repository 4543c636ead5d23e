//! MONITOR and MONITOR TRACE.

use crate::client::Client;
use crate::process::serve;
/// The columns of a line of MONITOR TRACE.
fn read(line: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(line).unwrap().trim_start_matches('+').trim_end();
    text.split(',').map(str::to_owned).collect()
}

#[test]
fn monitor_shows_commands_but_no_secrets() {
    let server = serve("--requirepass pw");
    let (mut watcher, mut client) = (Client::new(server.addr()), Client::new(server.addr()));
    watcher.ask("AUTH pw");
    assert_eq!(watcher.ask("MONITOR"), "+OK\r\n");
    client.ask("AUTH pw");
    client.ask("CONFIG SET requirepass pw");
    client.ask("SET a 'b\"c'");
    let line = String::from_utf8(watcher.reply()).unwrap();
    assert!(
        line.contains(" [0 127.0.0.1:") && line.ends_with("] \"SET\" \"a\" \"b\\\"c\"\r\n"),
        "{line}"
    );
    // A client in MONITOR may still send QUIT.
    watcher.send(b"*1\r\n$4\r\nQUIT\r\n");
}

#[test]
fn a_trace_has_all_accesses_of_a_sampled_key() {
    let server = serve("");
    let (mut all, mut some) = (Client::new(server.addr()), Client::new(server.addr()));
    let mut client = Client::new(server.addr());
    assert_eq!(all.ask("MONITOR TRACE"), "+OK\r\n");
    assert_eq!(some.ask("MONITOR TRACE RATE 0.25 FORMAT CSV"), "+OK\r\n");
    for n in 0..200 {
        client.ask(&format!("GET key:{n}"));
        client.ask(&format!("SET key:{n} 12345"));
        client.ask(&format!("STRLEN key:{n}"));
        client.ask(&format!("DEL key:{n}"));
    }
    client.ask("SET end 1");
    let mut accesses = std::collections::BTreeMap::<String, Vec<String>>::new();
    for n in 0..601 {
        let columns = read(&all.reply());
        assert!(columns[1].parse::<u64>().is_ok(), "{columns:?}");
        if n == 0 {
            let told = ["0", "get", "\"key:0\"", "READ", "0", "string", "5", "0"];
            assert_eq!(columns[2..], [&told[..], &["default", "0", "0"]].concat());
        }
        if n == 1 {
            let told = ["set", "\"key:0\"", "WRITE", "0", "string", "5", "5", "default", "0", "0"];
            assert_eq!(columns[3..], told);
        }
    }
    // All lines under way at the first reply have arrived by the second.
    for _ in 0..2 {
        some.send(b"PING\r\n");
        loop {
            let line = some.reply();
            if line == b"+PONG\r\n" {
                break;
            }
            let columns = read(&line);
            accesses.entry(columns[4].clone()).or_default().push(columns[5].clone());
        }
    }
    accesses.remove("\"end\"");
    assert!((25..80).contains(&accesses.len()), "about a quarter of 200: {}", accesses.len());
    for (key, accesses) in accesses {
        assert_eq!(accesses, ["READ", "WRITE", "DELETE"], "{key}");
    }
}

/// Without these columns a trace of Larder would lead to a plan for one tenant with free misses.
#[test]
fn a_trace_tells_tenant_life_and_penalty() {
    let server = serve("--tenant web match prefix web: --recipe auto");
    let (mut watcher, mut client) = (Client::new(server.addr()), Client::new(server.addr()));
    assert_eq!(watcher.ask("MONITOR TRACE"), "+OK\r\n");
    client.ask("GET web:1");
    std::thread::sleep(std::time::Duration::from_millis(30));
    client.ask("SET web:1 12345 PX 60000");
    client.ask("GET web:1");
    let lines: Vec<_> = (0..3).map(|_| read(&watcher.reply())).collect();
    assert_eq!(lines[0][6..], ["0", "string", "5", "0", "web", "0", "0"]);
    assert_eq!(lines[1][6..12], ["0", "string", "5", "5", "web", "60000"]);
    assert_eq!((lines[2][6].as_str(), lines[2][10].as_str()), ("1", "web"));
    let (left, penalty) = (&lines[2][11], &lines[2][12]);
    assert!((50_000..=60_000).contains(&left.parse::<u64>().unwrap()), "{left} ms are left");
    // A penalty class spans a factor of two.
    assert!((15_000..400_000).contains(&penalty.parse::<u64>().unwrap()), "{penalty} µs");
}

/// RESET restores a connection to its initial state: it monitors nothing, and is shown without
/// flags.
#[test]
fn reset_ends_monitor() {
    let server = serve("");
    let (mut watcher, mut client) = (Client::new(server.addr()), Client::new(server.addr()));
    watcher.ask("CLIENT SETNAME watcher");
    for line in ["CLIENT NO-TOUCH ON", "CLIENT NO-EVICT ON", "MONITOR"] {
        assert_eq!(watcher.ask(line), "+OK\r\n", "{line}");
    }
    assert!(client.ask("CLIENT LIST NAME watcher").contains("flags=OeT "));
    client.ask("SET a 1");
    watcher.send(b"RESET\r\n");
    while watcher.reply() != b"+RESET\r\n" {}
    client.ask("SET a 2");
    assert_eq!(watcher.ask("ECHO end"), "$3\r\nend\r\n");
    assert!(watcher.ask("CLIENT INFO").contains("flags=N "));
}
