//! The memory that a wanted miss ratio takes, in sentences.

use super::lines::{COLUMNS, lately};
use crate::claim::{self, ClaimedFigure};
use crate::finding;
use crate::sizing::{Need, Sizing};
use crate::words::{percent, size, wait, wrap};
use crate::{Report, Tenant};
use base::Cause;

/// The answer for a tenant and a wanted miss ratio, and the effect of compression on its memory.
pub fn memory(report: &Report, tenant: &Tenant, wanted: f64) -> Vec<String> {
    let mut lines = needed(report, tenant, wanted);
    lines.extend(super::compressed(report, tenant));
    lines
}

fn needed(report: &Report, tenant: &Tenant, wanted: f64) -> Vec<String> {
    let name = &tenant.name;
    let Some(sizing) = Sizing::of(tenant) else {
        let text = if report.is_steered() {
            format!("Too few reads of {name} were sampled: the answer needs some thousand.")
        } else {
            "Self-tuning is off, so there are no forecasts: CONFIG SET maxmemory-policy auto \
             recipe auto"
                .to_owned()
        };
        return wrap(&text, COLUMNS, 0);
    };
    if tenant.recent.reads == 0 {
        return wrap(&unread(report, tenant), COLUMNS, 0);
    }
    let now = tenant.recent.miss_ratio().map_or_else(String::new, |ratio| {
        format!(" Now it holds {} and misses {}.", size(tenant.used), percent(ratio))
    });
    let mut text = match sizing.need(wanted) {
        Need::Never { .. } if tenant.first_reads_fall => format!(
            "The memory for {} is not known yet: {name} still reads new keys, but fewer and fewer. \
             They were {} of its recent reads. Ask again in some minutes.",
            percent(wanted),
            percent(tenant.recent.missed_for(Cause::NeverSeen).unwrap_or_default())
        ),
        Need::Never { floor } => {
            format!(
                "{name} cannot reach {} with any memory, as far as the samples show: with all its \
                 keys, {}, it would miss {}.",
                percent(wanted),
                size(sizing.end()),
                percent(floor)
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
        lines.extend(wrap(&price(report, tenant, bytes), COLUMNS, 0));
        let floor = format!("{}mb", floor_mib(bytes));
        // A command stays whole, to be copied.
        lines.extend(finding::bound(tenant, "min", &floor).map(|text| format!("    {text}")));
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
pub(super) fn unread(report: &Report, tenant: &Tenant) -> String {
    format!(
        "{} has no reads {}, so its curve fades and gives no answer. Ask while clients read.",
        tenant.name,
        lately(report, &report.recent)
    )
}

/// A floor of at least this many bytes, in MiB.
fn floor_mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20).max(1)
}

/// The waiting that a floor of `bytes` costs the other tenants, and the setting to type.
fn price(report: &Report, tenant: &Tenant, bytes: u64) -> String {
    let memory = report.server.divided;
    let floor = floor_mib(bytes);
    if bytes <= tenant.used {
        return format!(
            "It has that much already; `min {floor}mb` in its tenant line reserves it."
        );
    }
    if bytes >= memory {
        // The others keep what they have, and tables and reserve their share.
        let all = (bytes + memory - tenant.used.min(memory)) as f64;
        let more =
            (all * report.server.maxmemory as f64 / memory.max(1) as f64 / f64::from(1 << 20))
                .ceil();
        return format!(
            "All tenants together have {}: CONFIG SET maxmemory {more}mb, and `min {floor}mb` in \
             its tenant line, give it that much.",
            size(memory)
        );
    }
    let claims = claim::floor(report, tenant, floor << 20);
    let costs = claims.iter().find(|claim| matches!(claim.what, ClaimedFigure::Others { .. }));
    let others = match costs {
        None => "the cost for the other tenants is not known".to_owned(),
        Some(costs) if !costs.is_sound() => format!(
            "the other tenants would wait at most {} per second longer",
            wait(1e3 * (costs.high - costs.now).max(0.0))
        ),
        Some(costs) => format!(
            "the other tenants would wait {} per second longer, give or take {}",
            wait(1e3 * costs.change()),
            wait(1e3 * costs.band())
        ),
    };
    format!("`min {floor}mb` in its tenant line gives it that much: {others}.")
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
        let says = price(&report, &report.tenants[0], 80 << 20);
        assert!(says.contains("CONFIG SET maxmemory 96mb, and `min 80mb`"), "{says}");
    }
}
