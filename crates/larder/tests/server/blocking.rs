//! Blocking commands: which client is served, in which order, and what ends a wait.

use crate::client::Client;
use crate::process::{Server, serve};
use std::time::{Duration, Instant};

/// Waits until `holds` returns true; fails after a minute.
fn until(mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Starts a client that blocks, after `waiting` others.
fn waits(server: &Server, line: &str, waiting: usize) -> Client {
    let mut client = Client::new(server.addr());
    client.send(format!("{line}\r\n").as_bytes());
    let mut other = Client::new(server.addr());
    until(|| other.info("blocked_clients") == (waiting + 1).to_string());
    client
}

fn reply(client: &mut Client) -> String {
    String::from_utf8(client.reply()).unwrap()
}

#[test]
fn each_is_served_by_what_it_waits_for() {
    let server = serve("--io-threads 4");
    let mut other = Client::new(server.addr());
    for (waiting, write, served) in [
        ("BLPOP n a 0", "RPUSH a 1 2", "*2\r\n$1\r\na\r\n$1\r\n1\r\n"),
        ("BRPOP a n 0", "LPUSH n 1 2", "*2\r\n$1\r\nn\r\n$1\r\n1\r\n"),
        ("BLMOVE a b LEFT RIGHT 0", "RPUSH a 1", "$1\r\n1\r\n"),
        ("BRPOPLPUSH a b 60", "RPUSH a 1", "$1\r\n1\r\n"),
        ("BLMPOP 0 2 n a RIGHT COUNT 3", "RPUSH a 1", "*2\r\n$1\r\na\r\n*1\r\n$1\r\n1\r\n"),
        ("BZPOPMIN a 0", "ZADD a 1 x", "*3\r\n$1\r\na\r\n$1\r\nx\r\n$1\r\n1\r\n"),
        ("BZPOPMAX n a 0", "ZINCRBY a 2 x", "*3\r\n$1\r\na\r\n$1\r\nx\r\n$1\r\n2\r\n"),
        ("BZMPOP 0 1 a MAX", "ZADD a 1 x", "*2\r\n$1\r\na\r\n*1\r\n*2\r\n$1\r\nx\r\n$1\r\n1\r\n"),
        ("BLPOP a 0", "MULTI|SET a 1|DEL a|RPUSH a 5|EXEC", "*2\r\n$1\r\na\r\n$1\r\n5\r\n"),
        ("BLPOP a 0", "RPUSH x 5|RENAME x a", "*2\r\n$1\r\na\r\n$1\r\n5\r\n"),
        ("BLPOP a 0", "RPUSH x 5|COPY x a", "*2\r\n$1\r\na\r\n$1\r\n5\r\n"),
        ("BLPOP a 0", "SELECT 1|RPUSH a 5|MOVE a 0|SELECT 0", "*2\r\n$1\r\na\r\n$1\r\n5\r\n"),
        ("BLPOP a 0", "RPUSH x 5|LMOVE x a LEFT LEFT", "*2\r\n$1\r\na\r\n$1\r\n5\r\n"),
        ("BZPOPMIN a 0", "ZADD x 1 y|ZUNIONSTORE a 1 x", "*3\r\n$1\r\na\r\n$1\r\ny\r\n$1\r\n1\r\n"),
        // Writes of another type do not serve the client.
        ("BLPOP a 0", "SET a 1|DEL a|ZADD a 1 x|DEL a|RPUSH a 5", "*2\r\n$1\r\na\r\n$1\r\n5\r\n"),
    ] {
        other.ask("FLUSHALL");
        let mut client = waits(&server, waiting, 0);
        write.split('|').for_each(|line| assert!(!other.ask(line).starts_with('-'), "{line}"));
        assert_eq!(reply(&mut client), served, "{waiting}: {write}");
        assert_eq!(other.info("blocked_clients"), "0");
        assert_eq!(other.info("total_blocking_keys"), "0");
    }
}

/// Clients are served in the order of their arrival, whatever their thread. The command behind
/// BLPOP waits as well.
#[test]
fn who_came_first_is_served_first() {
    const CLIENTS: usize = 12;
    let server = serve("--io-threads 4");
    let mut other = Client::new(server.addr());
    let mut clients: Vec<_> =
        (0..CLIENTS).map(|at| waits(&server, "BLPOP a 0\r\nINCR served", at)).collect();
    assert_eq!(other.info("total_blocking_keys"), "1");
    assert!(other.value("CLIENT LIST").contains("flags=b"));
    // One command serves three clients, one transaction serves three more, and single pushes serve
    // the rest.
    other.ask("RPUSH a 0 1 2");
    other.send(b"MULTI\r\nRPUSH a 3\r\nRPUSH a 4 5\r\nEXEC\r\n");
    (0..4).for_each(|_| assert!(!other.reply().is_empty()));
    (6..CLIENTS).for_each(|at| assert_eq!(other.ask(&format!("RPUSH a {at}"))[..1], *":"));
    for (at, client) in clients.iter_mut().enumerate() {
        let wanted = at.to_string();
        let served = format!("*2\r\n$1\r\na\r\n${}\r\n{wanted}\r\n", wanted.len());
        assert_eq!(reply(client), served);
        assert!(reply(client).starts_with(':'));
    }
    assert_eq!(other.value("GET served"), CLIENTS.to_string());
    assert_eq!(other.ask("EXISTS a"), ":0\r\n");
}

#[test]
fn a_wait_ends_in_time_or_when_somebody_says_so() {
    let server = serve("");
    let mut other = Client::new(server.addr());
    let began = Instant::now();
    assert_eq!(other.ask("BLPOP a b 0.05"), "*-1\r\n");
    assert!(began.elapsed() >= Duration::from_millis(49));
    other.ask("HELLO 3");
    assert_eq!(other.ask("BLMOVE a b LEFT LEFT 0.01"), "_\r\n");
    other.ask("HELLO 2");
    assert_eq!(other.ask("CLIENT UNBLOCK 1"), ":0\r\n", "it does not wait");
    for (how, said) in [
        ("", "*-1\r\n"),
        (" TIMEOUT", "*-1\r\n"),
        (" ERROR", "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"),
    ] {
        let mut client = Client::new(server.addr());
        let id = client.value("CLIENT ID");
        client.send(b"BLPOP a 0\r\nPING\r\n");
        until(|| other.info("blocked_clients") == "1");
        assert_eq!(other.ask(&format!("CLIENT UNBLOCK {id}{how}")), ":1\r\n");
        assert_eq!(reply(&mut client), said);
        assert_eq!(reply(&mut client), "+PONG\r\n");
    }
    let stats = other.info("cmdstat_blpop");
    assert!(stats.ends_with("rejected_calls=0,failed_calls=1"), "{stats}");
    assert_eq!(other.info("errorstat_UNBLOCKED"), "count=1");
    // A command that fails when it is tried again counts as failed.
    other.ask("SET text x");
    let mut client = waits(&server, "BLMOVE a text LEFT LEFT 0", 0);
    other.ask("RPUSH a 1");
    assert!(reply(&mut client).starts_with("-WRONGTYPE"));
    let stats = other.info("cmdstat_blmove");
    assert!(stats.ends_with("rejected_calls=0,failed_calls=1"), "{stats}");
    other.ask("DEL a text");
    // A client that closed or was killed takes nothing, and the next client is served.
    let gone = waits(&server, "BLPOP a 0", 0);
    let mut killed = waits(&server, "BLPOP a 0", 1);
    let list = other.value("CLIENT LIST");
    let mut next = waits(&server, "BLPOP a 0", 2);
    drop(gone);
    until(|| other.info("blocked_clients") == "2");
    let line = list.lines().rfind(|line| line.contains("flags=b")).unwrap();
    let id = line.split([' ', '=']).nth(1).unwrap();
    other.ask(&format!("CLIENT KILL ID {id}"));
    assert!(killed.reply().is_empty());
    until(|| other.info("blocked_clients") == "1");
    other.ask("RPUSH a 1");
    assert_eq!(reply(&mut next), "*2\r\n$1\r\na\r\n$1\r\n1\r\n");
}

#[test]
fn nobody_waits_in_a_transaction_or_with_wrong_arguments() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let lines = "BRPOPLPUSH a b 0|BLPOP a 0|BLMPOP 0 1 a left|BZPOPMIN a 0|BZMPOP 0 1 a min";
    client.ask("MULTI");
    lines.split('|').for_each(|line| assert_eq!(client.ask(line), "+QUEUED\r\n"));
    assert_eq!(client.ask("EXEC"), "*5\r\n$-1\r\n*-1\r\n*-1\r\n*-1\r\n*-1\r\n");
    let _other = waits(&server, "BLPOP a 0", 0);
    client.ask("SET s 1");
    for (line, error) in [
        ("BLPOP a x", "ERR timeout is not a float or out of range"),
        ("BLPOP a nan", "ERR timeout is not a float or out of range"),
        ("BLPOP a -1", "ERR timeout is negative"),
        ("BLPOP a inf", "ERR timeout is out of range"),
        ("BLPOP a 1e17", "ERR timeout is out of range"),
        ("BLPOP a s 0", "WRONGTYPE"),
        ("BLMOVE s a left right 0", "WRONGTYPE"),
        ("BLMOVE a b left up x", "ERR syntax error"),
        ("BLMPOP x 1 a left", "ERR timeout is not a float"),
        ("BLMPOP 0 0 a left", "ERR numkeys should be greater than 0"),
        ("BLMPOP 0 9 a left", "ERR syntax error"),
        ("BLMPOP 0 1 a min", "ERR syntax error"),
        ("BLMPOP 0 1 a left count 0", "ERR count should be greater than 0"),
        ("BZMPOP 0 1 a left", "ERR syntax error"),
    ] {
        let said = client.ask(line);
        assert!(said.starts_with(&format!("-{error}")), "{line}: {said}");
    }
}

/// Many clients push and many block: no element is lost, and no client blocks beside an element.
#[test]
fn nothing_is_lost_between_many() {
    const EACH: usize = 400;
    let server = serve("--io-threads 4");
    let taken: usize = std::thread::scope(|scope| {
        let takers = [0; 3].map(|_| {
            scope.spawn(|| {
                let mut client = Client::new(server.addr());
                (0..EACH)
                    .map(|_| client.ask("BLPOP a b 20").starts_with("*2"))
                    .filter(|&is| is)
                    .count()
            })
        });
        for key in ["a", "b", "a"] {
            let server = &server;
            scope.spawn(move || {
                let mut client = Client::new(server.addr());
                (0..EACH).for_each(|at| _ = client.ask(&format!("RPUSH {key} {at}")));
            });
        }
        takers.map(|taker| taker.join().unwrap()).iter().sum()
    });
    assert_eq!(taken, 3 * EACH);
    assert_eq!(Client::new(server.addr()).ask("EXISTS a b"), ":0\r\n");
}
