//! An answer that must wait for more sampled reads, and the time at which to ask again.

use crate::sizing::READS_MIN;
use crate::words::{clock, count, percent, size, span};
use crate::{Report, Tenant};

/// Sentences in place of a forecast for a tenant whose sampled reads are too few.
pub fn too_few(report: &Report, tenant: &Tenant) -> String {
    let name = &tenant.name;
    let (known, end) = tenant.curve.as_ref().map_or((0.0, 0), |curve| (curve.reads, curve.end()));
    if known >= READS_MIN {
        return format!(
            "The sampled reads of {name} asked for keys of {} so far, and it holds {}: a forecast \
             needs more of its keys. Ask again when clients have read more of them.",
            size(end),
            size(tenant.used)
        );
    }
    let has = format!(
        "There is no forecast for {name} yet: {} of the {} sampled reads that it needs were seen \
         since the last change.",
        count(known as u64),
        count(READS_MIN as u64)
    );
    format!("{has} {}", ask_again(report, Some(tenant)))
}

/// When enough reads of a tenant, or of all, will have been sampled.
pub(super) fn ask_again(report: &Report, tenant: Option<&Tenant>) -> String {
    let server = &report.server;
    let recent = tenant.map_or(&report.recent, |tenant| &tenant.recent);
    let known = tenant.and_then(|tenant| tenant.curve.as_ref()).map_or(0.0, |curve| curve.reads);
    let rate = recent.reads_per_s() * server.sampled;
    if rate <= 0.0 {
        return "Ask again while clients read.".to_owned();
    }
    let seconds = ((READS_MIN - known).max(0.0) / rate).ceil().max(1.0) as u64;
    let at = clock(server.now_unix_s + seconds, server.now_unix_s, server.utc_offset_s);
    format!(
        "Larder samples {} of the keys, and clients read {} times per second: ask again in about \
         {}, at {at}.",
        percent(server.sampled),
        count(recent.reads_per_s().ceil() as u64),
        span(seconds)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::healthy;
    use crate::{page, say};

    /// A tenant with 100 of 400 sampled reads, read 10 times a second, of which a tenth is sampled.
    fn young() -> Report {
        let mut report = healthy();
        report.server.sampled = 0.1;
        let jobs = &mut report.tenants[1];
        jobs.curve.as_mut().unwrap().reads = 100.0;
        (jobs.recent.reads, jobs.recent.seconds) = (6_000, 600);
        report
    }

    /// The terminal and the pages say the same: how many reads there are, and when to ask again.
    #[test]
    fn the_time_to_ask_again_is_told() {
        let report = young();
        let jobs = &report.tenants[1];
        let says = too_few(&report, jobs);
        assert!(says.contains("100 of the 400 sampled reads"), "{says}");
        assert!(says.ends_with("ask again in about 5 minutes, at 14:52."), "{says}");
        assert_eq!(say::memory(&report, jobs, 0.1).join(" "), says);
        assert_eq!(say::curve(&report, jobs).join(" "), says);
        let (advice, history) = (page::Advice::default(), crate::History::default());
        let view = page::Choices::of("tenant=jobs");
        let shown =
            page::PageData { report: &report, advice: &advice, history: &history, view: &view };
        for path in ["/sizing", "/tenant"] {
            let html = page::middle(page::find(path).unwrap(), &shown).replace('\u{a0}', " ");
            assert!(html.contains(&says), "{html}");
        }
    }

    /// In a shared pool SIZE has a figure with its band, so MEMORY has one, too.
    #[test]
    fn memory_answers_where_size_does() {
        let mut report = young();
        for tenant in &mut report.tenants {
            let curve = tenant.curve.as_mut().unwrap();
            (curve.pool, curve.played) = (curve.sizes.clone(), curve.sizes.clone());
        }
        let size = say::size(&report, 300 << 20);
        let row = size.iter().find(|line| line.trim_start().starts_with("jobs")).unwrap();
        assert!(row.contains(" ± "), "{row}");
        let jobs = &report.tenants[1];
        let says = say::memory(&report, jobs, 0.1).join(" ");
        assert!(says.starts_with("jobs would miss 10 % with "), "{says}");
        assert!(says.contains("based on 100 sampled reads"), "{says}");
    }
}
