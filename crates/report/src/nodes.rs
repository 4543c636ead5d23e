//! Several servers that share the keys, with their reports seen as one.
//!
//! Each server divides its own memory among its tenants, by its own curves. Keys are distributed by
//! hash, so the same curves show the effect of another number of nodes. With one node more, each
//! node has n / (n + 1) of its keys. That equals keeping all keys and having (n + 1) / n of its
//! memory.

use crate::Report;
use crate::sizing::{self, Sizing};
use serde::{Deserialize, Serialize};

/// A node and its report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its name or address.
    pub name: String,
    /// The number of slots that the node owns.
    pub slots: u32,
    /// The report of this node.
    pub report: Report,
}

/// The saving from a change of memory, for all nodes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// Waiting saved, in milliseconds per second.
    pub saves_ms: f64,
    /// The band of `saves_ms` to either side.
    pub band_ms: f64,
}

impl Node {
    /// Waiting for misses that one more MiB would save, in milliseconds per second.
    pub fn mib_saves_ms(&self) -> Option<f64> {
        const MIB: u64 = 1 << 20;
        let step = (self.report.server.divided / 64).max(MIB);
        let more = sizing::outlook(&self.report, self.report.server.divided + step)?;
        Some(more.saves_ms / (step / MIB) as f64)
    }
}

/// The saving if each node had `memory(node)` bytes to divide; nodes without curves count for
/// nothing. `None` if no node has curves.
pub fn with(nodes: &[Node], memory: impl Fn(&Node) -> u64) -> Option<Gain> {
    let outlooks: Vec<_> =
        nodes.iter().filter_map(|node| sizing::outlook(&node.report, memory(node))).collect();
    let band = outlooks.iter().map(|outlook| outlook.band_ms.powi(2)).sum::<f64>().sqrt();
    let saves_ms = outlooks.iter().map(|outlook| outlook.saves_ms).sum();
    (!outlooks.is_empty()).then_some(Gain { saves_ms, band_ms: band })
}

/// The saving from `bytes` more on each node.
pub fn more_each(nodes: &[Node], bytes: u64) -> Option<Gain> {
    with(nodes, |node| node.report.server.divided + bytes)
}

/// The saving from one more node, with the mean memory of the present nodes.
pub fn one_more(nodes: &[Node]) -> Option<Gain> {
    let n = nodes.len() as f64;
    with(nodes, |node| (node.report.server.divided as f64 * (n + 1.0) / n) as u64)
}

/// The miss ratio of all nodes together, if they had `factor` times the memory they have.
pub fn miss_ratio(nodes: &[Node], factor: f64) -> Option<f64> {
    let (mut reads, mut misses) = (0.0, 0.0);
    for Node { report, .. } in nodes {
        let memory = (report.server.divided as f64 * factor) as u64;
        let shares = sizing::divide(report, memory).shares;
        for (tenant, share) in report.tenants.iter().zip(shares) {
            if let Some(sizing) = Sizing::of(tenant) {
                reads += tenant.recent.reads_per_s();
                misses += tenant.recent.reads_per_s() * sizing.at(share).ratio;
            }
        }
    }
    (reads > 0.0).then(|| misses / reads)
}

/// Nodes on which a MiB saves this many times the mean are short of memory.
const SHORT: f64 = 2.0;

/// The nodes on which a MiB saves more than twice the mean, the largest saving first.
pub fn short(nodes: &[Node]) -> Vec<&Node> {
    let saves: Vec<f64> =
        nodes.iter().map(|node| node.mib_saves_ms().unwrap_or_default()).collect();
    let mean = saves.iter().sum::<f64>() / saves.len().max(1) as f64;
    let mut short: Vec<_> =
        nodes.iter().zip(&saves).filter(|(_, saves)| **saves > SHORT * mean).collect();
    short.sort_by(|a, b| b.1.total_cmp(a.1));
    short.into_iter().map(|(node, _)| node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizing::tests::tenant;
    use crate::{Recent, Server};

    /// A node with one tenant, whose misses fall evenly from all reads to a tenth within `end`
    /// bytes.
    fn node(name: &str, used: u64, end: u64) -> Node {
        let misses = 1.0 - 0.9 * used as f64 / end as f64;
        let tenant = tenant("t", used, end, 1e3, misses);
        let server = Server { divided: used, ..Server::default() };
        let report =
            Report { server, recent: tenant.recent, tenants: vec![tenant], ..Report::default() };
        Node { name: name.into(), slots: 100, report }
    }

    const MB: u64 = 1 << 20;

    /// Each node has 1 000 reads per second and 1 ms per miss. A MiB saves 9 ms per second where
    /// the keys take 100 MiB, and 0.9 ms where they take 1 000 MiB.
    #[test]
    fn the_node_whose_memory_saves_most_is_short() {
        let nodes = [
            node("a", 20 * MB, 1_000 * MB),
            node("b", 20 * MB, 100 * MB),
            node("c", 9 * MB, 900 * MB),
        ];
        let saves: Vec<f64> = nodes.iter().map(|node| node.mib_saves_ms().unwrap()).collect();
        assert!((saves[0] - 0.9).abs() < 0.05 && (saves[1] - 9.0).abs() < 0.5, "{saves:?}");
        let names: Vec<_> = short(&nodes).iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["b"]);
        assert!(short(&nodes[..1]).is_empty());
    }

    #[test]
    fn more_memory_and_one_node_more() {
        let nodes = [node("a", 40 * MB, 100 * MB), node("b", 40 * MB, 100 * MB)];
        let each = more_each(&nodes, 10 * MB).unwrap();
        assert!((each.saves_ms - 180.0).abs() < 2.0, "{each:?}");
        // The keys of two nodes on three nodes: as if each node had 60 MiB.
        let more = one_more(&nodes).unwrap();
        assert!((more.saves_ms - 360.0).abs() < 4.0, "{more:?}");
        assert!((miss_ratio(&nodes, 1.0).unwrap() - 0.64).abs() < 0.01);
        assert!((miss_ratio(&nodes, 1.5).unwrap() - 0.46).abs() < 0.01);
        let idle = Node { report: Report::default(), ..nodes[0].clone() };
        let idle = std::slice::from_ref(&idle);
        assert_eq!((more_each(idle, MB), miss_ratio(idle, 1.0)), (None, None));
        assert_eq!(Recent::default().miss_ratio(), None);
    }
}
