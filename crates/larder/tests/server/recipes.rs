//! The promises of every recipe on the live server. A new recipe is tested as soon as it is in the
//! list.

use crate::client::Client;
use crate::process::serve;
use serde_json::Value;
use std::time::{Duration, Instant};
use tune::recipe;

/// The memory of each server in this test.
const MEMORY: u64 = 4 << 20;

/// Reads keys of three tenants through the cache, and compares each answer with the value written.
/// Each write after a miss states its cost.
fn read_through(client: &mut Client, recipe: &str, round: u64) {
    for at in 0..600 {
        for (tenant, keys, length, cost) in
            [("web", 4_000, 300, 200), ("cart", 3_000, 900, 3_000), ("scan", 1 << 30, 500, 50)]
        {
            let key = base::hash::mix(600 * round + at) % keys;
            let value = format!("{key:0length$}");
            let found = client.ask(&format!("GET {tenant}:{key}"));
            if found == "$-1\r\n" {
                let set = format!("SET {tenant}:{key} {value} COST {cost}");
                assert_eq!(client.ask(&set), "+OK\r\n", "{recipe}, round {round}");
            } else {
                assert_eq!(found, format!("${length}\r\n{value}\r\n"), "{recipe}: {tenant}:{key}");
            }
        }
    }
}

fn document(client: &mut Client, command: &str) -> Value {
    let reply = client.ask(command);
    let body = reply.split_once("\r\n").unwrap().1;
    serde_json::from_str(body.trim_end()).unwrap_or_else(|_| panic!("{command}: {reply}"))
}

#[test]
fn each_recipe_steers_a_server() {
    for recipe in recipe::ALL {
        let name = recipe.name;
        let server = serve(&format!(
            "--maxmemory {MEMORY} --recipe {name}:epoch=0.1 \
             --tenant web match prefix web: --tenant cart match prefix cart: \
             --tenant scan match prefix scan:"
        ));
        let mut client = Client::new(server.addr());
        let begun = Instant::now();
        // A recipe that does not steer has no epochs.
        let wanted = if recipe.steers() { 20 } else { 0 };
        let epochs = (0..).find_map(|round| {
            read_through(&mut client, name, round);
            let history = document(&mut client, "LARDER EPOCHS JSON");
            let epochs = history.as_array().unwrap().clone();
            let late = begun.elapsed() > Duration::from_secs(60);
            assert!(!late, "{name}: {} epochs in a minute", epochs.len());
            (epochs.len() >= wanted && round >= 5).then_some(epochs)
        });
        for epoch in epochs.unwrap() {
            let pools = epoch["pools"].as_array().unwrap();
            let budgets: u64 = pools.iter().map(|pool| pool["budget"].as_u64().unwrap()).sum();
            assert!(budgets <= MEMORY, "{name}: {epoch}");
        }
        let info = client.ask("INFO memory");
        let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
        assert!(used.parse::<u64>().unwrap() <= MEMORY, "{name}: {used}");
        // The data stays when another recipe takes over and this one returns; page moves meanwhile
        // evict a few items.
        let held = |client: &mut Client| client.value("DBSIZE").parse::<u64>().unwrap();
        let before = held(&mut client);
        for next in ["static", name] {
            assert_eq!(client.ask(&format!("CONFIG SET recipe {next}")), "+OK\r\n");
        }
        let kept = held(&mut client);
        assert!(kept > before * 9 / 10, "{name}: {kept} of {before} are left");
        read_through(&mut client, name, 0);
    }
}
