//! The price of memory that moved: the waiting that each side has less and more by its curve.
//!
//! Misses then and now differ for many reasons: clients ask for other keys, loads change, items
//! expire. A curve tells the part that memory has in it: the waiting with the memory of then,
//! beside the waiting with the memory of now, for the requests of now.

use crate::sizing::{Estimate, Sizing};
use crate::words::wait;
use crate::{MemoryMoves, Report, Tenant, TenantMoved};

/// Tenants that a sentence names, at most.
const NAMED_MAX: usize = 6;

/// Less waiting than this is none, in milliseconds per second.
const NONE_MS: f64 = 0.05;

/// The waiting that a tenant's move of memory saves it, in milliseconds per second; negative where
/// it costs. `None` if too little is known.
fn saved(tenant: &Tenant, own: &TenantMoved) -> Option<Estimate> {
    if tenant.is_silent() || tenant.penalty_us.is_none() {
        return None;
    }
    let sizing = Sizing::with_band(tenant)?;
    let (before, now) = (sizing.waits(own.before), sizing.waits(own.now));
    Some(Estimate { ratio: before.ratio - now.ratio, band: before.band })
}

/// A tenant with its move and the effect of it, in words.
fn effect(tenant: &Tenant, own: &TenantMoved, saved: Option<Estimate>) -> String {
    let is_gain = own.now >= own.before;
    let did = format!("{} {} memory", tenant.name, if is_gain { "got" } else { "gave" });
    let Some(Estimate { ratio, band }) = saved else {
        return format!("{did}, with an effect that is not known yet");
    };
    match ratio.abs() {
        ms if ms <= band && ms + band < NONE_MS => format!("{did}, which changes nothing"),
        ms if ms <= band => {
            format!("{did} and waits at most {} {}", us(ms + band), less(is_gain))
        }
        ms => {
            format!("{did} and waits {} {}, give or take {}", us(ms), less(ratio > 0.0), us(band))
        }
    }
}

const fn less(is_less: bool) -> &'static str {
    if is_less { "less" } else { "more" }
}

fn us(ms: f64) -> String {
    wait(1e3 * ms)
}

/// A sentence on the gain and the price of all moves; `None` where no tenant lost memory, or
/// nothing is known.
pub(super) fn paid(report: &Report, moves: &MemoryMoves) -> Option<String> {
    let mut all = vec![];
    for tenant in &report.tenants {
        if let Some(own) = moves.tenant(&tenant.name).filter(|own| moves.is_moved(own)) {
            all.push((tenant, own, saved(tenant, own)));
        }
    }
    all.sort_by_key(|(_, own, _)| std::cmp::Reverse(own.before.abs_diff(own.now)));
    let known: Vec<Estimate> = all.iter().filter_map(|(.., saved)| *saved).collect();
    if known.is_empty() || all.iter().all(|(_, own, _)| own.lost() == 0) {
        return None;
    }
    let each = all.iter().take(NAMED_MAX).map(|(tenant, own, saved)| effect(tenant, own, *saved));
    let each = each.collect::<Vec<_>>().join("; ");
    let sum: f64 = known.iter().map(|one| one.ratio).sum();
    let band = known.iter().map(|one| one.band * one.band).sum::<f64>().sqrt();
    let together = match sum {
        _ if known.len() < 2 => String::new(),
        _ if sum.abs() <= band => " Together the difference is not clear.".to_owned(),
        _ => format!(
            " Together they wait {} {}, give or take {}.",
            us(sum.abs()),
            less(sum > 0.0),
            us(band)
        ),
    };
    Some(format!(
        "What these moves alone change in waiting per second, by forecast: {each}.{together}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::healthy;
    use crate::{Recent, TenantMoved, say};
    use base::Cause;

    /// A healthy report in which `web` got 20 MiB from `jobs` since a while ago.
    fn moved() -> Report {
        let mut report = healthy();
        let moved = |name: &str, before: u64, now: u64| TenantMoved {
            name: name.to_owned(),
            began: before << 20,
            full: before << 20,
            before: before << 20,
            now: now << 20,
            missed_before: Some(0.3),
            then: Recent {
                seconds: 100,
                reads: 1_000,
                misses: 300,
                causes: [20, 280, 0, 0, 0],
                sampled: 300,
                wait_ms: 1e4,
            },
        };
        let from_unix_s = report.server.now_unix_s - 600;
        let tenants = vec![moved("jobs", 90, 70), moved("web", 80, 100)];
        let full_unix_s = from_unix_s;
        report.moves = MemoryMoves { from_unix_s, full_unix_s, was_filling: false, tenants };
        let jobs = crate::finding::tests::tenant("jobs", 70 << 20, 100 << 20, 1e3);
        report.tenants[1] = jobs;
        report
    }

    /// The tenant that lost memory has its price beside the gain of the one that got it, in
    /// HISTORY, in ADVISE and on the pages.
    #[test]
    fn both_sides_of_a_move_are_told() {
        let report = moved();
        let says = paid(&report, &report.moves).unwrap();
        let [gain, price] = [0, 1].map(|at| {
            let own = report.moves.tenant(&report.tenants[at].name).unwrap();
            saved(&report.tenants[at], own).unwrap().ratio
        });
        assert!(gain > 0.0 && price < 0.0, "{gain} {price}");
        for part in [
            format!("jobs gave memory and waits {} more", wait(-1e3 * price)),
            format!("web got memory and waits {} less", wait(1e3 * gain)),
            format!("Together they wait {} less", wait(1e3 * (gain + price))),
        ] {
            assert!(says.contains(&part), "{part}: {says}");
        }
        let words = |lines: Vec<String>| lines.join(" ");
        for told in [
            words(say::history(&report, &report.moves, 0)),
            words(say::advise(&report, None)),
            words(say::pilot(&report, &report.moves)),
            words(say::moved(&report, &report.moves)),
        ] {
            assert!(told.contains(&says), "{told}");
        }
    }

    /// A tenant that gave memory misses more because its clients ask for new keys: the text does
    /// not blame the memory.
    #[test]
    fn other_keys_are_told_from_memory() {
        let mut report = moved();
        let recent = &mut report.tenants[1].recent;
        (recent.misses, recent.causes) = (60_000, [40_000, 20_000, 0, 0, 0]);
        assert!((recent.missed_for(Cause::NeverSeen).unwrap() - 0.4).abs() < 1e-9);
        let new = "because 40 % of its reads ask for keys that were never written (2.0 % before)";
        for lines in [say::history(&report, &report.moves, 0), say::advise(&report, None)] {
            let words = lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(new), "{words}");
        }
        // Evictions are another matter.
        report.tenants[1].recent.causes = [1_000, 59_000, 0, 0, 0];
        assert!(!say::advise(&report, None).join(" ").contains("never written (2.0 %"));
    }

    #[test]
    fn an_unknown_price_is_called_so() {
        let mut report = moved();
        report.tenants[1].curve = None;
        let says = paid(&report, &report.moves).unwrap();
        assert!(says.contains("jobs gave memory, with an effect that is not known yet"), "{says}");
        assert!(!says.contains("Together"), "{says}");
        // Free memory has no price.
        report.moves.tenants[0].before = report.moves.tenants[0].now;
        assert_eq!(paid(&report, &report.moves), None);
    }
}
