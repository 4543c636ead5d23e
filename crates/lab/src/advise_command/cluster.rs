//! Advice on a whole cluster: each node is asked, and the reports are read as one.

use crate::capture_command::redis::Control;
use crate::report::json;
use ::report::nodes::{self, Node};
use ::report::{Report, say};
use anyhow::{Context, bail, ensure};
use base::printable;
use load::{Address, Place};
use serde::Serialize;
use wire::slots::slot;

/// Maximum number of nodes to ask: a server may list any number.
const NODES_MAX: usize = 1_000;

/// The report of a cluster as one JSON document.
#[derive(Serialize)]
struct Document<'a> {
    nodes: &'a [Node],
    miss_ratio: Option<f64>,
    gib_more_each: Option<nodes::Gain>,
    one_node_more: Option<nodes::Gain>,
    says: Vec<String>,
}

/// Asks every node of the cluster that the server at `url` belongs to.
pub(super) fn run(url: &str, as_json: bool) -> anyhow::Result<()> {
    let place = Place::parse(url)?;
    if matches!(place, Place::Memcached(_)) {
        bail!("memcached servers do not know each other: run `larder advise` for each of them");
    }
    let all = ask(place.address())?;
    let says = say::nodes(&all, slot);
    if as_json {
        return json::print(&Document {
            miss_ratio: nodes::miss_ratio(&all, 1.0),
            gib_more_each: nodes::more_each(&all, 1 << 30),
            one_node_more: nodes::one_more(&all),
            nodes: &all,
            says,
        });
    }
    for line in says {
        println!("{line}");
    }
    Ok(())
}

fn ask(first: &Address) -> anyhow::Result<Vec<Node>> {
    let listed = Control::connect(first)?.text(&["CLUSTER", "NODES"]).with_context(|| {
        format!(
            "{}:{} is not part of a cluster: `larder advise redis://{}:{}` asks a single server",
            first.host, first.port, first.host, first.port
        )
    })?;
    let mut all = vec![];
    for (host, port, slots) in listed.lines().filter_map(node) {
        ensure!(
            all.len() < NODES_MAX,
            "the cluster has more than {NODES_MAX} nodes: run `larder advise` for each of them"
        );
        // A node that does not know its own address lists none.
        let host = if host.is_empty() { first.host.clone() } else { host };
        let address = Address { host, port, ..first.clone() };
        let name = format!("{}:{port}", address.host);
        let mut server =
            Control::connect(&address).with_context(|| format!("node {name} does not answer"))?;
        ensure!(
            server.info()?.contains_key("larder_version"),
            "node {name} is not a Larder: `larder advise redis://{name}` says what it can"
        );
        let text = server.text(&["LARDER", "REPORT", "JSON"])?;
        let report: Report = json::told(&text).with_context(|| {
            format!(
                "node {name} runs another version of Larder, whose report this version cannot read"
            )
        })?;
        all.push(Node { name, slots, report });
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
    use ::report::{Curve, Recent, Server, Tenant};
    use base::Bytes;
    use curve::{Params, Part};
    use policy::Cache;

    #[test]
    fn lines_of_nodes_are_read() {
        let mine = "07c3 127.0.0.1:7000@17000,host myself,master - 0 0 1 connected 0-99 200";
        assert_eq!(node(mine), Some(("127.0.0.1".into(), 7000, 101)));
        let other = "ab fd00::1:7001@17001 master - 0 0 2 connected 100-199 [5->-7]";
        assert_eq!(node(other), Some(("fd00::1".into(), 7001, 100)));
        assert_eq!(node("ab h:1@2 slave 07c3 0 0 2 connected"), None);
        assert_eq!(node("ab h:1@2 master,fail - 0 0 2 connected 5"), None);
    }

    /// Three nodes hold a third of the keys each. Their joint miss ratio at another memory is the
    /// one of a single cache with three times that memory.
    #[test]
    fn the_curves_of_nodes_are_that_of_one_large_cache() {
        const NODE: u64 = 1 << 20;
        let name = "synth:zipf:keys=60000:skew=0.8:size=const/100:requests=600000:seed=5";
        let mut source = trace::synth::open(name, &trace::ReadOptions::default()).unwrap();
        let mut all = vec![];
        source.read(&mut all, 600_000).unwrap();
        let klru = policy::parse("klru:5").unwrap();
        let misses = |size: u64, part: Part| {
            let mut cache = Cache::new(&klru, Bytes(size), 7);
            for access in all.iter().filter(|access| part.has(access.key)) {
                cache.access(access);
            }
            *cache.stats()
        };
        let node = |at: u32| {
            let part = Part { at, of: 3 };
            let spec = curve::find("krr").unwrap();
            let mut model = (spec.build)(&Params { share: 1.0, ..Params::default() });
            all.iter().filter(|access| part.has(access.key)).for_each(|one| model.access(one));
            let drawn = model.curve();
            let sizes: Vec<u64> = (0..=64).map(|step| step * NODE / 16).collect();
            let ratios = sizes.iter().map(|&size| drawn.at(Bytes(size)).0).collect();
            let stats = misses(NODE, part);
            let recent = Recent {
                seconds: 100,
                reads: stats.gets,
                misses: stats.misses,
                ..Recent::default()
            };
            let curve = Curve { sizes, ratios, reads: stats.gets as f64, ..Curve::default() };
            let tenant = Tenant {
                name: "t".into(),
                used: NODE,
                weight: 1.0,
                penalty_us: Some(1e3),
                recent,
                curve: Some(curve),
                ..Tenant::default()
            };
            let server = Server { divided: NODE, ..Server::default() };
            let report = Report { server, recent, tenants: vec![tenant], ..Report::default() };
            Node { name: at.to_string(), slots: 5461, report }
        };
        let nodes: Vec<Node> = (0..3).map(node).collect();
        for factor in [0.5, 1.0, 1.5, 2.0, 3.0] {
            let one = misses((3.0 * factor * NODE as f64) as u64, Part::WHOLE).miss_ratio();
            let together = nodes::miss_ratio(&nodes, factor).unwrap();
            assert!((one - together).abs() < 0.01, "{factor}: {together} for {one}");
        }
    }
}
