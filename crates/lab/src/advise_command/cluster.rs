//! Advice on a whole cluster: each node is asked, and the reports are read as one.

use crate::capture_command::redis::Control;
use crate::nodes::{self, Master};
use crate::report::json;
use crate::top_command;
use ::report::nodes::{self as joint, Node};
use ::report::say;
use anyhow::{Context, bail, ensure};
use load::{Address, Place};
use serde::Serialize;
use wire::slots::slot;

/// The report of a cluster as one JSON document.
#[derive(Serialize)]
struct Document<'a> {
    nodes: &'a [Node],
    miss_ratio: Option<f64>,
    gib_more_each: Option<joint::Gain>,
    one_node_more: Option<joint::Gain>,
    says: Vec<String>,
}

/// Advice on the cluster that the server at `url` belongs to, as a JSON document.
///
/// # Errors
/// A node does not answer, or is neither a Larder nor has its module.
pub fn ask_cluster(url: &str) -> anyhow::Result<serde_json::Value> {
    let place = Place::parse(url)?;
    if matches!(place, Place::Memcached(_)) {
        bail!("memcached servers do not know each other: run `larder advise` for each of them");
    }
    let all = ask(place.address())?;
    Ok(serde_json::to_value(Document {
        miss_ratio: joint::miss_ratio(&all, 1.0),
        gib_more_each: joint::more_each(&all, 1 << 30),
        one_node_more: joint::one_more(&all),
        says: say::nodes(&all, slot),
        nodes: &all,
    })?)
}

fn ask(first: &Address) -> anyhow::Result<Vec<Node>> {
    let node = |Master { name, address, slots }| {
        let mut server =
            Control::connect(&address).with_context(|| format!("node {name} does not answer"))?;
        let report = if server.info()?.contains_key("larder_version") {
            let text = server.text(&["LARDER", "REPORT", "JSON"])?;
            json::told(&text).with_context(|| {
                format!(
                    "node {name} runs another version of Larder, whose report this version cannot \
                     read"
                )
            })?
        } else {
            ensure!(
                server.has_module()?,
                "node {name} is neither a Larder nor has its module: `larder advise \
                 redis://{name}` says what it can"
            );
            top_command::report_of_module(&mut server)?
        };
        Ok(Node { name, slots, report })
    };
    nodes::masters(first)?.into_iter().map(node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::report::{Curve, Recent, Report, Server, Tenant};
    use base::Bytes;
    use curve::{Params, Part};
    use policy::Cache;

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
            let together = joint::miss_ratio(&nodes, factor).unwrap();
            assert!((one - together).abs() < 0.01, "{factor}: {together} for {one}");
        }
    }
}
