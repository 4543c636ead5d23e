//! Limits are checked before the work, not after it: limits of output for slow readers, of the size
//! of a reply, and of the memory that a write needs.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{Server, serve, serve_both};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use wire::resp::encode_command;

/// Resident memory of a process in kilobytes, from `/proc`.
pub(crate) fn resident_kb(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Bytes of requests that a client sends without reading a reply, unless the server stops reading
/// them before.
const FLOOD: usize = 4 << 20;
/// Megabytes that a server may hold for such a client and for its other work meanwhile.
pub(crate) const HELD_MB: u64 = 8;

/// Has the server answer as many requests of a client that reads as [`flood`] sends. The memory
/// that the server then holds for its code, tables and models is not held for a slow client.
pub(crate) fn acquaint(client: &mut Client) {
    const BATCH: usize = 1_000;
    let (request, reply) = (b"GET a\r\n", b"$20\r\n12345678901234567890\r\n");
    let mut replies = vec![0; BATCH * reply.len()];
    for _ in 0..FLOOD / request.len() / BATCH {
        client.send(&request.repeat(BATCH));
        client.stream.read_exact(&mut replies).unwrap();
    }
}

/// Sends requests until the server takes no more; returns the number of bytes sent.
pub(crate) fn flood(stream: &mut impl Write, request: &[u8]) -> usize {
    let some = request.repeat((16 << 10) / request.len());
    let (mut sent, mut at) = (0, 0);
    while sent < FLOOD {
        match stream.write(&some[at..]) {
            Ok(len) => (sent, at) = (sent + len, (at + len) % some.len()),
            Err(_) => break,
        }
    }
    sent
}

/// A client that pipelines small requests and reads no reply is not served beyond a bound, with
/// either driver and either protocol. Once it reads, it gets every reply.
#[test]
fn small_requests_of_a_slow_reader_wait() {
    for driver in ["yes", "no"] {
        let (server, port) = serve_both(&format!("--io-threads 1 --io-uring {driver}"));
        let mut other = Client::new(server.addr());
        // A batch of requests has few bytes of replies, so only the bytes that already wait can
        // stop the client.
        other.ask("SET a 12345678901234567890");
        acquaint(&mut other);
        let cases: [(u16, &[u8], &str); 2] = [
            (server.addr().port(), b"GET a\r\n", "$20\r\n12345678901234567890\r\n"),
            (port, b"mg a v\r\n", "VA 20\r\n12345678901234567890\r\n"),
        ];
        for (port, request, reply) in cases {
            let before = resident_kb(server.pid());
            let mut slow = TcpStream::connect(("127.0.0.1", port)).unwrap();
            slow.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
            slow.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let sent = flood(&mut slow, request);
            assert_eq!(other.ask("PING"), "+PONG\r\n");
            let held = resident_kb(server.pid()).saturating_sub(before) >> 10;
            assert!(held < HELD_MB, "{driver}: {held} MB are held after {sent} bytes of requests");
            let (mut left, mut chunk) = (sent / request.len() * reply.len(), vec![0; 64 << 10]);
            while left > 0 {
                let most = chunk.len().min(left);
                left -= slow.read(&mut chunk[..most]).unwrap();
            }
        }
    }
}

/// Number of one-kilobyte elements in the hash, the list, the set and the sorted set. The string is
/// as large.
const ELEMENTS: usize = 4_000;

fn send(client: &mut Client, words: &[String]) {
    let words: Vec<_> = words.iter().map(String::as_bytes).collect();
    let mut bytes = vec![];
    encode_command(&mut bytes, &words);
    client.send(&bytes);
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn fill(address: SocketAddr) {
    let mut client = Client::new(address);
    let element = |at: usize| format!("{at:04}{}", "x".repeat(1_000));
    for from in (0..ELEMENTS).step_by(100) {
        let some = || from..from + 100;
        let each = |f: &dyn Fn(usize) -> Vec<String>| some().flat_map(f).collect::<Vec<_>>();
        for (name, elements) in [
            ("RPUSH l", each(&|at| vec![element(at)])),
            ("SADD s", each(&|at| vec![element(at)])),
            ("ZADD z", each(&|at| vec![at.to_string(), element(at)])),
            ("HSET h", each(&|at| vec![at.to_string(), element(at)])),
        ] {
            let mut all = words(name);
            all.extend(elements);
            send(&mut client, &all);
            assert!(!client.reply().starts_with(b"-"));
        }
    }
    client.ask(&format!("SET big {}", "x".repeat(100_000)));
    for at in 0..4_000 {
        client.ask(&format!("SET {at}:{} 1", "x".repeat(1_000)));
    }
    client.ask("RPUSH ids 1 2 3");
}

/// Commands with a reply of four megabytes or far more.
fn endless() -> Vec<String> {
    let fields: Vec<_> = (0..ELEMENTS).map(|at| at.to_string()).collect();
    let fields = fields.join(" ");
    let mut lines: Vec<String> = [
        "LRANGE l 0 -1",
        "HGETALL h",
        "HVALS h",
        "HSCAN h 0 COUNT 1000000",
        "HRANDFIELD h -1000000 WITHVALUES",
        "HRANDFIELD h 3900 WITHVALUES",
        "SMEMBERS s",
        "SSCAN s 0 COUNT 1000000",
        "SRANDMEMBER s -1000000",
        "SRANDMEMBER s 1000000",
        "SUNION s s",
        "SINTER s s",
        "SDIFF s none",
        "ZRANGE z 0 -1 WITHSCORES",
        "ZREVRANGE z 0 -1",
        "ZRANGEBYSCORE z -inf inf",
        "ZSCAN z 0 COUNT 1000000",
        "ZRANDMEMBER z -1000000 WITHSCORES",
        "ZUNION 2 z s",
        "ZINTER 2 z z",
        "ZDIFF 1 z",
        "SORT l ALPHA",
        "SORT l BY nosort",
        "SORT s ALPHA DESC LIMIT 0 3000",
        "SCAN 0 COUNT 1000000",
        "KEYS *",
    ]
    .map(str::to_owned)
    .into();
    lines.push(format!("MGET{}", " big".repeat(10_000)));
    lines.push(format!("HMGET h {fields}"));
    lines.push(format!("HGETEX h FIELDS {ELEMENTS} {fields}"));
    lines.push(format!("SORT ids{}", " GET big*".repeat(100)).replace("big*", "bi*"));
    lines.push(format!("SORT_RO ids BY nosort{}", " GET #".repeat(400_000)));
    lines.push("EVAL return{redis.call('lrange','l',0,-1)} 0".into());
    // These commands remove the elements that they reply with.
    lines.push(format!("HGETDEL h FIELDS {ELEMENTS} {fields}"));
    lines.extend(["LPOP l 1000000", "SPOP s 1000000", "ZPOPMIN z 1000000"].map(str::to_owned));
    lines
}

fn closed(server: &Server) -> u64 {
    closed_by(&mut Client::new(server.addr()))
}

fn closed_by(client: &mut Client) -> u64 {
    client.info("client_output_buffer_limit_disconnections").parse().unwrap()
}

/// A client whose reply exceeds its output limit is closed while the reply is built. The reply uses
/// no more memory than the limit, and evicts no items.
#[test]
fn a_reply_ends_at_its_bound_while_it_is_made() {
    let (server, port) = serve_both(
        "--io-threads 1 --client-output-buffer-limit 'normal 1mb 0 0' --maxmemory 100mb",
    );
    fill(server.addr());
    let mut kept = Client::new(server.addr());
    kept.ask("SET bi1 x");
    let value = "x".repeat(100_000);
    for at in 1..4 {
        kept.ask(&format!("SET bi{at} {value}"));
    }
    let before = resident_kb(server.pid());
    let mut most = 0;
    let lines = endless();
    for (at, line) in lines.iter().enumerate() {
        let mut client = Client::new(server.addr());
        send(&mut client, &words(line));
        let reply = client.reply();
        let name = &line[..line.len().min(60)];
        assert!(reply.is_empty(), "{name}: {}", String::from_utf8_lossy(&reply[..80]));
        assert_eq!(closed(&server), at as u64 + 1, "{name}");
        most = most.max(resident_kb(server.pid()).saturating_sub(before) >> 10);
    }
    let mut count = lines.len() as u64;
    // The same through a transaction, and through memcached's protocol.
    let mut client = Client::new(server.addr());
    client.ask("MULTI");
    for _ in 0..50 {
        client.ask("GET big");
    }
    client.send(b"EXEC\r\n");
    assert!(client.reply().is_empty());
    let mut text = Text::new(port);
    text.send(format!("get{}\r\n", " big".repeat(10_000)).as_bytes());
    assert_eq!(text.line(), "");
    count += 2;
    assert_eq!(closed(&server), count);
    server.logged("above client-output-buffer-limit");
    assert!(most < 24, "{most} MB for replies of at most one");
    assert_eq!(kept.ask("PING"), "+PONG\r\n", "others are not touched");
    assert_eq!(kept.info("evicted_keys"), "0");
    // A reply within the limit is served, whatever was requested before.
    assert_eq!(kept.value("GET big").len(), 100_000);
}

/// As in Redis, the first 16 KB of replies do not count: a lower limit closes no client that reads.
#[test]
fn small_replies_pass_the_lowest_limit() {
    for driver in ["yes", "no"] {
        let (server, port) = serve_both(&format!(
            "--io-uring {driver} --client-output-buffer-limit 'normal 10 10 1 pubsub 10 10 1'"
        ));
        let mut client = Client::new(server.addr());
        client.ask(&format!("SET a {}", "x".repeat(15_000)));
        for _ in 0..20 {
            assert_eq!(client.value("GET a").len(), 15_000);
        }
        let mut ear = Client::new(server.addr());
        assert!(ear.ask("SUBSCRIBE x").contains("subscribe"));
        client.ask(&format!("PUBLISH x {}", "x".repeat(1_000)));
        assert!(ear.reply().len() > 1_000);
        let mut text = Text::new(port);
        assert_eq!(text.ask("mg a s"), "HD s15000");
        assert_eq!(closed_by(&mut client), 0);
        client.ask(&format!("APPEND a {}", "x".repeat(15_000)));
        let mut greedy = Client::new(server.addr());
        greedy.send(b"GET a\r\n");
        assert!(greedy.reply().is_empty());
        assert_eq!(closed_by(&mut client), 1);
    }
}

/// A command removes elements only until its reply reaches the limit; the rest of the collection
/// stays.
#[test]
fn what_no_reply_can_hold_is_not_taken_out() {
    let server = serve("--client-output-buffer-limit 'normal 1mb 0 0'");
    fill(server.addr());
    let mut client = Client::new(server.addr());
    for (pop, len) in [
        ("LPOP l 1000000", "LLEN l"),
        ("SPOP s 1000000", "SCARD s"),
        ("ZPOPMAX z 1000000", "ZCARD z"),
        ("LMPOP 1 l LEFT COUNT 1000000", "LLEN l"),
        ("ZMPOP 1 z MIN COUNT 1000000", "ZCARD z"),
    ] {
        let before: usize = client.value(len).parse().unwrap();
        let mut other = Client::new(server.addr());
        other.send(format!("{pop}\r\n").as_bytes());
        assert!(other.reply().is_empty());
        let left: usize = client.value(len).parse().unwrap();
        assert!(before - left < 1_300, "{pop}: of {before} there are {left}");
    }
}

/// Fills a tenant of two megabytes with many small keys and four collections; returns the server
/// and a client.
fn crowded(arguments: &str, prefix: &str) -> (Server, Client) {
    let server = serve(arguments);
    let mut client = Client::new(server.addr());
    for at in 0..1_000 {
        assert_eq!(client.ask(&format!("SET {prefix}{at} {}", "x".repeat(1_000))), "+OK\r\n");
    }
    for at in 0..1_000 {
        client.ask(&format!("RPUSH {prefix}l {at}"));
        client.ask(&format!("SADD {prefix}s {at}"));
        client.ask(&format!("ZADD {prefix}z {at} {at}"));
        client.ask(&format!("HSET {prefix}h {at} {at}"));
    }
    client.ask(&format!("SET {prefix}string {}", "x".repeat(100_000)));
    (server, client)
}

/// A command with three thousand of these elements.
fn many(name: &str, each: impl Fn(usize) -> String) -> String {
    let all: Vec<_> = (0..3_000).map(each).collect();
    format!("{name} {}", all.join(" "))
}

/// Writes that would need three megabytes where the limit is two.
fn too_much(prefix: &str) -> Vec<String> {
    let (p, x) = (prefix, "x".repeat(1_000));
    vec![
        many(&format!("RPUSH {p}l"), |_| x.clone()),
        many(&format!("LPUSH {p}new"), |_| x.clone()),
        many(&format!("SADD {p}s"), |at| format!("{at:04}{x}")),
        many(&format!("SADD {p}new"), |at| format!("{at:04}{x}")),
        many(&format!("ZADD {p}z"), |at| format!("{at} {at:04}{x}")),
        many(&format!("HSET {p}h"), |at| format!("{at} {x}")),
        many(&format!("HSETEX {p}h EX 100 FIELDS 3000"), |at| format!("{at} {x}")),
        many("MSET", |at| format!("{p}new{} {x}", ["", &at.to_string()][at.min(1)])),
        format!("MSETNX {p}new 1 {p}new1 {}", "x".repeat(3_000_000)),
        format!("SETRANGE {p}string 3000000 x"),
        format!("SETBIT {p}string 30000000 1"),
        format!("APPEND {p}string {}", "x".repeat(3_000_000)),
        // The string and this suffix together are too large.
        format!("APPEND {p}string {}", "x".repeat(1_950_000)),
    ]
}

/// Checks that the error names both sizes, and that no key has changed.
fn refused(client: &mut Client, line: &str, prefix: &str) {
    // The buffer of such a long command may evict any item from a server of two megabytes.
    let is_small = client.ask("CONFIG GET maxmemory").contains("2097152");
    let look = |client: &mut Client| {
        let lengths = ["LLEN {}l", "SCARD {}s", "ZCARD {}z", "HLEN {}h", "STRLEN {}string"];
        let mut all: Vec<_> =
            lengths.iter().map(|line| client.value(&line.replace("{}", prefix))).collect();
        if !is_small {
            all.extend([client.value("DBSIZE"), client.info("evicted_keys")]);
        }
        all
    };
    let before = look(client);
    send(client, &words(line));
    let reply = String::from_utf8(client.reply()).unwrap();
    let name = &line[..line.len().min(40)];
    assert!(reply.starts_with("-OOM the item needs "), "{name}: {reply}");
    assert!(reply.contains("MiB, more than the limit of "), "{name}: {reply}");
    assert_eq!(client.value(&format!("EXISTS {prefix}new")), "0", "{name}");
    let after = look(client);
    let same = before.iter().zip(&after).all(|(was, is)| was == is || is_small && is == "0");
    assert!(same, "{name}: {before:?} became {after:?}");
}

/// A write beyond the limit of the tenant is refused before its first step, and evicts nothing.
#[test]
fn a_write_that_never_fits_changes_nothing() {
    let (_server, mut client) =
        crowded("--maxmemory 64mb --tenant 't match prefix t: max 2mb'", "t:");
    for line in too_much("t:") {
        refused(&mut client, &line, "t:");
    }
    let (_server, mut client) = crowded("--maxmemory 2mb", "");
    for line in too_much("") {
        refused(&mut client, &line, "");
    }
}

/// The limit also holds for keys that are moved or copied into the tenant, and for results computed
/// from other keys.
#[test]
fn what_never_fits_stays_where_it_was() {
    let (_server, mut client) =
        crowded("--maxmemory 64mb --tenant 't match prefix t: max 2mb'", "t:");
    let x = "x".repeat(1_000);
    for line in [
        many("RPUSH l", |at| format!("{at:04}{x}")),
        many("SADD s", |at| format!("{at:04}{x}")),
        many("ZADD z", |at| format!("{at} {at:04}{x}")),
        many("HSET h", |at| format!("{at} {x}")),
    ] {
        send(&mut client, &words(&line));
        assert!(!client.reply().starts_with(b"-"));
    }
    client.ask(&format!("SET string {}", "x".repeat(3_000_000)));
    for name in ["l", "s", "z", "h", "string"] {
        for line in [
            format!("RENAME {name} t:{name}"),
            format!("RENAMENX {name} t:new"),
            format!("COPY {name} t:{name} REPLACE"),
            format!("COPY {name} t:new"),
        ] {
            refused(&mut client, &line, "t:");
            assert_eq!(client.value(&format!("EXISTS {name}")), "1", "{line}");
        }
    }
    for line in [
        "SUNIONSTORE t:s s",
        "SINTERSTORE t:s s s",
        "SDIFFSTORE t:l s none",
        "ZUNIONSTORE t:z 1 z",
        "ZINTERSTORE t:z 2 z z",
        "ZDIFFSTORE t:string 1 z",
        "ZRANGESTORE t:z z 0 -1",
        "SORT l ALPHA STORE t:l",
        "SORT l BY nosort GET # STORE t:new",
        "BITOP OR t:string string",
    ] {
        refused(&mut client, line, "t:");
    }
    // An element too large for the other list, or set, stays where it is.
    client.ask(&format!("RPUSH one {}", "x".repeat(2_200_000)));
    client.ask(&format!("SADD member {}", "x".repeat(2_200_000)));
    let member = "x".repeat(2_200_000);
    for line in [
        "LMOVE one t:l LEFT RIGHT".to_owned(),
        "RPOPLPUSH one t:l".into(),
        "BLMOVE one t:l LEFT RIGHT 1".into(),
        format!("SMOVE member t:s {member}"),
    ] {
        refused(&mut client, &line, "t:");
        assert_eq!(
            (client.value("LLEN one"), client.value("SCARD member")),
            ("1".into(), "1".into())
        );
    }
}

/// MOVE and COPY into a database that belongs to a tenant.
#[test]
fn a_move_that_never_fits_changes_nothing() {
    let (_server, mut client) = crowded("--maxmemory 64mb --tenant 't match db 1 max 2mb'", "");
    client.ask("SELECT 1");
    for at in 0..500 {
        client.ask(&format!("SET {at} {}", "x".repeat(1_000)));
    }
    client.ask("SELECT 0");
    let x = "x".repeat(1_000);
    send(&mut client, &words(&many("RPUSH big", |_| x.clone())));
    client.reply();
    for line in ["MOVE big 1", "COPY big l DB 1"] {
        refused(&mut client, line, "");
        assert_eq!(client.value("LLEN big"), "3000");
    }
}

/// A write that replaces values of the same size is no growth.
#[test]
fn what_is_written_again_is_not_refused() {
    let (_server, mut client) =
        crowded("--maxmemory 64mb --tenant 't match prefix t: max 2mb'", "t:");
    let x = "x".repeat(500);
    for line in [
        many("HSET t:fields", |at| format!("{at} {x}")),
        many("ZADD t:scores", |at| format!("{at} {at:04}{}", &x[..150])),
        many("SADD t:members", |at| format!("{at:04}{}", &x[..150])),
    ] {
        for time in 0..2 {
            send(&mut client, &words(&line));
            let reply = client.reply();
            let wanted = if time == 0 { ":3000\r\n" } else { ":0\r\n" };
            assert_eq!(String::from_utf8_lossy(&reply), wanted, "{}", &line[..20]);
        }
        client.ask(&format!("DEL {}", words(&line)[1]));
    }
}

/// UNLINK of the last key leaves no page behind, whatever sizes its value had before. The test uses
/// a policy that remembers nothing, because other policies keep what they have learnt.
#[test]
fn the_last_key_leaves_nothing_behind() {
    let server = serve("--maxmemory-policy allkeys-lru");
    let mut client = Client::new(server.addr());
    let used = |client: &mut Client| client.info("used_memory").parse::<u64>().unwrap();
    let fresh = used(&mut client);
    for _ in 0..3 {
        for from in (0..50_000).step_by(500) {
            let members: Vec<_> = (from..from + 500).map(|at| at.to_string()).collect();
            client.ask(&format!("SADD myset {}", members.join(" ")));
        }
        for at in 0..1_000 {
            client.ask(&format!("SET key:{at} {}", "x".repeat(at)));
        }
        assert_eq!(client.ask("UNLINK myset"), ":1\r\n");
        for at in 0..1_000 {
            client.ask(&format!("UNLINK key:{at}"));
        }
        let begun = Instant::now();
        while used(&mut client) > fresh + (64 << 10) {
            let (left, within) = (used(&mut client), begun.elapsed() < Duration::from_secs(10));
            assert!(within, "{left} bytes without a key, {fresh} before");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
