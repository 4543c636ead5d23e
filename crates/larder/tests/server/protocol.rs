//! The Redis protocol: split commands, pipelines, versions, closed connections.

use crate::client::Client;
use crate::process::serve;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};
use wire::resp::encode_command;

/// Waits until `done` returns true; fails after a minute with the name of the condition.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_pipeline_is_answered_in_order_and_in_full() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let mut bytes = vec![];
    for i in 0..10_000 {
        encode_command(&mut bytes, &["SET".to_owned(), format!("key:{i}"), format!("value:{i}")]);
        encode_command(&mut bytes, &["GET".to_owned(), format!("key:{i}")]);
        encode_command(&mut bytes, &["NOSUCH", "x"]);
    }
    let mut writer = client.stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || writer.write_all(&bytes).unwrap());
    for i in 0..10_000 {
        assert_eq!(client.reply(), b"+OK\r\n");
        let value = format!("value:{i}");
        assert_eq!(client.reply(), format!("${}\r\n{value}\r\n", value.len()).into_bytes());
        assert!(client.reply().starts_with(b"-ERR unknown command 'NOSUCH'"));
    }
    sender.join().unwrap();
}

/// A client may send a whole pipeline before it reads anything. The server must hold the replies
/// that the socket does not take.
#[test]
fn replies_wait_for_a_slow_reader() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let value = "x".repeat(1 << 20);
    assert_eq!(client.ask(&format!("SET big {value}")), "+OK\r\n");
    let get = b"*2\r\n$3\r\nGET\r\n$3\r\nbig\r\n".repeat(64);
    client.send(&get);
    let mut other = Client::new(server.addr());
    let mut waiting = || {
        let list = other.value("CLIENT LIST");
        let of = |line: &str| {
            line.split(" omem=").nth(1).unwrap().split(' ').next().unwrap().parse::<u64>()
        };
        list.lines().map(|line| of(line).unwrap()).max().unwrap()
    };
    until("the replies to wait", || waiting() > 0);
    assert!(waiting() < 3 << 20, "those that follow are not made yet");
    for _ in 0..64 {
        assert_eq!(client.reply().len(), value.len() + 12);
    }
    assert_eq!(client.ask("PING"), "+PONG\r\n");
}

/// Values larger than any buffer are returned unchanged, however they were split.
#[test]
fn large_values_survive() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let value: Vec<u8> =
        (0..5_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut bytes = vec![];
    encode_command(&mut bytes, &[b"SET", b"k".as_slice(), &value]);
    encode_command(&mut bytes, &["GET", "k"]);
    for piece in bytes.chunks(70_001) {
        client.send(piece);
    }
    assert_eq!(client.reply(), b"+OK\r\n");
    let reply = client.reply();
    assert!(reply.starts_with(b"$5000000\r\n") && reply[10..10 + value.len()] == value[..]);
}

#[test]
fn a_typed_line_is_a_command() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.send(b"SET a \"b c\"\r\n\r\nGET a\nPING\r\n");
    assert_eq!(client.reply(), b"+OK\r\n");
    assert_eq!(client.reply(), b"$3\r\nb c\r\n");
    assert_eq!(client.reply(), b"+PONG\r\n");
}

#[test]
fn rubbish_is_answered_once_and_the_connection_closed() {
    let server = serve("");
    for (bytes, error) in [
        (&b"*1\r\nPING\r\n"[..], "-ERR Protocol error: expected '$', got 'P'\r\n"),
        (b"*99999999999\r\n", "-ERR Protocol error: invalid multibulk length\r\n"),
        (b"GET \"a\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"),
    ] {
        let mut client = Client::new(server.addr());
        client.send(b"*1\r\n$4\r\nPING\r\n");
        client.send(bytes);
        assert_eq!(client.reply(), b"+PONG\r\n", "what came before is answered");
        assert_eq!(client.reply(), error.as_bytes());
        assert_eq!(client.reply(), b"");
    }
}

#[test]
fn what_was_sent_before_a_half_close_is_answered() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.send(b"SET a 1\r\nGET a\r\nQUIT\r\nGET a\r\n");
    client.stream.shutdown(Shutdown::Write).unwrap();
    let mut all = vec![];
    client.stream.read_to_end(&mut all).unwrap();
    assert_eq!(String::from_utf8(all).unwrap(), "+OK\r\n$1\r\n1\r\n+OK\r\n");
}

#[test]
fn hello_says_who_answers() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let reply = client.ask("HELLO 3 SETNAME me");
    assert!(reply.starts_with("%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n"), "{reply}");
    for part in ["proto\r\n:3", "id\r\n:", "standalone", "role\r\n$6\r\nmaster", "modules\r\n*0"] {
        assert!(reply.contains(part), "{part}: {reply}");
    }
    assert_eq!(client.value("CLIENT GETNAME"), "me");
    assert_eq!(client.ask("GET nokey"), "_\r\n");
    assert!(client.ask("INFO server").starts_with('='));
    assert!(client.ask("HELLO 2").starts_with("*14\r\n"));
    assert_eq!(client.ask("GET nokey"), "$-1\r\n");
}

/// Clients that disconnect in the middle of a command leave nothing behind: no connection, no
/// bytes.
#[test]
fn clients_that_break_off_leave_nothing() {
    let server = serve("");
    let mut watcher = Client::new(server.addr());
    let used = watcher.info("used_memory");
    for round in 0..100usize {
        let mut client = Client::new(server.addr());
        let command = b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$100000\r\n";
        client.send(&command[..round.min(command.len())]);
        client.send(&vec![b'x'; round * 100]);
    }
    // The server may not even have accepted the last client yet.
    until("them to have come", || watcher.info("total_connections_received") == "101");
    until("them to be gone", || watcher.info("connected_clients") == "1");
    assert_eq!(watcher.value("DBSIZE"), "0");
    assert_eq!(watcher.info("used_memory"), used);
    assert_eq!(watcher.value("CLIENT LIST").lines().count(), 1);
}

#[test]
fn clients_can_be_listed_and_killed() {
    let server = serve("");
    let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
    let id = two.value("CLIENT ID");
    two.ask("CLIENT SETNAME victim");
    two.ask("CLIENT SETINFO LIB-NAME test");
    let line = one.value(&format!("CLIENT LIST ID {id}"));
    for part in [" name=victim ", " lib-name=test ", " cmd=client|setinfo ", " resp=2 "] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert_eq!(one.ask(&format!("CLIENT KILL ID {id}")), ":1\r\n");
    assert_eq!(two.reply(), b"");
    let mut three = Client::new(server.addr());
    let me = one.value("CLIENT ID");
    assert_eq!(one.ask(&format!("CLIENT KILL ID {me} SKIPME no")), ":1\r\n", "the reply first");
    assert_eq!(one.reply(), b"");
    assert_eq!(three.ask("PING"), "+PONG\r\n");
}

#[test]
fn replies_can_be_switched_off() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.send(b"CLIENT REPLY OFF\r\nSET a 1\r\nCLIENT REPLY ON\r\n");
    assert_eq!(client.reply(), b"+OK\r\n");
    client.send(b"CLIENT REPLY SKIP\r\nSET a 2\r\nGET a\r\n");
    assert_eq!(client.reply(), b"$1\r\n2\r\n");
}

#[test]
fn messages_reach_listeners_on_every_worker() {
    let server = serve("--io-threads 3");
    let mut listeners: Vec<_> = (0..6).map(|_| Client::new(server.addr())).collect();
    for (at, listener) in listeners.iter_mut().enumerate() {
        if at % 2 == 0 {
            listener.ask("SUBSCRIBE news");
        } else {
            listener.ask("HELLO 3");
            listener.ask("PSUBSCRIBE n*");
        }
    }
    let mut sender = Client::new(server.addr());
    assert_eq!(sender.ask("PUBLISH news hi"), ":6\r\n");
    for (at, listener) in listeners.iter_mut().enumerate() {
        let expected = if at % 2 == 0 {
            "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$2\r\nhi\r\n"
        } else {
            ">4\r\n$8\r\npmessage\r\n$2\r\nn*\r\n$4\r\nnews\r\n$2\r\nhi\r\n"
        };
        assert_eq!(String::from_utf8(listener.reply()).unwrap(), expected);
    }
    drop(listeners);
    until("them to be forgotten", || sender.ask("PUBLISH news hi") == ":0\r\n");
}

#[test]
fn a_watched_key_that_another_client_changes_stops_exec() {
    let server = serve("");
    let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
    one.ask("WATCH k");
    two.ask("SET k 1");
    one.ask("MULTI");
    one.ask("SET k 2");
    assert_eq!(one.ask("EXEC"), "*-1\r\n");
    assert_eq!(one.value("GET k"), "1");
}

#[test]
fn a_walk_finds_every_key_once_the_keys_stand_still() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    for i in 0..5_000 {
        client.ask(&format!("SET key:{i} x"));
    }
    let mut found = std::collections::BTreeSet::new();
    let mut cursor = "0".to_owned();
    loop {
        let reply = client.ask(&format!("SCAN {cursor} MATCH key:* COUNT 100"));
        let mut strings = reply.split("\r\n").skip(1).filter(|line| !line.starts_with(['$', '*']));
        cursor = strings.next().unwrap().to_owned();
        found.extend(strings.filter(|key| !key.is_empty()).map(str::to_owned));
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(found.len(), 5_000);
    assert_eq!(client.value("DBSIZE"), "5000");
}

/// Queries of tools do not count as work: neither hits, nor misses, nor recency.
#[test]
fn tools_leave_no_trace() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("SET k v");
    for tool in [
        "EXISTS k",
        "TYPE k",
        "TTL k",
        "STRLEN k",
        "OBJECT FREQ k",
        "MEMORY USAGE k",
        "SCAN 0",
        "KEYS *",
        "RANDOMKEY",
        "EXISTS no",
        "TTL no",
    ] {
        client.ask(tool);
    }
    client.ask("CLIENT NO-TOUCH ON");
    client.ask("GET k");
    client.ask("GET no");
    assert_eq!(
        (client.info("keyspace_hits"), client.info("keyspace_misses")),
        ("0".into(), "0".into())
    );
    assert_eq!(client.value("OBJECT FREQ k"), "0");
    client.ask("CLIENT NO-TOUCH OFF");
    client.ask("GET k");
    client.ask("GET no");
    assert_eq!(
        (client.info("keyspace_hits"), client.info("keyspace_misses")),
        ("1".into(), "1".into())
    );
    assert_eq!(client.value("OBJECT FREQ k"), "1");
}

/// A web page can have a browser send any bytes behind lines of HTTP. The server runs none of them.
#[test]
fn requests_of_http_are_closed() {
    let server = serve("");
    for request in [
        "POST / HTTP/1.1\r\nHost: localhost\r\n\r\nSET a 1\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nSET a 1\r\n",
        "PUT /x HTTP/1.0\r\n\r\nSET a 1\r\n",
        "Host: localhost\r\nSET a 1\r\n",
        "*1\r\n$4\r\npost\r\nSET a 1\r\n",
    ] {
        let mut client = Client::new(server.addr());
        client.send(request.as_bytes());
        assert_eq!(client.reply(), b"", "{request}");
    }
    let mut client = Client::new(server.addr());
    assert_eq!(client.value("EXISTS a"), "0");
    assert_eq!(client.ask("SET a HTTP/1.1"), "+OK\r\n", "what is a command is none of it");
    server.logged("it sent an HTTP request");
    let lines = server.log().lines().filter(|line| line.contains("HTTP")).count();
    assert_eq!(lines, 1, "once a minute is enough");
}

/// BITCOUNT with a start and no end, as in Valkey; redis-server 7 requires an end.
#[test]
fn bits_are_counted_from_a_start() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("SET bits foobar");
    for (start, bits) in [(0, 26), (1, 22), (-1, 4), (6, 0)] {
        assert_eq!(client.ask(&format!("BITCOUNT bits {start}")), format!(":{bits}\r\n"));
    }
}
