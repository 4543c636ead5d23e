//! The memory that tenants gave to each other, and the misses of each then and now.

use super::lines::COLUMNS;
use super::paid::paid;
use crate::words::{clock, percent, size, span, wait, wrap};
use crate::{MemoryMoves, Report, Tenant, TenantMoved};

/// Tenants that a sentence names, at most.
const NAMED_MAX: usize = 6;

/// A change of the miss ratio that is worth a word.
const POINTS_MIN: f64 = 0.01;

/// A cache with less of its memory in use still fills.
const FILLED: f64 = 0.9;

/// "Since 12:03, 37 minutes ago": the beginning of the stretch.
fn since(report: &Report, moves: &MemoryMoves) -> String {
    let server = &report.server;
    let when = clock(moves.from_unix_s, server.now_unix_s, server.utc_offset_s);
    format!("Since {when} ({})", span(server.now_unix_s.saturating_sub(moves.from_unix_s)))
}

/// Milliseconds of waiting in words.
fn us(ms: f64) -> String {
    wait(1e3 * ms)
}

/// The name of a tenant, and bytes.
type TenantBytes<'a> = (&'a str, u64);

/// Tenants with bytes: "web 20 MiB, jobs 10 MiB".
fn listed(mut all: Vec<TenantBytes<'_>>) -> String {
    all.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let rest = all.len().saturating_sub(NAMED_MAX);
    let named = all.iter().take(NAMED_MAX).map(|(name, bytes)| format!("{name} {}", size(*bytes)));
    let more = (rest > 0).then(|| format!("{rest} more less"));
    named.chain(more).collect::<Vec<_>>().join(", ")
}

/// Sentences on the memory that moved: first the free memory that a filling cache gave, then one
/// sentence for each tenant that gave.
pub fn moved(report: &Report, moves: &MemoryMoves) -> Vec<String> {
    let server = &report.server;
    let mut says = vec![];
    if moves.tenants.is_empty() {
        return says;
    }
    let is_filling = (server.used as f64) < FILLED * server.divided as f64;
    if moves.was_filling && !is_filling {
        let grew = |one: &TenantMoved| one.full.saturating_sub(one.began);
        let took = moves.tenants.iter().map(|one| (one.name.as_str(), grew(one)));
        let took: Vec<_> = took.filter(|(_, bytes)| *bytes > 0).collect();
        says.push(format!(
            "The cache was filling until {}: free memory went to {}; no tenant lost any.",
            clock(moves.full_unix_s, server.now_unix_s, server.utc_offset_s),
            listed(took)
        ));
    }
    if is_filling {
        says.push(format!(
            "The cache is still filling: {} of {} are in use, so tenants take free memory.",
            size(server.used),
            size(server.divided)
        ));
    }
    let gifts = moves.gifts();
    let since = since(report, moves);
    let mut given: Vec<(Option<&str>, Vec<TenantBytes<'_>>)> = vec![];
    for gift in &gifts {
        let to = gift.to.unwrap_or("free space and tables");
        match given.iter_mut().find(|(from, _)| *from == gift.from) {
            Some((_, all)) => all.push((to, gift.bytes)),
            None => given.push((gift.from, vec![(to, gift.bytes)])),
        }
    }
    let many = given.len().saturating_sub(NAMED_MAX);
    let gave = given.into_iter().take(NAMED_MAX).map(|(from, to)| {
        let all: u64 = to.iter().map(|(_, bytes)| bytes).sum();
        let from = from.unwrap_or("free memory");
        format!("{from} gave {} ({})", size(all), listed(to))
    });
    let more = (many > 0).then(|| format!("{many} more gave less"));
    let gave: Vec<_> = gave.chain(more).collect();
    if gave.is_empty() || !moves.is_any() {
        says.push(format!("{since} almost no memory moved between tenants."));
    } else {
        says.push(format!("{since} memory went to others: {}.", gave.join("; ")));
        says.extend(paid(report, moves));
    }
    says
}

/// Lines for each tenant whose memory changed: its memory, its misses and its waiting, then and
/// now.
pub(super) fn rows(report: &Report, moves: &MemoryMoves) -> Vec<String> {
    let of = |tenant: &Tenant| {
        let own = moves.tenant(&tenant.name).filter(|own| moves.is_moved(own))?;
        let held = format!("{} → {}", size(own.before), size(own.now));
        let recent = &tenant.recent;
        let missed =
            own.missed_before.zip(recent.miss_ratio()).map_or_else(String::new, |(before, now)| {
                format!(", misses {} → {}", percent(before), percent(now))
            });
        let waited = if recent.reads > 0 && own.then.reads > 0 {
            let (before, now) = (own.then.wait_ms_per_s(), recent.wait_ms_per_s());
            format!(", waiting {} → {} per second", us(before), us(now))
        } else {
            String::new()
        };
        let new = recent.other_keys(&own.then);
        let new = new.map_or_else(String::new, |says| format!(" {says}"));
        let name = &tenant.name;
        let says = format!("{name}: {held}{missed}{new}{waited}.");
        let lines = wrap(&says, COLUMNS - 2, 2);
        Some(lines.into_iter().map(|line| format!("  {line}")))
    };
    report.tenants.iter().filter_map(of).flatten().collect()
}

/// Sentences for the advice: each tenant that gave memory, its misses then and now, and the effect
/// of the memory on both sides.
pub(super) fn given(report: &Report) -> Vec<String> {
    let moves = &report.moves;
    if moves.tenants.is_empty() || report.tenants.len() < 2 {
        return vec![];
    }
    let since = since(report, moves);
    let lost = |tenant: &Tenant| {
        let own = moves.tenant(&tenant.name).filter(|own| moves.is_moved(own))?;
        let gifts = moves.gifts();
        let own_gifts = gifts.iter().filter(|gift| gift.from == Some(&tenant.name));
        let to: Vec<_> = own_gifts.filter_map(|gift| Some((gift.to?, gift.bytes))).collect();
        if to.is_empty() {
            return None;
        }
        let missed = match own.missed_before.zip(tenant.recent.miss_ratio()) {
            Some((before, now)) if (now - before).abs() >= POINTS_MIN => {
                let new = tenant.recent.other_keys(&own.then);
                let new = new.map_or_else(String::new, |says| format!(", {says}"));
                format!("; it misses {}, {} before{new}", percent(now), percent(before))
            }
            Some((_, now)) => format!("; it misses {} as before", percent(now)),
            None => String::new(),
        };
        let gave = size(own.lost());
        Some(format!("{since} {} gave {gave} ({}){missed}.", tenant.name, listed(to)))
    };
    let mut all: Vec<_> = report.tenants.iter().filter_map(lost).take(NAMED_MAX).collect();
    if all.is_empty() {
        return vec![format!("{since} no tenant gave memory to another.")];
    }
    all.extend(paid(report, moves));
    all
}
