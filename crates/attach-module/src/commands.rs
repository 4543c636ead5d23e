//! LARDER.PLAN, TENANTS, CURVE, ADVISE and HISTORY. They answer in lines for people. With JSON as
//! the last word they answer with one document for programs.

use crate::exchange::{Exchange, PilotResults};
use crate::proposal;
use report::finding::{self, Finding, Severity};
use report::{Report, plans, say};
use serde_json::{Value, json};
use std::sync::atomic::Ordering::Relaxed;

/// The names of the commands.
pub(crate) const ALL: [&std::ffi::CStr; 5] =
    [c"larder.plan", c"larder.tenants", c"larder.curve", c"larder.advise", c"larder.history"];

/// The answer to every command after a bug stopped the module.
pub(crate) const STOPPED: &str = "the module has stopped: MODULE UNLOAD larder and load it again";

/// The default time span of HISTORY, in seconds.
const HISTORY_S: u64 = 3_600;

/// The answer to a command.
pub(crate) enum CommandAnswer {
    Lines(Vec<String>),
    Document(Value),
}

/// Answers a command.
///
/// # Errors
/// A sentence that names the fix.
pub(crate) fn answer(words: &[String], exchange: &Exchange) -> Result<CommandAnswer, String> {
    let [name, arguments @ ..] = words else { return Err("a command needs a name".to_owned()) };
    let name = name.to_ascii_lowercase();
    let as_json = arguments.last().is_some_and(|last| last.eq_ignore_ascii_case("json"));
    let arguments = &arguments[..arguments.len() - usize::from(as_json)];
    if exchange.broken.load(Relaxed) {
        return Err(STOPPED.to_owned());
    }
    let shown = exchange.shown();
    if shown.report.server.now_unix_s == 0 {
        return Err("the module was just loaded: ask again in a second".to_owned());
    }
    match (name.trim_start_matches("larder."), arguments) {
        // A panic on request, for the tests of the module's behaviour after a bug.
        ("plan", [word]) if cfg!(debug_assertions) && word == "panic" => panic!("as asked"),
        ("plan", []) if as_json => Ok(CommandAnswer::Document(plan_document(&shown))),
        ("plan", []) => Ok(CommandAnswer::Lines(plan(&shown))),
        ("tenants", []) if as_json => Ok(CommandAnswer::Document(json!(shown.report.tenants))),
        ("tenants", []) => {
            let mut lines = say::tenants(&shown.report);
            lines.push(format!("The module: {}.", shown.state));
            Ok(CommandAnswer::Lines(lines))
        }
        ("curve", [tenant]) => curve(&shown, tenant, as_json),
        ("advise", []) => Ok(advise(&shown, None, as_json)),
        ("advise", [tenant]) => {
            known(&shown.report, tenant)?;
            Ok(advise(&shown, Some(tenant), as_json))
        }
        ("history", []) => Ok(history(exchange, &shown.report, HISTORY_S, as_json)),
        ("history", [time]) => Ok(history(exchange, &shown.report, back(time)?, as_json)),
        (name, _) => Err(format!("LARDER.{}: {}", name.to_ascii_uppercase(), form(name))),
    }
}

fn form(name: &str) -> &'static str {
    match name {
        "curve" => "write the name of a tenant, and JSON for a document",
        "advise" => "write nothing or the name of a tenant, and JSON for a document",
        "history" => "write nothing or how far back, such as 10m or 2h, and JSON for a document",
        _ => "write nothing after it, or JSON for a document",
    }
}

fn known<'a>(report: &'a Report, name: &str) -> Result<&'a report::Tenant, String> {
    report.tenant(name).ok_or_else(|| {
        let names: Vec<_> = report.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
        format!("there is no tenant '{name}': the tenants are {}", names.join(", "))
    })
}

fn plan_document(shown: &PilotResults) -> Value {
    let name = |id: &u16| {
        let tenants = shown.names.get(usize::from(*id)).cloned();
        tenants.unwrap_or_default()
    };
    let pools = shown.step.iter().flat_map(|step| &step.pools).map(|pool| {
        json!({
            "tenants": pool.tenants.iter().map(name).collect::<Vec<_>>(),
            "class": pool.class,
            "budget": pool.budget.0,
            "policy": pool.evictor,
        })
    });
    let pools: Vec<_> = pools.collect();
    json!({
        "state": shown.state,
        "in_force": pools,
        "pilot": shown.status,
        "claim": shown.claim,
    })
}

fn plan(shown: &PilotResults) -> Vec<String> {
    let mut text = vec![format!("The module: {}.", shown.state)];
    let Some(status) = &shown.status else {
        text.push(format!("recipe {}: it makes no plans", shown.report.server.recipe));
        return text;
    };
    text.push(plans::headline(status));
    text.extend(status.history.last().map(plans::decision));
    text.extend(plans::pools(status));
    text.extend(shown.claim.as_ref().map(proposal::says));
    if let Some(work) = shown.work.filter(|work| work.is_known()) {
        text.push(format!(
            "Lately the module evicted {:.0} keys by rank, and the server {:.0} by its policy: \
             {:.1} %.",
            work.module,
            work.server,
            100.0 * work.share()
        ));
    }
    text
}

fn curve(shown: &PilotResults, name: &str, as_json: bool) -> Result<CommandAnswer, String> {
    let tenant = known(&shown.report, name)?;
    if as_json {
        return Ok(CommandAnswer::Document(json!({"tenant": name, "curve": tenant.curve})));
    }
    if tenant.curve.is_none() {
        return Err(
            "too few reads of this tenant were sampled: its curve needs some thousand".to_owned()
        );
    }
    Ok(CommandAnswer::Lines(say::curve(&shown.report, tenant)))
}

/// The share of the evictions from which on the server's own are worth advice.
const SERVERS_MAX: f64 = 0.05;

/// Advice where writes are faster than the module can evict.
fn outrun(shown: &PilotResults) -> Option<Finding> {
    let work = shown.work.filter(|work| work.is_known() && work.share() > SERVERS_MAX)?;
    Some(Finding {
        finding: "server_evicts".to_owned(),
        severity: Severity::Advice,
        says: format!(
            "The server evicts {:.0} % of the keys, by its policy.",
            100.0 * work.share()
        ),
        evidence: "Writes came faster than the module could evict by rank.".to_owned(),
        todo: "Raise maxmemory, so that less is evicted, or write large values apart.".to_owned(),
        ..Finding::default()
    })
}

fn advise(shown: &PilotResults, only: Option<&str>, as_json: bool) -> CommandAnswer {
    let report = &shown.report;
    let mut says = say::advise(report, only);
    let outrun = outrun(shown).filter(|_| only.is_none());
    if let Some(Finding { says: what, evidence, todo, .. }) = &outrun {
        says.extend([String::new(), format!("{what} {evidence}"), format!("    {todo}")]);
    }
    if !as_json {
        return CommandAnswer::Lines(says);
    }
    let mut found = finding::all(report);
    found.extend(outrun);
    found.retain(|one| only.is_none() || one.tenant.as_deref() == only);
    let worst = found.iter().map(|one| one.severity).max().unwrap_or(Severity::Note);
    CommandAnswer::Document(json!({"says": says, "findings": found, "worst": worst}))
}

fn history(exchange: &Exchange, report: &Report, seconds: u64, as_json: bool) -> CommandAnswer {
    let since = report.server.now_unix_s.saturating_sub(seconds);
    let history = exchange.history().clone();
    let moves = history.moves(since, report.server.now_unix_s);
    if !as_json {
        return CommandAnswer::Lines(say::history(report, &moves, since));
    }
    let tenants: serde_json::Map<_, _> = report
        .tenants
        .iter()
        .map(|tenant| (tenant.name.clone(), json!(history.since(Some(&tenant.name), since))))
        .collect();
    let changes: Vec<_> = history.changes().filter(|change| change.unix_s >= since).collect();
    let all = history.since(None, since);
    CommandAnswer::Document(json!({
        "since": since,
        "moves": moves,
        "changes": changes,
        "all": all,
        "tenants": tenants,
    }))
}

/// A length of time as `600`, `10m`, `2h` or `1d`, in seconds.
fn back(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let number = lower.trim_end_matches(['d', 'h', 'm', 's']);
    let scale = match &lower[number.len()..] {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3_600),
        "d" => Some(86_400),
        _ => None,
    };
    let seconds = number.parse::<u64>().ok().zip(scale).and_then(|(n, scale)| n.checked_mul(scale));
    seconds.ok_or_else(|| format!("'{text}' is not a time span: write 600, 10m, 2h or 1d"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(
            ["600", "10m", "2h", "1d"].map(|text| back(text).unwrap()),
            [600, 600, 7_200, 86_400]
        );
        assert!(["", "m", "10mm", "x"].iter().all(|text| back(text).is_err()));
    }

    #[test]
    fn what_the_server_evicts_is_said() {
        let of = |module, server| {
            let work = Some(crate::exchange::Work { module, server });
            let shown = PilotResults { work, ..PilotResults::default() };
            let CommandAnswer::Lines(lines) = advise(&shown, None, false) else { panic!() };
            lines.join(" ")
        };
        assert!(of(900.0, 100.0).contains("The server evicts 10 % of the keys"));
        assert!(!of(990.0, 10.0).contains("The server evicts"));
        assert!(!of(9.0, 10.0).contains("The server evicts"), "these are few");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let exchange = Exchange::default();
        let ask = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|&word| word.to_owned()).collect();
            answer(&words, &exchange).map(|_| ()).unwrap_err()
        };
        assert!(ask(&["LARDER.PLAN"]).contains("in a second"));
        let report = Report {
            server: report::Server { now_unix_s: 1, ..report::Server::default() },
            ..Report::default()
        };
        exchange.show(PilotResults { report, ..PilotResults::default() });
        assert!(ask(&["LARDER.CURVE", "web"]).contains("no tenant 'web'"));
        assert!(ask(&["larder.tenants", "now"]).contains("or JSON"));
        assert!(ask(&["larder.history", "soon"]).contains("10m"));
    }
}
