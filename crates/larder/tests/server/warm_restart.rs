//! Warm restart, as an operator does it: signals, files, and a process killed at any moment.

use crate::client::Client;
use crate::memcached::Text;
use crate::process::{Server, free_port, serve_command, start};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};

/// A server that saves in `folder`.
fn warm(folder: &Path, more: &[&str]) -> Server {
    let file = folder.join("warm");
    start(serve_command("").arg("--warm-restart-file").arg(file).args(more))
}

/// The value of a missing key, as the client shows it.
const NOTHING: &str = "(null)";

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn what_was_there_is_there_again() {
    let folder = folder();
    let tenants = ["--tenant", "web match prefix web:", "--maxmemory", "64mb"];
    let server = warm(folder.path(), &tenants);
    let mut client = Client::new(server.addr());
    client.ask_all((0..5_000).map(|at| format!("SET key:{at} value:{at}")));
    for line in [
        "SET web:1 one",
        "SET long x EX 1000",
        "SET short x PX 1",
        "HSET hash a 1 b 2",
        "HPEXPIRE hash 1000000 FIELDS 1 b",
        "SELECT 3",
        "SET elsewhere 1",
    ] {
        client.ask(line);
    }
    std::thread::sleep(Duration::from_millis(10));
    server.stop();
    assert!(folder.path().join("warm").exists());

    let server = warm(folder.path(), &tenants);
    let line = server.logged("restored");
    assert!(line.contains("restored 5004 items"), "{line}");
    assert!(!folder.path().join("warm").exists(), "a file serves for one start");
    let mut client = Client::new(server.addr());
    let values = client.ask_all((0..5_000).map(|at| format!("GET key:{at}")));
    let is_right = |(at, value): (usize, &Option<String>)| *value == Some(format!("value:{at}"));
    assert!(values.iter().enumerate().all(is_right));
    assert_eq!(client.value("GET web:1"), "one");
    assert_eq!(client.value("GET short"), NOTHING);
    let life: u64 = client.value("TTL long").parse().unwrap();
    assert!((900..=1_000).contains(&life), "{life}");
    assert_eq!(client.value("HGET hash a"), "1");
    assert_eq!(client.value("TTL hash"), "-1");
    assert_ne!(client.ask("HPTTL hash FIELDS 1 b"), "*1\r\n:-1\r\n");
    assert_eq!(client.value("GET elsewhere"), NOTHING);
    client.ask("SELECT 3");
    assert_eq!(client.value("GET elsewhere"), "1");
    let info = client.value("INFO persistence");
    assert!(info.contains("rdb_last_load_keys_loaded:5004") && info.contains("async_loading:0"));
}

/// memcached's flags and cas numbers are part of a value. A cas number issued before the restart is
/// not issued again after it.
#[test]
fn flags_and_cas_are_kept() {
    let folder = folder();
    let port = free_port();
    let (redis, memcached) = (free_port().to_string(), port.to_string());
    let both = ["--port", redis.as_str(), "--memcached-port", memcached.as_str()];
    let ask = |request: &str| Text::new(port).ask(request);
    let server = warm(folder.path(), &both);
    assert_eq!(ask("set a 42 0 1|1"), "STORED");
    assert_eq!(ask("flush_all 0"), "OK");
    assert_eq!(ask("set a 42 0 1|1"), "STORED");
    let before = ask("gets a");
    server.stop();
    let server = warm(folder.path(), &both);
    server.logged("restored 1 items");
    assert_eq!(ask("gets a"), before, "flags and cas");
    let cas = before.split(' ').nth(4).unwrap().split('\r').next().unwrap().parse::<u64>().unwrap();
    assert_eq!(ask("set a 42 0 1|2"), "STORED");
    assert_eq!(ask(&format!("cas a 0 0 1 {}|3", cas + 1)), "EXISTS");
    // A delayed flush happens although the server restarts meanwhile.
    assert_eq!(ask("flush_all 1"), "OK");
    server.stop();
    std::thread::sleep(Duration::from_millis(1_100));
    let server = warm(folder.path(), &both);
    server.logged("restored 0 items");
    assert_eq!(ask("get a"), "END");
}

/// Tenants are found by their names, and keys that they no longer own are not restored.
#[test]
fn tenants_keep_their_own() {
    let folder = folder();
    let two = ["--tenant", "a match prefix a:", "--tenant", "b match prefix b:"];
    let server = warm(folder.path(), &two);
    let mut client = Client::new(server.addr());
    for line in ["SET a:1 a", "SET b:1 b", "SET c:1 c"] {
        client.ask(line);
    }
    server.stop();
    let other = ["--tenant", "c match prefix c:", "--tenant", "b match prefix b:"];
    let server = warm(folder.path(), &other);
    let line = server.logged("restored");
    assert!(line.contains("restored 1 items") && line.contains("2 without a tenant"), "{line}");
    let mut client = Client::new(server.addr());
    assert_eq!(client.value("GET b:1"), "b");
    assert_eq!([client.value("GET a:1"), client.value("GET c:1")], [NOTHING, NOTHING]);
}

/// Functions are restored for the first client, from the file and from a copy. Deleted functions
/// are not.
#[test]
fn functions_are_kept() {
    let folder = folder();
    let library = |name: &str| {
        format!(
            "FUNCTION LOAD \"#!lua name=of_{name}\\nredis.register_function('{name}', \
             function(keys) return redis.call('INCR', keys[1]) end)\""
        )
    };
    let server = warm(folder.path(), &[]);
    let mut client = Client::new(server.addr());
    for name in ["one", "two", "gone"] {
        assert_eq!(client.value(&library(name)), format!("of_{name}"));
    }
    client.ask("FUNCTION DELETE of_gone");
    assert_eq!(client.value("FCALL one 1 count"), "1");
    server.signal("-USR1");
    server.logged("saved 1 items");
    std::fs::copy(folder.path().join("warm.copy"), folder.path().join("kept")).unwrap();
    assert_eq!(client.value("FCALL two 1 count"), "2");
    server.stop();

    for (copied, count) in [(false, "3"), (true, "2")] {
        if copied {
            std::fs::copy(folder.path().join("kept"), folder.path().join("warm")).unwrap();
        }
        let server = warm(folder.path(), &[]);
        let mut client = Client::new(server.addr());
        let loaded = client.ask("FUNCTION LIST");
        assert!(loaded.contains("of_one") && loaded.contains("of_two"), "{loaded}");
        assert!(!loaded.contains("gone"), "{loaded}");
        server.logged("restored 1 items");
        assert_eq!(client.value("FCALL TWO 1 count"), count);
        server.stop();
    }
}

/// A copy is made while clients are served. No start reads it by itself, because it may be out of
/// date.
#[test]
fn a_copy_is_for_whoever_wants_it() {
    let folder = folder();
    let server = warm(folder.path(), &[]);
    let mut client = Client::new(server.addr());
    client.ask("SET a old");
    server.signal("-USR1");
    server.logged("saved 1 items");
    assert_eq!(client.value("SET a new"), "OK");
    server.kill();
    let server = warm(folder.path(), &[]);
    assert_eq!(Client::new(server.addr()).value("GET a"), NOTHING, "an old value would be wrong");
    server.kill();
    std::fs::rename(folder.path().join("warm.copy"), folder.path().join("warm")).unwrap();
    let server = warm(folder.path(), &[]);
    server.logged("restored 1 items");
    assert_eq!(Client::new(server.addr()).value("GET a"), "old");
    let mut client = Client::new(server.addr());
    client.send(b"SHUTDOWN NOSAVE\r\n");
    server.logged("saved nothing, as requested");
    drop(server);
    assert!(!folder.path().join("warm").exists());
}

/// One log line says why, and the cache starts empty.
#[test]
fn what_is_not_whole_is_refused() {
    let folder = folder();
    let path = folder.path().join("warm");
    let server = warm(folder.path(), &[]);
    let mut client = Client::new(server.addr());
    client.ask_all((0..1_000).map(|at| format!("SET key:{at} {at}")));
    server.stop();
    let whole = std::fs::read(&path).unwrap();
    let version = |mut bytes: Vec<u8>| {
        bytes[8] = 99;
        bytes
    };
    let flipped = |mut bytes: Vec<u8>, at: usize| {
        bytes[at] ^= 4;
        bytes
    };
    for (bytes, why) in [
        (whole[..whole.len() - 1].to_vec(), "ends too early"),
        (whole[..20].to_vec(), "ends too early"),
        (vec![], "ends too early"),
        (flipped(whole.clone(), 5_000), "damaged"),
        (flipped(whole.clone(), whole.len() - 1), "damaged"),
        (version(whole.clone()), "version 99"),
        (b"REDIS0011 something else".to_vec(), "not a warm-restart file"),
    ] {
        std::fs::write(&path, &bytes).unwrap();
        let server = warm(folder.path(), &[]);
        let line = server.logged("did not restore");
        assert!(line.contains(why) && line.contains("the cache starts empty"), "{line}");
        assert_eq!(Client::new(server.addr()).value("DBSIZE"), "0");
        assert_eq!(server.log().matches("did not restore").count(), 1);
        server.kill();
        assert!(!path.exists(), "it would be out of date at the next start");
    }
    std::fs::write(&path, &whole).unwrap();
    let server = warm(folder.path(), &[]);
    server.logged("restored 1000 items");
}

/// The pilot has its knowledge at once, before the first request: the division of the memory, each
/// tenant's policy, the curves, the costs of misses.
#[test]
fn the_plan_is_there_at_once() {
    let folder = folder();
    let tenants = [
        "--maxmemory",
        "8mb",
        "--recipe",
        "kredis",
        "--tenant",
        "wide match prefix w:",
        "--tenant",
        "narrow match db 1",
    ];
    let server = warm(folder.path(), &tenants);
    let mut client = Client::new(server.addr());
    let value = "x".repeat(400);
    let (mut prng, begun) = (base::Prng::new(1), Instant::now());
    // Wait until the loop has moved memory to the tenant that can use it.
    let (before, curve) = loop {
        let keys: Vec<_> = (0..1_000).map(|_| prng.below(30_000)).collect();
        let replies = client.ask_all(keys.iter().map(|key| format!("GET w:{key}")));
        let missed = keys.iter().zip(&replies).filter(|(_, reply)| reply.is_none());
        client.ask_all(missed.map(|(key, _)| format!("SET w:{key} {value}")));
        let shares = shares(&mut client);
        let curve = client.value("LARDER CURVE wide JSON");
        if share(&shares, "wide").0 > 3.0 * share(&shares, "narrow").0 && curve.len() > 200 {
            break (shares, curve);
        }
        assert!(begun.elapsed() < Duration::from_secs(90), "nothing is learned: {shares}");
        // Under more load the server samples fewer keys, and too few of these.
        std::thread::sleep(Duration::from_millis(200));
    };
    assert!(share(&before, "wide").2 > 0.0, "no fetch was timed: {before}");
    // Wait until the division has reached its target, because the saved division is that of the
    // last epoch.
    let mut before = before;
    loop {
        std::thread::sleep(Duration::from_millis(2_200));
        let now = shares(&mut client);
        let stays = |name| (share(&now, name).0 - share(&before, name).0).abs() < 0.005;
        let is_settled = stays("wide") && stays("narrow");
        before = now;
        if is_settled {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "no end of moving: {before}");
    }
    let models = model_bytes(&mut client);
    server.stop();
    let server = warm(folder.path(), &tenants);
    server.logged("restored");
    std::thread::sleep(Duration::from_millis(500));
    let mut client = Client::new(server.addr());
    let after = shares(&mut client);
    for name in ["wide", "narrow"] {
        let (old, new) = (share(&before, name), share(&after, name));
        assert!((new.0 - old.0).abs() < 0.02, "{name}: {old:?}, now {new:?}");
        assert_eq!(new.1, old.1, "K of {name}");
    }
    assert!(share(&after, "wide").0 > 3.0 * share(&after, "narrow").0, "{after}");
    assert!(share(&after, "wide").2 > 0.0, "{after}");
    let after = model_bytes(&mut client);
    assert!(after > models / 2, "the models had {models} bytes, and have {after}");
    let again = client.value("LARDER CURVE wide JSON");
    assert!(again.len() > curve.len() / 2, "{again}");
}

/// Recipes that keep a model, with the settings that this test needs.
const RECIPES: [&str; 4] = [
    "dlru:interval=5000:rate=0.25",
    "kredis:epoch=0.5:rate=1",
    "kredis:model=kaet:epoch=0.5:rate=1",
    "predis:epoch=0.5:rate=1",
];

/// Reads by two tenants; one of them reads more than fits. Missing keys are written with a high or
/// a low cost.
fn two_tenants(client: &mut Client, prng: &mut base::Prng, reads: usize) {
    let value = "x".repeat(400);
    let keys: Vec<_> = (0..reads)
        .map(|at| match at % 4 {
            0 => format!("n:{}", prng.below(500)),
            _ => format!("w:{}", (prng.unit().powi(2) * 40_000.0) as u64),
        })
        .collect();
    let replies = client.ask_all(keys.iter().map(|key| format!("GET {key}")));
    let missed = keys.iter().zip(&replies).filter(|(_, reply)| reply.is_none());
    client.ask_all(missed.map(|(key, _)| {
        let cost = if key.len() % 2 == 0 { 200 } else { 20_000 };
        format!("SET {key} {value} COST {cost}")
    }));
}

/// The points of a tenant's curve.
fn curve(client: &mut Client, tenant: &str) -> Vec<(f64, f64)> {
    let text = client.value(&format!("LARDER CURVE {tenant} JSON"));
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let points = document["curve"].as_array().unwrap().iter();
    points.map(|point| (point[0].as_f64().unwrap(), point[1].as_f64().unwrap())).collect()
}

/// The forecasts: the curves of the tenants. Where the pools are penalty classes, and no tenant has
/// a curve, the budget and the miss ratio of each class.
fn curves(client: &mut Client, recipe: &str) -> Vec<Vec<(f64, f64)>> {
    if !recipe.starts_with("predis") {
        return ["wide", "narrow"].map(|tenant| curve(client, tenant)).into();
    }
    let forecast =
        |pool: &serde_json::Value| Some((pool["budget"].as_f64()?, pool["forecast"].as_f64()?));
    vec![pools(client).iter().filter_map(forecast).collect()]
}

/// The pools of the last epoch.
fn pools(client: &mut Client) -> Vec<serde_json::Value> {
    let history: serde_json::Value =
        serde_json::from_str(&client.value("LARDER EPOCHS JSON")).unwrap();
    let last = history.as_array().and_then(|epochs| epochs.last());
    last.map_or(vec![], |epoch| epoch["pools"].as_array().unwrap().clone())
}

/// Share of each pool in the sum of budgets, by name.
fn division(client: &mut Client) -> BTreeMap<String, f64> {
    let pools = pools(client);
    let budget = |pool: &serde_json::Value| pool["budget"].as_f64().unwrap();
    let all: f64 = pools.iter().map(budget).sum();
    let name = |pool: &serde_json::Value| pool["name"].as_str().unwrap().to_owned();
    pools.iter().map(|pool| (name(pool), budget(pool) / all)).collect()
}

/// The largest difference between two curves. Where the pools are penalty classes, no curves can be
/// compared, because a forecast holds for the memory that a class has at that moment. There,
/// samples, rate, budgets and the memory of the models show that the models were restored.
fn apart(recipe: &str, one: &[(f64, f64)], other: &[(f64, f64)]) -> f64 {
    if recipe.starts_with("predis") { 0.0 } else { difference(one, other) }
}

/// A curve's miss ratio at a size, along the line between two of its points.
fn at(curve: &[(f64, f64)], size: f64) -> f64 {
    let after = curve.partition_point(|point| point.0 < size);
    if after == 0 || after == curve.len() {
        return curve[after.min(curve.len() - 1)].1;
    }
    let ((left, high), (right, low)) = (curve[after - 1], curve[after]);
    high + (low - high) * (size - left) / (right - left)
}

/// The largest difference between two curves, where the first is not steep. Their points are even
/// steps of the divided memory, which differs after a restart: the server has other buffers then.
fn difference(one: &[(f64, f64)], other: &[(f64, f64)]) -> f64 {
    let is_flat = |at: &usize| {
        let (left, right) = (at.saturating_sub(1), (at + 1).min(one.len() - 1));
        (one[left].1 - one[right].1).abs() < 0.05
    };
    let flat: Vec<_> = (0..one.len()).filter(is_flat).collect();
    assert!(flat.len() > one.len() / 3, "{one:?}");
    let off = |place: usize| (one[place].1 - at(other, one[place].0)).abs();
    flat.into_iter().map(off).fold(0.0, f64::max)
}

fn plan(client: &mut Client) -> serde_json::Value {
    serde_json::from_str(&client.value("LARDER PLAN JSON")).unwrap()
}

/// Whether models were built, and the last `epochs` epochs moved next to nothing. A division saved
/// in the middle of a move goes on moving after the restart.
fn is_at_rest(status: &serde_json::Value, epochs: usize) -> bool {
    let history = status["history"].as_array().unwrap();
    let memory = status["memory"].as_f64().unwrap();
    let still = |epoch: &serde_json::Value| epoch["moved"].as_f64().unwrap() < 0.005 * memory;
    history.len() >= 6
        && history.iter().rev().take(epochs).all(still)
        && status["model_bytes"].as_f64().is_some_and(|bytes| bytes > 0.0)
}

/// Under each recipe the restored models equal the saved ones: the same curves at once, as many
/// samples, as much memory for models, the same K and the same budgets. Further reads change them
/// as they would have before the restart.
#[test]
fn models_are_there_again() {
    for recipe in RECIPES {
        let folder = folder();
        let arguments = [
            "--maxmemory",
            "8mb",
            // Small pages allow one shard for each thread, though memory is small.
            "--slab-page-size",
            "4kb",
            "--recipe",
            recipe,
            "--tenant",
            "wide match prefix w:",
            "--tenant",
            "narrow match prefix n:",
        ];
        let server = warm(folder.path(), &arguments);
        let (mut client, mut prng) = (Client::new(server.addr()), base::Prng::new(1));
        let begun = Instant::now();
        while !is_at_rest(&plan(&mut client), 2)
            || curves(&mut client, recipe).iter().any(Vec::is_empty)
        {
            two_tenants(&mut client, &mut prng, 1_000);
            // Under more load the server samples fewer keys.
            std::thread::sleep(Duration::from_millis(250));
            assert!(begun.elapsed() < Duration::from_secs(150), "{recipe}: nothing is learned");
        }
        // No more requests come, whether the current epoch ends or not. The last plan is carried
        // out, and so is a plan made after the pools have cooled off.
        std::thread::sleep(Duration::from_millis(1_200));
        while !is_at_rest(&plan(&mut client), 5) {
            std::thread::sleep(Duration::from_millis(250));
            assert!(begun.elapsed() < Duration::from_secs(240), "{recipe}: it never rests");
        }
        let (status, rows) = (plan(&mut client), shares(&mut client));
        let (before, divided) = (curves(&mut client, recipe), division(&mut client));
        let samples = |status: &serde_json::Value| status["samples"].as_u64().unwrap();
        assert!(samples(&status) > 1_000, "{recipe}: {status}");
        server.stop();

        let path = folder.path().join("warm");
        let saved = std::fs::read(&path).unwrap();
        let server = warm(folder.path(), &arguments);
        server.logged("restored");
        // Time for one tick, and under predis for an epoch, whose record lists the classes.
        std::thread::sleep(Duration::from_millis(1_200));
        let mut client = Client::new(server.addr());
        let (after, now) = (plan(&mut client), shares(&mut client));
        for (one, other) in before.iter().zip(&curves(&mut client, recipe)) {
            let off = apart(recipe, one, other);
            assert!(off < 0.025, "{recipe}: a curve is off by {off}: {one:?} {other:?}");
        }
        // Under dlru no epoch has ended yet, but dlru has a single pool.
        let again = division(&mut client);
        assert!(
            again.len() == divided.len() || again.is_empty() && divided.len() == 1,
            "{again:?}"
        );
        for (name, share) in &again {
            let off = (share - divided[name]).abs();
            assert!(off < 0.05, "{recipe}: {name} had {divided:?}, now {again:?}");
        }
        for tenant in ["wide", "narrow"] {
            let (old, new) = (share(&rows, tenant), share(&now, tenant));
            assert_eq!(old.1, new.1, "{recipe}: K of {tenant}");
            let is_near = (old.0 - new.0).abs() < 0.02 || old.0.is_nan() && new.0.is_nan();
            assert!(is_near, "{recipe}: {tenant} had {old:?}, and has {new:?}");
        }
        assert!(samples(&after) >= samples(&status), "{recipe}: {after}");
        assert_eq!(after["rate"], status["rate"], "{recipe}");
        let bytes = |status: &serde_json::Value| status["model_bytes"].as_f64().unwrap();
        let (old, new) = (bytes(&status), bytes(&after));
        assert!(new > 0.7 * old && new < 1.5 * old, "{recipe}: {old} bytes of models, now {new}");
        // The loop continues with the restored models, and not with a curve of a fresh start.
        let epoch = |client: &mut Client| plan(client)["epoch"].as_u64().unwrap();
        let first = epoch(&mut client);
        while epoch(&mut client) < first + 2 {
            two_tenants(&mut client, &mut prng, 1_000);
            std::thread::sleep(Duration::from_millis(250));
            assert!(begun.elapsed() < Duration::from_secs(120), "{recipe}: it stands still");
        }
        let later = curves(&mut client, recipe);
        let off = apart(recipe, &before[0], &later[0]);
        assert!(off < 0.1, "{recipe}: later the curve is off by {off}: {before:?} {later:?}");
        server.kill();

        // If the models are damaged, the whole file is refused.
        let head = u64::from_le_bytes(saved[12..20].try_into().unwrap()) as usize;
        let models = 12 + 13 + head;
        assert_eq!(saved[models + 8], 2, "the block of what the pilot knows");
        let mut torn = saved;
        torn[models + 13 + 100] ^= 1;
        std::fs::write(&path, torn).unwrap();
        let server = warm(folder.path(), &arguments);
        let line = server.logged("did not restore");
        assert!(line.contains("block 2 is damaged; the cache starts empty"), "{line}");
        let mut client = Client::new(server.addr());
        assert_eq!((client.value("DBSIZE"), samples(&plan(&mut client))), ("0".into(), 0));
    }
}

/// Bytes of the models, mostly for the keys that they watch.
fn model_bytes(client: &mut Client) -> u64 {
    let status: serde_json::Value =
        serde_json::from_str(&client.value("LARDER PLAN JSON")).unwrap();
    status["model_bytes"].as_u64().unwrap()
}

fn shares(client: &mut Client) -> serde_json::Value {
    serde_json::from_str(&client.value("LARDER TENANTS JSON")).unwrap()
}

/// Share of all budgets, K and mean penalty of a tenant.
fn share(all: &serde_json::Value, name: &str) -> (f64, f64, f64) {
    let row = all.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    let number = |field: &str| row[field].as_f64().unwrap_or(0.0);
    let budgets = all.as_array().unwrap().iter().filter_map(|row| row["budget"].as_f64());
    (number("budget") / budgets.sum::<f64>(), number("k"), number("penalty_us"))
}

/// The values that a key may hold: the last one written, or one of several where a server was
/// killed before it answered. A missing key is always right.
type Model = HashMap<u64, Vec<String>>;

const KEYS: u64 = 12_000;

/// Writes, deletes and reads, and checks that every value read is allowed.
fn work(client: &mut Client, model: &mut Model, prng: &mut base::Prng, version: &mut u64) {
    let keys: Vec<_> = (0..400).map(|_| prng.below(KEYS)).collect();
    let (writes, reads) = keys.split_at(150);
    let lines = writes.iter().map(|&key| {
        *version += 1;
        if prng.chance(0.3) {
            model.insert(key, vec![]);
            return format!("DEL {key}");
        }
        let value = value(key, *version);
        model.insert(key, vec![value.clone()]);
        format!("SET {key} {value}")
    });
    let lines: Vec<_> = lines.collect();
    client.ask_all(lines.into_iter());
    check(client, model, reads);
}

fn value(key: u64, version: u64) -> String {
    format!("{key}:{version}:{}", "x".repeat((key % 900) as usize))
}

/// Reads the keys, checks their values, and returns the number of hits.
fn check(client: &mut Client, model: &mut Model, keys: &[u64]) -> usize {
    let replies = client.ask_all(keys.iter().map(|key| format!("GET {key}")));
    let mut hits = 0;
    for (key, reply) in keys.iter().zip(replies) {
        let Some(reply) = reply else { continue };
        hits += 1;
        let allowed = model.get(key).cloned().unwrap_or_default();
        assert!(allowed.contains(&reply), "{key} holds {reply}, and may hold {allowed:?}");
        model.insert(*key, vec![reply]);
    }
    hits
}

/// The server ends a hundred times at a random moment: killed while it restores, while it saves,
/// while it copies, or stopped in order; and then the file may be damaged. Every value that it
/// serves is the last one written.
#[test]
fn killed_at_a_hundred_points_it_never_serves_a_wrong_value() {
    let folder = folder();
    let path = folder.path().join("warm");
    let (mut prng, mut version, mut model) = (base::Prng::new(7), 0, Model::new());
    let (mut restored, mut torn, mut refused) = (0, 0, 0);
    for _ in 0..100 {
        let was_saved = path.exists();
        let server = warm(folder.path(), &["--maxmemory", "64mb"]);
        let mut client = Client::new(server.addr());
        let rounds = prng.below(5);
        for _ in 0..rounds {
            work(&mut client, &mut model, &mut prng, &mut version);
        }
        if prng.chance(0.2) {
            std::thread::sleep(Duration::from_micros(prng.below(20_000)));
            server.kill();
            continue;
        }
        if was_saved {
            server.logged("restore");
        }
        let was_refused = server.log().contains("did not restore");
        refused += usize::from(was_refused);
        let all: Vec<_> = (0..KEYS).collect();
        let hits = check(&mut client, &mut model, &all) as u64;
        restored += usize::from(was_saved && !was_refused && hits > KEYS / 2);
        let size: u64 = client.value("DBSIZE").parse().unwrap();
        if size < KEYS / 2 {
            let fill = (0..KEYS).map(|key| {
                version += 1;
                model.insert(key, vec![value(key, version)]);
                format!("SET {key} {}", value(key, version))
            });
            let fill: Vec<_> = fill.collect();
            client.ask_all(fill.into_iter());
        }
        if prng.chance(0.2) {
            server.signal("-USR1");
            work(&mut client, &mut model, &mut prng, &mut version);
        }
        // The client does not wait for the replies to these writes.
        let mut last = vec![];
        for _ in 0..prng.below(50) {
            let key = prng.below(KEYS);
            version += 1;
            model.entry(key).or_default().push(value(key, version));
            last.push(format!("SET {key} {}\r\n", value(key, version)));
        }
        client.send(last.concat().as_bytes());
        if prng.chance(0.35) {
            server.signal("-TERM");
            std::thread::sleep(Duration::from_micros(prng.below(40_000)));
            server.kill();
            torn += usize::from(folder.path().join("warm.part").exists());
            continue;
        }
        server.stop();
        let bytes = std::fs::read(&path).unwrap();
        match prng.below(10) {
            0 | 1 => {
                let len = prng.below(bytes.len() as u64) as usize;
                std::fs::write(&path, &bytes[..len]).unwrap();
            }
            2 | 3 => {
                let mut bytes = bytes;
                let bit = prng.below(bytes.len() as u64 * 8) as usize;
                bytes[bit / 8] ^= 1 << (bit % 8);
                std::fs::write(&path, &bytes).unwrap();
            }
            _ => {}
        }
    }
    println!("{restored} restored, {torn} torn saves, {refused} files refused");
    assert!(restored > 10 && torn > 0 && refused > 3, "{restored} {torn} {refused}");
}

/// A link planted at the path of a file is not followed, and the mode of a planted file is not
/// kept.
#[test]
fn planted_files_decide_nothing() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("victim"), "kept").unwrap();
    let server = warm(folder.path(), &[]);
    Client::new(server.addr()).ask("SET a 1");
    for name in ["warm.part", "warm.copy.part", "warm.copy"] {
        symlink("victim", at(name)).unwrap();
    }
    std::fs::write(at("warm"), "planted").unwrap();
    std::fs::set_permissions(at("warm"), std::fs::Permissions::from_mode(0o666)).unwrap();
    server.signal("-USR1");
    server.logged("saved 1 items");
    server.stop();
    assert_eq!(std::fs::read_to_string(at("victim")).unwrap(), "kept");
    for name in ["warm", "warm.copy"] {
        let there = std::fs::symlink_metadata(at(name)).unwrap();
        assert!(there.is_file(), "{name} is a file of the server's own");
        assert_eq!(there.permissions().mode() & 0o777, 0o600, "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "no part is left");
}

/// A file with damaged items restores no functions either.
#[test]
fn a_file_that_is_refused_is_refused_whole() {
    let folder = folder();
    let server = warm(folder.path(), &[]);
    let mut client = Client::new(server.addr());
    let library = |name: &str, value: u8| {
        format!(
            "FUNCTION LOAD REPLACE \"#!lua name={name}\nredis.register_function('{name}', \
             function() return {value} end)\""
        )
    };
    for name in ["one", "two"] {
        client.ask(&library(name, 1));
    }
    client.ask_all((0..1_000).map(|at| format!("SET key:{at} {at}")));
    server.stop();
    let path = folder.path().join("warm");
    let mut bytes = std::fs::read(&path).unwrap();
    let near_end = bytes.len() - 1_000;
    bytes[near_end] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    let server = warm(folder.path(), &[]);
    server.logged("did not restore");
    let mut client = Client::new(server.addr());
    let begun = Instant::now();
    while client.ask("FUNCTION LIST") != "*0\r\n" {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", client.ask("FUNCTION LIST"));
    }
    assert_eq!(client.ask("DBSIZE"), ":0\r\n");
}

/// A history of an earlier version, which told less of each change, is left out with a line in the
/// log, and everything else of the file comes back.
#[test]
fn an_earlier_history_keeps_nobody_from_starting() {
    const FRAME: usize = 13;
    let (history, bare) = (10, 7);
    let folder = folder();
    let server = warm(folder.path(), &[]);
    Client::new(server.addr()).ask("SET key value");
    server.stop();
    let path = folder.path().join("warm");
    let mut bytes = std::fs::read(&path).unwrap();
    let mut at = 12;
    while bytes[at + 8] != history {
        at += FRAME + u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    }
    let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    bytes[at + 8] = bare;
    let mut sum = crc32fast::Hasher::new();
    sum.update(&bytes[at..at + 9]);
    sum.update(&bytes[at + FRAME..at + FRAME + length]);
    bytes[at + 9..at + FRAME].copy_from_slice(&sum.finalize().to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let server = warm(folder.path(), &[]);
    server.logged("restored 1 items");
    assert_eq!(server.log().matches("the history starts empty").count(), 1);
    assert_eq!(Client::new(server.addr()).value("GET key"), "value");
}

/// A failed save is visible in INFO, in the metrics and in the exit status.
#[test]
fn a_failed_save_is_told() {
    let outer = folder();
    let inner = outer.path().join("state");
    std::fs::create_dir(&inner).unwrap();
    let file = inner.join("warm");
    let mut command = crate::process::larder("serve --json --port 0 --io-threads 1");
    let port = free_port().to_string();
    let server = start(command.arg("--warm-restart-file").arg(&file).args(["--http-port", &port]));
    let mut client = Client::new(server.addr());
    client.ask("SET a 1");
    let metric = || crate::http::fetch(server.http_addr(), "GET /metrics").1;
    assert_eq!(client.info("rdb_last_bgsave_status"), "ok");
    assert!(metric().contains("larder_save_failing 0"));
    std::fs::remove_dir_all(&inner).unwrap();
    server.signal("-USR1");
    server.logged("cannot save to");
    assert_eq!(client.info("rdb_last_bgsave_status"), "err");
    assert!(metric().contains("larder_save_failing 1"));
    assert!(metric().contains("larder_saves_total{result=\"failed\"} 1"));
    std::fs::create_dir(&inner).unwrap();
    server.signal("-USR1");
    server.logged("saved 1 items");
    assert_eq!(client.info("rdb_last_bgsave_status"), "ok");
    std::fs::remove_dir_all(&inner).unwrap();
    server.signal("-TERM");
    let status = server.wait();
    assert_eq!(status.code(), Some(1), "nobody is told that data are safe");
}
