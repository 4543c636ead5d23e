//! `larder advise --apply`: the settings that the advice proposes, set one after another.
//!
//! For each finding that names settings, the command shows the finding, its evidence and the
//! difference, asks, and sets them. Then it waits until the server has measured the time after the
//! change, and prints the figures before and after.

use crate::capture_command::redis::Control;
use crate::report::json;
use ::report::finding::{self, Finding, Remedy, command};
use ::report::words::{span, wrap};
use ::report::{Change, ChangeKind, Report, say};
use anyhow::{Context, bail};
use load::Place;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};
use wire::resp::Reply;

/// Columns of the output.
const COLUMNS: usize = 80;
/// The period between two looks at the server.
const LOOK: Duration = Duration::from_secs(1);

/// Asks about each proposal of the server at `url`, and sets what the user accepts.
pub(super) fn run(
    url: &str,
    tenant: Option<&str>,
    is_accepted: bool,
    wait_s: u64,
) -> anyhow::Result<()> {
    let place = Place::parse(url)?;
    let mut server = Control::connect(place.address())?;
    if matches!(place, Place::Memcached(_)) || !server.info()?.contains_key("larder_version") {
        bail!("{url} is not a Larder: --apply sets what a Larder advises about itself");
    }
    let first = report(&mut server)?;
    let proposals = proposals(&first, tenant);
    if proposals.is_empty() {
        println!("The advice proposes no setting: `larder advise {url}` shows all of it.");
        return Ok(());
    }
    for (finding, remedy) in proposals {
        let old = present(&remedy, |name| get(&mut server, name))?;
        println!("{}", shown(&finding, &remedy, &old));
        if !is_accepted && !asked()? {
            println!("Not set.\n");
            continue;
        }
        let before = report(&mut server)?.server.now_unix_s;
        let words = remedy.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]);
        let words: Vec<&str> = ["CONFIG", "SET"].into_iter().chain(words).collect();
        server.text(&words)?;
        println!("Set. CONFIG REWRITE writes it into the configuration file. To undo it:");
        println!("  {}\n", command(&old));
        println!("{}\n", outcome(&mut server, before, wait_s)?);
    }
    Ok(())
}

fn report(server: &mut Control) -> anyhow::Result<Report> {
    let report = json::told(&server.text(&["LARDER", "REPORT", "JSON"])?);
    report.context("this Larder is of another version, whose report this version cannot read")
}

/// The findings that name settings, about all tenants or about one.
fn proposals(report: &Report, tenant: Option<&str>) -> Vec<(Finding, Remedy)> {
    let found = finding::all(report).into_iter();
    let asked = found.filter(|one| tenant.is_none_or(|name| one.tenant.as_deref() == Some(name)));
    asked
        .filter_map(|one| Some((finding::remedy(report, &one)?, one)))
        .map(|(remedy, one)| (one, remedy))
        .collect()
}

/// The settings of a remedy with their present values. Of the lines of all tenants, the line for
/// the tenant that the new line names.
fn present(
    remedy: &Remedy,
    mut get: impl FnMut(&str) -> anyhow::Result<String>,
) -> anyhow::Result<Remedy> {
    let mut all = vec![];
    for (name, new) in remedy {
        let old = get(name)?;
        let tenant = new.split(' ').next().unwrap_or_default();
        let is_own = |line: &&str| line.split(' ').next() == Some(tenant);
        let old = match name.as_str() {
            "tenant" => old.lines().find(is_own).unwrap_or_default().to_owned(),
            _ => old,
        };
        all.push((name.clone(), old));
    }
    Ok(all)
}

/// The value of a setting.
fn get(server: &mut Control, name: &str) -> anyhow::Result<String> {
    server.link.put(&["CONFIG", "GET", name]);
    server.link.flush()?;
    let text = |reply: &Reply<'_>| Some(String::from_utf8_lossy(reply.as_bytes()?).into_owned());
    let value = server.link.reply(|reply| match reply {
        Reply::Array(pair) => text(pair.get(1)?),
        Reply::Map(pairs) => text(&pairs.first()?.1),
        _ => None,
    })?;
    value.with_context(|| format!("the server does not tell {name}: CONFIG GET needs that right"))
}

/// The finding, its evidence, and the difference that it proposes.
fn shown(finding: &Finding, remedy: &Remedy, old: &Remedy) -> String {
    let whose = finding.tenant.as_ref().map_or_else(String::new, |name| format!("{name} "));
    // A proposal that is only a command stands below as the difference.
    let todo = if finding.todo == command(remedy) { "" } else { &finding.todo };
    let text = format!("{whose}{} {} {todo}", finding.says, finding.evidence);
    let mut lines = wrap(text.trim_end(), COLUMNS, 0);
    for ((name, new), (_, old)) in remedy.iter().zip(old) {
        lines.push(format!("- {name} {old}"));
        lines.push(format!("+ {name} {new}"));
    }
    lines.join("\n")
}

/// Asks whether to set it. The end of the input means no.
fn asked() -> anyhow::Result<bool> {
    print!("Set it? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Waits until the server has measured the time after the change at `since`, and says what it
/// found.
fn outcome(server: &mut Control, since: u64, wait_s: u64) -> anyhow::Result<String> {
    let (begun, wait) = (Instant::now(), Duration::from_secs(wait_s));
    if wait_s > 0 {
        println!("The figures after it take up to two minutes …");
    }
    loop {
        let report = report(server)?;
        let change = report.changes.iter().rev().find(|change| is_own(change, since));
        if let Some(text) = change.and_then(told) {
            return Ok(text);
        }
        if begun.elapsed() >= wait {
            let waited = span(wait_s);
            return Ok(format!(
                "The figures after it are not known within {waited}: LARDER HISTORY has them later."
            ));
        }
        std::thread::sleep(LOOK.min(wait));
    }
}

/// Whether this is the change that was made at `since`.
fn is_own(change: &Change, since: u64) -> bool {
    change.kind == ChangeKind::Setting && change.unix_s >= since
}

/// The figures before and after a change, once they are known, with what was claimed.
fn told(change: &Change) -> Option<String> {
    if change.effects.is_empty() {
        return None;
    }
    let nothing = || "Nothing was read before it, so there is nothing to compare.".to_owned();
    let measured = say::measured(change).unwrap_or_else(nothing);
    let lines = say::claimed(change).into_iter().chain([measured]);
    Some(lines.flat_map(|text| wrap(&text, COLUMNS, 0)).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::report::{Effect, Fared};

    #[test]
    fn the_difference_is_shown_and_can_be_undone() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let new = vec![
            pair("tenant", "jobs match prefix jobs: min 43mb"),
            pair("maxmemory-policy", "auto"),
            pair("maxmemory", "9mb"),
        ];
        let known = |name: &str| match name {
            "tenant" => "web match db 1\njobs match prefix jobs: min 1mb",
            "maxmemory" => "1048576",
            _ => "allkeys-lru",
        };
        let old = present(&new, |name| Ok(known(name).to_owned())).unwrap();
        let text = shown(&Finding { says: "misses.".into(), ..Finding::default() }, &new, &old);
        for line in [
            "- tenant jobs match prefix jobs: min 1mb",
            "+ tenant jobs match prefix jobs: min 43mb",
            "- maxmemory-policy allkeys-lru",
            "+ maxmemory-policy auto",
            "- maxmemory 1048576",
            "+ maxmemory 9mb",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is missing from\n{text}");
        }
        assert_eq!(
            command(&old),
            "CONFIG SET tenant \"jobs match prefix jobs: min 1mb\" maxmemory-policy allkeys-lru \
             maxmemory 1048576"
        );
    }

    #[test]
    fn figures_are_told_when_they_are_known() {
        let mut change = Change { unix_s: 5, kind: ChangeKind::Setting, ..Change::default() };
        assert!(is_own(&change, 5) && !is_own(&change, 6));
        assert_eq!(told(&change), None);
        let fared = |miss_ratio, wait_ms_per_s| Fared {
            reads_per_s: 10.0,
            miss_ratio,
            wait_ms_per_s,
            used: 0,
        };
        change.effects =
            vec![Effect { tenant: None, before: fared(0.5, 80.0), after: fared(0.25, 40.0) }];
        let text = told(&change).unwrap();
        assert_eq!(
            text.replace('\n', " "),
            "Measured up to 2 minutes before and after: misses 50 % → 25 %; waiting 80 ms → 40 ms \
             per second."
        );
    }
}
