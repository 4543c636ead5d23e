//! CLUSTER and related commands: the owners of slots, as the file defines them, and redirections.

use super::budget::Budget;
use super::scan::{scope, sees};
use crate::call::{Call, Command, Done, Failure};
use crate::execute::cluster::port;
use crate::facts::flag::{ADMIN, FAST};
use crate::settings::cluster::Cluster;
use std::fmt::Write;
use std::sync::Arc;
use wire::slots::{SLOTS, slot};

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::container("cluster", 0, SUBCOMMANDS).doc(
        "cluster",
        "3.0.0",
        "Shows the nodes and their slots.",
    ),
    Command::new("asking", 1, FAST, accept).categories(&["connection"]).doc(
        "cluster",
        "3.0.0",
        "Accepted without effect: no slot migrates.",
    ),
    Command::new("readonly", 1, FAST, accept).categories(&["connection"]).doc(
        "cluster",
        "3.0.0",
        "Accepted without effect: there are no replicas.",
    ),
    Command::new("readwrite", 1, FAST, accept).categories(&["connection"]).doc(
        "cluster",
        "3.0.0",
        "Accepted without effect: there are no replicas.",
    ),
];

const SUBCOMMANDS: &[Command] = &[
    Command::new("cluster|slots", 2, 0, slots).doc(
        "cluster",
        "3.0.0",
        "Ranges of slots with their nodes.",
    ),
    Command::new("cluster|shards", 2, 0, shards).doc("cluster", "7.0.0", "Nodes with their slots."),
    Command::new("cluster|nodes", 2, 0, nodes).doc("cluster", "3.0.0", "One line for each node."),
    Command::new("cluster|info", 2, 0, info).doc("cluster", "3.0.0", "The state of the cluster."),
    Command::new("cluster|myid", 2, 0, myid).doc("cluster", "3.0.0", "The id of this node."),
    Command::new("cluster|myshardid", 2, 0, myid).doc("cluster", "7.2.0", "The id of this node."),
    Command::new("cluster|links", 2, 0, links).doc(
        "cluster",
        "7.0.0",
        "Links between nodes: there are none.",
    ),
    Command::new("cluster|replicas", 3, ADMIN, replicas).doc(
        "cluster",
        "5.0.0",
        "The replicas of a node: none.",
    ),
    Command::new("cluster|slaves", 3, ADMIN, replicas).doc(
        "cluster",
        "3.0.0",
        "The replicas of a node: none.",
    ),
    Command::new("cluster|count-failure-reports", 3, ADMIN, count_failures).doc(
        "cluster",
        "3.0.0",
        "Number of failure reports about a node: always 0.",
    ),
    Command::new("cluster|keyslot", 3, 0, keyslot).doc("cluster", "3.0.0", "The slot of a key."),
    Command::new("cluster|countkeysinslot", 3, 0, count_keys).doc(
        "cluster",
        "3.0.0",
        "Counts the keys of a slot; it reads all keys.",
    ),
    Command::new("cluster|getkeysinslot", 4, 0, get_keys).doc(
        "cluster",
        "3.0.0",
        "Keys of a slot.",
    ),
    Command::new("cluster|help", 2, 0, help).doc("cluster", "5.0.0", "The subcommands of CLUSTER."),
];

/// The number of items that one step of a walk visits.
const STEP: usize = 1_000;

/// The distance between a node's port and the port that its cluster bus would have.
const BUS: u32 = 10_000;

/// The cluster that this server belongs to; an error if it belongs to none.
fn cluster(call: &Call<'_>) -> Result<Arc<Cluster>, Failure> {
    let cluster = call.view.cluster.clone();
    cluster.ok_or_else(|| "ERR This instance has cluster support disabled".into())
}

/// Checks that argument 2 is the id of a node.
fn check_node(call: &Call<'_>) -> Done {
    let (cluster, name) = (cluster(call)?, call.text(2));
    let is_known = cluster.nodes.iter().any(|node| node.id == name);
    if is_known { Ok(()) } else { Err(Failure::err(&format!("Unknown node {name}"))) }
}

fn replicas(call: &mut Call<'_>) -> Done {
    check_node(call)?;
    call.out.array(0);
    Ok(())
}

fn count_failures(call: &mut Call<'_>) -> Done {
    check_node(call)?;
    call.out.integer(0);
    Ok(())
}

fn accept(call: &mut Call<'_>) -> Done {
    cluster(call)?;
    call.ok()
}

fn slots(call: &mut Call<'_>) -> Done {
    let cluster = cluster(call)?;
    call.out.array(cluster.nodes.iter().map(|node| node.slots.len()).sum());
    for node in &cluster.nodes {
        let port = port(call.view, &call.session.client, node);
        for range in &node.slots {
            call.out.array(3);
            call.out.integer((*range.start()).into());
            call.out.integer((*range.end()).into());
            call.out.array(4);
            call.out.bulk(node.host.as_bytes());
            call.out.integer(port.into());
            call.out.bulk(node.id.as_bytes());
            call.out.array(0);
        }
    }
    Ok(())
}

fn shards(call: &mut Call<'_>) -> Done {
    let cluster = cluster(call)?;
    call.out.array(cluster.nodes.len());
    for node in &cluster.nodes {
        let out = &mut call.out;
        out.map(2);
        out.bulk(b"slots");
        out.array(2 * node.slots.len());
        for range in &node.slots {
            out.integer((*range.start()).into());
            out.integer((*range.end()).into());
        }
        out.bulk(b"nodes");
        out.array(1);
        out.map(7 + usize::from(node.tls_port > 0));
        for (name, value) in [("id", &node.id), ("endpoint", &node.host), ("ip", &node.host)] {
            out.bulk(name.as_bytes());
            out.bulk(value.as_bytes());
        }
        out.bulk(b"port");
        out.integer(node.port.into());
        if node.tls_port > 0 {
            out.bulk(b"tls-port");
            out.integer(node.tls_port.into());
        }
        out.bulk(b"role");
        out.bulk(b"master");
        out.bulk(b"replication-offset");
        out.integer(0);
        out.bulk(b"health");
        out.bulk(b"online");
    }
    Ok(())
}

fn nodes(call: &mut Call<'_>) -> Done {
    let cluster = cluster(call)?;
    let mut text = String::new();
    for (node, epoch) in cluster.nodes.iter().zip(1..) {
        let port = port(call.view, &call.session.client, node);
        let bus = (u32::from(port) + BUS) % 65_536;
        let flags = if node == cluster.me() { "myself,master" } else { "master" };
        // Writing to a String does not fail.
        let _ =
            write!(text, "{} {}:{port}@{bus} {flags} - 0 0 {epoch} connected", node.id, node.host);
        for range in &node.slots {
            let _ = match (range.start(), range.end()) {
                (first, last) if first == last => write!(text, " {first}"),
                (first, last) => write!(text, " {first}-{last}"),
            };
        }
        text.push('\n');
    }
    call.out.verbatim(&text);
    Ok(())
}

fn info(call: &mut Call<'_>) -> Done {
    let cluster = cluster(call)?;
    let (assigned, known) = (cluster.assigned(), cluster.nodes.len());
    let size = cluster.nodes.iter().filter(|node| !node.slots.is_empty()).count();
    let mut text = String::new();
    // A node serves its slots, whatever the state of the other nodes.
    for (name, value) in [
        ("cluster_state", "ok".to_owned()),
        ("cluster_slots_assigned", assigned.to_string()),
        ("cluster_slots_ok", assigned.to_string()),
        ("cluster_slots_pfail", "0".to_owned()),
        ("cluster_slots_fail", "0".to_owned()),
        ("cluster_known_nodes", known.to_string()),
        ("cluster_size", size.to_string()),
        ("cluster_current_epoch", known.to_string()),
        ("cluster_my_epoch", "1".to_owned()),
        ("cluster_stats_messages_sent", "0".to_owned()),
        ("cluster_stats_messages_received", "0".to_owned()),
        ("total_cluster_links_buffer_limit_exceeded", "0".to_owned()),
    ] {
        let _ = write!(text, "{name}:{value}\r\n");
    }
    call.out.verbatim(&text);
    Ok(())
}

fn myid(call: &mut Call<'_>) -> Done {
    let cluster = cluster(call)?;
    call.out.bulk(cluster.me().id.as_bytes());
    Ok(())
}

fn links(call: &mut Call<'_>) -> Done {
    cluster(call)?;
    call.out.array(0);
    Ok(())
}

fn keyslot(call: &mut Call<'_>) -> Done {
    cluster(call)?;
    call.out.integer(slot(call.arg(2)).into());
    Ok(())
}

/// Finds at most `most` keys of the slot at argument 2 in the client's database, among the keys
/// that the client may see.
fn keys_of_slot(call: &Call<'_>, most: usize) -> Result<Vec<Vec<u8>>, Failure> {
    cluster(call)?;
    let wanted = call.integer(2)?;
    if !(0..i64::from(SLOTS)).contains(&wanted) {
        return Err("ERR Invalid slot".into());
    }
    let (mut found, mut cursor, mut budget) = (vec![], 0, Budget::reply(call));
    loop {
        cursor = call.server.store.scan(scope(call), cursor, STEP, call.now, |item| {
            let is_it = sees(call, item) && i64::from(slot(item.key)) == wanted;
            if is_it && found.len() < most && budget.takes(item.key.len()) {
                found.push(item.key.to_vec());
            }
        });
        budget.check()?;
        if cursor == 0 || found.len() >= most {
            return Ok(found);
        }
    }
}

fn count_keys(call: &mut Call<'_>) -> Done {
    let keys = keys_of_slot(call, usize::MAX)?;
    call.out.integer(keys.len() as i64);
    Ok(())
}

fn get_keys(call: &mut Call<'_>) -> Done {
    let most = usize::try_from(call.integer(3)?).map_err(|_| "ERR Invalid number of keys")?;
    let keys = keys_of_slot(call, most)?;
    call.out.array(keys.len());
    for key in keys {
        call.out.bulk(&key);
    }
    Ok(())
}

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "CLUSTER <subcommand> [<arg> ...]. Subcommands are:",
        "COUNT-FAILURE-REPORTS <node-id>",
        "    0: nodes do not speak to each other.",
        "COUNTKEYSINSLOT <slot>",
        "    Count the keys of a slot.",
        "GETKEYSINSLOT <slot> <count>",
        "    Keys of a slot.",
        "INFO",
        "    The state of the cluster.",
        "KEYSLOT <key>",
        "    The slot of a key.",
        "LINKS",
        "    Empty: nodes do not speak to each other.",
        "MYID",
        "    The id of this node.",
        "MYSHARDID",
        "    The id of this node.",
        "NODES",
        "    One line for each node.",
        "REPLICAS <node-id> | SLAVES <node-id>",
        "    Empty: there are no replicas.",
        "SHARDS",
        "    Nodes with their slots.",
        "SLOTS",
        "    Ranges of slots with their nodes.",
        "HELP",
        "    Print this help.",
    ])
}
