//! Advice in sentences: the findings of a report, with the memory and waiting of each tenant.

use super::decision::{command_of, decision};
use super::forecasts::verdict;
use super::gained::gained_briefly;
use super::lines::{COLUMNS, lately, name_width, paragraph, quiet, typed};
use super::moved::given;
use crate::claim::{self, Claim};
use crate::finding::{self, Finding};
use crate::sizing::Sizing;
use crate::words::{clock, count, percent, size, wait, wrap};
use crate::{Change, ChangeKind, Report, Tenant};

/// The text of LARDER ADVISE, about all tenants or about one.
pub fn advise(report: &Report, only: Option<&str>) -> Vec<String> {
    let findings = finding::all(report);
    let decision = decision(report, &findings);
    let mut lines = wrap(&decision.health, COLUMNS, 0);
    if only.is_none() {
        lines.extend(new_load(report).iter().flat_map(|says| wrap(says, COLUMNS, 0)));
    }
    lines.extend(wrap(&summary(report), COLUMNS, 0));
    if only.is_none() && !decision.commands.is_empty() {
        lines.push("To type now, the most important first:".to_owned());
        lines.extend(decision.commands.iter().map(|command| typed(command)));
    }
    lines.push(String::new());
    let width = name_width(report);
    let of = |tenant: &str| -> Vec<String> {
        let own = findings.iter().filter(|finding| finding.tenant.as_deref() == Some(tenant));
        own.flat_map(sentences).collect()
    };
    for tenant in &report.tenants {
        if only.is_some_and(|only| only != tenant.name) {
            continue;
        }
        let mut text = of(&tenant.name);
        if is_worth_a_line(report, tenant) {
            text.insert(0, held(report, tenant));
        }
        paragraph(&mut lines, &tenant.name, width, &text);
    }
    if only.is_some() {
        return trimmed(lines);
    }
    lines.push(String::new());
    for sentence in given(report) {
        lines.extend(wrap(&sentence, COLUMNS, 0));
    }
    for finding in findings.iter().filter(|finding| finding.tenant.is_none()) {
        let [says, todo] = sentences(finding);
        lines.extend(wrap(&says, COLUMNS, 0));
        if command_of(report, finding).as_ref() == Some(&todo) {
            // A command stays whole, to be copied.
            lines.push(typed(&todo));
        } else {
            lines.extend(wrap(&todo, COLUMNS - 4, 0).iter().map(|line| typed(line)));
        }
    }
    for sentence in more_or_less(report).into_iter().chain([verdict(report)]) {
        lines.extend(wrap(&sentence, COLUMNS, 0));
    }
    trimmed(lines)
}

/// The last change of a load, while it is news: the reason why clients wait more, or less.
fn new_load(report: &Report) -> Option<String> {
    const NEWS_S: u64 = 900;
    let server = &report.server;
    let is_news = |change: &&Change| {
        change.kind == ChangeKind::Load && change.unix_s + NEWS_S >= server.now_unix_s
    };
    let change = report.changes.iter().rev().find(is_news)?;
    let when = clock(change.unix_s, server.now_unix_s, server.utc_offset_s);
    let all = change.effects.iter().find(|effect| effect.tenant.is_none());
    let waited = all.filter(|all| all.before.reads_per_s > 0.0).map_or_else(String::new, |all| {
        let [before, after] =
            [&all.before, &all.after].map(|fared| wait(1e3 * fared.wait_ms_per_s));
        format!(": clients waited {before} per second before and {after} after")
    });
    Some(format!("At {when} {}{waited}.", change.text))
}

/// Removes empty lines at the end, and one of two in a row.
fn trimmed(mut lines: Vec<String>) -> Vec<String> {
    lines.dedup_by(|a, b| a.is_empty() && b.is_empty());
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn sentences(finding: &Finding) -> [String; 2] {
    [format!("{} {}", finding.says, finding.evidence), finding.todo.clone()]
}

/// One paragraph on memory in use, misses and waiting.
pub fn summary(report: &Report) -> String {
    let used = used(report);
    quiet(report).map_or_else(|| used.clone(), |quiet| format!("{quiet} {used}"))
}

/// [`summary`], without the sentence about a quiet cache.
fn used(report: &Report) -> String {
    let server = &report.server;
    let of = match server.maxmemory {
        0 => format!("{} in use, without a limit", size(server.used)),
        max if server.used > server.divided => {
            format!("{} in use, with a maxmemory of {}", size(server.used), size(max))
        }
        max => format!(
            "{} of the {} for data in use (maxmemory {})",
            size(server.used),
            size(server.divided),
            size(max)
        ),
    };
    let recent = &report.recent;
    let Some(ratio) = recent.miss_ratio() else {
        return format!("{of}. Clients read nothing {}.", lately(report, recent));
    };
    let readers = report.tenants.iter().filter(|tenant| tenant.recent.reads > 0).count();
    let who = match readers {
        1 if report.tenants.len() > 1 => {
            "The clients of its only tenant with reads wait".to_owned()
        }
        1 => "The clients of its only tenant wait".to_owned(),
        readers => format!("The clients of its {readers} tenants wait"),
    };
    let waits = recent.wait_ms_per_s();
    let waiting = if waits > 0.0 {
        format!("{who} {} per second for misses, in total", wait(1e3 * waits))
    } else {
        "The cost of misses has not been measured yet".to_owned()
    };
    let beside = gained_briefly(report).map_or_else(String::new, |text| format!(" {text}"));
    format!(
        "{of}. {waiting}: {} of {} reads missed {}.{beside}",
        percent(ratio),
        count(recent.reads),
        lately(report, recent)
    )
}

/// Whether a tenant is read or holds more than a twentieth of the memory.
fn is_worth_a_line(report: &Report, tenant: &Tenant) -> bool {
    tenant.recent.reads > 0 || tenant.used > report.server.divided / 20
}

/// A sentence on a tenant's memory, misses and waiting.
fn held(report: &Report, tenant: &Tenant) -> String {
    let share = tenant.used as f64 / report.server.used.max(1) as f64;
    let held = format!("holds {} ({})", size(tenant.used), percent(share));
    let Some(ratio) = tenant.recent.miss_ratio() else {
        return format!("{held}, and has no reads.");
    };
    let waits = match tenant.penalty_us {
        Some(us) => format!(
            ", waits {} per second: {} per miss",
            wait(1e3 * tenant.recent.wait_ms_per_s()),
            wait(us)
        ),
        None => String::new(),
    };
    // While keys are new to the cache, nobody knows how many will come.
    let is_known = !report.is_young() && !tenant.first_reads_fall;
    let enough = Sizing::of(tenant).filter(|_| is_known).and_then(|sizing| sizing.enough());
    let more = enough.map_or_else(String::new, |enough| {
        format!("; about {} would be enough for as few misses", size(enough))
    });
    format!("{held}, misses {}{waits}{more}.", percent(ratio))
}

/// A sentence on the effect of more and of less memory for all tenants.
pub fn more_or_less(report: &Report) -> Vec<String> {
    let divided = report.server.divided;
    let limit = report.server.maxmemory;
    let Some(step) = claim::step(report) else { return vec![] };
    let quarter = limit / 4;
    // Data gets the same part of more memory as now.
    let data = |bytes: u64| (u128::from(bytes) * u128::from(divided) / u128::from(limit)) as u64;
    let more = claim::of_maxmemory(report, limit + step);
    let less = claim::memory(report, divided - data(quarter));
    let (Some(more), Some(less)) = (more.first(), less.first()) else { return vec![] };
    let much = |claim: &Claim| {
        let (ms, now) = (claim.change().abs(), claim.now.max(f64::MIN_POSITIVE));
        format!(
            "{} per second, {} of the total, give or take {}",
            wait(1e3 * ms),
            percent(ms / now),
            wait(1e3 * claim.band())
        )
    };
    // The same figures as LARDER SIZE has, with the same error.
    let unclear = |ms: f64, claim: &Claim| match (ms, claim.band()) {
        (ms, band) if ms.max(0.0) + band < 0.05 => "almost nothing".to_owned(),
        (ms, band) if ms < 0.05 => {
            format!("nothing that is clear, give or take {} per second", wait(1e3 * band))
        }
        (ms, band) => format!(
            "about {} per second, which is no clear difference, give or take {}",
            wait(1e3 * ms),
            wait(1e3 * band)
        ),
    };
    let gain = if more.change() < 0.0 && more.is_sound() {
        let gainer = gainer(report, divided + data(step));
        let whom = gainer.map_or_else(String::new, |name| format!(", most of it for {name}"));
        format!("{} more would save {}{whom}", size(step), much(more))
    } else {
        format!("{} more would save {}", size(step), unclear(-more.change(), more))
    };
    let loss = if less.change() > 0.0 && less.is_sound() {
        format!("{} less would cost {}", size(quarter), much(less))
    } else {
        format!("{} less would cost {}", size(quarter), unclear(less.change(), less))
    };
    let mut says = vec![format!("Waiting: {gain}. {loss}.")];
    says.extend(enough(report));
    says
}

/// The least part of the memory with which clients surely wait hardly longer.
fn enough(report: &Report) -> Option<String> {
    const PARTS: u64 = 8;
    const HARDLY: f64 = 0.1;
    let (divided, limit) = (report.server.divided, report.server.maxmemory);
    let longer = |part: &u64| {
        let claims = claim::memory(report, divided / PARTS * part);
        let claim = claims.first()?;
        let most = (claim.change() + claim.band()) / claim.now.max(f64::MIN_POSITIVE);
        (most <= HARDLY).then_some((*part, most))
    };
    let (part, most) = (1..PARTS).rev().map_while(|part| longer(&part)).last()?;
    Some(format!(
        "A maxmemory of {} would be enough: clients would wait at most {} longer.",
        size(limit / PARTS * part),
        percent(most.max(0.0))
    ))
}

/// The tenant that gains more than half of the waiting that `memory` bytes for all would save.
fn gainer(report: &Report, memory: u64) -> Option<String> {
    let now = crate::sizing::divide(report, report.server.divided);
    let then = crate::sizing::divide(report, memory);
    let saved = report.tenants.iter().enumerate().filter_map(|(at, tenant)| {
        let sizing = Sizing::of(tenant)?;
        let waits = |share: u64| sizing.waits(share).ratio;
        Some((waits(now.shares[at]) - waits(then.shares[at]), &tenant.name))
    });
    let saved: Vec<_> = saved.collect();
    let all: f64 = saved.iter().map(|(ms, _)| ms).sum();
    let (ms, name) = saved.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (ms > 0.5 * all && report.tenants.len() > 1).then(|| name.clone())
}
