//! Slots of a Redis Cluster, from a file: which of several servers owns which keys.
//!
//! The slot of a key is its checksum, one of 16 384 values. A file assigns slots to servers, with
//! one line for each node. The file is the same on every server:
//!
//! ```text
//! # name     address           slots
//! larder-0   10.0.0.1:6379     0-8191
//! larder-1   10.0.0.2:6379     8192-16382 16383       tls:6380
//! ```
//!
//! Servers do not speak to each other: there are no replicas and no elections, and no key moves. A
//! server that does not own a key's slot sends the client to the owner (`MOVED`), as the protocol
//! defines. A slot that moves to another server starts empty there, because this is a cache. The
//! old owner deletes the slot's keys, so a slot that returns brings no stale values.

use super::config::Error;
use base::hash;
use std::ops::RangeInclusive;
use std::sync::Arc;
use wire::slots::{SLOTS, slot};

/// The largest number of nodes in a file.
const NODES_MAX: usize = 1_000;

/// The owner of a slot that no node owns.
const NOBODY: u16 = u16::MAX;

/// A server, with or without slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// Forty hexadecimal digits, derived from the name.
    pub(crate) id: String,
    /// The host as the file names it.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The port for TLS; 0 if there is none.
    pub(crate) tls_port: u16,
    pub(crate) slots: Vec<RangeInclusive<u16>>,
}

impl Node {
    /// The port for a client with or without TLS.
    pub(crate) const fn port_for(&self, tls: bool) -> u16 {
        if tls && self.tls_port > 0 { self.tls_port } else { self.port }
    }
}

/// All nodes, and the number of this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    me: usize,
    /// The number of each slot's owner.
    owners: Box<[u16]>,
}

/// The reason why this server refuses a command's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// The keys are in different slots.
    Cross,
    /// No node owns the slot.
    Unserved,
    /// Another node owns this slot.
    Moved(u16),
}

impl Cluster {
    /// Reads the file; `None` without a path. `name` is the name of this node. If it is empty, the
    /// host name of the machine is used.
    pub(crate) fn load(path: &str, name: &str) -> Result<Option<Arc<Self>>, Error> {
        if path.is_empty() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error(format!("cannot read cluster-config {path}: {error}")))?;
        let name = if name.is_empty() { machine() } else { name.to_owned() };
        let parsed = Self::parse(&text, &name);
        parsed
            .map(|cluster| Some(Arc::new(cluster)))
            .map_err(|wrong| Error(format!("cluster-config {path}: {wrong}")))
    }

    fn parse(text: &str, me: &str) -> Result<Self, String> {
        let mut nodes: Vec<Node> = vec![];
        let mut owners = vec![NOBODY; usize::from(SLOTS)].into_boxed_slice();
        for (line, at) in text.lines().zip(1..) {
            let words = line.split('#').next().unwrap_or_default();
            let Some(node) = node(words).map_err(|wrong| format!("line {at}: {wrong}"))? else {
                continue;
            };
            if nodes.iter().any(|other| other.name == node.name) {
                return Err(format!("line {at}: another node has the name {}", node.name));
            }
            let address = |node: &Node| (node.host.clone(), node.port);
            if let Some(other) = nodes.iter().find(|other| address(other) == address(&node)) {
                return Err(format!("line {at}: node {} has the same address", other.name));
            }
            for slot in node.slots.iter().cloned().flatten() {
                let owner = &mut owners[usize::from(slot)];
                if let Some(other) = nodes.get(usize::from(*owner)) {
                    return Err(format!("line {at}: node {} has slot {slot} already", other.name));
                }
                *owner = nodes.len() as u16;
            }
            nodes.push(node);
            if nodes.len() > NODES_MAX {
                return Err(format!("the file has more than {NODES_MAX} nodes"));
            }
        }
        let Some(found) = nodes.iter().position(|node| node.name == me) else {
            let names: Vec<_> = nodes.iter().take(8).map(|node| node.name.as_str()).collect();
            return Err(format!(
                "no node is named {me}: set cluster-node to the name of this server's node ({})",
                names.join(", ")
            ));
        };
        Ok(Self { nodes, me: found, owners })
    }

    /// The node of this server.
    pub(crate) fn me(&self) -> &Node {
        &self.nodes[self.me]
    }

    /// The node that owns a slot.
    pub(crate) fn owner(&self, slot: u16) -> Option<&Node> {
        self.nodes.get(usize::from(*self.owners.get(usize::from(slot))?))
    }

    /// Whether this server owns a slot.
    #[inline]
    pub(crate) fn is_mine(&self, slot: u16) -> bool {
        usize::from(self.owners[usize::from(slot % SLOTS)]) == self.me
    }

    /// The number of slots that a node owns.
    pub(crate) fn assigned(&self) -> usize {
        self.owners.iter().filter(|owner| **owner != NOBODY).count()
    }

    /// Checks that this server owns these keys or channels, and that all are in one slot.
    pub(crate) fn check<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) -> Result<(), Elsewhere> {
        let mut of_all = None;
        for key in keys {
            let slot = slot(key);
            if *of_all.get_or_insert(slot) != slot {
                return Err(Elsewhere::Cross);
            }
        }
        match of_all {
            Some(slot) if !self.is_mine(slot) => Err(match self.owner(slot) {
                Some(_) => Elsewhere::Moved(slot),
                None => Elsewhere::Unserved,
            }),
            _ => Ok(()),
        }
    }
}

/// The node that a line describes; `None` for an empty line.
fn node(line: &str) -> Result<Option<Node>, String> {
    const FORM: &str = "a line is: name host:port slots, such as 0-8191 16383";
    let mut words = line.split_whitespace();
    let Some(name) = words.next() else {
        return Ok(None);
    };
    let address = words.next().ok_or(FORM)?;
    let (host, port) = address.rsplit_once(':').ok_or(FORM)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port_of = |word: &str| {
        let port = word.parse().ok().filter(|port| *port > 0);
        port.ok_or_else(|| format!("{word} is not a port: write a number from 1 to 65535"))
    };
    if host.is_empty() {
        return Err(FORM.into());
    }
    let mut node = Node {
        name: name.to_owned(),
        id: id(name),
        host: host.to_owned(),
        port: port_of(port)?,
        tls_port: 0,
        slots: vec![],
    };
    for word in words {
        if let Some(port) = word.strip_prefix("tls:") {
            node.tls_port = port_of(port)?;
            continue;
        }
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let slot = |word: &str| word.parse().ok().filter(|slot| *slot < SLOTS);
        match (slot(first), slot(last)) {
            (Some(first), Some(last)) if first <= last => node.slots.push(first..=last),
            _ => {
                return Err(format!(
                    "{word} is not a slot: write numbers from 0 to {}, or ranges such as 0-8191",
                    SLOTS - 1
                ));
            }
        }
    }
    node.slots.sort_by_key(|range| *range.start());
    Ok(Some(node))
}

/// The machine's host name up to the first dot, which is the name of a pod.
fn machine() -> String {
    let name = nix::unistd::gethostname().unwrap_or_default();
    name.to_string_lossy().split('.').next().unwrap_or_default().to_owned()
}

fn id(name: &str) -> String {
    let part = |seed| hash::bytes(seed, name.as_bytes());
    format!("{:016x}{:016x}{:08x}", part(1), part(2), part(3) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "\
# name address slots
a 10.0.0.1:6379 0-8191   # and nothing else
b [fd00::2]:6380 8192-16000 16002 tls:6390
";

    #[test]
    fn a_file_says_who_has_which_slots() {
        let cluster = Cluster::parse(TWO, "b").unwrap();
        let [a, b] = &cluster.nodes[..] else { panic!("{cluster:?}") };
        assert_eq!((a.host.as_str(), a.port, a.port_for(true)), ("10.0.0.1", 6379, 6379));
        assert_eq!((b.host.as_str(), b.port, b.port_for(true)), ("fd00::2", 6380, 6390));
        assert_eq!((a.id.len(), b.slots.clone()), (40, vec![8192..=16_000, 16_002..=16_002]));
        assert_ne!(a.id, b.id);
        assert_eq!(cluster.me().name, "b");
        assert_eq!(cluster.assigned(), 16_002);
        assert_eq!(cluster.owner(16_001), None);
        assert!(cluster.is_mine(16_002) && !cluster.is_mine(8_191));
        let check = |keys: &[&str]| cluster.check(keys.iter().map(|key| key.as_bytes()));
        assert_eq!(check(&["foo", "x{foo}"]), Ok(()));
        assert_eq!(check(&["bar"]), Err(Elsewhere::Moved(5_061)));
        assert_eq!(check(&["foo", "bar"]), Err(Elsewhere::Cross));
        assert_eq!(check(&[]), Ok(()));
        let unserved =
            (0..1_000_000u32).map(|n| n.to_string()).find(|key| slot(key.as_bytes()) == 16_001);
        assert_eq!(check(&[&unserved.unwrap()]), Err(Elsewhere::Unserved));
    }

    #[test]
    fn errors_name_the_line_and_the_fix() {
        for (text, what) in [
            (
                "a 10.0.0.1:6379 0-8191\nb 10.0.0.2:6379 8191",
                "line 2: node a has slot 8191 already",
            ),
            ("a 10.0.0.1:6379 0-9\n\na 10.0.0.2:6379", "line 3: another node has the name a"),
            ("a 10.0.0.1:6379 0-9\nb 10.0.0.1:6379", "line 2: node a has the same address"),
            ("a 10.0.0.1 0-9", "line 1: a line is: name host:port"),
            ("a", "line 1: a line is"),
            ("a h:0", "line 1: 0 is not a port"),
            ("a h:1 9-3", "line 1: 9-3 is not a slot"),
            ("a h:1 16384", "0 to 16383"),
            ("a h:1 tls:x", "x is not a port"),
            ("b h:1 0-16383", "no node is named a: set cluster-node"),
            ("", "no node is named a"),
        ] {
            let wrong = Cluster::parse(text, "a").unwrap_err();
            assert!(wrong.contains(what), "{text}: {wrong}");
        }
        let error = Cluster::load("/nowhere/slots", "a").unwrap_err();
        assert!(error.0.contains("cannot read cluster-config /nowhere/slots"), "{}", error.0);
        assert_eq!(Cluster::load("", "a").unwrap(), None);
    }
}
