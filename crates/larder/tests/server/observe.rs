//! The tools of an operator: the slow log, hot keys, the time of the sweep.

use crate::client::Client;
use crate::process::serve;
use std::time::{Duration, Instant};
use wire::resp::{Reply, encode_command};

/// The commands of one read of the socket form groups, and the slow log misses no group.
#[test]
fn no_slow_command_is_missed() {
    let server = serve("--slowlog-log-slower-than 0 --slowlog-max-len 100");
    let mut client = Client::new(server.addr());
    client.ask("SLOWLOG RESET");
    for line in ["SET a 1", "GET a", "INCR n", "KEYS x*"] {
        client.ask(line);
    }
    let entries = client.ask("SLOWLOG GET");
    for words in
        ["SET\r\n$1\r\na\r\n$1\r\n1", "GET\r\n$1\r\na", "INCR\r\n$1\r\nn", "KEYS\r\n$2\r\nx*"]
    {
        assert_eq!(entries.matches(words).count(), 1, "{words}: {entries}");
    }
    // Twenty commands of one pipeline form two groups. The log keeps the largest command of each
    // group, and KEYS on its own.
    client.ask("SLOWLOG RESET");
    client.ask("CONFIG SET slowlog-log-slower-than 0");
    client.ask("SLOWLOG RESET");
    let mut bytes = vec![];
    for at in 0..20 {
        match at {
            3 => encode_command(&mut bytes, &["KEYS", "longpattern*"]),
            5 => encode_command(&mut bytes, &["SET", "large", &"x".repeat(1_000)]),
            17 => encode_command(&mut bytes, &["SET", "medium", &"x".repeat(100)]),
            _ => encode_command(&mut bytes, &["GET", "a"]),
        }
    }
    client.send(&bytes);
    for _ in 0..20 {
        client.reply();
    }
    let entries = client.ask("SLOWLOG GET 100");
    for words in ["large", "(timed together with 14 others)", "medium", "longpattern*"] {
        assert_eq!(entries.matches(words).count(), 1, "{words}: {entries}");
    }
    assert!(entries.contains("(timed together with 3 others)"), "{entries}");
    assert!(!entries.contains("GET\r\n$1\r\na\r\n"), "{entries}");
}

/// A blocking command is logged when it ends, whether it was served or timed out, with its working
/// time.
#[test]
fn a_command_that_waits_is_kept_when_it_ends() {
    let server = serve("--slowlog-log-slower-than 0 --commandlog-reply-larger-than 5000");
    let (mut one, mut two) = (Client::new(server.addr()), Client::new(server.addr()));
    for (waits, wakes, key) in [
        ("BLPOP list 0", "RPUSH list 1", "list"),
        ("BZPOPMIN zset 0", "ZADD zset 1 a", "zset"),
        ("BLMOVE from to LEFT LEFT 0", "RPUSH from 1", "from"),
        ("BLPOP none 0.01", "PING", "none"),
    ] {
        one.ask("SLOWLOG RESET");
        let name = waits.split(' ').next().unwrap();
        let kept = format!("{name}\r\n${}\r\n{key}\r\n", key.len());
        two.send(format!("{waits}\r\n").as_bytes());
        if wakes != "PING" {
            while one.info("blocked_clients") != "1" {}
            assert!(!one.ask("SLOWLOG GET").contains(&kept), "{waits}: it has not ended");
            one.ask(wakes);
        }
        two.reply();
        assert_eq!(one.ask("SLOWLOG GET").matches(&kept).count(), 1, "{waits}");
    }
    one.ask("CONFIG SET slowlog-log-slower-than 500000");
    one.ask("SLOWLOG RESET");
    two.send(b"BLPOP list 0\r\n");
    std::thread::sleep(Duration::from_millis(600));
    one.ask(&format!("RPUSH list {}", "x".repeat(6_000)));
    two.reply();
    assert_eq!(one.ask("SLOWLOG LEN"), ":0\r\n", "to wait is no work");
    let large = one.ask("COMMANDLOG GET 10 large-reply");
    assert_eq!(large.matches("BLPOP").count(), 1, "{large}");
}

/// Commands of a script and of a transaction are logged one by one, and EXEC is not logged.
#[test]
fn commands_within_are_kept() {
    let server = serve("--slowlog-log-slower-than 0");
    let mut client = Client::new(server.addr());
    client.ask("SLOWLOG RESET");
    client.ask(
        "EVAL \"redis.call('set','a','1') redis.pcall('nosuch') return redis.call('get','a')\" 0",
    );
    for line in ["MULTI", "SET b 2", "SORT none", "EXEC"] {
        client.ask(line);
    }
    let entries = client.ask("SLOWLOG GET 100");
    for (words, count) in [
        ("*3\r\n$3\r\nset\r\n$1\r\na\r\n", 1),
        ("*2\r\n$3\r\nget\r\n$1\r\na\r\n", 1),
        ("*3\r\n$3\r\nSET\r\n$1\r\nb\r\n", 1),
        ("SORT\r\n$4\r\nnone\r\n", 1),
        ("EVAL\r\n", 1),
        ("$4\r\nEXEC\r\n", 0),
        ("$6\r\nnosuch\r\n", 0),
    ] {
        assert_eq!(entries.matches(words).count(), count, "{words}: {entries}");
    }
}

/// A GET that copies 64 MB is slow on any machine.
#[test]
fn a_slow_get_is_kept() {
    let server = serve("--slowlog-log-slower-than 500");
    let mut client = Client::new(server.addr());
    let mut set = vec![];
    encode_command(&mut set, &[&b"SET"[..], b"big", &vec![b'x'; 64 << 20]]);
    client.send(&set);
    assert_eq!(client.reply(), b"+OK\r\n");
    client.ask("SLOWLOG RESET");
    assert_eq!(client.ask("GET big").len(), (64 << 20) + 13);
    assert!(client.ask("SLOWLOG GET").contains("GET\r\n$3\r\nbig\r\n"));
}

/// The fields of HOTKEYS GET.
fn report(client: &mut Client) -> Vec<(String, String)> {
    let reply = client.ask("HOTKEYS GET");
    let Reply::Array(outer) = Reply::decode(reply.as_bytes()).unwrap().unwrap().0 else {
        panic!("{reply}")
    };
    let [Reply::Array(fields)] = outer.as_slice() else { panic!("{reply}") };
    let text = |reply: &Reply<'_>| match reply {
        Reply::Array(all) => all
            .iter()
            .map(|one| match one {
                Reply::Integer(number) => number.to_string(),
                other => String::from_utf8_lossy(other.as_bytes().unwrap_or(b"[]")).into_owned(),
            })
            .collect::<Vec<_>>()
            .join(" "),
        Reply::Integer(number) => number.to_string(),
        other => String::from_utf8_lossy(other.as_bytes().unwrap()).into_owned(),
    };
    fields.chunks(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}

#[test]
fn hot_keys_are_found() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    assert_eq!(client.ask("HOTKEYS GET"), "$-1\r\n");
    for wrong in [
        "HOTKEYS START",
        "HOTKEYS START METRICS 0",
        "HOTKEYS START METRICS 2 CPU",
        "HOTKEYS START METRICS 1 DISK",
        "HOTKEYS START METRICS 1 CPU COUNT 0",
        "HOTKEYS START METRICS 1 CPU SAMPLE 0",
        "HOTKEYS START METRICS 1 CPU SLOTS 1 0",
        "HOTKEYS START METRICS 1 CPU NOSUCH 1",
    ] {
        assert!(client.ask(wrong).starts_with("-ERR"), "{wrong}");
    }
    assert_eq!(client.ask("HOTKEYS START METRICS 2 CPU NET COUNT 2"), "+OK\r\n");
    assert!(client.ask("HOTKEYS START METRICS 1 NET").contains("already in progress"));
    client.ask(&format!("SET large {}", "x".repeat(50_000)));
    for at in 0..50 {
        client.ask("GET large");
        client.ask(&format!("SET small:{at} x"));
        client.ask("SET often 1");
    }
    let fields = report(&mut client);
    let field = |name: &str| {
        let found = fields.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("{name}: {fields:?}")).1.clone()
    };
    assert_eq!(field("tracking-active"), "1");
    let net: Vec<String> = field("by-net-bytes").split(' ').map(str::to_owned).collect();
    assert_eq!((net.len(), net[0].as_str(), net[2].as_str()), (4, "large", "often"));
    let large: u64 = net[1].parse().unwrap();
    assert!((51 * 50_000..51 * 50_100).contains(&large), "{large}");
    assert!(field("net-bytes-all-commands-all-slots").parse::<u64>().unwrap() > large);
    assert_eq!(field("by-cpu-time-us").split(' ').count(), 4);
    assert!(client.ask("HOTKEYS RESET").starts_with("-ERR"));
    assert_eq!(client.ask("HOTKEYS STOP"), "+OK\r\n");
    client.ask("GET large");
    assert!(report(&mut client).contains(&("tracking-active".into(), "0".into())));
    assert!(report(&mut client).iter().any(|(_, text)| text.contains(&large.to_string())));
    assert_eq!(client.ask("HOTKEYS RESET"), "+OK\r\n");
    assert_eq!(client.ask("HOTKEYS GET"), "$-1\r\n");
}

#[test]
fn the_time_of_the_sweep_is_shown() {
    let server = serve("");
    let mut client = Client::new(server.addr());
    for at in 0..20_000 {
        client.send(format!("SET key:{at} x PX 100000\r\n").as_bytes());
    }
    for _ in 0..20_000 {
        client.reply();
    }
    let start = Instant::now();
    while client.info("expire_cycle_cpu_milliseconds") == "0" {
        assert!(start.elapsed() < Duration::from_secs(60), "a sweep takes time");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Valkey's three logs: slow commands, large requests, large replies.
#[test]
fn large_commands_and_replies_are_kept() {
    let server = serve("--slowlog-log-slower-than 0");
    let mut client = Client::new(server.addr());
    let value = "x".repeat(2_000_000);
    client.ask(&format!("SET big {value}"));
    client.ask("GET big");
    client.ask("GET none");
    for (kind, count, name) in [("large-request", 1, "SET"), ("large-reply", 1, "GET")] {
        assert_eq!(client.value(&format!("COMMANDLOG LEN {kind}")), count.to_string(), "{kind}");
        let entries = client.ask(&format!("COMMANDLOG GET -1 {kind}"));
        assert!(entries.contains(&format!("\r\n{name}\r\n")), "{kind}: {entries}");
        assert!(entries.contains("\r\n:20000"), "the bytes are shown: {entries}");
        assert_eq!(client.ask(&format!("COMMANDLOG RESET {kind}")), "+OK\r\n");
        assert_eq!(client.value(&format!("COMMANDLOG LEN {kind}")), "0", "{kind}");
    }
    assert!(client.ask("COMMANDLOG GET 2 slow").starts_with("*2\r\n"));
    client.ask("CONFIG SET commandlog-reply-larger-than -1 commandlog-request-larger-than 100000");
    client.ask("GET big");
    client.ask(&format!("SET big {}", &value[..200_000]));
    assert_eq!(client.value("COMMANDLOG LEN large-reply"), "0");
    assert_eq!(client.value("COMMANDLOG LEN large-request"), "1");
    assert!(client.ask("COMMANDLOG LEN none").starts_with("-ERR type should be one of"));
}

/// Commands are counted even when none is timed.
#[test]
fn nothing_is_timed_where_latency_tracking_is_off() {
    for (tracking, is_timed) in [("yes", true), ("no", false)] {
        let server = serve(&format!("--latency-tracking {tracking}"));
        let mut client = Client::new(server.addr());
        for _ in 0..10 {
            client.ask("SET a 1");
        }
        let stats = client.info("cmdstat_set");
        assert!(stats.starts_with("calls=10,"), "{stats}");
        let latency = client.value("INFO latencystats");
        assert_eq!(latency.contains("latency_percentiles_usec_set:"), is_timed, "{latency}");
    }
}
