//! What is carried out alone: clients of other threads see all of it or nothing.
//!
//! Some clients change two keys together, round after round, and others look meanwhile. With a
//! server whose commands could come between, each of these tests fails within its rounds.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{serve, serve_both};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Rounds of those that change something.
const ROUNDS: usize = 1_500;

/// Lets two clients on threads of their own send `changes` in turn, checking that each reply begins
/// as is `wanted`, while `look` is called on another.
fn beside(address: SocketAddr, changes: &[(&str, &str)], look: impl Fn(&mut Client) + Sync) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let write = || {
            let mut client = Client::new(address);
            let lines: Vec<_> = changes.iter().flat_map(|(line, _)| [*line, "\r\n"]).collect();
            for _ in 0..ROUNDS {
                client.send(lines.concat().as_bytes());
                for (line, wanted) in changes {
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

/// The integers or strings of a reply of two, which must be alike.
fn alike(reply: &str) {
    let lines: Vec<_> = reply.lines().filter(|line| !line.starts_with(['*', '$'])).collect();
    assert!(lines.len() == 2 && lines[0] == lines[1], "{reply}");
}

fn send_transaction(client: &mut Client, lines: &str) -> String {
    client.send(format!("MULTI\r\n{lines}\r\nEXEC\r\n").as_bytes());
    (0..lines.lines().count() + 1).for_each(|_| assert!(client.reply().starts_with(b"+")));
    String::from_utf8(client.reply()).unwrap()
}

#[test]
fn transactions_do_not_come_between_each_other() {
    let server = serve("--io-threads 4");
    Client::new(server.addr()).ask("MSET a 0 b 0");
    let changes = [
        ("MULTI", "+OK"),
        ("INCR a", "+QUEUED"),
        ("INCR b", "+QUEUED"),
        ("EXEC", "*2"),
        ("MULTI", "+OK"),
        ("INCR b", "+QUEUED"),
        ("INCR a", "+QUEUED"),
        ("EXEC", "*2"),
    ];
    beside(server.addr(), &changes, |client| {
        alike(&send_transaction(client, "GET a\r\nGET b"));
        alike(&client.ask("MGET a b"));
    });
    let all = (4 * ROUNDS).to_string();
    let reply = Client::new(server.addr()).ask("MGET a b");
    assert!(reply.contains(&format!("\r\n{all}\r\n")), "{reply}");
}

#[test]
fn several_values_are_set_together() {
    let server = serve("--io-threads 4");
    Client::new(server.addr()).ask("MSET a 0 b 0");
    beside(server.addr(), &[("MSET a 1 b 1", "+OK"), ("MSET b 2 a 2", "+OK")], |client| {
        alike(&client.ask("MGET a b"));
        alike(&send_transaction(client, "GET a\r\nGET b"));
    });
}

/// Memcached's clients look at keys under the same gate.
#[test]
fn a_key_has_one_name_at_a_time() {
    let (server, port) = serve_both("--io-threads 4");
    let mut client = Client::new(server.addr());
    client.ask(&format!("SET a {}", "x".repeat(1_000)));
    let text = std::sync::Mutex::new(Text::new(port));
    // One of the two that change it finds no such key now and then.
    beside(server.addr(), &[("RENAME a b", ""), ("RENAME b a", "")], |client| {
        let sum = send_transaction(client, "EXISTS a\r\nEXISTS b");
        assert!(sum == "*2\r\n:1\r\n:0\r\n" || sum == "*2\r\n:0\r\n:1\r\n", "{sum}");
        assert_eq!(client.ask("EXISTS a b"), ":1\r\n");
        assert_eq!(text.lock().unwrap().ask("get a b").matches("VALUE").count(), 1);
    });
}

/// Of several that set what nobody has, one does.
#[test]
fn one_of_several_sets_what_nobody_has() {
    let server = serve("--io-threads 4");
    let set = |name: &str| {
        let mut client = Client::new(server.addr());
        let lines = (0..ROUNDS).map(|at| format!("MSETNX x:{at} {name} y:{at} {name}"));
        let lines: String = lines.map(|line| line + "\r\n").collect();
        client.send(lines.as_bytes());
        (0..ROUNDS).filter(|_| client.reply() == b":1\r\n").count()
    };
    let sum: usize = thread::scope(|scope| {
        let threads: Vec<_> = ["1", "2", "3"].map(|name| scope.spawn(move || set(name))).into();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(sum, ROUNDS);
    let mut client = Client::new(server.addr());
    (0..ROUNDS).for_each(|at| alike(&client.ask(&format!("MGET x:{at} y:{at}"))));
}

/// Nothing changes between the look at watched keys and the commands.
#[test]
fn a_watched_counter_loses_no_step() {
    const STEPS: usize = 200;
    let server = serve("--io-threads 4");
    Client::new(server.addr()).ask("SET n 0");
    let step = |client: &mut Client| {
        client.ask("WATCH n");
        let next = client.value("GET n").parse::<usize>().unwrap() + 1;
        send_transaction(client, &format!("SET n {next}")).starts_with("*1")
    };
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut client = Client::new(server.addr());
                let mut done = 0;
                while done < STEPS {
                    done += usize::from(step(&mut client));
                }
            });
        }
    });
    assert_eq!(Client::new(server.addr()).value("GET n"), (3 * STEPS).to_string());
}
