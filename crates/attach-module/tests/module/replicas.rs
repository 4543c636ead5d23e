//! A replica holds the same keys as its master, however keys are removed.

use crate::server::{Client, Server, installed, until};
use base::Prng;

/// A random command of several types.
fn command(prng: &mut Prng) -> Vec<String> {
    let key = format!("{}{}", ["a:", "b:", ""][prng.below(3) as usize], prng.below(2_000));
    let value = "x".repeat(prng.below(600) as usize);
    let words: Vec<&str> = match prng.below(16) {
        0 => vec!["DEL", &key],
        1 => vec!["EXPIRE", &key, "1"],
        2 => vec!["HSET", "h", &key, &value],
        3 => vec!["LPUSH", "l", &value],
        4 => vec!["SETEX", &key, "2", &value],
        5 => vec!["APPEND", &key, "more"],
        6 => vec!["RENAME", &key, "renamed"],
        7..10 => vec!["GET", &key],
        _ => vec!["SET", &key, &value],
    };
    words.into_iter().map(str::to_owned).collect()
}

fn digest(client: &mut Client) -> String {
    client.ask("DEBUG DIGEST")
}

/// The master sends each eviction to its replicas once, and they evict nothing themselves.
#[test]
fn master_and_replica_stay_equal_under_eviction() {
    let Some(path) = installed() else { return };
    for recipe in ["kredis", "auto"] {
        stay_equal(&path, recipe);
    }
}

fn stay_equal(path: &str, recipe: &str) {
    let tenants = "\"a match prefix a: max 100kb; jobs match db 1 max 100kb\"";
    let settings = [
        ("maxmemory", "100mb"),
        ("larder.tenants", tenants),
        ("larder.recipe", recipe),
        ("larder.act", "yes"),
        ("enable-debug-command", "yes"),
    ];
    let master = Server::start(path, &settings);
    let replica = Server::start(path, &settings);
    let (mut there, mut here) = (replica.client(), master.client());
    there.ask(&format!("REPLICAOF 127.0.0.1 {}", master.port));
    until(20, "the link", || there.info("replication")["master_link_status"] == "up");
    let mut jobs = master.client();
    jobs.ask("SELECT 1");
    let mut prng = Prng::new(7);
    for step in 0..10_000 {
        let client = if step % 3 == 0 { &mut jobs } else { &mut here };
        client.all(&[command(&mut prng)]);
        if step % 100 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(60));
        }
    }
    until(20, "equal offsets", || {
        let offset = |client: &mut Client, field: &str| client.info("replication")[field].clone();
        offset(&mut here, "master_repl_offset") == offset(&mut there, "slave_repl_offset")
    });
    until(10, "no key waits to expire", || digest(&mut here) == digest(&mut there));
    let evicted = |client: &mut Client| client.number("larder", "larder_evicted_keys");
    assert!(evicted(&mut here) > 10.0, "{}", evicted(&mut here));
    assert_eq!(evicted(&mut there), 0.0);
    let state = there.info("larder")["larder_state"].clone();
    assert!(state.contains("replica"), "{state}");
}
