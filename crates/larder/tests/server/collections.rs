//! Lists, sets and sorted sets: compared with a model, and large ones with small ones.

use crate::client::Client;
use crate::process::{serve, serve_command, start};
use base::Prng;
use std::time::Duration;
use wire::resp::{Reply, encode_command};

#[path = "../collections/model.rs"]
mod model;

/// Number of random scripts, and steps of each.
const SCRIPTS: u64 = 60;
const STEPS: u64 = 120;

#[test]
fn random_commands_are_answered_as_a_model_answers_them() {
    let server = serve("--maxmemory 100mb");
    for seed in 0..SCRIPTS {
        let mut prng = Prng::new(seed);
        // Most commands of a script are of one kind; otherwise most would meet a key of another
        // type.
        let kind = prng.below(3);
        let mut script = vec![];
        for _ in 0..STEPS {
            let command = match (kind, prng.below(16)) {
                (_, 0) => prng.below(256),
                (0, _) => prng.below(13),
                (1, _) => 13 + prng.below(6),
                _ => 19 + prng.below(11),
            };
            script.extend([command as u8, prng.below(256) as u8]);
            script.extend([prng.below(256) as u8, prng.below(256) as u8]);
        }
        model::play(server.addr(), &script);
    }
}

/// Sends a command with elements `0..count`, each behind its score if `scored`.
fn fill(client: &mut Client, name: &str, key: &str, count: usize, scored: bool) {
    let all: Vec<usize> = (0..count).collect();
    for chunk in all.chunks(5_000) {
        let mut words = vec![name.to_owned(), key.to_owned()];
        for at in chunk {
            if scored {
                words.push(at.to_string());
            }
            words.push(format!("element:{at}"));
        }
        let mut bytes = vec![];
        encode_command(&mut bytes, &words);
        client.send(&bytes);
        assert!(client.reply().starts_with(b":"), "{name}");
    }
}

fn fill_all(client: &mut Client, prefix: &str, count: usize) {
    fill(client, "RPUSH", &format!("{prefix}l"), count, false);
    fill(client, "SADD", &format!("{prefix}s"), count, false);
    fill(client, "ZADD", &format!("{prefix}z"), count, true);
}

fn count(reply: &str) -> usize {
    match Reply::decode(reply.as_bytes()).unwrap().unwrap().0 {
        Reply::Array(all) => all.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn large_collections_have_the_names_that_clients_know() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    fill_all(&mut client, "small:", 10);
    fill_all(&mut client, "large:", 10_000);
    client.ask("SADD whole 1 2 3");
    for (key, fields) in [("packed", 512), ("beyond", 513)] {
        let fields: Vec<_> = (0..fields).map(|at| format!("f{at} x")).collect();
        client.ask(&format!("HSET {key} {}", fields.join(" ")));
    }
    for (key, kind, encoding) in [
        ("small:l", "list", "listpack"),
        ("small:s", "set", "listpack"),
        ("small:z", "zset", "listpack"),
        ("whole", "set", "intset"),
        ("packed", "hash", "listpack"),
        ("beyond", "hash", "hashtable"),
        ("large:l", "list", "quicklist"),
        ("large:s", "set", "hashtable"),
        ("large:z", "zset", "skiplist"),
    ] {
        assert_eq!(client.value(&format!("TYPE {key}")), kind);
        assert_eq!(client.value(&format!("OBJECT ENCODING {key}")), encoding, "{key}");
    }
    client.ask("CONFIG SET hash-max-listpack-entries 511");
    assert_eq!(client.value("OBJECT ENCODING packed"), "hashtable");
    assert_eq!(count(&client.ask("SCAN 0 COUNT 100 TYPE zset")), 2);
    assert!(client.ask("SCAN 0 COUNT 100 TYPE zset").contains("large:z"));
}

/// A cursor shows each member that stays exactly once, whatever is added, removed or scored anew.
#[test]
fn cursors_show_each_member_once() {
    const MEMBERS: usize = 10_000;
    let server = serve("");
    let mut client = Client::new(server.addr());
    fill_all(&mut client, "", MEMBERS);
    for (scan, key) in [("SSCAN", "s"), ("ZSCAN", "z")] {
        let (mut cursor, mut seen) = ("0".to_owned(), std::collections::BTreeSet::new());
        let mut shown = 0;
        loop {
            let reply = client.ask(&format!("{scan} {key} {cursor} COUNT 100"));
            let (reply, _) = Reply::decode(reply.as_bytes()).unwrap().unwrap();
            let Reply::Array(parts) = &reply else { panic!("{reply:?}") };
            cursor = String::from_utf8(parts[0].as_bytes().unwrap().to_vec()).unwrap();
            let Reply::Array(found) = &parts[1] else { panic!("{reply:?}") };
            for name in found.iter().step_by(if key == "z" { 2 } else { 1 }) {
                let name = String::from_utf8(name.as_bytes().unwrap().to_vec()).unwrap();
                if name.starts_with("element:") {
                    shown += 1;
                    seen.insert(name);
                }
            }
            client.ask(&format!("SADD s extra:{cursor}"));
            client.ask(&format!("ZADD z {shown} extra:{cursor}"));
            client.ask(&format!("ZINCRBY z 5000 element:{}", shown / 2));
            if cursor == "0" {
                break;
            }
        }
        assert_eq!((shown, seen.len()), (MEMBERS, MEMBERS), "{scan}");
    }
}

/// The bytes of large collections are charged while they grow, and freed whatever removes them.
#[test]
fn large_collections_are_charged() {
    let server = serve("--maxmemory 64mb");
    let mut client = Client::new(server.addr());
    let used = |client: &mut Client| client.info("used_memory").parse::<u64>().unwrap();
    fill_all(&mut client, "", 500);
    client.ask("DEL l s z");
    let before = used(&mut client);
    for end in [
        "DEL l s z",
        "LTRIM l 1 0|SPOP s 100000|ZREMRANGEBYRANK z 0 -1",
        "SINTERSTORE s no|ZUNIONSTORE z 1 no|RENAME l m|DEL m",
        "SET l x|SET s x|SET z x|DEL l s z",
        "PEXPIRE l 1|PEXPIRE s 1|PEXPIRE z 1",
    ] {
        fill_all(&mut client, "", 20_000);
        let usage = ["l", "s", "z"]
            .map(|key| client.value(&format!("MEMORY USAGE {key}")).parse::<u64>().unwrap());
        let [list, set, zset] = usage.map(|bytes| bytes / 20_000);
        assert!((13..20).contains(&list), "{list} bytes an element of 13");
        assert!((18..30).contains(&set), "{set} bytes a member of 13");
        assert!((30..45).contains(&zset), "{zset} bytes a member of 13 and its score");
        let (grown, usage) = (used(&mut client) - before, usage.iter().sum::<u64>());
        // Each part of the store has up to 64 KB in reserve, and free chunks in the pages of
        // `before` fill up now.
        assert!((usage - usage / 10..usage + 210_000).contains(&grown), "{grown} for {usage}");
        end.split('|').for_each(|line| _ = client.ask(line));
        let begun = std::time::Instant::now();
        while used(&mut client) > before + 210_000 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{end}: {}", used(&mut client));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Collections survive a restart, with their times to live and their order.
#[test]
fn collections_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let warm = || {
        let file = folder.path().join("warm");
        start(serve_command("").arg("--warm-restart-file").arg(file))
    };
    let server = warm();
    let mut client = Client::new(server.addr());
    fill_all(&mut client, "small:", 10);
    fill_all(&mut client, "middle:", 1_000);
    fill_all(&mut client, "large:", 20_000);
    client.ask("EXPIRE large:z 1000");
    let shown = |client: &mut Client| {
        let mut all = vec![];
        for size in ["small", "middle", "large"] {
            all.push(client.ask(&format!("LRANGE {size}:l 0 -1")));
            all.push(client.ask(&format!("ZRANGE {size}:z 0 -1 WITHSCORES")));
            all.push(client.ask(&format!("SCARD {size}:s")));
            all.push(client.ask(&format!("SMISMEMBER {size}:s element:0 element:9 element:no")));
        }
        all
    };
    let before = shown(&mut client);
    server.stop();
    let server = warm();
    let line = server.logged("restored");
    assert!(line.contains("restored 9 items"), "{line}");
    let mut client = Client::new(server.addr());
    assert_eq!(shown(&mut client), before);
    let life: u64 = client.value("TTL large:z").parse().unwrap();
    assert!((900..=1_000).contains(&life), "{life}");
    assert_eq!(client.value("ZADD large:z -1 new"), "1");
    assert_eq!(client.value("ZRANK large:z element:0"), "1");
}

/// Memory stays within its limit while large and small collections evict each other.
#[test]
fn collections_are_evicted() {
    let server = serve("--maxmemory 16mb");
    let mut client = Client::new(server.addr());
    for round in 0..90 {
        let size = if round % 3 == 0 { 10_000 } else { 50 };
        fill_all(&mut client, &format!("{round}:"), size);
        assert!(client.info("used_memory").parse::<u64>().unwrap() <= 16 << 20);
    }
    assert!(client.info("evicted_keys").parse::<u64>().unwrap() > 0);
    assert_eq!(client.value("LLEN 89:l"), "50", "the last is whole");
    fill(&mut client, "ZADD", "huge", 120_000, true);
    assert!(client.info("used_memory").parse::<u64>().unwrap() <= 16 << 20);
}

/// WATCH notices changes of a collection, whether it is stored in one piece or in a tree.
#[test]
fn collections_are_watched() {
    let server = serve("");
    let (mut client, mut other) = (Client::new(server.addr()), Client::new(server.addr()));
    for size in [10, 5_000] {
        fill_all(&mut client, "", size);
        for (change, runs) in [
            ("LINDEX l 0", true),
            ("LSET l 0 x", false),
            ("SADD s element:0", true),
            ("SREM s element:0", false),
            ("ZADD z 0 element:0", true),
            ("ZADD z 5 element:0", false),
        ] {
            client.ask("WATCH l s z");
            other.ask(change);
            client.ask("MULTI");
            client.ask("PING");
            assert_eq!(client.ask("EXEC") != "*-1\r\n", runs, "{change} of {size}");
        }
        client.ask("FLUSHALL");
    }
}

/// Numbers beyond 64-bit floats, as redis-server 7.0 and Valkey 9.1 read them.
#[test]
fn numbers_beyond_all_are_refused() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    client.ask("ZADD zset 1e-310 a 1.7976931348623157e308 b inf c");
    let (float, weight) = ("-ERR value is not a valid float", "-ERR weight value is not a float");
    let sort = "-ERR One or more scores can't be converted into double";
    client.ask("RPUSH numbers 1e400 3");
    client.ask("RPUSH small 1e-400 3");
    client.ask("MSET weight_1 1e400 weight_2 2 float 1");
    client.ask("RPUSH keys 1 2");
    client.ask("HSET hash field 1");
    for (line, starts) in [
        ("ZADD zset 1e400 x", float),
        ("ZADD zset -1e400 x", float),
        ("ZADD zset 1e-400 x", float),
        ("ZADD zset 1 x 1.8e308 y", float),
        ("ZADD zset INCR 1e400 x", float),
        ("ZINCRBY zset 1e400 x", float),
        ("ZINCRBY zset 1e-400 x", float),
        ("ZUNIONSTORE to 1 zset WEIGHTS 1e400", weight),
        ("ZINTER 1 zset WEIGHTS 1e-400", weight),
        ("EVAL \"return redis.call('zadd', 'zset', '1e400', 'x')\" 0", float),
        ("SORT numbers", sort),
        ("SORT small", sort),
        ("SORT keys BY weight_*", sort),
        // These commands read 80-bit floats.
        ("INCRBYFLOAT float 1e5000", float),
        ("HINCRBYFLOAT hash field 1e5000", float),
        // Ends of ranges may be out of range, and a timeout too small for a float is not 0.
        ("ZCOUNT zset -1e400 1e400", ":3"),
        ("ZRANGEBYSCORE zset (1e400 +inf", "*0"),
        ("BLPOP none 1e-400", "*-1"),
        ("BZPOPMIN none 1e-400", "*-1"),
        ("BLPOP none 1e400", "-ERR timeout is out of range"),
        ("ZCARD zset", ":3"),
    ] {
        let reply = client.ask(line);
        assert!(reply.starts_with(starts), "{line}: {reply}");
    }
}
