//! Rounds of a live experiment: each row plays each workload, and rows are compared.

use super::Findings;
use super::kept::{Measured, Subject};
use super::load::Load;
use super::row::ServerRow;
use super::setting::Setting;
use anyhow::Result;
use base::Bytes;

/// Least memory of a server: with less, it spends most of it on itself.
const SMALLEST: Bytes = Bytes(8 << 20);

/// Plays loads, one after the other, to every row in turn, round after round, and adds cells with
/// the figures. Every other round goes through the rows backwards, so that a drift falls on all of
/// them.
pub(super) fn play(
    setting: &Setting,
    rows: &[ServerRow],
    workload: &str,
    (loads, memory): (&[Load], Bytes),
    findings: &mut Findings,
) -> Result<()> {
    in_rounds(setting, workload, loads, |round| {
        let mut order: Vec<_> = rows.iter().collect();
        if round % 2 == 0 {
            order.reverse();
        }
        for row in order {
            let subject = subject(row, workload, memory, round);
            let figures = match setting.kept.find(&subject) {
                Some(figures) => figures,
                None => setting.kept.keep(subject, row.figures(loads, memory)?)?,
            };
            findings.cell(&row.name, workload, round, &figures);
        }
        Ok(())
    })
}

/// Like [`play`], with all rows at the same time: they share the processor, and only misses count.
pub(super) fn play_at_once(
    setting: &Setting,
    rows: &[ServerRow],
    workload: &str,
    (loads, memory): (&[Load], Bytes),
    findings: &mut Findings,
) -> Result<()> {
    in_rounds(setting, workload, loads, |round| {
        let subject = |row| subject(row, workload, memory, round);
        let kept: Option<_> = rows.iter().map(|row| setting.kept.find(&subject(row))).collect();
        let found: Vec<_> = if let Some(found) = kept {
            found
        } else {
            let found = at_once(rows, loads, memory)?;
            let keep = |(row, figures)| setting.kept.keep(subject(row), figures);
            rows.iter().zip(found).map(keep).collect::<Result<_>>()?
        };
        for (row, figures) in rows.iter().zip(found) {
            findings.cell(&row.name, workload, round, &figures);
        }
        Ok(())
    })
}

/// Plays the loads to all rows at the same time.
fn at_once(rows: &[ServerRow], loads: &[Load], memory: Bytes) -> Result<Vec<Measured>> {
    std::thread::scope(|scope| {
        let play = |row: &'_ ServerRow| row.figures(loads, memory);
        let threads: Vec<_> = rows.iter().map(|row| scope.spawn(move || play(row))).collect();
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.collect()
    })
}

fn subject(row: &ServerRow, workload: &str, memory: Bytes, round: u64) -> Subject {
    Subject {
        workload: workload.to_owned(),
        memory: memory.0,
        row: row.name.clone(),
        command: row.command(),
        round,
    }
}

/// Fills the databases of the loads where that is not done yet, and plays each round.
fn in_rounds(
    setting: &Setting,
    workload: &str,
    loads: &[Load],
    mut play: impl FnMut(u64) -> Result<()>,
) -> Result<()> {
    loads.iter().try_for_each(Load::prepare)?;
    for round in 1..=setting.rounds {
        eprintln!("{workload}, round {round} of {}", setting.rounds);
        play(round)?;
    }
    Ok(())
}

/// A share of the bytes of all objects in the first `limit` requests of each trace, including the
/// bytes that a server keeps beside each object.
pub(super) fn memory(traces: &[String], limit: u64, share: f64) -> Result<Bytes> {
    /// Bytes beside key and value: an entry of a table, two headers.
    const BESIDE: u64 = 64;
    let load = super::super::load::Load::first(Some(limit), traces, &[])?;
    let all = load.footprint.0 + load.objects * BESIDE;
    Ok(Bytes((all as f64 * share) as u64).max(SMALLEST))
}

/// Claims the ratio of a row's figure to that of another row, in each workload.
pub(super) fn compare(
    findings: &mut Findings,
    (row, than): (&str, &str),
    figure: &str,
    wanted: &str,
) {
    for workload in findings.workloads() {
        if let Some([median, low, high]) = findings.ratio(row, than, &workload, figure) {
            let what = format!("{workload}: {figure} of {row} relative to {than}");
            findings.claim(&what, format!("{median:.3} ({low:.3} to {high:.3})"), wanted);
        }
    }
}
