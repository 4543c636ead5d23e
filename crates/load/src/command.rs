//! `larder replay`, from its arguments to its report.

use crate::args::{Args, Namespace};
use crate::backend::{Backend, Kind};
use crate::compare::Comparison;
use crate::json;
use crate::open::open;
use crate::order::{Lane, Merge, Order};
use crate::peers::Peer;
use crate::place::Place;
use crate::prepare::AllPrepared;
use crate::rounds::run_rounds;
use crate::run::Options;
use crate::tenants::Share;
use anyhow::bail;
use std::time::Duration;

/// Runs the command; `more` are kinds of databases besides those of this crate.
///
/// # Errors
/// A sentence with the cause and the fix.
#[expect(clippy::needless_pass_by_value, reason = "all subcommands have the same signature")]
pub fn run(args: Args, more: &[Kind]) -> anyhow::Result<()> {
    let peers = args.servers.peers()?;
    let memcached = |peer: &&Peer| matches!(peer.place, Place::Memcached(_));
    if let Some(peer) = peers.iter().find(memcached).filter(|_| args.namespace == Namespace::Db) {
        bail!("--namespace db: {} has no databases; write --namespace prefix", peer.place);
    }
    if let Some(peer) = peers.iter().find(memcached).filter(|_| args.tell_costs) {
        bail!("--tell-costs: {} cannot receive costs: leave it out", peer.place);
    }
    let pace = args.pace()?;
    if !(0.0..1.0).contains(&args.warmup) {
        bail!("--warmup {}: choose a share from 0 to below 1; the rest is counted", args.warmup);
    }
    let mut backends = Backend::parse_all(&args.backend, args.pool, more)?;
    if backends.is_empty() {
        backends.push(Backend::default());
    }
    if args.prepare && backends.iter().all(|backend| backend.database.is_none()) {
        bail!("--prepare fills the databases of backends: name one with --backend");
    }
    let (tenants, shares, prepared) = args.tenants(&backends)?;
    if args.prepare {
        let prepared = AllPrepared { prepared };
        if args.json {
            return json::print(&prepared);
        }
        println!("{prepared}");
        return Ok(());
    }
    let merge = if args.speed.is_some() { Merge::ByTime } else { Merge::InProportion(1) };
    let options = |peer: &Peer| {
        let mut tenants = tenants.clone();
        for tenant in &mut tenants {
            tenant.db += peer.place.address().db;
        }
        let lane = |(trace, share): (&String, &Share)| {
            let source = open(trace, &args.reading)?;
            Ok(Lane { source, requests: share.requests, owner: share.owner.clone() })
        };
        let lanes = args.traces.iter().zip(&shares).map(lane);
        Ok(Options {
            to: peer.place.clone(),
            tenants,
            order: Order::new(lanes.collect::<anyhow::Result<_>>()?, merge),
            requests: shares.iter().map(|share| share.requests).sum(),
            connections: args.connections,
            depth: args.depth,
            pace,
            tells_costs: args.tell_costs,
            warmup: args.warmup,
            seed: args.seed,
            interval: Duration::from_millis(500),
        })
    };
    let mut reports = run_rounds(&args.servers, &peers, &options)?;
    if args.servers.compares() {
        return compare(&Comparison::new(&peers, reports), args.json);
    }
    let report = reports.remove(0).remove(0);
    if report.all_failed() {
        let first = report.first_error.unwrap_or_default();
        bail!("every request failed, the first with: {first}");
    }
    if args.json {
        return json::print(&report);
    }
    println!("{report}");
    Ok(())
}

/// Prints a comparison; an error names a server that served no request.
fn compare(comparison: &Comparison, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        json::print(comparison)?;
    } else {
        println!("{comparison}");
    }
    match comparison.all_failed() {
        Some((name, first)) => bail!("every request to {name} failed, the first with: {first}"),
        None => Ok(()),
    }
}
