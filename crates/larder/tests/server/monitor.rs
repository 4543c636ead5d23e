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
    // A watcher may still leave.
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
            assert_eq!(columns[2..], ["0", "get", "\"key:0\"", "READ", "0", "string", "5", "0"]);
        }
        if n == 1 {
            assert_eq!(columns[3..], ["set", "\"key:0\"", "WRITE", "0", "string", "5", "5"]);
        }
    }
    // By the second reply all that was on its way at the first has arrived.
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
