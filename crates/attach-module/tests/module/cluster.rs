//! Each node of a cluster is a server of its own: it holds its own budgets of its own memory.

use crate::nodes;
use crate::server::{Client, Reply, Server, all, until};

/// Masters of the cluster.
const MASTERS: usize = 3;

/// The most bytes of a tenant on each node.
const MAX: f64 = 250.0 * 1024.0;

/// Writes the keys of this node; it refuses the keys of others. Returns the number of its own.
fn fill(client: &mut Client, prefix: &str, count: u64) -> usize {
    let value = "x".repeat(400);
    let mut own = 0;
    for from in (0..count).step_by(100) {
        let set = |at| vec!["SET".to_owned(), format!("{prefix}{at:07}"), value.clone()];
        let all: Vec<_> = (from..from + 100).map(set).collect();
        for reply in client.all(&all) {
            match reply {
                Reply::Text(_) => own += 1,
                Reply::Error(moved) => assert!(moved.starts_with("MOVED"), "{moved}"),
                other => panic!("{other:?}"),
            }
        }
    }
    own
}

#[test]
fn every_node_of_a_cluster_holds_its_budgets() {
    let recipes = |path: String| ["kredis", "auto"].map(|recipe| (path.clone(), recipe));
    for (path, recipe) in all().into_iter().flat_map(recipes) {
        let settings = [
            ("maxmemory", "100mb"),
            ("larder.tenants", "\"small match prefix small: max 250kb\""),
            ("larder.recipe", recipe),
            ("larder.act", "yes"),
        ];
        let nodes = nodes::start(&path, &settings, MASTERS, 0);
        let mut clients: Vec<_> = nodes.iter().map(Server::client).collect();
        let fill = |prefix, count| move |client: &mut Client| fill(client, prefix, count);
        let rest: Vec<_> = clients.iter_mut().map(fill("big:", 12_000)).collect();
        let small: Vec<_> = clients.iter_mut().map(fill("small:", 6_000)).collect();
        assert_eq!(rest.iter().sum::<usize>(), 12_000, "every key has a node");
        assert!(small.iter().all(|&count| count > 1_500), "{small:?}");
        for (client, rest) in clients.iter_mut().zip(rest) {
            let used = |client: &mut Client| -> f64 {
                let tenant = client.info("larder").remove("larder_tenant_small").unwrap();
                let used = tenant.split(',').find_map(|field| field.strip_prefix("used="));
                used.unwrap().parse().unwrap()
            };
            let begun = std::time::Instant::now();
            until(10, "the budget of a node", || {
                let u = used(client) / MAX - 1.0;
                println!(
                    "{recipe} {u:.4} {:?} {:?} mem {} ",
                    begun.elapsed(),
                    client.info("larder").remove("larder_tenant_small"),
                    client.number("memory", "used_memory")
                );
                assert!(u > -0.05, "{:?} {:?}", client.info("larder"), client.info("memory"));
                u.abs() < 0.02
            });
            let keys: usize = client.ask("DBSIZE").parse().unwrap();
            let info = client.info("larder");
            let left = &info["larder_tenant_small"];
            let held = keys - rest;
            assert!(left.starts_with(&format!("items={held},")), "{left}, and it holds {held}");
            assert_eq!(client.number("stats", "evicted_keys"), 0.0, "the server evicted none");
        }
        assert!(clients.iter_mut().all(|client| nodes::is_ok(client, MASTERS)), "{path}");
        println!("{path}: three nodes hold their budgets with {recipe}");
    }
}
