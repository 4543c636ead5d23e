//! The runs of a comparison: each server, in each round, with the same requests.
//!
//! The state of a machine drifts: it gets warm, or another program wakes up. So servers that take
//! turns swap their order from round to round:
//!
//! ```text
//!   round 1:  empty A, run A, empty B, run B
//!   round 2:  empty B, run B, empty A, run A
//! ```

use crate::client::Client;
use crate::peers::{Peer, Servers};
use crate::progress::Screen;
use crate::report::Report;
use crate::run::{Options, run_replay};
use anyhow::Context;
use indicatif::MultiProgress;
use std::panic::resume_unwind;
use std::thread;

/// Runs all rounds; `options` makes the run for a server. Returns the reports of each server, in
/// the order of the servers and of the rounds.
pub(crate) fn run_rounds(
    how: &Servers,
    peers: &[Peer],
    options: &dyn Fn(&Peer) -> anyhow::Result<Options>,
) -> anyhow::Result<Vec<Vec<Report>>> {
    if how.compares() {
        // Check all servers before one is emptied, or works for an hour in vain.
        for peer in peers {
            Client::connect(&peer.place, 0).with_context(|| format!("server {}", peer.name))?;
        }
    }
    let mut reports: Vec<Vec<Report>> = peers.iter().map(|_| vec![]).collect();
    for round in 0..how.rounds {
        let title = |peer: &Peer| {
            let of = format!("{}, round {} of {}", peer.name, round + 1, how.rounds);
            how.compares().then_some(of)
        };
        if how.at_once {
            let all = at_once(how.flush, peers, options, &title)?;
            reports.iter_mut().zip(all).for_each(|(reports, report)| reports.push(report));
            continue;
        }
        for at in turns(peers.len(), round) {
            let peer = &peers[at];
            if how.flush {
                peer.empty()?;
            }
            let options = options(peer)?;
            let screen = screen(&options, title(peer));
            let report = run_replay(options, &mut |progress| screen.show(progress));
            screen.bar.finish_and_clear();
            let report = if how.compares() {
                report.with_context(|| format!("server {}", peer.name))
            } else {
                report
            };
            reports[at].push(report?);
        }
    }
    Ok(reports)
}

/// The order of the servers in a round, counted from zero.
fn turns(peers: usize, round: usize) -> Vec<usize> {
    let turns = 0..peers;
    if round.is_multiple_of(2) { turns.collect() } else { turns.rev().collect() }
}

fn screen(options: &Options, title: Option<String>) -> Screen {
    let names = options.tenants.iter().map(|tenant| tenant.name.clone());
    Screen::new(options.requests, title, names.collect())
}

/// Runs one round with a thread for each server.
fn at_once(
    flush: bool,
    peers: &[Peer],
    options: &dyn Fn(&Peer) -> anyhow::Result<Options>,
    title: &dyn Fn(&Peer) -> Option<String>,
) -> anyhow::Result<Vec<Report>> {
    let bars = MultiProgress::new();
    let mut runs = vec![];
    for peer in peers {
        if flush {
            peer.empty()?;
        }
        let options = options(peer)?;
        let mut screen = screen(&options, title(peer));
        screen.bar = bars.add(screen.bar);
        runs.push((peer, options, screen));
    }
    thread::scope(|scope| {
        let run = |(peer, options, screen): (&Peer, Options, Screen)| {
            let report = run_replay(options, &mut |progress| screen.show(progress));
            screen.bar.finish_and_clear();
            report.with_context(|| format!("server {}", peer.name))
        };
        let runs: Vec<_> = runs.into_iter().map(|what| scope.spawn(move || run(what))).collect();
        let reports =
            runs.into_iter().map(|run| run.join().unwrap_or_else(|panic| resume_unwind(panic)));
        // Wait for all runs, also if one has failed.
        reports.collect::<Vec<_>>().into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_change_places_from_round_to_round() {
        let all: Vec<Vec<usize>> = (0..3).map(|round| turns(3, round)).collect();
        assert_eq!(all, [[0, 1, 2], [2, 1, 0], [0, 1, 2]]);
    }
}
