//! The page of self-tuning: what the pilot did, what it gained beside one undivided LRU cache, and
//! every change with its promise and its actual effect.

use super::PageData;
use super::advice::policies;
use super::cards::{self, CardCell, by, named, number, plain, text};
use super::events::{SIGNS, effects, sign};
use super::phrases::{link, prose};
use super::series::{lines, memory};
use crate::say;
use crate::words::{clock, clock_second, percent, plus_or_minus, size, span, wait};
use crate::{ChangeKind, Gain, Gains, Tenant};
use std::fmt::Write;

pub(super) fn render(shown: &PageData<'_>) -> String {
    let report = shown.report;
    let mut out = String::from("<h1>What self-tuning did, and what it gained</h1>\n");
    for text in say::pilot(report, &report.moves) {
        let _ = writeln!(out, "<p>{}</p>", prose(&text));
    }
    out += &gains(shown);
    out += &work(shown);
    out += &moves(shown);
    let _ = writeln!(out, "<div class=\"charts\">{}</div>", memory(shown, &lines(shown)).svg());
    out += &policies(shown);
    out + &changes(shown)
}

/// The gain of self-tuning since the start and in the last hour; nothing before it was compared.
fn gains(shown: &PageData<'_>) -> String {
    let Some(gains) = &shown.report.gains else { return String::new() };
    let Gains { run, hour, .. } = gains;
    let columns = [
        text("stretch"),
        number("compared"),
        number("waiting"),
        number("waiting with LRU"),
        number("LRU longer"),
        number("misses"),
        number("misses with LRU"),
    ];
    let row = |name: &str, gain: &Gain| {
        let ratio = |misses: f64| misses / gain.reads.max(1) as f64;
        let (longer, band) = gain.longer()?;
        let share = |share: f64| by(share, percent(share));
        Some(vec![
            plain(name),
            by(gain.seconds as f64, span(gain.seconds)),
            by(gain.wait_ms, wait(1e3 * gain.wait_ms)),
            by(gain.lru_wait_ms, wait(1e3 * gain.lru_wait_ms)),
            by(longer, prose(&format!("{} {} points", percent(longer), plus_or_minus(band)))),
            share(ratio(gain.misses as f64)),
            share(ratio(gain.lru_misses)),
        ])
    };
    let last_hour = gains.is_over_an_hour(shown.report.server.now_unix_s);
    let rows = [Some(("since the start", run)), last_hour.then_some(("the last hour", hour))];
    let rows: Vec<_> =
        rows.into_iter().flatten().filter_map(|(name, gain)| row(name, gain)).collect();
    format!(
        "<h2>What self-tuning gained</h2>\n{}<p class=\"legend\">Beside one LRU cache that all \
         tenants share, for the same requests: each minute's waiting, times the ratio that replays \
         of sampled requests found.</p>\n",
        cards::table(shown, "", &columns, rows)
    )
}

/// How the recipe in force works, and how well it foretells.
fn work(shown: &PageData<'_>) -> String {
    let (report, server) = (shown.report, &shown.report.server);
    let name = server.recipe_name();
    let how = match name {
        "static" => {
            "The recipe <code>static</code> divides nothing: the whole memory is one cache. \
             <code>CONFIG SET maxmemory-policy auto recipe auto</code> turns self-tuning on."
        }
        "auto" => {
            "The recipe <code>auto</code> gives no budgets: all tenants share one pool, and each \
             eviction takes the bytes that save the least waiting (<code>gittins</code>). So \
             memory moves with each eviction, without plans."
        }
        "dlru" => {
            "The recipe <code>dlru</code> gives no budgets: it changes how many items an eviction \
             compares."
        }
        _ => {
            "This recipe gives budgets to pools. A plan comes into force if it promises enough \
             gain; one round later its forecast stands beside the actual result."
        }
    };
    let mut out = format!("<p>{how}</p>\n");
    if server.sampled > 0.0 {
        let _ = writeln!(
            out,
            "<p>Self-tuning samples {} of the keys; its models and the history take {}.</p>",
            percent(server.sampled),
            size(server.models)
        );
    }
    let told = prose(&say::forecasts(report).join(" "));
    out + &format!("<h2>Can its forecasts be trusted?</h2>\n<p>{told}</p>\n")
}

/// The memory that each tenant gave and got, and its misses then and now.
fn moves(shown: &PageData<'_>) -> String {
    let (report, server) = (shown.report, &shown.report.server);
    let moves = &report.moves;
    let columns = [
        text("tenant"),
        number("memory then"),
        number("memory now"),
        text("gave"),
        text("got"),
        number("misses then"),
        number("misses now"),
        number("a MiB more saves"),
    ];
    let gifts = moves.gifts();
    let ratio = |ratio: Option<f64>| {
        by(ratio.unwrap_or(-1.0), ratio.map_or_else(|| "–".to_owned(), percent))
    };
    let row = |tenant: &Tenant| {
        let own = moves.tenant(&tenant.name)?;
        let gave: Vec<_> = gifts
            .iter()
            .filter(|gift| gift.from == Some(&tenant.name))
            .map(|gift| (gift.to.unwrap_or("free space and tables"), gift.bytes))
            .collect();
        let got: Vec<_> = gifts
            .iter()
            .filter(|gift| gift.to == Some(&tenant.name))
            .map(|gift| (gift.from.unwrap_or("free memory"), gift.bytes))
            .collect();
        Some(vec![
            named(&tenant.name, link(shown, &tenant.name)),
            by(own.before as f64, size(own.before)),
            by(own.now as f64, size(own.now)),
            partners("to", own.lost(), own.before, &gave),
            partners("from", own.gained(), own.before, &got),
            ratio(own.missed_before),
            ratio(tenant.recent.miss_ratio()),
            by(tenant.mib_saves_us.unwrap_or(-1.0), saves(tenant)),
        ])
    };
    let rows: Vec<_> = report.tenants.iter().filter_map(row).collect();
    if rows.is_empty() {
        return "<p>No tenant has a history yet.</p>\n".to_owned();
    }
    format!(
        "<h2>Who gave memory to whom since {}</h2>\n{}<p class=\"legend\">An eviction names no \
         receiver, so a tenant that lost memory gave it to all that gained, in proportion. Misses \
         then: in the first minutes of that time. A MiB more saves: the waiting that one more MiB \
         for the tenant would save its clients, where its curve tells.</p>\n",
        clock(moves.from_unix_s, server.now_unix_s, server.utc_offset_s),
        cards::table(shown, "", &columns, rows)
    )
}

/// Bytes that a tenant gave or got, of so many that it had, with the largest partners.
fn partners(word: &str, bytes: u64, of: u64, all: &[(&str, u64)]) -> CardCell {
    const NAMED_MAX: usize = 3;
    const SHARE_MIN: f64 = 0.001;
    let named = all.iter().take(NAMED_MAX);
    let mut parts: Vec<_> =
        named.map(|(name, bytes)| format!("{} {word} {name}", size(*bytes))).collect();
    if all.len() > NAMED_MAX {
        parts.push(format!("less {word} others"));
    }
    let text = match parts.is_empty() {
        false => parts.join(", "),
        true if bytes as f64 > SHARE_MIN * of as f64 => {
            format!("{} {word} several", size(bytes))
        }
        true => "–".to_owned(),
    };
    by(bytes as f64, prose(&text))
}

/// The waiting that one more MiB saves a tenant.
fn saves(tenant: &Tenant) -> String {
    match tenant.mib_saves_us {
        Some(us) if us >= 0.05 => format!("{} per second", wait(us)),
        Some(_) => "nothing".to_owned(),
        None => "–".to_owned(),
    }
}

/// Every change in the shown stretch, the newest first, with its effect behind a click.
fn changes(shown: &PageData<'_>) -> String {
    let server = &shown.report.server;
    let mut out = format!("<h2>Changes</h2>\n<p class=\"legend\">{SIGNS}.</p>\n");
    let plans = shown.history.changes().filter(|change| change.kind == ChangeKind::Plan).count();
    if plans == 0 && shown.report.is_steered() {
        out += "<p>No plan has changed a budget or a policy; these are the changes of settings, \
                load and misses.</p>\n";
    }
    // Where no plan promised anything, there is nothing to compare.
    let has_plans = shown.history.changes().any(|change| {
        change.promised.is_some() || change.expected.is_some() || change.actual.is_some()
    });
    let mut columns = vec![text("when"), text("what"), text("before and after")];
    if has_plans {
        let more = ["promised", "expected", "actual"].map(number);
        columns.splice(2..2, more);
    }
    let share = |share: Option<f64>| {
        by(share.unwrap_or(-1.0), share.map_or_else(|| "–".to_owned(), percent))
    };
    let row = |change: &crate::Change| {
        let when = clock_second(change.unix_s, server.now_unix_s, server.utc_offset_s);
        let href = shown.view.with(|view| view.event = Some(change.unix_s)).href("");
        let told = say::measured(change).unwrap_or_default();
        let mut cells = vec![
            by(
                change.unix_s as f64,
                format!(
                    "<a href=\"{href}\" data-stay><i class=\"sign\">{}</i> {when}</a>",
                    sign(change.kind)
                ),
            ),
            plain(&change.text),
            named(
                &told,
                format!(
                    "<details><summary>{}</summary>{}</details>",
                    if told.is_empty() { "show" } else { &told },
                    effects(shown, change)
                ),
            ),
        ];
        if has_plans {
            let more = [change.promised, change.expected, change.actual].map(share);
            cells.splice(2..2, more);
        }
        cells
    };
    let rows: Vec<_> = shown.history.changes().rev().map(row).collect();
    if rows.is_empty() {
        return out + "<p>Nothing has changed since the history began.</p>\n";
    }
    out += &cards::table(shown, "", &columns, rows);
    if has_plans {
        out += "<p class=\"legend\">Promised: share of the waiting that the plan saves. Expected, \
                actual: waiting as a share of the waiting without a cache; only plans have \
                them.</p>\n";
    }
    out
}
