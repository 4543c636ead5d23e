//! A cluster: the looks at its masters, added up.
//!
//! Each look lists the masters anew, so it follows a failover.

use super::look::{Look, Source, TenantRow};
use super::source::open;
use crate::nodes::{Master, masters};
use anyhow::bail;
use load::{Address, Place};
use std::collections::BTreeMap;

/// The masters, by name.
pub(super) struct Cluster {
    /// A node that listed the others.
    known: Vec<Address>,
    nodes: BTreeMap<String, Box<dyn Source>>,
}

impl Cluster {
    /// The cluster of the server at `url`.
    pub(super) fn new(url: &str) -> anyhow::Result<Self> {
        match Place::parse(url)? {
            Place::Memcached(_) => {
                bail!("memcached servers do not know each other: run `larder top` for each of them")
            }
            Place::Redis(address) => Ok(Self { known: vec![address], nodes: BTreeMap::new() }),
        }
    }

    /// The masters, as the first node that answers lists them.
    fn list(&mut self) -> anyhow::Result<Vec<Master>> {
        let mut answer = Err(anyhow::anyhow!("no node is known"));
        for address in &self.known {
            answer = masters(address);
            if answer.is_ok() {
                break;
            }
        }
        if let Ok(all) = &answer {
            self.known.truncate(1);
            self.known.extend(all.iter().map(|master| master.address.clone()));
        }
        answer
    }
}

impl Source for Cluster {
    fn look(&mut self) -> anyhow::Result<Look> {
        let all = self.list()?;
        self.nodes.retain(|name, _| all.iter().any(|master| master.name == *name));
        let (mut looks, mut silent) = (vec![], vec![]);
        for Master { name, address, .. } in all {
            let look = match self.nodes.remove(&name) {
                Some(node) => Ok(node),
                None => open(&Place::Redis(address)),
            };
            match look.and_then(|mut node| Ok((node.look()?, node))) {
                Ok((look, node)) => {
                    looks.push((name.clone(), look));
                    self.nodes.insert(name, node);
                }
                Err(_) => silent.push(name),
            }
        }
        Ok(sum(looks, &silent))
    }
}

/// The sum of numbers of which some may be unknown.
fn add<T: std::ops::Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

/// The looks at the nodes as one.
fn sum(looks: Vec<(String, Look)>, silent: &[String]) -> Look {
    let mut all = Look::default();
    let mut servers: Vec<String> = vec![];
    // The longest wait for each tenant on a node, in the order of the rows.
    let mut longest: Vec<f64> = vec![];
    let count = looks.len();
    for (name, look) in looks {
        all.used += look.used;
        all.limit += look.limit;
        all.events.extend(look.events.into_iter().map(|event| format!("{event} ({name})")));
        all.lacks = all.lacks.or(look.lacks);
        if !servers.contains(&look.server) {
            servers.push(look.server);
        }
        for row in look.rows {
            let waits = row.wait_ms_per_s.unwrap_or_default();
            // The screen remembers the looks at the whole cluster.
            let row = TenantRow { why: on(&name, row.why), past: None, ..row };
            let Some(at) = all.rows.iter().position(|known| known.name == row.name) else {
                longest.push(waits);
                all.rows.push(row);
                continue;
            };
            let told = if waits > longest[at] { &row } else { &all.rows[at] };
            let TenantRow { why, advice, hot_keys, .. } = told.clone();
            all.rows[at] = TenantRow { why, advice, hot_keys, ..both(&all.rows[at], &row) };
            longest[at] = longest[at].max(waits);
        }
    }
    let waits: f64 = all.rows.iter().filter_map(|row| row.wait_ms_per_s).sum();
    all.server = format!("{count} masters, {}", servers.join("; "));
    all.says = format!("All masters together: clients wait {waits:.0} ms in every second.");
    if !silent.is_empty() {
        all.lacks = Some(format!("Without {}, which did not answer.", silent.join(" and ")));
    }
    all
}

/// Lines about one node.
fn on(name: &str, mut why: Vec<String>) -> Vec<String> {
    if !why.is_empty() {
        why.insert(0, format!("On {name}:"));
    }
    why
}

/// A tenant on several nodes, and on one more.
fn both(known: &TenantRow, more: &TenantRow) -> TenantRow {
    let reads = |row: &TenantRow| row.reads_per_s.unwrap_or_default();
    let misses = |row: &TenantRow| reads(row) * row.miss_ratio.unwrap_or_default();
    let missed = misses(known) + misses(more);
    let is_known = known.miss_ratio.is_some() || more.miss_ratio.is_some();
    let ratio = missed / (reads(known) + reads(more));
    // The mean cost of a miss, of all misses.
    let cost = |row: &TenantRow| row.penalty_us.map(|us| us * misses(row));
    let cost = add(cost(known), cost(more)).map(|cost| cost / missed);
    TenantRow {
        name: more.name.clone(),
        used: add(known.used, more.used),
        min: known.min + more.min,
        max: add(known.max, more.max),
        given: add(known.given, more.given),
        items: add(known.items, more.items),
        reads_per_s: add(known.reads_per_s, more.reads_per_s),
        miss_ratio: Some(ratio).filter(|ratio| is_known && ratio.is_finite()),
        penalty_us: cost.filter(|cost| cost.is_finite()).or(known.penalty_us).or(more.penalty_us),
        wait_ms_per_s: add(known.wait_ms_per_s, more.wait_ms_per_s),
        causes: causes(known, more),
        ..TenantRow::default()
    }
}

/// The causes of a tenant's misses on several nodes and on one more, as shares of all its reads.
fn causes(known: &TenantRow, more: &TenantRow) -> Vec<(String, f64)> {
    let reads = |row: &TenantRow| row.reads_per_s.unwrap_or_default();
    let all = reads(known) + reads(more);
    let mut sum: Vec<(String, f64)> = vec![];
    for row in [known, more] {
        for (cause, share) in &row.causes {
            let share = if all > 0.0 { share * reads(row) / all } else { 0.0 };
            match sum.iter_mut().find(|(name, _)| name == cause) {
                Some((_, known)) => *known += share,
                None => sum.push((cause.clone(), share)),
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(used: u64, reads: f64, ratio: f64, us: f64) -> Look {
        let row = TenantRow {
            name: "web".to_owned(),
            used: Some(used),
            reads_per_s: Some(reads),
            miss_ratio: Some(ratio),
            penalty_us: Some(us),
            wait_ms_per_s: Some(reads * ratio * us / 1e3),
            why: vec!["too little memory".to_owned()],
            causes: vec![("evicted".to_owned(), ratio)],
            ..TenantRow::default()
        };
        Look { server: "valkey".into(), used, limit: 100, rows: vec![row], ..Look::default() }
    }

    #[test]
    fn nodes_are_added_up_by_their_reads() {
        let looks = vec![
            ("a:1".to_owned(), node(40, 100.0, 0.5, 1_000.0)),
            ("b:2".to_owned(), node(60, 300.0, 0.1, 6_000.0)),
        ];
        let all = sum(looks, &["c:3".to_owned()]);
        assert_eq!((all.used, all.limit, all.rows.len()), (100, 200, 1));
        let row = &all.rows[0];
        assert_eq!(
            (row.used, row.reads_per_s, row.miss_ratio),
            (Some(100), Some(400.0), Some(0.2))
        );
        // 50 misses of 1 ms and 30 of 6 ms.
        assert_eq!((row.wait_ms_per_s, row.penalty_us), (Some(230.0), Some(2_875.0)));
        assert_eq!(row.why[0], "On b:2:", "clients wait longest there");
        assert_eq!((row.causes.len(), (row.causes[0].1 * 1e6).round()), (1, 2e5));
        assert_eq!(all.server, "2 masters, valkey");
        assert!(all.lacks.unwrap().contains("c:3"));
    }
}
