//! Dump and load: by command beside writers, with a server that is killed, and automatically for a
//! periodic load.

use crate::client::Client;
use crate::process::{Server, serve_command, start};
use serde_json::Value;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A server that may dump into `folder`.
fn periodic(folder: &Path, more: &str) -> Server {
    let mut command = serve_command("--dump-max 256mb");
    start(command.arg("--dir").arg(folder).args(more.split_whitespace()))
}

/// The entry of a tenant in LARDER TIDES JSON.
fn tides(client: &mut Client, tenant: usize) -> Value {
    let all: Value = serde_json::from_str(&client.value("LARDER TIDES JSON")).unwrap();
    all[tenant].clone()
}

/// Waits until `count` dumps or loads have ended; returns the entry of the first tenant.
fn ended(client: &mut Client, what: &str, count: u64) -> Value {
    let begun = Instant::now();
    loop {
        let shown = tides(client, 0);
        if shown[what].as_u64() >= Some(count) && shown["doing"] == "" {
            return shown;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no {what}: {shown}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_was_left_alone_comes_back_and_nothing_old_does() {
    const KEYS: usize = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let server = periodic(folder.path(), "--dump-rate 20mb");
    let mut client = Client::new(server.addr());
    let filler = "x".repeat(100);
    client.ask_all((0..KEYS).map(|at| format!("SET key:{at} {at}-{filler}")));
    assert!(client.ask("LARDER DUMP").starts_with('+'));
    // Some keys change during the dump, others after it.
    let change = |client: &mut Client, turn: usize| {
        client.ask_all((0..1_000).map(|at| format!("SET key:{} new", 20 * at + turn)));
        client.ask_all((0..1_000).map(|at| format!("DEL key:{}", 20 * at + turn + 1)));
        client.ask_all((0..1_000).map(|at| format!("PEXPIRE key:{} 1", 20 * at + turn + 2)));
        client.ask_all((0..1_000).map(|at| format!("APPEND key:{} +", 20 * at + turn + 3)));
    };
    change(&mut client, 0);
    let shown = ended(&mut client, "dumps", 1);
    assert!(shown["away"].as_u64() > Some(KEYS as u64 / 2), "{shown}");
    assert!(shown["disk"].as_u64() > Some(1 << 20), "{shown}");
    let left = shown["dump"]["left"].as_u64().unwrap();
    assert!(left > KEYS as u64 / 2, "{shown}");
    change(&mut client, 5);
    assert!(client.value("DBSIZE").parse::<u64>().unwrap() < KEYS as u64 / 2);
    assert!(client.ask("LARDER LOAD default").starts_with('+'));
    let shown = ended(&mut client, "loads", 1);
    assert_eq!((&shown["away"], &shown["disk"]), (&0.into(), &0.into()), "{shown}");
    assert!(shown["load"]["outdated"].as_u64() >= Some(3_000), "{shown}");
    let values = client.ask_all((0..KEYS).map(|at| format!("GET key:{at}")));
    for (at, value) in values.iter().enumerate() {
        let old = format!("{at}-{filler}");
        let value = value.as_deref();
        match at % 20 {
            0 | 5 => assert_eq!(value, Some("new"), "key:{at}"),
            1 | 6 => assert_eq!(value, None, "key:{at}"),
            // PEXPIRE. A key that was on the disk at that time is unchanged.
            2 | 7 => assert!(value.is_none() || value == Some(&*old), "key:{at}: {value:?}"),
            3 | 8 => {
                let longer = old + "+";
                assert!(value == Some("+") || value == Some(&*longer), "key:{at}: {value:?}");
            }
            _ => assert_eq!(value, Some(&*old), "key:{at}"),
        }
    }
    assert_eq!(client.value("FLUSHALL"), "OK");
    assert!(server.log().contains(": dumped ") && server.log().contains(": loaded "));
}

/// A flush while items are on the disk, and a change of the tenant that owns them.
#[test]
fn a_flush_and_a_new_rule_reach_what_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let server = periodic(folder.path(), "");
    let mut client = Client::new(server.addr());
    for (turn, change) in
        [(1, "FLUSHALL"), (2, "CONFIG SET tenant 'web match prefix key:'"), (3, "FLUSHDB")]
    {
        client.ask_all((0..1_000).map(|at| format!("SET other:{at} {at}")));
        client.ask_all((0..1_000).map(|at| format!("SET key:{at} {at}")));
        client.ask("LARDER DUMP default");
        ended(&mut client, "dumps", turn);
        assert_eq!(client.value(change), "OK");
        client.ask("LARDER LOAD default");
        ended(&mut client, "loads", turn);
        assert_eq!(client.value("GET other:1"), "(null)", "{change}");
        assert!(turn == 3 || client.value("GET key:1") == "(null)", "{change}");
    }
}

#[test]
fn what_may_not_be_says_why() {
    let server = start(&mut serve_command(""));
    let mut client = Client::new(server.addr());
    assert!(client.value("LARDER DUMP").contains("CONFIG SET dump-max"));
    let refused = client.value("CONFIG SET dump-max 100kb dir /no/such/folder");
    assert!(refused.contains("dir /no/such/folder is not a folder"), "{refused}");
    let gone = tempfile::tempdir().unwrap();
    let set = format!("CONFIG SET dump-max 100kb dir {}", gone.path().display());
    assert_eq!(client.value(&set), "OK");
    drop(gone);
    assert!(client.value("LARDER DUMP nobody").contains("there is no tenant 'nobody'"));
    client.ask_all((0..5_000).map(|at| format!("SET key:{at} {at}{}", "x".repeat(100))));
    client.ask("LARDER DUMP");
    assert!(server.logged("cannot dump a tenant").contains("set dir to"));
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().display();
    client.ask(&format!("CONFIG SET dir {dir}"));
    client.ask("LARDER DUMP");
    let shown = ended(&mut client, "dumps", 1);
    assert_eq!(shown["dump"]["because"], "dump-max is reached", "{shown}");
    assert!(shown["disk"].as_u64() <= Some(100 << 10), "{shown}");
    assert_eq!(client.value("DBSIZE"), "5000", "what has no copy stays");
}

/// However the server ends, the next one starts empty, with an empty folder.
#[test]
fn killed_at_any_moment_nothing_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut last: HashMap<String, String> = HashMap::new();
    for round in 0..6u64 {
        let server = periodic(folder.path(), "--dump-rate 4mb");
        let mut client = Client::new(server.addr());
        assert_eq!(client.value("DBSIZE"), "0");
        client.ask("LARDER LOAD");
        let key = |at: usize| format!("key:{at}");
        for key in last.keys() {
            assert_eq!(client.value(&format!("GET {key}")), "(null)");
        }
        let filler = "y".repeat(200);
        client.ask_all((0..10_000).map(|at| format!("SET {} {round}-{filler}", key(at))));
        client.ask("LARDER DUMP");
        if round % 2 == 1 {
            ended(&mut client, "dumps", 1);
            client.ask("LARDER LOAD");
        }
        // Meanwhile a client writes, and reads its own writes.
        last.clear();
        let until = Instant::now() + Duration::from_millis(40 + 67 * round);
        let mut at = 0;
        while Instant::now() < until {
            at = (at + 37) % 10_000;
            client.ask(&format!("SET {} {round}+{at}", key(at)));
            last.insert(key(at), format!("{round}+{at}"));
            let read = (at + 10_000 - 37 * 5) % 10_000;
            if let Some(written) = last.get(&key(read)) {
                assert_eq!(&client.value(&format!("GET {}", key(read))), written);
            }
        }
        server.kill();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// Seconds from one peak to the next, and the share of the period that is peak.
const PERIOD: f64 = 4.0;
const PEAK: f64 = 0.4;

/// Reads and misses so far: of the whole run, and of the first tenth of each peak.
#[derive(Debug, Default)]
struct Counts {
    all: [AtomicU64; 2],
    start: [AtomicU64; 2],
}

impl Counts {
    fn add(&self, is_start: bool, reads: usize, misses: usize) {
        for counts in [Some(&self.all), is_start.then_some(&self.start)].into_iter().flatten() {
            counts[0].fetch_add(reads as u64, Ordering::Relaxed);
            counts[1].fetch_add(misses as u64, Ordering::Relaxed);
        }
    }

    /// Reads and misses, of the whole run and of the starts of peaks.
    fn now(&self) -> [u64; 4] {
        let load = |counts: &[AtomicU64; 2], at: usize| counts[at].load(Ordering::Relaxed);
        [load(&self.all, 0), load(&self.all, 1), load(&self.start, 0), load(&self.start, 1)]
    }
}

/// Reads `keys` keys at a rate that changes over time, and writes the missing ones.
fn apply_load(
    address: SocketAddr,
    (prefix, keys): (&str, f64),
    began: Instant,
    rate: impl Fn(f64) -> f64,
    counts: &Counts,
    ends: &AtomicBool,
) {
    let mut client = Client::new(address);
    let mut prng = base::Prng::new(3);
    let (mut last, mut owed, filler) = (0.0, 0.0, "z".repeat(500));
    while !ends.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
        let now = began.elapsed().as_secs_f64();
        owed += (now - last) * rate(now);
        last = now;
        // After a pause of the machine the load does not catch up completely.
        let reads = (owed as usize).min(200);
        owed -= owed.floor();
        // The square makes some keys more popular than others.
        let key = |prng: &mut base::Prng| (keys * prng.unit() * prng.unit()) as u64;
        let read: Vec<_> = (0..reads).map(|_| key(&mut prng)).collect();
        let values = client.ask_all(read.iter().map(|key| format!("GET {prefix}{key}")));
        let missing = read.iter().zip(values).filter(|(_, value)| value.is_none());
        let writes: Vec<_> = missing.map(|(k, _)| format!("SET {prefix}{k} {filler}")).collect();
        counts.add(now % PERIOD < 0.1 * PEAK * PERIOD, reads, writes.len());
        client.ask_all(writes.into_iter());
    }
}

/// A server with two tenants and this `dump-max`; 0 disables dumps.
fn two_tenants(folder: &Path, dump_max: &str, recipe: &str) -> Server {
    let more = format!("--maxmemory 3mb --dump-bucket 0.2 --dump-max {dump_max} --recipe {recipe}");
    let mut command = serve_command(&more);
    command.args(["--tenant", "tides match prefix tides:"]);
    command.args(["--tenant", "steady match prefix steady:"]);
    start(command.arg("--dir").arg(folder))
}

/// A square wave beside a steady load, on a server with dumps and on one without. The first server
/// finds the period, dumps in a valley, and loads before the peak or as it begins. Without a recipe
/// that divides memory, the peaks of the second server begin with more misses. The steady tenant is
/// never dumped.
fn valleys_and_peaks(recipe: &str) {
    let folder = tempfile::tempdir().unwrap();
    let servers = ["64mb", "0"].map(|max| two_tenants(folder.path(), max, recipe));
    let address = servers.each_ref().map(Server::addr);
    let (ends, counts) = (AtomicBool::new(false), [Counts::default(), Counts::default()]);
    let mut client = Client::new(address[0]);
    let began = Instant::now();
    let square = |at: f64| if at % PERIOD < PERIOD * PEAK { 2_500.0 } else { 50.0 };
    let nobody = Counts::default();
    std::thread::scope(|scope| {
        for (address, counts) in address.iter().zip(&counts) {
            let (ends, nobody) = (&ends, &nobody);
            scope.spawn(move || apply_load(*address, ("tides:", 4e3), began, square, counts, ends));
            // In a valley the steady tenant reads several times as many bytes as memory holds.
            let even = |_| 3_000.0;
            scope.spawn(move || apply_load(*address, ("steady:", 4e4), began, even, nobody, ends));
        }
        let mut until = |periods: f64, is_over: &dyn Fn(&Value) -> bool| loop {
            let shown = [1, 2].map(|tenant| tides(&mut client, tenant));
            if is_over(&shown[0]) || began.elapsed().as_secs_f64() > periods * PERIOD {
                break shown;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        // Three periods are needed to detect the period; more where the machine is busy.
        let is_back = |shown: &Value| {
            shown["load"]["by"] == "flood" && shown["load"]["items"].as_u64() > Some(0)
        };
        let [tides, steady] = until(20.0, &is_back);
        let took = began.elapsed().as_secs_f64();
        let before = counts.each_ref().map(Counts::now);
        if is_back(&tides) {
            until(took / PERIOD + 5.0, &|_| false);
        }
        let after = counts.each_ref().map(Counts::now);
        let [last, _] = until(0.0, &|_| true);
        ends.store(true, Ordering::Relaxed);
        println!("{recipe}: after {took:.1} s {tides}\n and at the end {last}");
        assert!(tides["ebbs"].as_u64() > Some(0), "no valley in {took:.0} s: {tides}");
        assert_eq!(tides["dump"]["by"], "ebb", "{tides}");
        assert!(tides["dump"]["items"].as_u64() > Some(100), "{tides}");
        assert!(is_back(&tides), "no peak in {took:.0} s: {tides}");
        let period = tides["period_s"].as_f64().unwrap_or(PERIOD);
        assert!((period / PERIOD - 1.0).abs() < 0.15, "{tides}");
        assert_eq!(steady["ebbs"], 0, "{steady}");
        let ratio = |at: usize| {
            let [reads, misses, start, start_misses]: [f64; 4] =
                std::array::from_fn(|i| (after[at][i] - before[at][i]) as f64);
            (misses / reads, start_misses / start)
        };
        let (with, without) = (ratio(0), ratio(1));
        println!("{recipe}: misses in all, and in the first tenth of peaks");
        println!("{recipe}: {with:.4?} with dumps, {without:.4?} without");
        // In such a short time the classes of predis move more memory than dumps do.
        let is_warmer = recipe == "predis" || with.1 < without.1;
        assert!(is_warmer, "peaks begin no warmer: {with:.4?} {without:.4?}");
    });
    assert!(servers[0].log().contains("tenant tides (flood)"), "{}", servers[0].log());
}

#[test]
fn a_valley_is_seen_and_the_peak_awaited() {
    valleys_and_peaks("predis");
}

/// A cache dumps under any recipe, also under one that does not divide memory.
#[test]
fn a_plain_cache_dumps_too() {
    valleys_and_peaks("static");
}
