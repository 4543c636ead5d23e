//! Each node of a cluster is a server of its own: it holds its own budgets of its own memory.

use crate::server::{Client, Reply, Server, all, free_port, until};

/// Nodes of the cluster.
const NODES: usize = 3;

/// The most bytes of a tenant on each node.
const MAX: f64 = 250.0 * 1024.0;

/// Three nodes that know each other, each with a third of the slots.
fn cluster(path: &str, recipe: &str) -> Vec<Server> {
    let start = |_| {
        let bus = free_port().to_string();
        let settings = [
            ("cluster-enabled", "yes"),
            ("cluster-port", bus.as_str()),
            ("maxmemory", "100mb"),
            ("larder.tenants", "\"small match prefix small: max 250kb\""),
            ("larder.recipe", recipe),
            ("larder.act", "yes"),
        ];
        (Server::start(path, &settings), bus)
    };
    let nodes: Vec<_> = (0..NODES).map(start).collect();
    for (at, (node, _)) in nodes.iter().enumerate() {
        let slot = |at: usize| at * 16_384 / NODES;
        let mut client = node.client();
        let range = format!("CLUSTER ADDSLOTSRANGE {} {}", slot(at), slot(at + 1) - 1);
        assert_eq!(client.ask(&range), "OK");
        let (first, bus) = &nodes[0];
        assert_eq!(client.ask(&format!("CLUSTER MEET 127.0.0.1 {} {bus}", first.port)), "OK");
    }
    nodes.into_iter().map(|(node, _)| node).collect()
}

fn is_ok(client: &mut Client) -> bool {
    let info = client.ask("CLUSTER INFO");
    info.contains("cluster_state:ok") && info.contains(&format!("cluster_known_nodes:{NODES}"))
}

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
        let nodes = cluster(&path, recipe);
        let mut clients: Vec<_> = nodes.iter().map(Server::client).collect();
        until(15, "the cluster", || clients.iter_mut().all(is_ok));
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
            until(10, "the budget of a node", || (used(client) / MAX - 1.0).abs() < 0.02);
            let keys: usize = client.ask("DBSIZE").parse().unwrap();
            let info = client.info("larder");
            let left = &info["larder_tenant_small"];
            let held = keys - rest;
            assert!(left.starts_with(&format!("items={held},")), "{left}, and it holds {held}");
            assert_eq!(client.number("stats", "evicted_keys"), 0.0, "the server evicted none");
        }
        assert!(clients.iter_mut().all(is_ok), "{path}");
        println!("{path}: three nodes hold their budgets with {recipe}");
    }
}
