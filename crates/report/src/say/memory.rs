//! The memory that a wanted miss ratio takes, in sentences.

use super::lines::{COLUMNS, lately, off, typed};
use crate::claim::{self, ClaimedFigure};
use crate::finding;
use crate::sizing::{Estimate, Need, Sizing};
use crate::words::{clock, percent, points, size, span, wait, wrap};
use crate::{Report, Tenant};
use base::Cause;

/// A miss ratio above the wanted one by less than this is shown as equal.
const REACHED: f64 = 0.005;

/// The answer for a tenant and a wanted miss ratio, and the effect of compression on its memory.
pub fn memory(report: &Report, tenant: &Tenant, wanted: f64) -> Vec<String> {
    let mut lines = needed(report, tenant, wanted);
    lines.extend(super::compressed(report, tenant));
    lines
}

fn needed(report: &Report, tenant: &Tenant, wanted: f64) -> Vec<String> {
    let name = &tenant.name;
    if !report.is_steered() && Sizing::with_band(tenant).is_none() {
        return off("there are no forecasts");
    }
    if tenant.is_silent() {
        return wrap(&unread(report, tenant), COLUMNS, 0);
    }
    let Some(sizing) = Sizing::with_band(tenant) else {
        return wrap(&super::too_few(report, tenant), COLUMNS, 0);
    };
    let now = tenant.recent.miss_ratio().map_or_else(String::new, |ratio| {
        format!(" Now it holds {} and misses {}.", size(tenant.used), percent(ratio))
    });
    let mut text = match sizing.need(wanted) {
        Need::Never { .. } if report.is_young() => {
            let server = &report.server;
            let time = |unix_s| clock(unix_s, server.now_unix_s, server.utc_offset_s);
            let start = server.now_unix_s.saturating_sub(server.uptime_s);
            format!(
                "The memory for {} is not known yet: most keys are new to the cache, which started \
                 at {}. {} of the recent reads of {name} asked for keys never written before. Ask \
                 again at {}.",
                percent(wanted),
                time(start),
                percent(tenant.recent.missed_for(Cause::NeverSeen).unwrap_or_default()),
                time(report.young_until())
            )
        }
        Need::Never { .. } if tenant.first_reads_fall => format!(
            "The memory for {} is not known yet: {name} still reads new keys, but fewer and fewer. \
             They were {} of its recent reads. Ask again in some minutes.",
            percent(wanted),
            percent(tenant.recent.missed_for(Cause::NeverSeen).unwrap_or_default())
        ),
        Need::Never { floor }
            if tenant.recent.miss_ratio().is_some_and(|ratio| ratio <= wanted + REACHED) =>
        {
            format!(
                "{name} misses {} already, and no memory gives it less than {}.",
                percent(wanted),
                percent(floor)
            )
        }
        Need::Never { floor } => {
            format!(
                "{name} cannot reach {} with any memory, as far as the samples show: with all its \
                 keys, {}, it would miss {}, give or take {}.",
                percent(wanted),
                size(sizing.end()),
                percent(floor),
                points(sizing.at(sizing.end()).band)
            ) + &tenant.recent.missed_for(Cause::NeverSeen).map_or_else(String::new, |cold| {
                format!(" {} of its reads ask for keys never written before.", percent(cold))
            })
        }
        Need::Memory { bytes, least, most } => {
            let to = match most {
                Some(most) => format!("{} to {}", size(least), size(most)),
                None => format!("at least {}", size(least)),
            };
            let changes = if tenant.first_reads_fall {
                " It still reads fewer and fewer keys for the first time, so the figure will \
                 change."
            } else {
                ""
            };
            let (wanted, bytes) = (percent(wanted), size(bytes));
            format!("{name} would miss {wanted} with {bytes} ({to}).{changes}")
        }
    };
    text += &now;
    let mut lines = wrap(&text, COLUMNS, 0);
    if let Need::Memory { bytes, .. } = sizing.need(wanted) {
        let price = price(report, tenant, &sizing, (wanted, bytes));
        lines.extend(wrap(&price.says, COLUMNS, 0));
        lines.extend(price.commands.iter().map(|command| typed(command)));
    }
    let reads = tenant.curve.as_ref().map_or(0.0, |curve| curve.reads);
    let rests_on = format!(
        "This is based on {} sampled reads. All keys that clients of {name} requested take {}.",
        crate::words::count(reads as u64),
        size(sizing.end())
    );
    lines.extend(wrap(&rests_on, COLUMNS, 0));
    lines
}

/// A tenant without reads: its curve fades, and would say that its keys are few.
pub fn unread(report: &Report, tenant: &Tenant) -> String {
    let stretch = match tenant.silent_s {
        0 => lately(report, &report.recent),
        silent_s => format!("for {}", span(silent_s)),
    };
    format!(
        "{} has no reads {stretch}, so its curve fades and gives no answer. It holds {}. Ask while \
         clients read.",
        tenant.name,
        size(tenant.used)
    )
}

/// A floor of at least this many bytes, in MiB.
fn floor_mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20).max(1)
}

/// The way to so much memory, and its worth: the waiting that it saves and costs, and the commands
/// to type.
struct Price {
    says: String,
    commands: Vec<String>,
}

fn price(
    report: &Report,
    tenant: &Tenant,
    sizing: &Sizing<'_>,
    (wanted, bytes): (f64, u64),
) -> Price {
    let memory = report.server.divided;
    let floor = floor_mib(bytes);
    let bound = finding::bound(tenant, "min", &format!("{floor}mb"));
    let line = match bound {
        Some(_) => "A floor".to_owned(),
        None => format!("A floor, `min {floor}mb` in a line of the configuration for it,"),
    };
    let is_reached = tenant.recent.miss_ratio().is_some_and(|ratio| ratio <= wanted + REACHED);
    if is_reached && bytes > tenant.used {
        let says = "It misses that few already: no setting has to change.".to_owned();
        return Price { says, commands: vec![] };
    }
    if bytes <= tenant.used {
        let says = "It has that much already: no setting has to change.".to_owned();
        return Price { says, commands: vec![] };
    }
    let mut commands: Vec<_> = bound.into_iter().collect();
    let own = tenant.penalty_us.map(|_| saved(tenant, sizing, floor << 20));
    let gain = own.map_or_else(
        || "the cost of its misses has not been measured".to_owned(),
        |own| format!("its clients would wait {}", less(own)),
    );
    if bytes >= memory {
        // The others keep what they have, and tables and reserve their share.
        let all = (bytes + memory - tenant.used.min(memory)) as f64;
        let more =
            (all * report.server.maxmemory as f64 / memory.max(1) as f64 / f64::from(1 << 20))
                .ceil();
        commands.insert(0, format!("CONFIG SET maxmemory {more}mb"));
        let says = format!(
            "A maxmemory of {more} MiB (all tenants together have {} now) and a floor of \
             {floor} MiB give it that much: {gain}.",
            size(memory)
        );
        return Price { says, commands };
    }
    let claims = claim::floor(report, tenant, floor << 20);
    let costs = claims.iter().find(|claim| matches!(claim.what, ClaimedFigure::Others { .. }));
    let Some(costs) = costs else {
        let says = format!(
            "{line} gives it that much: {gain}; the cost for the other tenants is not known."
        );
        return Price { says, commands };
    };
    let others = Estimate { ratio: -costs.change(), band: costs.band() };
    let all = own.map_or_else(String::new, |own| {
        let ratio = own.ratio + others.ratio;
        format!(
            " All together would wait {}.",
            less(Estimate { ratio, band: own.band.hypot(others.band) })
        )
    });
    let says =
        format!("{line} gives it that much: {gain}, those of other tenants {}.{all}", less(others));
    Price { says, commands }
}

/// The waiting that so much memory saves the tenant's own clients, in milliseconds per second.
fn saved(tenant: &Tenant, sizing: &Sizing<'_>, bytes: u64) -> Estimate {
    let then = sizing.waits(bytes);
    Estimate { ratio: tenant.recent.wait_ms_per_s() - then.ratio, ..then }
}

/// So much less waiting, or more, in words; within the band, the most that it may be.
fn less(saved: Estimate) -> String {
    let Estimate { ratio, band } = saved;
    let words = |ms: f64| wait(1e3 * ms);
    match ratio {
        _ if ratio.abs() <= band && ratio < 0.0 => {
            format!("at most {} per second longer", words(band - ratio))
        }
        _ if ratio.abs() <= band => format!("at most {} per second less", words(band + ratio)),
        _ if ratio < 0.0 => {
            format!("{} per second longer, give or take {}", words(-ratio), words(band))
        }
        _ => format!("{} per second less, give or take {}", words(ratio), words(band)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::healthy;

    /// A tenant has 50 of 60 MiB and wants 80: the data then take 90 MiB, and `maxmemory` is 96.
    #[test]
    fn more_than_all_have_takes_two_settings() {
        let mut report = healthy();
        (report.server.divided, report.server.maxmemory) = (60 << 20, 64 << 20);
        report.tenants[0].used = 50 << 20;
        report.tenants[0].line = Some("web match prefix web:".to_owned());
        let tenant = &report.tenants[0];
        let price = price(&report, tenant, &Sizing::of(tenant).unwrap(), (0.0, 80 << 20));
        let typed =
            ["CONFIG SET maxmemory 96mb", "CONFIG SET tenant \"web match prefix web: min 80mb\""];
        assert_eq!(price.commands, typed);
    }

    /// A tenant that misses as few reads as wanted has no command, though its curve asks for more.
    #[test]
    fn what_is_reached_takes_no_setting() {
        let mut report = healthy();
        report.tenants[0].line = Some("web match prefix web:".to_owned());
        let tenant = &report.tenants[0];
        let misses = tenant.recent.miss_ratio().unwrap();
        let price = |wanted: f64| {
            let sizing = Sizing::of(tenant).unwrap();
            price(&report, tenant, &sizing, (wanted, tenant.used + (1 << 20)))
        };
        assert_eq!(price(misses - 0.004).commands, [""; 0]);
        assert!(price(misses - 0.004).says.contains("already"));
        assert_eq!(price(misses - 0.02).commands.len(), 1);
    }

    /// The command has its worth beside it, in waiting per second for those who gain and those who
    /// lose, and stands on a line of its own.
    #[test]
    fn the_command_has_its_worth() {
        let mut report = healthy();
        report.tenants[0].line = Some("web match prefix web:".to_owned());
        report.tenants[0].used = 40 << 20;
        report.tenants[0].recent.misses *= 5;
        report.tenants[0].recent.wait_ms *= 5.0;
        report.recent.wait_ms += report.tenants[0].recent.wait_ms * 0.8;
        let tenant = &report.tenants[0];
        let lines = memory(&report, tenant, 0.12);
        let says = lines.join(" ");
        assert!(says.contains("its clients would wait "), "{says}");
        assert!(says.contains(" per second less, give or take "), "{says}");
        assert!(says.contains("those of other tenants "), "{says}");
        assert!(says.contains("All together would wait "), "{says}");
        let typed = "    CONFIG SET tenant \"web match prefix web: min ";
        assert_eq!(says.matches("CONFIG SET").count(), 1, "{says}");
        assert!(lines.iter().any(|line| line.starts_with(typed)), "{lines:?}");
    }
}
