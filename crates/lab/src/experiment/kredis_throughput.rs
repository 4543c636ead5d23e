//! Hits a second of clients that wait for their answers [1].
//!
//! ```text
//!   client:  ask ── 1 ms ──▶ hit                      ask ── …
//!            ask ── 1 ms ── penalty ──▶ miss, filled  ask ── …
//! ```
//!
//! Every tenant has a client. When the client has its answer, it sends the next request of the
//! tenant's workload, over and over. So a client with many hits sends more requests, and a client
//! with slow misses sends few: counted in hits, memory is worth most where answers are quick. Time
//! is virtual, and all recipes get the same span: the time that `static` takes to serve the
//! workload once. The first quarter of the span is not counted: memory fills, and the pilot knows
//! nothing yet.
//!
//! [1] Yang, Wang, Wang. kRedis, IEEE TCC '23, section 6.

use super::hindsight::{self, Tenant};
use super::kredis_many;
use super::load::Load;
use super::mixes::four;
use super::{Experiment, Findings, Setting};
use crate::plant::{Bounds, Simulation};
use anyhow::{Result, anyhow};
use base::{Access, Micros, TenantId};
use policy::Outcome;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tune::recipe;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "kredis-throughput",
    about: "hits per second of clients that wait for each answer",
    run,
};

/// Time of a request over the network that hits. With a tenth of it, clients would send too many
/// requests for the pilot, which may take a hundredth of the time: it would learn almost nothing in
/// the span.
const ANSWER: Micros = Micros(1_000);

/// Clients of each tenant.
const CLIENTS: usize = 1;

const PENALTIES: [u64; 4] = [200, 2_000, 2_000, 200];

/// Memory, as shares of the working set; `--quick` takes only the last.
const SHARES: [(&str, f64); 2] = [("50 %", 0.5), ("25 %", 0.25)];

const RECIPES: [(&str, &str); 5] = [
    ("static", "static"),
    ("predis", "predis"),
    ("kredis", "kredis"),
    ("kredis hits", "kredis:objective=hits"),
    ("auto", "auto"),
];

fn run(setting: &Setting, findings: &mut Findings) -> Result<()> {
    for &seed in &setting.seeds {
        let mixes = [
            ("four tenants", four(setting, seed)?, PENALTIES.to_vec()),
            ("fifteen tenants", kredis_many::tenants(setting, seed), kredis_many::penalties()),
        ];
        for (name, tenants, penalties) in mixes {
            for &(row, share) in setting.pick(&SHARES[..], &SHARES[1..]) {
                let load = Load::open(&tenants, &penalties)?;
                let workload = format!("{name} {row}");
                compare(&load, share, findings, &workload, seed)?;
            }
        }
    }
    for workload in findings.workloads() {
        let hits = |row| findings.mean(row, Some(&workload), "hits_per_s");
        let by = |row| hits(row) / hits("static");
        let [ours, most] = ["kredis hits", "best division in hindsight"].map(by);
        let what = format!("hits per second relative to static, {workload}");
        findings.claim(&what, format!("{ours:.2}"), "2.6");
        let what = format!("… of the best division in hindsight, {workload}");
        findings.claim(&what, format!("{most:.2}"), "");
    }
    Ok(())
}

fn compare(
    load: &Load,
    share: f64,
    findings: &mut Findings,
    workload: &str,
    seed: u64,
) -> Result<()> {
    let memory = load.share(share);
    let tenants = hindsight::tenants(load, memory, seed);
    let hits = |tenant: &Tenant, misses: f64| {
        (1.0 - misses) * 1e6 / (ANSWER.as_f64() + misses * tenant.penalty_us)
    };
    let most = hindsight::best(&tenants, hits);
    findings.cell("best division in hindsight", workload, seed, &[("hits_per_s", most)]);
    let mut span = None;
    for (row, recipe) in RECIPES {
        let got = Clients::new(load).run(recipe, memory.0, seed, span)?;
        span = Some(got.span);
        let figures = [
            ("miss_ratio", 1.0 - got.hits / got.reads.max(1.0)),
            ("hits_per_s", got.hits / got.counted_s),
            ("reads_per_s", got.reads / got.counted_s),
        ];
        findings.cell(row, workload, seed, &figures);
    }
    Ok(())
}

/// Clients and their requests.
struct Clients {
    /// Requests of each tenant, and the number of the next one.
    asks: Vec<(Vec<Access>, usize)>,
    /// Time of each client's next request, with its tenant and its number.
    ready: BinaryHeap<Reverse<(Micros, usize, usize)>>,
}

/// Hits, reads and time after the first quarter of a span, and the span itself.
struct Got {
    hits: f64,
    reads: f64,
    counted_s: f64,
    span: Micros,
}

impl Clients {
    fn new(load: &Load) -> Self {
        let mut asks: Vec<(Vec<Access>, usize)> = vec![];
        for access in &load.requests {
            let at = usize::from(access.tenant);
            asks.resize_with(asks.len().max(at + 1), Default::default);
            asks[at].0.push(*access);
        }
        let clients = |tenant| (0..CLIENTS).map(move |client| (Micros(0), tenant, client));
        let ready = (0..asks.len()).flat_map(clients).map(Reverse).collect();
        Self { asks, ready }
    }

    /// Serves the clients for `span`, or else until as many requests are served as the load has.
    fn run(mut self, recipe: &str, memory: u64, seed: u64, span: Option<Micros>) -> Result<Got> {
        let recipe = recipe::parse(recipe).map_err(|error| anyhow!(error))?;
        let tenants = 0..self.asks.len();
        let bounds: Vec<_> = tenants.clone().map(|at| Bounds::none(&at.to_string())).collect();
        let mut simulation = Simulation::new(recipe, base::Bytes(memory), &bounds, seed);
        let most: usize = self.asks.iter().map(|(asks, _)| asks.len()).sum();
        // Without a span the end is not known before, so the first quarter is counted in requests.
        let everybody = || 0..tenants.len() as TenantId;
        let (mut asked, mut now, mut mark) = (0, Micros(0), None);
        loop {
            let is_begun = match span {
                Some(span) => now >= Micros(span.0 / 4),
                None => asked >= most / 4,
            };
            if is_begun && mark.is_none() {
                mark = Some((now, simulation.counts(everybody())));
            }
            let Some(Reverse((time, tenant, client))) = self.ready.pop() else { break };
            if span.map_or(asked >= most, |span| time >= span) {
                break;
            }
            (now, asked) = (time, asked + 1);
            let (asks, next) = &mut self.asks[tenant];
            let access = Access { time: now, ..asks[*next % asks.len()] };
            *next += 1;
            let missed = simulation.access(&access) == Outcome::Miss;
            let took = ANSWER + if missed { access.penalty } else { Micros(0) };
            self.ready.push(Reverse((now + took, tenant, client)));
        }
        let (begun, before) = mark.unwrap_or_default();
        let counts = simulation.counts(everybody());
        let reads = (counts.gets - before.gets) as f64;
        let misses = (counts.misses - before.misses) as f64;
        let counted_s = now.saturating_sub(begun).as_f64().max(1.0) / 1e6;
        Ok(Got { hits: reads - misses, reads, counted_s, span: span.unwrap_or(now) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With one key and answers of a millisecond, each client gets 1 000 hits a second. Where no
    /// item fits, every answer takes longer by the penalty, and there are no hits.
    #[test]
    fn clients_wait_for_their_answers() {
        let text = "synth:loop:keys=1:size=const/100:requests=40000".to_owned();
        let load = Load::open(&[text], &[1_000]).unwrap();
        let hit = Clients::new(&load).run("static", 1_000, 1, None).unwrap();
        let per_client = hit.hits / hit.counted_s / CLIENTS as f64;
        assert!((per_client - 1_000.0).abs() < 1.0, "{per_client}");
        let missed = Clients::new(&load).run("static", 50, 1, Some(hit.span)).unwrap();
        let per_client = missed.reads / missed.counted_s / CLIENTS as f64;
        assert!(missed.hits == 0.0 && (per_client - 500.0).abs() < 2.0, "{per_client}");
    }
}
