//! A cluster of servers with the module, and a client that follows its redirections.

use crate::server::{Client, Reply, Server, free_port, until};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use wire::slots::{SLOTS, slot};

/// Starts masters, each with an equal part of the slots, and for each the same number of replicas.
/// The masters come first, then the first replica of each.
pub(crate) fn start(
    path: &str,
    settings: &[(&str, &str)],
    masters: usize,
    replicas: usize,
) -> Vec<Server> {
    let start = |_| {
        let bus = free_port().to_string();
        let mut all = vec![
            ("cluster-enabled", "yes"),
            ("cluster-port", bus.as_str()),
            ("cluster-node-timeout", "2000"),
            ("repl-diskless-sync-delay", "0"),
            // It counts towards `maxmemory`; some servers have 10 MB.
            ("repl-backlog-size", "1mb"),
        ];
        all.extend(settings);
        (Server::start(path, &all), bus)
    };
    let count = masters * (1 + replicas);
    let nodes: Vec<_> = (0..count).map(start).collect();
    let mut clients: Vec<_> = nodes.iter().map(|(node, _)| node.client()).collect();
    let (first, bus) = &nodes[0];
    for (at, client) in clients.iter_mut().enumerate() {
        if at < masters {
            let (from, end) = (first_slot(at, masters), first_slot(at + 1, masters));
            let range = format!("CLUSTER ADDSLOTSRANGE {from} {}", end - 1);
            assert_eq!(client.ask(&range), "OK");
        }
        assert_eq!(client.ask(&format!("CLUSTER MEET 127.0.0.1 {} {bus}", first.port)), "OK");
    }
    until(30, "the cluster", || clients.iter_mut().all(|client| is_ok(client, count)));
    for at in masters..count {
        let master = clients[at % masters].ask("CLUSTER MYID");
        assert_eq!(clients[at].ask(&format!("CLUSTER REPLICATE {master}")), "OK");
        until(30, "the link to a master", || {
            clients[at].info("replication").get("master_link_status").is_some_and(|is| is == "up")
        });
    }
    nodes.into_iter().map(|(node, _)| node).collect()
}

/// The first slot of a master.
pub(crate) fn first_slot(at: usize, masters: usize) -> u16 {
    (at * usize::from(SLOTS) / masters) as u16
}

/// Whether a node sees this number of nodes, and every slot served.
pub(crate) fn is_ok(client: &mut Client, nodes: usize) -> bool {
    let info = client.ask("CLUSTER INFO");
    info.contains("cluster_state:ok") && info.contains(&format!("cluster_known_nodes:{nodes}"))
}

/// A client that knows the node of each slot, or learns it.
pub(crate) struct ClusterClient {
    ports: Vec<u16>,
    clients: HashMap<u16, Client>,
    /// The node of each slot, as far as it is known.
    owners: HashMap<u16, u16>,
    /// Redirections that it followed: MOVED, and ASK.
    pub(crate) moved: u64,
    pub(crate) asked: u64,
}

impl ClusterClient {
    /// A client that begins with any of these nodes.
    pub(crate) fn new(ports: &[u16]) -> Self {
        let (clients, owners) = Default::default();
        Self { ports: ports.to_vec(), clients, owners, moved: 0, asked: 0 }
    }

    /// Sends a command about one key, and repeats it while the cluster repairs itself.
    pub(crate) fn call(&mut self, words: &[&str]) -> Reply {
        let words: Vec<_> = words.iter().map(|&word| word.to_owned()).collect();
        let (slot, begun) = (slot(words[1].as_bytes()), Instant::now());
        let (mut port, mut asks) = (self.owners.get(&slot).copied(), false);
        loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "no node serves slot {slot}");
            let any = begun.elapsed().as_millis() as usize % self.ports.len();
            let at = port.unwrap_or(self.ports[any]);
            match self.send(at, &words, asks) {
                Ok(Reply::Error(text)) if text.starts_with("MOVED") => {
                    (port, asks, self.moved) = (port_of(&text), false, self.moved + 1);
                }
                Ok(Reply::Error(text)) if text.starts_with("ASK") => {
                    (port, asks, self.asked) = (port_of(&text), true, self.asked + 1);
                }
                Ok(Reply::Error(text))
                    if ["CLUSTERDOWN", "TRYAGAIN", "LOADING", "MASTERDOWN"]
                        .iter()
                        .any(|kind| text.starts_with(kind)) =>
                {
                    (port, asks) = (None, false);
                    std::thread::sleep(Duration::from_millis(20));
                }
                Ok(reply) => {
                    if !asks {
                        self.owners.insert(slot, at);
                    }
                    return reply;
                }
                Err(_) => {
                    self.clients.remove(&at);
                    self.owners.retain(|_, owner| *owner != at);
                    (port, asks) = (None, false);
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }

    fn send(&mut self, port: u16, words: &[String], asks: bool) -> std::io::Result<Reply> {
        let client = match self.clients.entry(port) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(place) => {
                let client = Client::connect(port);
                place.insert(client.ok_or(std::io::ErrorKind::ConnectionRefused)?)
            }
        };
        let asking = asks.then(|| vec!["ASKING".to_owned()]);
        let all: Vec<_> = asking.into_iter().chain([words.to_vec()]).collect();
        Ok(client.attempt(&all)?.pop().expect("each command has a reply"))
    }
}

/// The port in a redirection.
fn port_of(redirection: &str) -> Option<u16> {
    redirection.rsplit_once(':')?.1.parse().ok()
}
