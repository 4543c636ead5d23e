//! LARDER ADVISE, WHY, MEMORY, SIZE, POLICIES, HISTORY and REPORT: the report as sentences for
//! people, and as a document for programs.

use super::output::{document, lines, number_of, wants_json};
use crate::call::{Call, Done, Failure, SYNTAX};
use crate::observe::report::{report, report_of};
use ::report::finding::Severity;
use ::report::sizing::{Need, Sizing};
use ::report::{Report, Tenant, claim, finding, say};
use base::{Bytes, Cause};
use serde_json::{Value, json};
use wire::resp::parse_double;

/// The time that HISTORY goes back by default, in seconds.
const HISTORY_S: u64 = 3_600;

/// The tenant in the report that an argument names.
fn tenant_of<'a>(call: &Call<'_>, report: &'a Report, at: usize) -> Result<&'a Tenant, Failure> {
    let name = call.text(at).into_owned();
    number_of(call, &name)?;
    report
        .tenant(&name)
        .ok_or_else(|| Failure::err("the tenant is new and not yet in the report: ask again"))
}

pub(super) fn advise(call: &mut Call<'_>) -> Done {
    let (tenant, as_json) = match call.args.len() {
        2 => (false, false),
        3 if call.is(2, "json") => (false, true),
        _ => (true, wants_json(call, 3)?),
    };
    let report = report(call.server);
    let only = if tenant { Some(tenant_of(call, &report, 2)?.name.clone()) } else { None };
    if as_json {
        let mut found = finding::all(&report);
        found.retain(|one| only.is_none() || one.tenant == only);
        let worst = found.iter().map(|one| one.severity).max().unwrap_or(Severity::Note);
        document(
            call,
            &json!({
                "says": say::advise(&report, only.as_deref()),
                "findings": found,
                "claims": claim::all(&report),
                "worst": worst,
            }),
        );
        return Ok(());
    }
    lines(call, &say::advise(&report, only.as_deref()));
    Ok(())
}

/// The causes of a tenant's misses, lately or in the given time.
pub(super) fn why(call: &mut Call<'_>) -> Done {
    let seconds = match call.args.len() {
        3 => None,
        _ if call.is(3, "json") => None,
        _ => Some(back(&call.text(3))?),
    };
    let as_json = wants_json(call, if seconds.is_some() { 4 } else { 3 })?;
    let report = report(call.server);
    let tenant = tenant_of(call, &report, 2)?;
    let now = report.server.now_unix_s;
    let then = seconds.map(|seconds| {
        let history = call.server.observed.lock_history();
        history.recent(Some(&tenant.name), now, seconds)
    });
    if as_json {
        let recent = then.unwrap_or(tenant.recent);
        let missed = Cause::ALL.map(|cause| (cause.name(), recent.missed_for(cause)));
        let missed: serde_json::Map<_, _> =
            missed.into_iter().map(|(name, share)| (name.to_owned(), json!(share))).collect();
        document(
            call,
            &json!({
                "tenant": tenant.name,
                "recent": recent,
                "miss_ratio": recent.miss_ratio(),
                "missed_for": missed,
                "not_admitted": tenant.counters.not_admitted,
                "shift": tenant.shift,
                "twice_the_ttl": tenant.twice_the_ttl,
            }),
        );
        return Ok(());
    }
    let says = match then {
        Some(recent) => say::why_then(&report, tenant, &recent, now),
        None => say::why_known(&report, tenant, &call.server.observed.lock_history()),
    };
    lines(call, &says);
    Ok(())
}

pub(super) fn memory(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 4)?;
    let wanted = ratio(&call.text(3))?;
    let report = report(call.server);
    let tenant = tenant_of(call, &report, 2)?;
    if as_json {
        let need = Sizing::with_band(tenant).map(|sizing| (sizing.need(wanted), sizing.end()));
        let need = match need {
            None => Value::Null,
            Some((Need::Never { floor }, end)) => json!({"never": {"floor": floor}, "end": end}),
            Some((Need::Memory { bytes, least, most }, end)) => {
                json!({"bytes": bytes, "least": least, "most": most, "end": end})
            }
        };
        let of = &tenant.compressed;
        let compression = json!({
            "items": of.items,
            "plain": of.plain,
            "stored": of.stored,
            "ratio": of.ratio(),
            "processor_us": of.processor_us,
            "sampled": of.sampled,
            "with_plain_values": claim::plain(&report, tenant).filter(claim::Claim::is_sound),
        });
        document(
            call,
            &json!({
                "tenant": tenant.name,
                "miss_ratio": wanted,
                "need": need,
                "compression": compression,
            }),
        );
        return Ok(());
    }
    lines(call, &say::memory(&report, tenant, wanted));
    Ok(())
}

pub(super) fn size(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 3)?;
    let report = report(call.server);
    let wanted = memory_of(&call.text(2), report.server.maxmemory)?;
    if as_json {
        let claims = claim::of_maxmemory(&report, wanted);
        document(call, &json!({"maxmemory": wanted, "claims": claims}));
        return Ok(());
    }
    lines(call, &say::size(&report, wanted));
    Ok(())
}

/// A size of memory as `1gb`, or beside the present one as `+1gb`, `-512mb`, `+50%` or `-25%`.
fn memory_of(text: &str, present: u64) -> Result<u64, Failure> {
    let refusal =
        || Failure::err(&format!("'{text}' is not a memory size: write 1gb, +1gb, -512mb or -25%"));
    let (sign, number) = match text.split_at_checked(1) {
        Some(("+", number)) => (1, number),
        Some(("-", number)) => (-1, number),
        _ => (0, text),
    };
    let bytes = match number.strip_suffix('%') {
        Some(percent) if sign != 0 => {
            let share = percent.trim().parse::<f64>().ok().filter(|share| *share >= 0.0);
            (share.ok_or_else(refusal)? / 100.0 * present as f64) as u64
        }
        _ => Bytes::parse(number).map_err(|_| refusal())?.0,
    };
    if sign != 0 && present == 0 {
        return Err(Failure::err(
            "there is no memory limit to compare with: write a size such as 1gb",
        ));
    }
    let wanted = match sign {
        0 => Some(bytes),
        1 => present.checked_add(bytes),
        _ => present.checked_sub(bytes),
    };
    wanted.filter(|wanted| *wanted > 0).ok_or_else(refusal)
}

/// Reads a miss ratio in the form `0.05` or `5%`.
fn ratio(text: &str) -> Result<f64, Failure> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let known = parse_double(number.trim().as_bytes()).map(|number| number / scale);
    known.filter(|ratio| (0.0..=1.0).contains(ratio)).ok_or_else(|| {
        let write = match known {
            // The sign was left out.
            Some(number) if scale == 1.0 && (1.0..=100.0).contains(&number) => format!("{number}%"),
            _ => "a number from 0 to 1, such as 0.05, or 5%".to_owned(),
        };
        Failure::err(&format!("'{text}' is not a miss ratio: write {write}"))
    })
}

pub(super) fn policies(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 2)?;
    let report = report(call.server);
    if as_json {
        document(call, &serde_json::to_value(&report.policies).unwrap_or_default());
        return Ok(());
    }
    lines(call, &say::policies(&report));
    Ok(())
}

/// How far the forecasts can be trusted.
pub(super) fn forecasts(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 2)?;
    let report = report(call.server);
    if as_json {
        document(call, &serde_json::to_value(&report.forecasts).unwrap_or_default());
        return Ok(());
    }
    lines(call, &say::forecasts(&report));
    Ok(())
}

/// The changes of the last hour or of the given time; with JSON the figures too.
pub(super) fn history(call: &mut Call<'_>) -> Done {
    let seconds = match call.args.len() {
        2 => None,
        _ if call.is(2, "json") => None,
        _ => Some(back(&call.text(2))?),
    };
    let as_json = wants_json(call, if seconds.is_some() { 3 } else { 2 })?;
    let history = call.server.observed.lock_history().clone();
    let mut report = report_of(call.server, &history);
    let now = report.server.now_unix_s;
    let since = now.saturating_sub(seconds.unwrap_or(HISTORY_S));
    report.gains = history.gains_since(since, now);
    if as_json {
        let series = |name: Option<&str>| json!(history.since(name, since));
        let tenants: serde_json::Map<_, _> = report
            .tenants
            .iter()
            .map(|tenant| (tenant.name.clone(), series(Some(&tenant.name))))
            .collect();
        let changes: Vec<_> = history.changes().filter(|change| change.unix_s >= since).collect();
        let all = series(None);
        document(
            call,
            &json!({
                "since": since,
                "moves": history.moves(since, now),
                "gains": report.gains,
                "changes": changes,
                "all": all,
                "tenants": tenants,
            }),
        );
        return Ok(());
    }
    lines(call, &say::history(&report, &history.moves(since, now), since));
    Ok(())
}

/// Reads a length of time in the form `600`, `10m`, `2h` or `1d`. Returns seconds.
fn back(text: &str) -> Result<u64, Failure> {
    let (number, scale) = match text.to_ascii_lowercase() {
        text if text.ends_with('d') => (text[..text.len() - 1].to_owned(), 86_400),
        text if text.ends_with('h') => (text[..text.len() - 1].to_owned(), 3_600),
        text if text.ends_with('m') => (text[..text.len() - 1].to_owned(), 60),
        text if text.ends_with('s') => (text[..text.len() - 1].to_owned(), 1),
        text => (text, 1),
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
    seconds.ok_or_else(|| {
        Failure::err(&format!("'{text}' is not a time span: write 600, 10m, 2h or 1d"))
    })
}

/// Replies with the whole report.
pub(super) fn whole(call: &mut Call<'_>) -> Done {
    let as_json = wants_json(call, 2)?;
    if !as_json {
        return Err(SYNTAX.into());
    }
    let report = report(call.server);
    document(call, &serde_json::to_value(&*report).unwrap_or_default());
    Ok(())
}
