//! Atomic commands: clients of other threads see all of their changes or none.
//!
//! Some clients change two keys together, round after round, while others read both. If the server
//! interleaved the commands, each of these tests would fail more often than not.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{serve, serve_both};
use std::net::SocketAddr;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Rounds of the changing clients, and the changes in each round.
const ROUNDS: usize = 200;
const TIMES: usize = 16;

/// Lets two clients on threads of their own send `changes` in turn, while `look` runs on a third.
/// Each reply to a change must begin with the text beside it.
fn beside(address: SocketAddr, changes: &[(&str, &str)], look: impl Fn(&mut Client) + Sync) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let write = || {
            let mut client = Client::new(address);
            let lines: Vec<_> = changes.iter().flat_map(|(line, _)| [*line, "\r\n"]).collect();
            for _ in 0..ROUNDS {
                client.send(lines.concat().repeat(TIMES).as_bytes());
                for (line, wanted) in changes.iter().cycle().take(TIMES * changes.len()) {
                    let reply = String::from_utf8(client.reply()).unwrap();
                    assert!(reply.starts_with(wanted), "{line}: {reply}");
                }
            }
        };
        let writers = [scope.spawn(write), scope.spawn(write)];
        let reader = scope.spawn(|| {
            let mut client = Client::new(address);
            while !over.load(Ordering::Relaxed) {
                look(&mut client);
            }
        });
        let ends = writers.map(thread::ScopedJoinHandle::join);
        over.store(true, Ordering::Relaxed);
        ends.into_iter().chain([reader.join()]).for_each(|end| end.unwrap());
    });
}

/// Checks that a reply has two integers or strings, and that they are alike.
fn alike(reply: &str) {
    let lines: Vec<_> = reply.lines().filter(|line| !line.starts_with(['*', '$'])).collect();
    assert!(lines.len() == 2 && lines[0] == lines[1], "{reply}");
}

fn send_transaction(client: &mut Client, lines: &str) -> String {
    client.send(format!("MULTI\r\n{lines}\r\nEXEC\r\n").as_bytes());
    (0..=lines.lines().count()).for_each(|_| assert!(client.reply().starts_with(b"+")));
    String::from_utf8(client.reply()).unwrap()
}

#[test]
fn transactions_do_not_come_between_each_other() {
    let server = serve("--io-threads 4");
    Client::new(server.addr()).ask("MSET a 0 b 0");
    let (begin, end) = (("MULTI", "+OK"), ("EXEC", "*22"));
    let (a, b, more) = (("INCR a", "+Q"), ("INCR b", "+Q"), [("HVALS no", "+Q"); 20]);
    let forth = [&[begin, a], &more[..], &[b, end]].concat();
    let back = [&[begin, b], &more[..], &[a, end]].concat();
    let changes = [forth, back].concat();
    beside(server.addr(), &changes, |client| {
        alike(&send_transaction(client, "GET a\r\nGET b"));
        alike(&client.ask("MGET a b"));
    });
    let all = (4 * ROUNDS * TIMES).to_string();
    let reply = Client::new(server.addr()).ask("MGET a b");
    assert!(reply.contains(&format!("\r\n{all}\r\n")), "{reply}");
}

/// Forty further keys, each with a value, to stand between the first and the last key of a command.
fn between(value: &str) -> String {
    (0..40).map(|at| format!("k:{at} {value} ")).collect::<Vec<_>>().concat()
}

#[test]
fn several_values_are_set_together() {
    let server = serve("--io-threads 4");
    Client::new(server.addr()).ask("MSET a 0 b 0");
    let forth = format!("MSET a 1 {}b 1", between("1"));
    let back = format!("MSET b 2 {}a 2", between("2"));
    beside(server.addr(), &[(&forth, "+OK"), (&back, "+OK")], |client| {
        alike(&client.ask("MGET a b"));
        alike(&send_transaction(client, "GET a\r\nGET b"));
    });
}

/// Reads by clients of memcached pass the same gate.
#[test]
fn a_key_has_one_name_at_a_time() {
    let (server, port) = serve_both("--io-threads 4");
    let mut client = Client::new(server.addr());
    client.ask(&format!("SET a {}", "x".repeat(1_000)));
    let text = std::sync::Mutex::new(Text::new(port));
    // RENAME fails now and then, when the other client has renamed the key before.
    let many = format!("EXISTS a {}b\r\n", between("")).repeat(TIMES);
    beside(server.addr(), &[("RENAME a b", ""), ("RENAME b a", "")], |client| {
        let sum = send_transaction(client, "EXISTS a\r\nEXISTS b");
        assert!(sum == "*2\r\n:1\r\n:0\r\n" || sum == "*2\r\n:0\r\n:1\r\n", "{sum}");
        client.send(many.as_bytes());
        (0..TIMES).for_each(|_| assert_eq!(client.reply(), b":1\r\n"));
        assert_eq!(text.lock().unwrap().ask("get a b").matches("VALUE").count(), 1);
    });
}

/// Lets three clients call `f` in rounds that begin at the same time; returns their three results
/// for each round.
fn together<R: Send>(
    address: SocketAddr,
    f: impl Fn(&mut Client, usize, &Barrier) -> R + Sync,
) -> Vec<[R; 3]> {
    let barrier = Barrier::new(3);
    let rounds = || {
        let mut client = Client::new(address);
        let round = |round| {
            barrier.wait();
            f(&mut client, round, &barrier)
        };
        (0..ROUNDS).map(round).collect::<Vec<_>>().into_iter()
    };
    thread::scope(|scope| {
        let threads = [0; 3].map(|_| scope.spawn(rounds));
        let mut said = threads.map(|thread| thread.join().unwrap());
        (0..ROUNDS).map(|_| said.each_mut().map(|said| said.next().unwrap())).collect()
    })
}

/// When several clients set the same missing keys with MSETNX, exactly one of them succeeds.
#[test]
fn one_of_several_sets_what_nobody_has() {
    let server = serve("--io-threads 4");
    let firsts = together(server.addr(), |client, round, _| {
        let more = between("1").replace("k:", &format!("{round}:"));
        let line = format!("MSETNX x:{round} 1 {more}y:{round} 1");
        client.ask(&line) == ":1\r\n"
    });
    for first in firsts {
        assert_eq!(first.iter().filter(|first| **first).count(), 1);
    }
}

/// No other client's write happens between the check of watched keys and the last command.
#[test]
fn one_of_several_that_watch_is_carried_out() {
    let server = serve("--io-threads 4");
    let firsts = together(server.addr(), |client, round, barrier| {
        assert_eq!(client.ask("WATCH n"), "+OK\r\n");
        barrier.wait();
        let lines = "HVALS nothing\r\n".repeat(50);
        let reply = send_transaction(client, &format!("{lines}SET n {round}"));
        assert!(reply.starts_with("*51") || reply == "*-1\r\n", "{reply}");
        reply != "*-1\r\n"
    });
    for first in firsts {
        assert_eq!(first.iter().filter(|first| **first).count(), 1);
    }
}
