//! Limits of memory, clients, buffers and idle time.

use crate::client::Client;
use crate::process::serve;
use std::io::Write;
use std::time::Duration;

#[test]
fn memory_is_a_promise() {
    let server = serve("--maxmemory 4mb --maxmemory-policy allkeys-lru");
    let mut client = Client::new(server.addr());
    for i in 0..20_000u64 {
        let value = "x".repeat((base::hash::mix(i) % 2_000) as usize);
        assert_eq!(client.ask(&format!("SET key:{i} '{value}'")), "+OK\r\n");
        if i % 16 == 0 {
            assert!(client.info("used_memory").parse::<u64>().unwrap() <= 4 << 20);
        }
    }
    assert!(client.info("evicted_keys").parse::<u64>().unwrap() > 10_000);
    assert_eq!(client.value("GET key:19999").len() as u64, base::hash::mix(19_999) % 2_000);
    let error = client.ask(&format!("SET big {}", "x".repeat(5 << 20)));
    assert!(error.starts_with("-OOM ") && error.contains("maxmemory"), "{error}");
}

#[test]
fn volatile_policies_evict_what_has_an_expiry() {
    for policy in ["volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"] {
        let server = serve(&format!("--maxmemory 2mb --maxmemory-policy {policy}"));
        let mut client = Client::new(server.addr());
        let value = "x".repeat(1_000);
        for i in 0..300 {
            assert_eq!(client.ask(&format!("SET stays:{i} {value}")), "+OK\r\n");
        }
        for i in 0..4_000 {
            let stored = client.ask(&format!("SET dies:{i} {value} EX 1000"));
            assert_eq!(stored, "+OK\r\n", "{policy}: {i}");
        }
        assert!(client.info("evicted_keys").parse::<u64>().unwrap() > 1_500);
        // These keys replace the others, until only keys without an expiry are left.
        let more = (300..4_000).map(|i| client.ask(&format!("SET stays:{i} {value}")));
        let stored = more.take_while(|reply| reply == "+OK\r\n").count();
        assert!((500..3_000).contains(&stored), "{policy}: {stored}");
        let refused = client.ask(&format!("SET more {value}"));
        assert_eq!(refused, "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
        let names = (0..300 + stored).map(|i| format!("stays:{i}")).collect::<Vec<_>>().join(" ");
        let there = client.ask(&format!("EXISTS {names}"));
        assert_eq!(there, format!(":{}\r\n", 300 + stored), "{policy}");
        assert_eq!(client.value("GET stays:7"), value);
        assert_eq!(client.info("maxmemory_policy"), policy);
    }
}

/// Writing a bit of a long value does not copy the value. With a copy for each write this test
/// would take minutes.
#[test]
fn a_bit_of_a_long_value_is_written_in_its_place() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let last = (128 << 23) - 1;
    assert_eq!(client.ask(&format!("SETBIT long {last} 1")), ":0\r\n");
    let begun = std::time::Instant::now();
    for at in 0..2_000 {
        assert_eq!(client.ask(&format!("SETBIT long {at} 1")), ":0\r\n");
        assert_eq!(client.ask(&format!("SETRANGE long {} ab", 1_000 + at * 2)), ":134217728\r\n");
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(client.value("BITCOUNT long 0 249"), "2000");
    assert_eq!(client.value("GETRANGE long 4996 5000"), "abab\0");
    assert_eq!(client.value("STRLEN long"), "134217728");
}

#[test]
fn without_eviction_writes_are_refused_and_reads_served() {
    let server = serve("--maxmemory 1mb --maxmemory-policy noeviction");
    let mut client = Client::new(server.addr());
    client.ask("SET first 1");
    let value = "x".repeat(1_000);
    let refused = (0..2_000)
        .map(|i| client.ask(&format!("SET key:{i} {value}")))
        .find(|reply| reply != "+OK\r\n")
        .expect("memory must be full");
    assert_eq!(refused, "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    assert_eq!(client.value("GET first"), "1");
    assert_eq!(client.ask("DEL first"), ":1\r\n");
    assert_eq!(client.ask("CONFIG SET maxmemory-policy allkeys-lru"), "+OK\r\n");
    assert_eq!(client.ask(&format!("SET more {value}")), "+OK\r\n");
}

#[test]
fn clients_beyond_maxclients_are_told_so() {
    let server = serve("--maxclients 2");
    let mut one = Client::new(server.addr());
    let mut two = Client::new(server.addr());
    assert_eq!((one.ask("PING"), two.ask("PING")), ("+PONG\r\n".into(), "+PONG\r\n".into()));
    let mut three = Client::new(server.addr());
    assert_eq!(three.reply(), b"-ERR max number of clients reached\r\n", "as clients know it");
    assert_eq!(three.reply(), b"-ERR maxclients is the setting\r\n");
    assert_eq!(three.reply(), b"");
    assert_eq!(one.info("rejected_connections"), "1");
    drop(two);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(Client::new(server.addr()).ask("PING"), "+PONG\r\n");
}

#[test]
fn an_unfinished_command_is_cut_at_its_limit() {
    let server = serve("--client-query-buffer-limit 1mb --proto-max-bulk-len 64mb");
    let mut client = Client::new(server.addr());
    client.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$60000000\r\n");
    // The whole value is never sent: the server may close before.
    let chunk = vec![b'x'; 1 << 16];
    let mut stream = client.stream.try_clone().unwrap();
    let sent = (0..1_000).take_while(|_| stream.write_all(&chunk).is_ok()).count();
    assert!(sent < 900, "the connection should have been closed");
    let mut other = Client::new(server.addr());
    assert_eq!(other.info("client_query_buffer_limit_disconnections"), "1");
    assert_eq!(other.value("DBSIZE"), "0");
}

#[test]
fn a_reader_that_does_not_read_is_cut_at_its_limit() {
    let server = serve("--client-output-buffer-limit 'normal 16mb 0 0'");
    let mut client = Client::new(server.addr());
    client.ask(&format!("SET big {}", "x".repeat(1 << 20)));
    let mut slow = Client::new(server.addr());
    // One command with a long reply, because later commands of a pipeline would wait.
    slow.send(format!("MGET{}\r\n", " big".repeat(100)).as_bytes());
    let begun = std::time::Instant::now();
    let counts = ["client_output_buffer_limit_disconnections", "connected_clients"];
    while counts.iter().any(|count| client.info(count) != "1") {
        assert!(begun.elapsed() < Duration::from_secs(60), "it was not cut");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(client.info("evicted_keys"), "0", "no item is evicted for a slow reader");
}

#[test]
fn the_silent_are_closed_after_the_timeout() {
    let server = serve("--timeout 1");
    let mut silent = Client::new(server.addr());
    let mut listener = Client::new(server.addr());
    listener.ask("SUBSCRIBE x");
    assert_eq!(silent.ask("PING"), "+PONG\r\n");
    assert_eq!(silent.reply(), b"", "closed by the server");
    let mut client = Client::new(server.addr());
    assert_eq!(client.ask("PUBLISH x 1"), ":1\r\n", "whoever listens may be silent");
}

#[test]
fn keys_die_in_time_and_are_swept() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let start = std::time::Instant::now();
    for i in 0..100 {
        client.ask(&format!("SET key:{i} x PX 200"));
    }
    if start.elapsed() < Duration::from_millis(150) {
        assert_eq!(client.value("GET key:99"), "x");
    }
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(client.value("GET key:0"), "(null)");
    for _ in 0..50 {
        if client.info("expired_keys") == "100" && client.value("DBSIZE") == "0" {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the dead are still there: {} left", client.value("DBSIZE"));
}

/// Replies to wrong passwords come later each time, and no other client waits for them.
#[test]
fn wrong_passwords_are_slowed_down() {
    let server = serve("--requirepass secret");
    let mut guesser = Client::new(server.addr());
    let start = std::time::Instant::now();
    for _ in 0..5 {
        assert!(guesser.ask("AUTH wrong").starts_with("-WRONGPASS"));
    }
    // The five delays: 25, 50, 100, 200, 400 ms.
    assert!(start.elapsed() > Duration::from_millis(750), "{:?}", start.elapsed());
    // A pipeline is answered in order, after the delay.
    let start = std::time::Instant::now();
    guesser.send(b"AUTH wrong\r\nAUTH secret\r\nPING\r\n");
    let mut other = Client::new(server.addr());
    assert_eq!(other.ask("AUTH secret"), "+OK\r\n");
    assert_eq!(other.ask("PING"), "+PONG\r\n");
    assert!(start.elapsed() < Duration::from_millis(700), "others do not wait");
    assert!(guesser.reply().starts_with(b"-WRONGPASS"));
    assert!(start.elapsed() > Duration::from_millis(790));
    assert_eq!(guesser.reply(), b"+OK\r\n");
    assert_eq!(guesser.reply(), b"+PONG\r\n");
}

#[test]
fn slow_commands_are_kept() {
    let server = serve("--slowlog-log-slower-than 0 --slowlog-max-len 2");
    let mut client = Client::new(server.addr());
    client.ask("CLIENT SETNAME me");
    client.ask("SLOWLOG RESET");
    client.ask("KEYS a*");
    client.ask("KEYS b*");
    client.ask("CONFIG SET slowlog-log-slower-than 1000000");
    assert_eq!(client.ask("SLOWLOG LEN"), ":2\r\n");
    let entries = client.ask("SLOWLOG GET");
    assert!(entries.starts_with("*2\r\n*6\r\n") && entries.contains("$4\r\nKEYS\r\n$2\r\nb*\r\n"));
    assert!(entries.contains("$2\r\nme\r\n") && !entries.contains("CONFIG"), "{entries}");
    assert!(client.ask("SLOWLOG GET 1").starts_with("*1\r\n*6\r\n"));
    assert_eq!(client.ask("SLOWLOG RESET"), "+OK\r\n");
    assert_eq!(client.ask("SLOWLOG GET -1"), "*0\r\n");
}
