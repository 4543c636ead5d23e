//! Compressed values in sentences.

use super::lines::COLUMNS;
use crate::words::{count, percent, size, wait, wrap};
use crate::{Compressed, Report, Tenant, claim};

/// The effect of compression on a tenant, and its cost; nothing without compressed values.
pub fn compressed(report: &Report, tenant: &Tenant) -> Vec<String> {
    let Some(effect) = effect(&tenant.compressed) else { return vec![] };
    let plain = claim::plain(report, tenant).filter(claim::Claim::is_sound);
    let waiting = plain.map_or_else(String::new, |plain| {
        format!(
            " With plain values, all clients would wait {} per second longer, give or take {}.",
            wait(1e3 * plain.change()),
            wait(1e3 * plain.band())
        )
    });
    wrap(&(effect + &waiting), COLUMNS, 0)
}

/// The effect of compression on all tenants; `None` without compressed values.
pub fn all_compressed(report: &Report) -> Option<String> {
    effect(&Compressed::sum(report.tenants.iter().map(|tenant| &tenant.compressed)))
}

fn effect(of: &Compressed) -> Option<String> {
    (of.items > 0).then(|| {
        format!(
            "The values of {} items are compressed and take {} instead of {} ({}). That took {} \
             of processor time since the start.",
            count(of.items),
            size(of.stored),
            size(of.plain),
            percent(of.ratio()),
            wait(of.processor_us)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{healthy, tenant};

    #[test]
    fn the_effect_and_the_waiting_are_told_where_known() {
        let mut report = healthy();
        report.tenants[0] = tenant("web", 100 << 20, 220 << 20, 5e3);
        assert!(compressed(&report, &report.tenants[0]).is_empty());
        assert_eq!(all_compressed(&report), None);
        let values = Compressed {
            items: 12_000,
            plain: 90 << 20,
            stored: 30 << 20,
            processor_us: 2.5e6,
            sampled: None,
        };
        report.tenants[0].compressed = values;
        let told = compressed(&report, &report.tenants[0]).join(" ");
        for words in ["30.0 MiB instead of 90.0 MiB (33 %)", "2.5 s of processor", "give or take"] {
            assert!(told.contains(words), "{told}");
        }
        report.tenants[1].compressed = values;
        assert!(all_compressed(&report).unwrap().contains("60.0 MiB instead of 180 MiB"));
        report.tenants[0].curve = None;
        report.tenants[1].curve = None;
        let told = compressed(&report, &report.tenants[0]).join(" ");
        assert!(!told.contains("wait"), "{told}");
    }
}
