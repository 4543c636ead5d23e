//! memcached's protocol: replies equal to those of memcached 1.6.45, and data shared with the Redis
//! protocol.
//!
//! `memcached/record.py` recorded the replies. The recorded requests go to a fresh server, in both
//! ways that a client may send them: whole, and byte by byte.

use crate::client::Client;
use crate::process::serve_both;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use wire::resp::split_line;

mod bounds;
mod watching;

const RECORDED: &str = include_str!("memcached/recorded.txt");

/// A connection with memcached's protocol.
pub(crate) struct Text {
    stream: BufReader<TcpStream>,
}

impl Text {
    pub(crate) fn new(port: u16) -> Self {
        let stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// A line without its end; empty once the server has closed the connection.
    pub(crate) fn line(&mut self) -> String {
        let mut line = vec![];
        self.stream.read_until(b'\n', &mut line).unwrap();
        String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()
    }

    /// The reply to a request; the data of the request stands behind a bar.
    pub(crate) fn ask(&mut self, request: &str) -> String {
        self.send(&bytes_of(request));
        self.until_mn()
    }

    fn until_mn(&mut self) -> String {
        let mut all = String::new();
        loop {
            let line = self.line();
            if line == "MN" {
                return all.strip_suffix("\r\n").unwrap_or(&all).to_owned();
            }
            all += &line;
            all += "\r\n";
        }
    }
}

/// The request, then `mn`, whose reply ends the replies.
fn bytes_of(request: &str) -> Vec<u8> {
    let (line, data) = match request.split_once('|') {
        Some((line, data)) => (line, format!("{data}\r\n")),
        None => (request, String::new()),
    };
    format!("{line}\r\n{data}mn\r\n").into_bytes()
}

fn compare(piecewise: bool) {
    let (_server, port) = serve_both("--maxmemory 64mb");
    let mut client = Text::new(port);
    let mut lines = RECORDED.lines();
    let mut compared = 0;
    while let (Some(request), Some(expected)) = (lines.next(), lines.next()) {
        let bytes = bytes_of(request);
        if piecewise {
            for byte in bytes {
                client.send(&[byte]);
            }
        } else {
            client.send(&bytes);
        }
        let reply = client.until_mn().replace("\r\n", "\\r\\n");
        let expected = expected.trim_start();
        if expected != "(any)" {
            let expected = expected.strip_suffix("\\r\\n").unwrap_or(expected);
            assert_eq!(reply, expected, "{request}");
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared} replies are too few to say anything");
}

#[test]
fn every_reply_is_that_of_memcached() {
    compare(false);
}

#[test]
fn also_when_requests_arrive_byte_by_byte() {
    compare(true);
}

/// Both protocols see the same item, whichever wrote it.
#[test]
fn both_protocols_see_the_same_data() {
    let (server, port) = serve_both("--maxmemory 64mb --tenant t match prefix t:");
    let (mut redis, mut text) = (Client::new(server.addr()), Text::new(port));
    text.ask("set t:a 5 100 5|hello");
    assert_eq!(redis.value("GET t:a"), "hello");
    assert_eq!(redis.value("STRLEN t:a"), "5");
    assert_eq!(redis.value("TTL t:a"), "100");
    assert_eq!(redis.value("APPEND t:a !"), "6");
    assert_eq!(text.ask("get t:a"), "VALUE t:a 5 6\r\nhello!\r\nEND", "flags stay");
    assert!(redis.info("tenant_t").contains(",items=1,"));
    assert!(text.ask("stats tenants").contains("STAT t:items 1\r\n"));
    redis.ask("SET n 41");
    assert_eq!(text.ask("incr n 1"), "42");
    assert_eq!(redis.value("INCR n"), "43");
    let gets = text.ask("gets n");
    let cas = gets.split("\r\n").next().unwrap().rsplit(' ').next().unwrap().to_owned();
    redis.ask("SET n 50");
    assert_eq!(text.ask(&format!("cas n 0 0 1 {cas}|1")), "EXISTS", "Redis' write is a change");
    let gets = text.ask("gets n");
    let cas = gets.split("\r\n").next().unwrap().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(text.ask(&format!("cas n 0 0 1 {cas}|1")), "STORED");
    assert_eq!(text.ask(&format!("cas n 0 0 1 {cas}|2")), "EXISTS");
    redis.ask("HSET h f v");
    assert_eq!(text.ask("get h"), "END", "a hash is no string");
    assert_eq!(text.ask("add h 0 0 1|x"), "NOT_STORED");
    assert_eq!(text.ask("delete h"), "DELETED");
    assert!(text.ask("flush_all") == "OK" && redis.value("DBSIZE") == "0");
}

/// Larder's own flag `U`: on a write it states the cost of a miss in microseconds, on a read it
/// returns the cost that counts.
#[test]
fn what_a_miss_costs_is_told() {
    let (server, port) = serve_both("");
    let mut client = Text::new(port);
    assert_eq!(client.ask("ms a 1 U1000|x"), "HD");
    assert_eq!(client.ask("mg a U v"), "VA 1 U950\r\nx");
    assert_eq!(client.ask("ms a 1 Ux|x"), "CLIENT_ERROR bad token in command line format");
    let mut redis = Client::new(server.addr());
    assert_eq!(redis.ask("SET b 1 EX 100 COST 20000"), "+OK\r\n");
    assert_eq!(client.ask("mg b U"), "HD U15350");
}

#[test]
fn a_flush_may_wait() {
    let (_server, port) = serve_both("");
    let mut client = Text::new(port);
    client.ask("set a 0 0 1|x");
    assert_eq!(client.ask("flush_all 1"), "OK");
    assert_eq!(client.ask("get a"), "VALUE a 0 1\r\nx\r\nEND");
    let start = std::time::Instant::now();
    while client.ask("get a") != "END" {
        assert!(start.elapsed() < Duration::from_secs(60), "it was never flushed");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The time from winning a recache to the write counts as the cost of a miss, also while the old
/// value is still there.
#[test]
fn recaching_is_a_fetch_that_is_timed() {
    let (_server, port) = serve_both("--maxmemory 64mb");
    // The server times misses once the pilot has asked for samples.
    std::thread::sleep(Duration::from_millis(300));
    let mut client = Text::new(port);
    assert_eq!(client.ask("mg a N30 v"), "VA 0 W\r\n");
    std::thread::sleep(Duration::from_millis(20));
    client.ask("ms a 3 T20|new");
    assert_eq!(client.ask("mg a R30 v"), "VA 3 W\r\nnew");
    std::thread::sleep(Duration::from_millis(200));
    client.ask("ms a 3 T20|two");
    let reply = client.ask("mg a U");
    let cost: u64 = reply.strip_prefix("HD U").unwrap().parse().unwrap();
    assert!(cost > 150_000, "{reply}");
}

#[test]
fn reports() {
    let (_server, port) = serve_both("--maxmemory 64mb");
    let mut client = Text::new(port);
    client.ask("stats detail on");
    client.ask("set p:a 0 0 1|x");
    client.ask("get p:a p:b");
    client.ask("set p:c 0 100 1|x");
    assert_eq!(client.ask("stats detail dump"), "PREFIX p get 2 hit 1 set 2 del 0\r\nEND");
    let stats = client.ask("stats");
    for line in ["cmd_get 2", "get_hits 1", "get_misses 1", "cmd_set 2", "curr_items 2"] {
        assert!(stats.contains(&format!("STAT {line}\r\n")), "{line}: {stats}");
    }
    assert!(stats.contains("STAT limit_maxbytes 67108864\r\n"));
    assert!(client.ask("stats items").contains("STAT items:1:number 2\r\n"));
    assert!(client.ask("stats slabs").contains("STAT 1:cmd_set 2\r\n"));
    assert!(client.ask("stats sizes").contains("STAT 64 2\r\n"));
    assert!(client.ask("stats settings").contains("STAT item_size_max 1048576\r\n"));
    assert!(client.ask("stats conns").contains(":addr tcp:127.0.0.1:"));
    let dump = client.ask("lru_crawler metadump all");
    assert!(dump.contains("key=p%3Aa exp=-1 ") && dump.ends_with("END"), "{dump}");
    assert!(client.ask("lru_crawler mgdump all").contains("mg p:c"));
    let item = client.ask("me p:c");
    let left = (90..=100).find(|left| item.starts_with(&format!("ME p:c exp={left} ")));
    assert!(left.is_some(), "{item}");
    assert_eq!(client.ask("stats reset"), "RESET");
    assert!(client.ask("stats").contains("STAT cmd_set 0\r\n"));
    assert_eq!(client.ask("shutdown"), "SERVER_ERROR: shutdown not enabled");
    let (server, port) = serve_both("--memcached-shutdown yes");
    let mut client = Text::new(port);
    client.send(b"shutdown\r\n");
    assert_eq!(client.line(), "");
    server.wait();
}

/// Rare flags, with the replies of memcached 1.6.45.
#[test]
fn rare_flags() {
    let (_server, port) = serve_both("");
    let mut client = Text::new(port);
    for (request, reply) in [
        ("ms a 2 s|ab", "HD s2"),
        ("ms a 2 MA s c E7|cd", "HD s4 c7"),
        ("ms a 2 s c C9|cd", "EX s2 c0"),
        ("mg a v c C7", "HD c7"),
        ("mg a v c C8", "VA 4 c7\r\nabcd"),
        ("ms none 2 MA C5|x1", "NS"),
        ("ms none 2 MP C5 N30|x1", "HD"),
        ("mg new N30 E9 c v", "VA 0 c9 W\r\n"),
        ("mg new E5 c", "HD c9 Z"),
        ("md a I E11", "HD"),
        ("mg a c", "HD c11 X W"),
        ("md a x E12 F3 T30", "HD"),
        ("mg a c s f t", "HD c12 s0 f3 t30"),
        ("ma n N0 J5 E4 c v", "VA 1 c4\r\n5"),
        ("ma n C4 E8 c v", "VA 1 c8\r\n6"),
        ("slabs automove window 3", "OK"),
        ("slabs automove window 2", "CLIENT_ERROR automove window too low or too high"),
        ("slabs automove freeratio 0.1", "OK"),
    ] {
        assert_eq!(client.ask(request), reply, "{request}");
    }
}

#[test]
fn the_last_delayed_flush_holds() {
    let (_server, port) = serve_both("");
    let mut client = Text::new(port);
    client.ask("set a 0 0 1|x");
    assert_eq!(client.ask("flush_all 1"), "OK");
    assert_eq!(client.ask("flush_all 100"), "OK");
    std::thread::sleep(Duration::from_millis(3_500));
    assert_eq!(client.ask("get a"), "VALUE a 0 1\r\nx\r\nEND");
}

/// A request must not be split into words by the quoting rules of Redis' typed lines.
#[test]
fn quotes_are_bytes_like_others() {
    let (server, port) = serve_both("");
    Text::new(port).ask("set \"a 0 0 1|x");
    let mut redis = Client::new(server.addr());
    assert_eq!(redis.value("EXISTS '\"a'"), "1");
    assert_eq!(split_line(b"'\"a'").unwrap(), [b"\"a"]);
}
