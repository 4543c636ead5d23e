//! Hashes beyond the recorded commands: times to live of fields, memory, traces.

use crate::client::Client;
use crate::process::serve;
use std::time::Duration;

#[test]
fn fields_have_lives() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("HSET h a 1 b 2 c 3");
    assert_eq!(client.ask("HEXPIRE h 100 FIELDS 2 a nosuch"), "*2\r\n:1\r\n:-2\r\n");
    assert_eq!(client.ask("HTTL h FIELDS 3 a b nosuch"), "*3\r\n:100\r\n:-1\r\n:-2\r\n");
    assert_eq!(client.ask("HEXPIRE h 50 GT FIELDS 1 a"), "*1\r\n:0\r\n");
    assert_eq!(client.ask("HEXPIRE h 50 LT FIELDS 2 a b"), "*2\r\n:1\r\n:1\r\n");
    assert_eq!(client.ask("HEXPIRE h 50 NX FIELDS 1 a"), "*1\r\n:0\r\n");
    assert_eq!(client.ask("HEXPIRE h 60 XX FIELDS 1 c"), "*1\r\n:0\r\n");
    assert_eq!(client.ask("HPERSIST h FIELDS 3 a c nosuch"), "*3\r\n:1\r\n:-1\r\n:-2\r\n");
    assert_eq!(client.ask("HEXPIRE h 0 FIELDS 1 c"), "*1\r\n:2\r\n");
    assert_eq!(client.value("HLEN h"), "2");
    assert_eq!(client.ask("HTTL nokey FIELDS 1 a"), "*1\r\n:-2\r\n");
    assert_eq!(client.ask("HSET h b 5"), ":0\r\n");
    assert_eq!(client.ask("HTTL h FIELDS 1 b"), "*1\r\n:-1\r\n", "a new value lives on");
    client.ask("HPEXPIRE h 20 FIELDS 1 a");
    client.ask("HINCRBY h a 1");
    std::thread::sleep(Duration::from_millis(40));
    assert_eq!(client.value("HGET h a"), "(null)", "INCR does not prolong a life");
    assert_eq!(client.ask("HGETALL h"), "*2\r\n$1\r\nb\r\n$1\r\n5\r\n");
    for wrong in [
        "HEXPIRE h -1 FIELDS 1 a",
        "HEXPIRE h x FIELDS 1 a",
        "HEXPIRE h 1 FIELDS 2 a",
        "HEXPIRE h 1 FIELDS 0 a",
        "HEXPIRE h 1 NOSUCH 1 a b",
    ] {
        assert!(client.ask(wrong).starts_with("-ERR"), "{wrong}");
    }
}

#[test]
fn fields_are_read_and_written_with_their_lives() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    assert_eq!(client.ask("HSETEX h EX 100 FIELDS 2 a 1 b 2"), ":1\r\n");
    assert_eq!(client.ask("HTTL h FIELDS 2 a b"), "*2\r\n:100\r\n:100\r\n");
    assert_eq!(client.ask("HSETEX h FNX FIELDS 2 b 9 c 9"), ":0\r\n", "b exists");
    assert_eq!(client.ask("HSETEX h FXX FIELDS 2 b 9 c 9"), ":0\r\n", "c does not");
    assert_eq!(client.ask("HSETEX h FXX KEEPTTL FIELDS 1 b 3"), ":1\r\n");
    assert_eq!(client.ask("HSETEX h FIELDS 1 a 4"), ":1\r\n");
    assert_eq!(client.ask("HSETEX h NX FIELDS 1 z 1"), ":0\r\n", "there is such a key");
    assert_eq!(client.ask("HSETEX none XX FIELDS 1 z 1"), ":0\r\n", "there is no such key");
    assert_eq!(client.ask("HSETEX h EX 100 XX FXX FIELDS 1 b 3"), ":1\r\n");
    assert_eq!(client.ask("HSETEX new NX FNX FIELDS 1 z 1"), ":1\r\n");
    assert!(client.ask("HSETEX h NX XX FIELDS 1 z 1").starts_with("-ERR syntax"));
    assert!(client.ask("HGETEX h NX FIELDS 1 z").starts_with("-ERR syntax"));
    assert_eq!(client.ask("HTTL h FIELDS 2 a b"), "*2\r\n:-1\r\n:100\r\n");
    assert_eq!(client.ask("HGETEX h FIELDS 2 a nosuch"), "*2\r\n$1\r\n4\r\n$-1\r\n");
    assert_eq!(client.ask("HTTL h FIELDS 1 a"), "*1\r\n:-1\r\n", "a plain HGETEX only reads");
    client.ask("HGETEX h PX 50000 FIELDS 1 a");
    client.ask("HGETEX h PERSIST FIELDS 1 b");
    assert_eq!(client.ask("HTTL h FIELDS 2 a b"), "*2\r\n:50\r\n:-1\r\n");
    assert_eq!(client.ask("HGETEX h EXAT 1 FIELDS 1 a"), "*1\r\n$1\r\n4\r\n");
    assert_eq!(client.value("HEXISTS h a"), "0", "its life was over");
    assert_eq!(client.ask("HGETDEL h FIELDS 2 b nosuch"), "*2\r\n$1\r\n3\r\n$-1\r\n");
    assert_eq!(client.value("EXISTS h"), "0", "the last field takes the key with it");
    assert_eq!(client.ask("HGETDEL nokey FIELDS 1 a"), "*1\r\n$-1\r\n");
    client.ask("HSET twice a 4");
    let once = "*2\r\n$1\r\n4\r\n$-1\r\n";
    assert_eq!(client.ask("HGETDEL twice FIELDS 2 a a"), once, "one field after the other");
    client.ask("HSET twice a 4");
    assert_eq!(client.ask("HGETEX twice EXAT 1 FIELDS 2 a a"), once);
    client.ask("SET s v");
    for wrong in [
        "HGETDEL h FIELDS 2 a",
        "HGETDEL h NOSUCH 1 a",
        "HGETEX h EX 1 PX 1 FIELDS 1 a",
        "HGETEX h KEEPTTL FIELDS 1 a",
        "HGETEX h EX 0 FIELDS 1 a",
        "HSETEX h FNX FXX FIELDS 1 a 1",
        "HSETEX h FIELDS 1 a",
        "HSETEX h EX FIELDS 1 a 1",
    ] {
        assert!(client.ask(wrong).starts_with("-ERR"), "{wrong}");
    }
    assert!(client.ask("HGETDEL s FIELDS 1 a").starts_with("-WRONGTYPE"));
}

/// A hash whose fields are all expired is expired itself, and the sweep removes it.
#[test]
fn the_last_field_takes_the_key_with_it() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("HSET h a 1 b 2");
    client.ask("EXPIRE h 1000");
    client.ask("HPEXPIRE h 30 FIELDS 2 a b");
    assert_eq!(client.value("TTL h"), "1000", "the key's own life is another");
    client.ask("PERSIST h");
    assert_eq!(client.value("TTL h"), "-1");
    std::thread::sleep(Duration::from_millis(60));
    assert_eq!(client.value("EXISTS h"), "0");
    assert_eq!(client.value("TYPE h"), "none");
    let start = std::time::Instant::now();
    while client.value("DBSIZE") != "0" {
        assert!(start.elapsed() < Duration::from_secs(60), "the dead hash is never swept");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The bytes of a hash are charged to its tenant, and freed, exactly.
#[test]
fn hashes_are_charged_to_their_tenant() {
    let server = serve("--maxmemory 64mb --tenant t match prefix t:");
    let mut client = Client::new(server.addr());
    let used = |client: &mut Client| client.tenant(1)["used"].as_u64().unwrap();
    // The size class is charged with its first page, which stays.
    client.ask(&format!("HSET t:h a {}", "x".repeat(100_000)));
    client.ask("HDEL t:h a");
    let before = used(&mut client);
    client.ask(&format!("HSET t:h a {}", "x".repeat(100_000)));
    let grown = used(&mut client) - before;
    assert_eq!(client.value("MEMORY USAGE t:h").parse::<u64>().unwrap(), 102_400, "its run");
    assert!((102_400..104_000).contains(&grown), "{grown}");
    client.ask("HDEL t:h a");
    assert_eq!(used(&mut client), before);
}

/// Reads of a hash count as reads of its key, also for the models. Queries of its metadata do not.
#[test]
fn what_counts_as_a_read() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("HSET h a 1");
    for line in ["HGET h a", "HGET h b", "HMGET h a b", "HGETALL h", "HKEYS h", "HVALS h"] {
        client.ask(line);
    }
    assert_eq!(client.info("keyspace_hits"), "6");
    client.ask("HGET nokey a");
    assert_eq!(client.info("keyspace_misses"), "1");
    for line in ["HLEN h", "HEXISTS h a", "HSTRLEN h a", "HSCAN h 0", "HTTL h FIELDS 1 a"] {
        client.ask(line);
    }
    assert_eq!(client.info("keyspace_hits"), "6");
    assert_eq!(client.info("keyspace_misses"), "1");
}

#[test]
fn scans_tell_hashes_from_strings() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("HSET h a 1");
    client.ask("SET s 1");
    assert!(client.ask("SCAN 0 COUNT 100 TYPE hash").ends_with("*1\r\n$1\r\nh\r\n"));
    assert!(client.ask("SCAN 0 COUNT 100 TYPE string").ends_with("*1\r\n$1\r\ns\r\n"));
    assert!(client.ask("SCAN 0 COUNT 100 TYPE list").ends_with("*0\r\n"));
}
