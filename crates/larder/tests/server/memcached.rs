//! memcached's protocol: its replies as memcached 1.6.18 gives them, and the same data as Redis'.
//!
//! `memcached/record.py` recorded the replies. Each request goes to a fresh server, in both ways a
//! client may send it: whole, and byte by byte.

use crate::client::Client;
use crate::process::serve_both;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use wire::resp::split_line;

const RECORDED: &str = include_str!("memcached/recorded.txt");

/// A connection by memcached's protocol.
pub(crate) struct Text {
    stream: BufReader<TcpStream>,
}

impl Text {
    pub(crate) fn new(port: u16) -> Self {
        let stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// A line without its end; empty once the server has closed.
    pub(crate) fn line(&mut self) -> String {
        let mut line = vec![];
        self.stream.read_until(b'\n', &mut line).unwrap();
        String::from_utf8_lossy(&line).trim_end_matches("\r\n").to_owned()
    }

    /// The reply to a request, whose data stands behind a bar.
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

/// One item, whichever protocol wrote it.
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
    assert!(redis.info("tenant_t").contains("keys=1,"));
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

#[test]
fn values_beyond_the_limit_are_refused_and_their_bytes_skipped() {
    let (_server, port) = serve_both("--memcached-item-size-max 1000 --maxmemory 64mb");
    let mut client = Text::new(port);
    client.ask("set a 0 0 1|x");
    let large = "flush_all\r\n".repeat(100);
    let reply = client.ask(&format!("set a 0 0 {}|{large}", large.len()));
    assert_eq!(reply, "SERVER_ERROR object too large for cache (memcached-item-size-max)");
    assert_eq!(client.ask("get a"), "END", "the old value would be taken for the new");
    assert_eq!(client.ask(&format!("set b 0 0 1000|{}", "x".repeat(1000))), "STORED");
    let key = "k".repeat(251);
    assert!(client.ask(&format!("get {key}")).starts_with("CLIENT_ERROR"));
    assert!(client.ask("stats").contains("STAT store_too_large 1\r\n"));
}

#[test]
fn nothing_is_reached_without_a_token_when_one_is_set() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokens");
    std::fs::write(&file, "alice:secret\n").unwrap();
    let (_server, port) = serve_both(&format!("--memcached-auth-file {}", file.display()));
    let mut client = Text::new(port);
    client.send(b"get a\r\n");
    assert_eq!(client.line(), "CLIENT_ERROR unauthenticated");
    client.send(b"flush_all\r\nset x 0 0 9\r\nalice abc\r\n");
    assert_eq!(client.line(), "CLIENT_ERROR unauthenticated");
    assert_eq!(client.line(), "CLIENT_ERROR authentication failure");
    client.send(b"set x 0 0 12\r\nalice secret\r\n");
    assert_eq!(client.line(), "STORED");
    assert_eq!(client.ask("get x"), "END", "a token is no data");

    let (_server, port) = serve_both("--requirepass pw");
    let mut client = Text::new(port);
    client.send(b"get a\r\nset x 0 0 10\r\ndefault pw\r\n");
    assert_eq!(client.line(), "CLIENT_ERROR unauthenticated");
    assert_eq!(client.line(), "STORED");
    assert_eq!(client.ask("get a"), "END");
}

/// Ours alone: `U` tells what fetching the value took, and asks what it is counted as.
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
fn the_binary_protocol_is_closed() {
    let (_server, port) = serve_both("");
    let mut client = Text::new(port);
    client.send(&[0x80, 0x0b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut rest = vec![];
    // Bytes that were not read may make this a reset.
    let _ = client.stream.read_to_end(&mut rest);
    assert_eq!(rest, b"");
    assert_eq!(Text::new(port).ask("mn"), "", "others are served");
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
        assert!(start.elapsed() < Duration::from_secs(10), "it was never flushed");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn watchers_see_what_others_do() {
    let (_server, port) = serve_both("");
    let (mut client, mut watcher) = (Text::new(port), Text::new(port));
    watcher.send(b"watch fetchers mutations deletions\r\n");
    assert_eq!(watcher.line(), "OK");
    client.ask("set a:b 0 60 5|hello");
    client.ask("get a:b");
    client.ask("delete a:b");
    client.ask("mg a:b v");
    let lines: Vec<String> = (0..4).map(|_| watcher.line()).collect();
    for (line, parts) in lines.iter().zip([
        "type=item_store key=a%3Ab status=stored cmd=set ttl=60",
        "type=item_get key=a%3Ab status=found",
        "type=deleted key=a%3Ab cmd=delete",
        "type=item_get key=a%3Ab status=not_found",
    ]) {
        assert!(line.starts_with("ts=") && line.contains(parts), "{line}");
    }
}

/// What a client fetches after it has won is what a miss costs, also where the old value is still
/// there.
#[test]
fn recaching_is_a_fetch_that_is_timed() {
    let (server, port) = serve_both("--maxmemory 64mb");
    // The stopwatch runs once the pilot has asked for samples.
    std::thread::sleep(Duration::from_millis(300));
    let mut redis = Client::new(server.addr());
    let mut mean = || redis.tenant(0)["penalty_us"].as_u64().unwrap_or(0);
    let mut client = Text::new(port);
    assert_eq!(client.ask("mg a N30 v"), "VA 0 W\r\n");
    std::thread::sleep(Duration::from_millis(20));
    client.ask("ms a 3 T20|new");
    let first = mean();
    assert!(first >= 18_000, "{first}");
    assert_eq!(client.ask("mg a R30 v"), "VA 3 W\r\nnew");
    std::thread::sleep(Duration::from_millis(200));
    client.ask("ms a 3 T20|two");
    let second = mean();
    assert!(second > first + 20_000, "{first} and {second}");
}

/// Whom the store makes room of, whoever wrote it.
#[test]
fn evictions_can_be_watched() {
    let (server, port) = serve_both("--maxmemory 1mb");
    let mut watcher = Text::new(port);
    watcher.send(b"watch evictions\r\n");
    assert_eq!(watcher.line(), "OK");
    // From the next look of the store's on they are noted.
    std::thread::sleep(Duration::from_millis(300));
    let mut client = Client::new(server.addr());
    let value = "x".repeat(1_000);
    client.ask_all((0..5_000).map(|at| format!("SET key:{at} {value}")));
    let line = watcher.line();
    assert!(line.starts_with("ts=") && line.contains(" type=eviction key=key%3A"), "{line}");
    assert!(line.contains(" fetch=no ttl=-1 la="), "{line}");
    assert!(line.ends_with(" clsid=1 size=1000"), "{line}");
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
    assert!(client.ask("stats sizes").contains("STAT 32 1\r\nSTAT 64 1\r\n"));
    assert!(client.ask("stats settings").contains("STAT item_size_max 1048576\r\n"));
    assert!(client.ask("stats conns").contains(":addr tcp:127.0.0.1:"));
    let dump = client.ask("lru_crawler metadump all");
    assert!(dump.contains("key=p%3Aa exp=-1 ") && dump.ends_with("END"), "{dump}");
    assert!(client.ask("lru_crawler mgdump all").contains("mg p%3Ac"));
    let item = client.ask("me p:c");
    let left = (90..=100).find(|left| item.starts_with(&format!("ME p:c exp={left} ")));
    assert!(left.is_some(), "{item}");
    assert_eq!(client.ask("stats reset"), "RESET");
    assert!(client.ask("stats").contains("STAT cmd_set 0\r\n"));
    assert_eq!(client.ask("shutdown"), "ERROR: shutdown not enabled");
    let (server, port) = serve_both("--memcached-shutdown yes");
    let mut client = Text::new(port);
    client.send(b"shutdown\r\n");
    assert_eq!(client.line(), "");
    server.wait();
}

/// The words of a request must not be split by those of Redis' typed lines.
#[test]
fn quotes_are_bytes_like_others() {
    let (server, port) = serve_both("");
    Text::new(port).ask("set \"a 0 0 1|x");
    let mut redis = Client::new(server.addr());
    assert_eq!(redis.value("EXISTS '\"a'"), "1");
    assert_eq!(split_line(b"'\"a'").unwrap(), [b"\"a"]);
}
