//! The masters of a cluster, as one of its servers lists them.

use crate::capture_command::redis::Control;
use anyhow::{Context, ensure};
use base::printable;
use load::Address;

/// Maximum number of nodes to ask: a server may list any number.
const NODES_MAX: usize = 1_000;

/// A master, and its number of slots.
#[derive(Clone, Debug)]
pub(crate) struct Master {
    pub(crate) name: String,
    pub(crate) address: Address,
    pub(crate) slots: u32,
}

/// The masters of the cluster that the server at `first` belongs to.
///
/// # Errors
/// It does not answer, is part of no cluster, or of one without masters.
pub(crate) fn masters(first: &Address) -> anyhow::Result<Vec<Master>> {
    let listed = Control::connect(first)?.text(&["CLUSTER", "NODES"]).with_context(|| {
        format!("{}:{} is not part of a cluster: name it without --cluster", first.host, first.port)
    })?;
    let mut all = vec![];
    for (host, port, slots) in listed.lines().filter_map(node) {
        ensure!(
            all.len() < NODES_MAX,
            "the cluster has more than {NODES_MAX} nodes: name each of them without --cluster"
        );
        // A node that does not know its own address lists none.
        let host = if host.is_empty() { first.host.clone() } else { host };
        let address = Address { host, port, ..first.clone() };
        all.push(Master { name: format!("{}:{port}", address.host), address, slots });
    }
    ensure!(!all.is_empty(), "the cluster has no nodes");
    Ok(all)
}

/// Host, port and number of slots from a line of CLUSTER NODES. `None` for a replica or a node that
/// failed.
fn node(line: &str) -> Option<(String, u16, u32)> {
    let mut words = line.split_whitespace().skip(1);
    let address = words.next()?.split('@').next()?;
    let flags = words.next()?;
    if !flags.contains("master") || flags.contains("fail") {
        return None;
    }
    let (host, port) = address.rsplit_once(':')?;
    let slots = words.skip(5).filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some((last + 1).saturating_sub(first))
    });
    Some((printable(host).into_owned(), port.parse().ok()?, slots.sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_nodes_are_read() {
        let mine = "07c3 127.0.0.1:7000@17000,host myself,master - 0 0 1 connected 0-99 200";
        assert_eq!(node(mine), Some(("127.0.0.1".into(), 7000, 101)));
        let other = "ab fd00::1:7001@17001 master - 0 0 2 connected 100-199 [5->-7]";
        assert_eq!(node(other), Some(("fd00::1".into(), 7001, 100)));
        assert_eq!(node("ab h:1@2 slave 07c3 0 0 2 connected"), None);
        assert_eq!(node("ab h:1@2 master,fail - 0 0 2 connected 5"), None);
    }
}
