//! CLIENT PAUSE: which clients wait, which do not, and how the pause ends.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{serve, serve_both};
use std::time::{Duration, Instant};

#[test]
fn writes_wait_and_reads_do_not() {
    let (server, port) = serve_both("");
    let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
    two.ask("SET a 1");
    assert_eq!(one.ask("CLIENT PAUSE 60000 WRITE"), "+OK\r\n");
    // The commands before a write in the same batch are answered at once.
    two.send(b"GET a\r\nSET a 2\r\nGET a\r\n");
    assert_eq!(two.reply(), b"$1\r\n1\r\n");
    let mut text = Text::new(port);
    assert_eq!(text.ask("get a"), "VALUE a 0 1\r\n1\r\nEND");
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(one.value("GET a"), "1");
    let waiting = std::thread::spawn(move || text.ask("set b 0 0 1|1"));
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(one.value("EXISTS b"), "0");
    assert_eq!(one.ask("CLIENT UNPAUSE"), "+OK\r\n");
    assert_eq!(two.reply(), b"+OK\r\n");
    assert_eq!(two.reply(), b"$1\r\n2\r\n");
    assert_eq!(waiting.join().unwrap(), "STORED");
    // A write waits when it is queued during the pause. If it was queued before, its EXEC waits.
    one.ask("CLIENT PAUSE 60000 WRITE");
    two.send(b"MULTI\r\nINCR a\r\nEXEC\r\n");
    assert_eq!(two.reply(), b"+OK\r\n");
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(one.value("GET a"), "2");
    one.ask("CLIENT UNPAUSE");
    assert_eq!([two.reply(), two.reply()], [b"+QUEUED\r\n".to_vec(), b"*1\r\n:3\r\n".to_vec()]);
    two.send(b"MULTI\r\nINCR a\r\n");
    assert_eq!([two.reply(), two.reply()], [b"+OK\r\n".to_vec(), b"+QUEUED\r\n".to_vec()]);
    one.ask("CLIENT PAUSE 60000 WRITE");
    two.send(b"EXEC\r\n");
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(one.value("GET a"), "3");
    one.ask("CLIENT UNPAUSE");
    assert_eq!(two.reply(), b"*1\r\n:4\r\n");
}

/// Commands that would not write do not wait, and waiting clients are counted.
#[test]
fn who_waits_for_writes() {
    let server = serve("");
    let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
    assert_eq!(one.ask("CLIENT PAUSE 60000 WRITE"), "+OK\r\n");
    for (line, begin) in [
        ("SET a", "-ERR wrong number"),
        ("NOSUCH", "-ERR unknown command"),
        ("EXEC", "-ERR EXEC without MULTI"),
        ("MULTI", "+OK"),
        ("GET a", "+QUEUED"),
        ("PING", "+QUEUED"),
        ("EXEC", "*2"),
        ("INFO", "$"),
    ] {
        assert!(two.ask(line).starts_with(begin), "{line}");
    }
    assert_eq!(one.info("blocked_clients"), "0");
    assert_eq!(one.info("paused_reason"), "client_pause");
    assert_eq!(one.info("paused_actions"), "write");
    let left: u64 = one.info("paused_timeout_milliseconds").parse().unwrap();
    assert!((30_000..=60_000).contains(&left), "{left}");
    for (at, line) in ["PUBLISH a b", "FLUSHALL", "GETEX a", "DEL a"].into_iter().enumerate() {
        let mut waiting = Client::new(server.addr());
        waiting.send(format!("{line}\r\n").as_bytes());
        while one.info("blocked_clients") != "1" {}
        assert!(one.value("CLIENT LIST").contains("flags=b"));
        assert_eq!(one.ask("CLIENT UNPAUSE"), "+OK\r\n");
        assert!(!waiting.reply().is_empty(), "{at}");
        assert_eq!(one.info("blocked_clients"), "0");
        one.ask("CLIENT PAUSE 60000 WRITE");
    }
}

/// A script that declares that it writes nothing does not wait either.
#[test]
fn scripts_that_write_nothing_do_not_wait() {
    let server = serve("");
    let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
    let library = "#!lua name=lib\\nredis.register_function{function_name='f', callback=function() \
                   return 1 end, flags={'no-writes'}} redis.register_function('g', function() \
                   return 2 end)";
    assert_eq!(one.ask(&format!("FUNCTION LOAD \"{library}\"")), "$3\r\nlib\r\n");
    let quiet = "\"#!lua flags=no-writes\\nreturn 1\" 0";
    let digest = one.value(&format!("SCRIPT LOAD {}", quiet.trim_end_matches(" 0")));
    one.ask("CLIENT PAUSE 60000 WRITE");
    for line in [
        &format!("EVAL {quiet}"),
        &format!("EVALSHA {digest} 0"),
        &format!("EVALSHA {} 0", digest.to_uppercase()),
        "FCALL f 0",
        "FCALL F 0",
        "FCALL_RO f 0",
        "EVAL_RO \"return 1\" 0",
    ] {
        assert_eq!(two.ask(line), ":1\r\n", "{line}");
    }
    two.ask("MULTI");
    assert_eq!(two.ask(&format!("EVAL {quiet}")), "+QUEUED\r\n");
    assert_eq!(two.ask("EXEC"), "*1\r\n:1\r\n");
    for line in ["EVAL \"return 2\" 0", "EVAL \"#!lua\\nreturn 2\" 0", "FCALL g 0"] {
        let mut waiting = Client::new(server.addr());
        waiting.send(format!("{line}\r\n").as_bytes());
        while one.info("blocked_clients") != "1" {}
        one.ask("CLIENT UNPAUSE");
        assert_eq!(waiting.reply(), b":2\r\n", "{line}");
        one.ask("CLIENT PAUSE 60000 WRITE");
    }
}

#[test]
fn all_wait_and_it_ends_by_itself() {
    let server = serve("");
    let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
    let begun = Instant::now();
    // A command that the same client sent behind the pause waits as well.
    one.send(b"CLIENT PAUSE 400\r\nPING\r\n");
    assert_eq!(one.reply(), b"+OK\r\n");
    assert_eq!(two.ask("PING"), "+PONG\r\n");
    assert!(begun.elapsed() >= Duration::from_millis(399), "{:?}", begun.elapsed());
    assert_eq!(one.reply(), b"+PONG\r\n");
    assert_eq!(two.ask("CLIENT KILL MAXAGE 1000"), ":0\r\n");
}

/// The server stops reading from a client that waits. The rest stays in the socket, and nothing is
/// lost.
#[test]
fn a_client_that_waits_may_send_far_ahead() {
    const COMMANDS: usize = 40_000;
    let server = serve("");
    let (mut one, two) = (Client::new(server.addr()), Client::new(server.addr()));
    one.ask("CLIENT PAUSE 60000 ALL");
    let mut writer = two.stream.try_clone().unwrap();
    let sends = std::thread::spawn(move || {
        for number in 0..COMMANDS {
            let value = "x".repeat(200);
            let command = format!("SET k{number} {value}\r\nINCR all\r\n");
            std::io::Write::write_all(&mut writer, command.as_bytes()).unwrap();
        }
    });
    std::thread::sleep(Duration::from_millis(400));
    assert!(!sends.is_finished(), "8 MB are not all received");
    one.ask("CLIENT UNPAUSE");
    let mut two = two;
    for number in 0..COMMANDS {
        assert_eq!(two.reply(), b"+OK\r\n", "{number}");
        assert_eq!(two.reply(), format!(":{}\r\n", number + 1).as_bytes());
    }
    sends.join().unwrap();
}
