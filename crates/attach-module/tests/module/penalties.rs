//! The module measures the cost of misses on the wire, from a client's miss to its write, and
//! memory goes to the tenant whose waiting it saves.

use crate::server::{Client, Reply, Server, installed};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Keys of each tenant: both together are about twice what the memory holds.
const KEYS: u64 = 40_000;

/// Keys requested in one batch.
const BATCH: u64 = 100;

/// Duration of a fetch of the dear tenant.
const FETCH: Duration = Duration::from_millis(25);

/// Reads random keys, waits `fetch` for the missing ones, and writes them.
fn read(client: &mut Client, prefix: &str, state: &mut u64, fetch: Duration) {
    let name = |_| {
        *state += 1;
        format!("{prefix}{:07}", base::hash::mix(*state) % KEYS)
    };
    let names: Vec<_> = (0..BATCH).map(name).collect();
    let gets: Vec<_> = names.iter().map(|name| vec!["GET".to_owned(), name.clone()]).collect();
    let replies = client.all(&gets);
    let missing = names.into_iter().zip(replies).filter(|(_, reply)| *reply == Reply::Nothing);
    let value = "x".repeat(400);
    let sets = missing.map(|(name, _)| vec!["SET".to_owned(), name, value.clone()]);
    let sets: Vec<_> = sets.collect();
    std::thread::sleep(fetch);
    client.all(&sets);
}

/// A number in the tenant's field of INFO.
fn number(client: &mut Client, tenant: &str, field: &str) -> f64 {
    let all = client.info("larder").remove(&format!("larder_tenant_{tenant}")).unwrap();
    let fields: HashMap<_, _> = all.split(',').filter_map(|field| field.split_once('=')).collect();
    fields[field].parse().unwrap()
}

/// Both tenants have the same reads; they differ only in the duration of a fetch.
#[test]
fn predis_gives_memory_to_the_dear() {
    let Some(path) = installed() else { return };
    let settings = [
        ("maxmemory", "24mb"),
        ("larder.recipe", "predis:epoch=1"),
        ("larder.tenants", "\"dear match prefix dear:; cheap match prefix cheap:\""),
        ("larder.act", "yes"),
    ];
    let server = Server::start(&path, &settings);
    let mut client = server.client();
    let (mut a, mut b) = (1, 1 << 32);
    let begun = Instant::now();
    loop {
        for _ in 0..25 {
            read(&mut client, "dear:", &mut a, FETCH);
            read(&mut client, "cheap:", &mut b, Duration::ZERO);
            std::thread::sleep(Duration::from_millis(5));
        }
        let used = ["dear", "cheap"].map(|tenant| number(&mut client, tenant, "used"));
        let seconds = begun.elapsed().as_secs();
        if used[0] > 1.5 * used[1] && seconds > 10 {
            println!("after {seconds} s the dear has {} and the cheap {}", used[0], used[1]);
            break;
        }
        let plan = client.ask("LARDER.PLAN");
        assert!(seconds < 180, "the dear has {} and the cheap {}: {plan}", used[0], used[1]);
    }
    // The server's own time adds to both.
    let [dear, cheap] = ["dear", "cheap"].map(|tenant| number(&mut client, tenant, "penalty_us"));
    assert!(dear >= FETCH.as_micros() as f64, "a fetch of the dear took {dear} µs");
    assert!(dear > 1.5 * cheap, "a fetch of the dear took {dear} µs, of the cheap {cheap} µs");
}
