//! The requests of web frameworks' cache stores and of the .NET client. The test replays each
//! sequence in its original batches and checks every reply. Where redis-server is installed, it
//! must give the same replies to the same sequences.

use crate::client::Client;
use crate::process::{free_port, serve};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use wire::resp::{encode_command, split_line};

/// Commands with their replies, escaped; an empty line ends a batch.
type Sequence = &'static str;

/// Django's `django.core.cache.backends.redis`, over redis-py.
const DJANGO: Sequence = r"
FLUSHDB => +OK

SET :1:key pickled EX 300 => +OK

GET :1:key => $7|pickled

SET :1:key other EX 300 NX => $-1

SET :1:new other EX 300 NX => +OK

MGET :1:key :1:none :1:new => *3|$7|pickled|$-1|$5|other

MULTI => +OK
MSET :1:a 1 :1:b 2 => +QUEUED
EXPIRE :1:a 300 => +QUEUED
EXPIRE :1:b 300 => +QUEUED
EXEC => *3|+OK|:1|:1

EXISTS :1:a => :1

INCRBY :1:a 5 => :6

INCRBY :1:a -1 => :5

EXPIRE :1:key 60 => :1

PERSIST :1:key => :1

TTL :1:key => :-1

TTL :1:a => :300

EXISTS :1:none => :0

DEL :1:key => :1

DEL :1:a :1:b :1:none => :2

FLUSHDB => +OK
";

/// Rails' `RedisCacheStore`, over redis-rb.
const RAILS: Sequence = r"
FLUSHDB => +OK

SET views/1 entry PX 60000 => +OK

GET views/1 => $5|entry

SET views/1 other PX 60000 NX => $-1

SET lock 1 NX => +OK

MSET views/2 two views/3 three => +OK

MGET views/1 views/2 views/none => *3|$5|entry|$3|two|$-1

SET views/4 four PX 60000 => +OK
SET views/5 five PX 60000 => +OK

INCRBY hits 1 => :1
TTL hits => :-1

EXPIRE hits 3600 => :1

DECRBY hits 2 => :-1

DEL views/4 views/5 => :2

SCAN 0 MATCH views/2* COUNT 1000 => *2|$1|0|*1|$7|views/2

DEL views/2 => :1

FLUSHDB => +OK
";

/// ASP.NET Core's `IDistributedCache` over Redis.
const ASP_NET: Sequence = r"
FLUSHDB => +OK

MULTI => +OK
HSET session:1 absexp -1 sldexp 12000000000 data \x01\x00\xff\r\n => +QUEUED
EXPIRE session:1 1200 => +QUEUED
EXEC => *2|:3|:1

HMGET session:1 absexp sldexp data => *3|$2|-1|$11|12000000000|$5|\x01\x00\xff\r\n

EXPIRE session:1 1200 => :1

HMGET session:1 absexp sldexp => *2|$2|-1|$11|12000000000

HMGET session:none absexp sldexp data => *3|$-1|$-1|$-1

TTL session:1 => :1200

DEL session:1 => :1

FLUSHDB => +OK
";

fn unescape(text: &str) -> Vec<u8> {
    split_line(format!("\"{text}\"").as_bytes()).unwrap().swap_remove(0)
}

/// Replays a sequence and checks each reply.
fn replay(address: SocketAddr, name: &str, sequence: Sequence) {
    let mut client = Client::new(address);
    for batch in sequence.trim().split("\n\n") {
        let pairs: Vec<_> = batch.lines().map(|line| line.split_once(" => ").unwrap()).collect();
        let mut bytes = vec![];
        for (command, _) in &pairs {
            let words: Vec<_> = command.split(' ').map(unescape).collect();
            encode_command(&mut bytes, &words);
        }
        client.send(&bytes);
        for (command, expected) in pairs {
            let expected: Vec<u8> = expected
                .split('|')
                .flat_map(|line| [unescape(line).as_slice(), b"\r\n"].concat())
                .collect();
            let reply = client.reply();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(text(&reply), text(&expected), "{name}: {command}");
        }
    }
}

/// A redis-server that is killed at the end of its test, if one is installed.
struct Redis(Child, SocketAddr);

impl Redis {
    fn start() -> Option<Self> {
        let port = free_port();
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--save", ""]);
        let Ok(child) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
            skip::skip("redis-server", "apt-get install redis-server");
            return None;
        };
        let redis = Self(child, SocketAddr::from(([127, 0, 0, 1], port)));
        for _ in 0..200 {
            if std::net::TcpStream::connect(redis.1).is_ok() {
                return Some(redis);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("redis-server does not listen");
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn cache_stores_of_frameworks() {
    let all = [("Django", DJANGO), ("Rails", RAILS), ("ASP.NET Core", ASP_NET)];
    let server = serve("--maxmemory 64mb");
    for (name, sequence) in all {
        replay(server.addr(), name, sequence);
    }
    if let Some(redis) = Redis::start() {
        for (name, sequence) in all {
            replay(redis.1, name, sequence);
        }
    }
}

/// Sixteen bytes that are no valid text, by which StackExchange.Redis recognizes its own replies.
const IDENTITY: &[u8] = b"\x00\r\n\xff\x80abc$-1\r\n\x01\x02\x03";

/// The first batch on a connection for commands.
fn handshake(password: Option<&str>) -> Vec<u8> {
    let mut bytes = vec![];
    let mut add = |words: &[&[u8]]| {
        bytes.extend(format!("*{}\r\n", words.len()).bytes());
        for word in words {
            bytes.extend(format!("${}\r\n", word.len()).bytes());
            bytes.extend_from_slice(word);
            bytes.extend(b"\r\n");
        }
    };
    if let Some(password) = password {
        add(&[b"AUTH", password.as_bytes()]);
    }
    add(&[b"HELLO", b"3"]);
    add(&[b"CLIENT", b"SETNAME", b"WEB-01(SE.Redis-v2.9.25.41391)"]);
    add(&[b"CLIENT", b"SETINFO", b"lib-name", b"SE.Redis"]);
    add(&[b"CLIENT", b"SETINFO", b"lib-ver", b"2.9.25.41391"]);
    add(&[b"CLIENT", b"ID"]);
    add(&[b"CONFIG", b"GET", b"timeout"]);
    add(&[b"CONFIG", b"GET", b"replica-read-only"]);
    add(&[b"CONFIG", b"GET", b"databases"]);
    add(&[b"SENTINEL", b"MASTERS"]);
    add(&[b"INFO", b"replication"]);
    add(&[b"INFO", b"server"]);
    add(&[b"CLUSTER", b"NODES"]);
    add(&[b"GET", b"__Booksleeve_TieBreak"]);
    add(&[b"ECHO", IDENTITY]);
    bytes
}

/// Checks that every command of the handshake is answered, in order. With one reply too few, the
/// client would take each later reply for the reply to another command.
fn shakes_hands(address: SocketAddr, password: Option<&str>) -> Client {
    let mut client = Client::new(address);
    client.send(&handshake(password));
    let mut next = || String::from_utf8_lossy(&client.reply()).into_owned();
    if password.is_some() {
        assert_eq!(next(), "+OK\r\n");
    }
    let hello = next();
    assert!(hello.starts_with("%7\r\n") && hello.contains("$5\r\nproto\r\n:3\r\n"), "{hello}");
    assert!(hello.contains("$4\r\nrole\r\n$6\r\nmaster\r\n"), "{hello}");
    for what in ["SETNAME", "lib-name", "lib-ver"] {
        let reply = next();
        let tolerated = what != "SETNAME" && reply.starts_with("-ERR unknown subcommand");
        assert!(reply == "+OK\r\n" || tolerated, "{what}: {reply}");
    }
    assert!(next().starts_with(':'));
    assert_eq!(next(), "%1\r\n$7\r\ntimeout\r\n$1\r\n0\r\n");
    assert_eq!(next(), "%1\r\n$17\r\nreplica-read-only\r\n$3\r\nyes\r\n");
    assert_eq!(next(), "%1\r\n$9\r\ndatabases\r\n$2\r\n16\r\n");
    let sentinel = next();
    assert!(sentinel.starts_with("-ERR ") || sentinel == "*0\r\n", "{sentinel}");
    let replication = next();
    assert!(replication.contains("\r\nrole:master\r\n"), "{replication}");
    let server = next();
    assert!(server.contains("\r\nredis_version:") && server.contains("\r\nrun_id:"), "{server}");
    assert!(server.contains("redis_mode:standalone"), "{server}");
    let nodes = next();
    assert!(nodes.starts_with("-ERR "), "{nodes}");
    assert_eq!(next(), "_\r\n", "nobody holds the tie-breaker");
    let echo = [format!("${}\r\n", IDENTITY.len()).as_bytes(), IDENTITY, b"\r\n"].concat();
    assert_eq!(client.reply(), echo, "the tracer");
    client
}

#[test]
fn stack_exchange_redis_shakes_hands() {
    let server = serve("--maxmemory 64mb --requirepass sesame");
    let mut client = shakes_hands(server.addr(), Some("sesame"));
    // The client's second connection, for subscriptions where RESP3 is off.
    let mut listener = Client::new(server.addr());
    listener.ask("AUTH sesame");
    let channel = "__Booksleeve_MasterChanged";
    let reply = listener.ask(&format!("SUBSCRIBE {channel}"));
    assert_eq!(reply, format!("*3\r\n$9\r\nsubscribe\r\n$26\r\n{channel}\r\n:1\r\n"));
    assert_eq!(client.ask(&format!("PUBLISH {channel} 1")), ":1\r\n");
    assert!(listener.reply().starts_with(b"*3\r\n$7\r\nmessage\r\n"));
    // The look-up of the tie-breaker key is no workload.
    assert_eq!(client.info("keyspace_misses"), "0", "on every connect it would be a miss");
    if let Some(redis) = Redis::start() {
        shakes_hands(redis.1, None);
    }
}
