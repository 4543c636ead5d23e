//! MULTI and EXEC: the commands refused when they are queued, and arrays with as many replies as
//! they announce.

use crate::client::Client;
use crate::process::serve;

/// Sends each line; returns the replies.
fn all(client: &mut Client, lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| client.ask(line)).collect()
}

/// Sends a line that gets no reply; only the next PING has one to wait for.
fn quiet(client: &mut Client, line: &str) {
    client.send(format!("{line}\r\n").as_bytes());
}

#[test]
fn an_array_has_as_many_replies_as_it_says() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    all(&mut client, &["MULTI", "SET a 1", "CLIENT REPLY SKIP", "GET a"]);
    assert_eq!(client.ask("EXEC"), "*2\r\n+OK\r\n$1\r\n1\r\n");
    quiet(&mut client, "PING skipped");
    assert_eq!(client.ask("PING"), "+PONG\r\n", "SKIP is about the command after EXEC");
    all(&mut client, &["MULTI", "CLIENT REPLY OFF", "GET a"]);
    quiet(&mut client, "EXEC");
    assert_eq!(client.ask("CLIENT REPLY ON"), "+OK\r\n");
    all(&mut client, &["MULTI", "SUBSCRIBE a b", "UNSUBSCRIBE", "PING x"]);
    let reply = client.ask("EXEC");
    assert!(reply.starts_with("*5\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"), "{reply}");
    assert!(reply.ends_with(":0\r\n$1\r\nx\r\n"), "{reply}");
    assert_eq!(client.ask("PING"), "+PONG\r\n");
    // SUBSCRIBE to one channel gives one reply, with RESP3 as well.
    client.ask("HELLO 3");
    all(&mut client, &["MULTI", "SUBSCRIBE a"]);
    assert_eq!(client.ask("EXEC"), "*1\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
}

#[test]
fn what_cannot_be_stored_is_refused_when_it_is_queued() {
    const FULL: &str = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    let server = serve("--maxmemory 3mb --maxmemory-policy noeviction");
    let mut client = Client::new(server.addr());
    let value = "x".repeat(100_000);
    let mut at = 0;
    while client.ask(&format!("SET key:{at} {value}")).starts_with('+') {
        at += 1;
    }
    assert_eq!(client.ask("MULTI"), "+OK\r\n");
    assert_eq!(client.ask("GET nothing"), "+QUEUED\r\n");
    assert_eq!(client.ask(&format!("SET other {value}")), FULL);
    assert!(client.ask("EXEC").starts_with("-EXECABORT"), "all or nothing");
    all(&mut client, &["MULTI", "GET nothing", "DEL key:0"]);
    assert_eq!(client.ask("EXEC"), "*2\r\n$-1\r\n:1\r\n", "what needs no memory is carried out");
    // Memory may become scarce between queueing and EXEC.
    client.ask("CONFIG SET maxmemory 100mb");
    all(&mut client, &["MULTI", "SET other 1"]);
    Client::new(server.addr()).ask("CONFIG SET maxmemory 1");
    let error = client.ask("EXEC");
    assert!(error.starts_with("-EXECABORT Transaction discarded because of: OOM"), "{error}");
}

#[test]
fn a_refused_exec_ends_the_transaction() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    all(&mut client, &["MULTI", "SET a 1"]);
    let error = client.ask("EXEC more");
    assert!(error.starts_with("-EXECABORT Transaction discarded because of: wrong number"));
    assert_eq!(client.ask("EXEC"), "-ERR EXEC without MULTI\r\n");
    assert_eq!(client.value("EXISTS a"), "0");
}

/// A confirmation of SUBSCRIBE is a message and no reply, so it is sent even when replies are
/// switched off.
#[test]
fn subscriptions_are_confirmed_without_replies() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    quiet(&mut client, "CLIENT REPLY OFF");
    assert_eq!(client.ask("SUBSCRIBE x"), "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n");
    quiet(&mut client, "PING");
    Client::new(server.addr()).ask("PUBLISH x hi");
    assert_eq!(client.reply(), b"*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$2\r\nhi\r\n");
    let mut client = Client::new(server.addr());
    quiet(&mut client, "CLIENT REPLY SKIP");
    assert!(client.ask("SUBSCRIBE x").contains("subscribe"));
    assert!(client.ask("PING").contains("pong"));
}

/// The expiry of a field is a change of the hash.
#[test]
fn a_watched_field_that_dies_is_seen() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    all(&mut client, &["HSET h a 1 b 2", "HPEXPIRE h 50 FIELDS 1 a", "WATCH h"]);
    std::thread::sleep(std::time::Duration::from_millis(120));
    all(&mut client, &["MULTI", "HGET h b"]);
    assert_eq!(client.ask("EXEC"), "*-1\r\n");
    all(&mut client, &["WATCH h", "MULTI", "HGET h b"]);
    assert_eq!(client.ask("EXEC"), "*1\r\n$1\r\n2\r\n");
}

/// Each key of WATCH is looked up directly, however many there are.
#[test]
fn watching_many_keys_takes_a_moment() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let keys: Vec<String> = (0..20_000).map(|at| format!("key:{at}")).collect();
    let line = format!("WATCH {}", keys.join(" "));
    let began = std::time::Instant::now();
    for _ in 0..4 {
        assert_eq!(client.ask(&line), "+OK\r\n");
    }
    // The bound suits a debug build on a busy machine; a scan of all keys for each key takes
    // minutes.
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    assert!(client.ask("CLIENT INFO").contains(" watch=20000 "));
    Client::new(server.addr()).ask("SET key:19999 1");
    assert_eq!(all(&mut client, &["MULTI", "PING", "EXEC"])[2], "*-1\r\n");
}
