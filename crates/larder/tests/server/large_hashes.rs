//! Hashes of many fields: they answer as small ones do, are charged to the byte, and keep no other
//! client waiting.

use crate::client::Client;
use crate::process::{serve, serve_command, start};
use std::time::Duration;
use wire::resp::Reply;

/// Sends one `HSET` with a range of fields.
fn hset(client: &mut Client, key: &str, fields: std::ops::Range<usize>) {
    let mut words = vec![b"HSET".to_vec(), key.into()];
    for at in fields {
        words.extend([format!("field:{at}").into_bytes(), format!("value:{at}").into_bytes()]);
    }
    let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
    let mut bytes = vec![];
    wire::resp::encode_command(&mut bytes, &words);
    client.send(&bytes);
    let reply = String::from_utf8(client.reply()).unwrap();
    assert!(reply.starts_with(':'), "{reply}");
}

/// The strings of an array.
fn strings(reply: &[u8]) -> Vec<String> {
    fn flat(reply: &Reply<'_>, into: &mut Vec<String>) {
        match reply {
            Reply::Array(all) => all.iter().for_each(|reply| flat(reply, into)),
            other => into.push(
                other
                    .as_bytes()
                    .map_or_else(String::new, |bytes| String::from_utf8_lossy(bytes).into_owned()),
            ),
        }
    }
    let mut all = vec![];
    flat(&Reply::decode(reply).unwrap().unwrap().0, &mut all);
    all
}

fn ask_strings(client: &mut Client, line: &str) -> Vec<String> {
    strings(client.ask(line).as_bytes())
}

/// A hash of many fields gives the same answers as a small one, for every command.
#[test]
fn large_hashes_answer_as_small_ones() {
    const FIELDS: usize = 20_000;
    let server = serve("");
    let mut client = Client::new(server.addr());
    hset(&mut client, "h", 0..FIELDS);
    assert_eq!(client.value("HLEN h"), FIELDS.to_string());
    assert_eq!(client.value("TYPE h"), "hash");
    assert_eq!(client.value("OBJECT ENCODING h"), "hashtable");
    assert_eq!(client.value("HGET h field:77"), "value:77");
    assert_eq!(client.value("HGET h nosuch"), "(null)");
    assert_eq!(client.value("HSTRLEN h field:77"), "8");
    assert_eq!(
        client.ask("HMGET h field:1 nosuch field:2"),
        "*3\r\n$7\r\nvalue:1\r\n$-1\r\n$7\r\nvalue:2\r\n"
    );
    assert_eq!(client.ask("HSETNX h field:1 x"), ":0\r\n");
    assert_eq!(client.ask("HSET h field:1 other new 5"), ":1\r\n");
    assert_eq!(client.ask("HINCRBY h new 3"), ":8\r\n");
    assert_eq!(client.value("HINCRBYFLOAT h new 0.5"), "8.5");
    assert_eq!(client.ask("HDEL h new nosuch field:0 field:0"), ":2\r\n");
    assert_eq!(client.ask("HSET h field:0 value:0 field:1 value:1"), ":1\r\n");
    assert!(client.ask("SETRANGE h 0 x").starts_with("-WRONGTYPE"));
    let names = |all: Vec<String>| all.into_iter().collect::<std::collections::BTreeSet<_>>();
    let fields = names((0..FIELDS).map(|at| format!("field:{at}")).collect());
    assert_eq!(names(ask_strings(&mut client, "HKEYS h")), fields);
    assert_eq!(ask_strings(&mut client, "HVALS h").len(), FIELDS);
    let all = ask_strings(&mut client, "HGETALL h");
    assert_eq!(all.len(), 2 * FIELDS);
    assert!(all.chunks(2).all(|pair| pair[0][6..] == pair[1][6..]), "each beside its value");
    assert!(fields.contains(&client.value("HRANDFIELD h")));
    assert_eq!(names(ask_strings(&mut client, "HRANDFIELD h 50")).len(), 50);
    assert_eq!(names(ask_strings(&mut client, "HRANDFIELD h 15000")).len(), 15_000);
    assert_eq!(ask_strings(&mut client, "HRANDFIELD h -500 WITHVALUES").len(), 1_000);
    // A cursor shows each field that stays exactly once, whatever is added and removed.
    let (mut cursor, mut seen) = ("0".to_owned(), vec![]);
    loop {
        let mut reply = ask_strings(&mut client, &format!("HSCAN h {cursor} COUNT 100 NOVALUES"));
        cursor = reply.remove(0);
        assert!(reply.len() < 200);
        seen.extend(reply.into_iter().filter(|name| name.starts_with("field:")));
        client.ask(&format!("HSET h extra:{cursor} 1"));
        client.ask(&format!("HDEL h extra:{} extra:{cursor}", seen.len()));
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(seen.len(), FIELDS);
    assert_eq!(names(seen), fields);
    let found = ask_strings(&mut client, "HSCAN h 0 COUNT 1000000 MATCH field:1234*");
    assert_eq!(found.len(), 1 + 2 * 11, "with one, and with two digits more");
    // The hash under another name, in another database, with another value, and after its end.
    assert_eq!(client.ask("COPY h copy"), ":1\r\n");
    assert_eq!(client.ask("COPY h copy"), ":0\r\n");
    assert_eq!(client.ask("RENAME copy moved"), "+OK\r\n");
    assert_eq!(
        (client.value("EXISTS copy"), client.value("HLEN moved")),
        ("0".into(), FIELDS.to_string())
    );
    assert_eq!(client.ask("RENAMENX moved h"), ":0\r\n");
    assert_eq!(client.ask("MOVE moved 1"), ":1\r\n");
    client.ask("SELECT 1");
    assert_eq!(client.value("HGET moved field:5"), "value:5");
    assert_eq!(client.ask("SET moved text"), "+OK\r\n");
    assert_eq!(client.value("GET moved"), "text");
    client.ask("SELECT 0");
    for from in (0..FIELDS).step_by(5_000) {
        let fields: Vec<_> = (from..from + 5_000).map(|at| format!("field:{at}")).collect();
        assert_eq!(client.ask(&format!("HDEL h {}", fields.join(" "))), ":5000\r\n");
    }
    assert_eq!(client.value("EXISTS h"), "0", "the last field takes the key with it");
}

/// The bytes of a large hash are charged to its tenant while it grows, and freed whatever removes
/// it. A hash that is renamed is charged to its new tenant.
#[test]
fn large_hashes_are_charged_to_their_tenant() {
    let server = serve("--maxmemory 64mb --tenant t match prefix t: --tenant u match prefix u:");
    let mut client = Client::new(server.addr());
    let used = |client: &mut Client, at: usize| client.tenant(at)["used"].as_u64().unwrap();
    let comes_to = |client: &mut Client, at: usize, bytes: u64| {
        let begun = std::time::Instant::now();
        while used(client, at) > bytes + 1_000 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} are used", used(client, at));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // The size classes are charged with their first pages, which stay.
    for key in ["t:first", "u:first", "t:h", "u:h"] {
        hset(&mut client, key, 0..500);
    }
    for line in ["DEL t:h u:h", "SET t:h x", "DEL t:h"] {
        client.ask(line);
    }
    for field in ["lazyfree_pending_objects", "lazyfreed_objects"] {
        assert_eq!(client.info(field), "0", "500 fields are freed at once");
    }
    let before = [used(&mut client, 1), used(&mut client, 2)];
    for (at, end) in
        ["DEL t:h", "UNLINK t:h", "SET t:h x", "PEXPIRE t:h 1", "FLUSH"].iter().enumerate()
    {
        hset(&mut client, "t:h", 0..20_000);
        let usage = client.value("MEMORY USAGE t:h").parse::<u64>().unwrap();
        assert!((600_000..1_100_000).contains(&usage), "{usage} bytes for 20 000 fields");
        let grown = used(&mut client, 1) - before[0];
        // The hash fills the pages that earlier hashes left.
        assert!((usage / 5 * 4..usage + 70_000).contains(&grown), "{grown} for {usage}");
        client.ask(end);
        if *end == "FLUSH" {
            client.ask("FLUSHALL");
            continue;
        }
        comes_to(&mut client, 1, before[0] + 100);
        client.ask("DEL t:h");
        assert!(used(&mut client, 1) <= before[0] + 1_000, "{at}: {end}");
    }
    comes_to(&mut client, 1, before[0]);
    assert!(client.info("lazyfreed_objects").parse::<u64>().unwrap() >= 4);
    client.ask("CONFIG RESETSTAT");
    assert_eq!(client.info("lazyfreed_objects"), "0");
    hset(&mut client, "t:h", 0..20_000);
    let usage = used(&mut client, 1);
    client.ask("RENAME t:h u:h");
    assert!(used(&mut client, 2) > usage / 2);
    comes_to(&mut client, 1, usage / 4);
    client.ask("COPY u:h t:h");
    assert!(used(&mut client, 1) > usage / 2);
}

/// Fields of a large hash expire one by one, and the hash ends with the last field.
#[test]
fn fields_of_large_hashes_have_lives() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    hset(&mut client, "h", 0..3_000);
    client.ask("EXPIRE h 1000");
    let names: Vec<_> = (0..2_000).map(|at| format!("field:{at}")).collect();
    let reply = client.ask(&format!("HPEXPIRE h 4000 FIELDS 2000 {}", names.join(" ")));
    assert!(reply.starts_with("*2000\r\n:1\r\n"));
    assert_eq!(client.ask("HPERSIST h FIELDS 2 field:0 field:2500"), "*2\r\n:1\r\n:-1\r\n");
    std::thread::sleep(Duration::from_millis(4_100));
    assert_eq!(client.value("HGET h field:1"), "(null)");
    assert_eq!(client.value("HLEN h"), "1001");
    assert_eq!(ask_strings(&mut client, "HKEYS h").len(), 1_001);
    assert_eq!(client.ask("HTTL h FIELDS 2 field:0 field:1"), "*2\r\n:-1\r\n:-2\r\n");
    let left: u64 = client.value("TTL h").parse().unwrap();
    assert!((900..1_000).contains(&left), "{left}");
    client.ask("PERSIST h");
    assert_eq!(client.value("TTL h"), "-1");
    let reply = client.ask(&format!("HSETEX h PX 1500 FXX FIELDS 1000 {}", {
        let pairs: Vec<_> = (2_000..3_000).map(|at| format!("field:{at} new")).collect();
        pairs.join(" ")
    }));
    assert_eq!(reply, ":1\r\n");
    assert_eq!(client.value("HGET h field:2999"), "new");
    assert_eq!(client.ask("HSETEX h FNX FIELDS 1 field:0 1"), ":0\r\n");
    assert_eq!(client.ask("HGETEX h PX 1500 FIELDS 1 field:0"), "*1\r\n$7\r\nvalue:0\r\n");
    std::thread::sleep(Duration::from_millis(1_600));
    assert_eq!(client.value("EXISTS h"), "0", "the last field takes the key with it");
}

/// WATCH notices changes of a large hash.
#[test]
fn large_hashes_are_watched() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    let mut other = Client::new(server.addr());
    hset(&mut client, "h", 0..1_000);
    for (change, runs) in
        [("HGET h field:1", true), ("HSET h field:1 x", false), ("HDEL h field:1", false)]
    {
        client.ask("WATCH h");
        other.ask(change);
        client.ask("MULTI");
        client.ask("PING");
        assert_eq!(client.ask("EXEC") != "*-1\r\n", runs, "{change}");
    }
}

/// Memory stays within its limit while large hashes evict each other.
#[test]
fn large_hashes_are_evicted() {
    let server = serve("--maxmemory 16mb");
    let mut client = Client::new(server.addr());
    for at in 0..100 {
        hset(&mut client, &format!("h:{at}"), 0..10_000);
        client.ask(&format!("SET s:{at} x"));
        assert!(client.info("used_memory").parse::<u64>().unwrap() <= 16 << 20);
    }
    assert!(client.info("evicted_keys").parse::<u64>().unwrap() > 30);
    assert_eq!(client.value("HLEN h:99"), "10000", "the last is whole");
    hset(&mut client, "s:100", 0..200_000);
    assert!(client.info("used_memory").parse::<u64>().unwrap() <= 16 << 20);
}

/// No command on a large hash keeps other clients waiting.
#[test]
fn large_hashes_keep_nobody_waiting() {
    const FIELDS: usize = 40_000;
    let server = serve("--io-threads 2");
    let address = server.addr();
    let (done, finished) = std::sync::mpsc::channel();
    let worker = std::thread::spawn(move || {
        let mut client = Client::new(address);
        hset(&mut client, "h", 0..FIELDS);
        let absent: Vec<_> = (0..10_000).map(|at| format!("absent:{at}")).collect();
        client.ask(&format!("HMGET h {}", absent.join(" ")));
        assert_eq!(client.ask(&format!("HDEL h {}", absent.join(" "))), ":0\r\n");
        client.ask("COPY h other");
        client.ask("DEL h");
        done.send(()).unwrap();
    });
    // The key is the same, so it is in the same part of the store.
    let (mut other, mut waits) = (Client::new(address), vec![]);
    while finished.try_recv().is_err() {
        let asked = std::time::Instant::now();
        other.ask("HGET h field:1");
        waits.push(asked.elapsed());
        std::thread::sleep(Duration::from_micros(200));
    }
    worker.join().unwrap();
    waits.sort_unstable();
    // A command that blocked the others would take seconds. On a busy machine some waits are long.
    let (most, longest) = (waits[waits.len() * 95 / 100], waits[waits.len() - 1]);
    assert!(
        most < Duration::from_millis(20) && longest < Duration::from_secs(1),
        "{most:?}, {longest:?}"
    );
}

/// A large hash survives a restart, with its times to live and its size.
#[test]
fn large_hashes_are_saved() {
    const FIELDS: usize = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let warm = || {
        let file = folder.path().join("warm");
        start(serve_command("").arg("--warm-restart-file").arg(file))
    };
    let server = warm();
    let mut client = Client::new(server.addr());
    hset(&mut client, "large", 0..FIELDS);
    hset(&mut client, "middle", 0..1_000);
    client.ask("EXPIRE large 1000");
    client.ask("HEXPIRE middle 500 FIELDS 1 field:7");
    let usage = client.value("MEMORY USAGE large").parse::<u64>().unwrap();
    server.stop();
    let server = warm();
    let line = server.logged("restored");
    assert!(line.contains("restored 2 items"), "{line}");
    let mut client = Client::new(server.addr());
    assert_eq!(client.value("HLEN large"), FIELDS.to_string());
    assert_eq!(client.value("HGET large field:19999"), "value:19999");
    let life: u64 = client.value("TTL large").parse().unwrap();
    assert!((900..=1_000).contains(&life), "{life}");
    let now = client.value("MEMORY USAGE large").parse::<u64>().unwrap();
    assert!(now.abs_diff(usage) < usage / 10, "{now} for {usage}");
    assert_eq!(client.value("HLEN middle"), "1000");
    assert_eq!(client.value("TTL middle"), "-1");
    assert_ne!(client.ask("HTTL middle FIELDS 1 field:7"), "*1\r\n:-1\r\n");
    assert_eq!(client.ask("HSET large field:1 a new b"), ":1\r\n");
}
