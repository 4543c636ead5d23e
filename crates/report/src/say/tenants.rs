//! A table of all tenants.

use super::lines::{first, lately};
use crate::Report;
use crate::words::{count, percent, size, wait};

/// Memory, misses and waiting of each tenant, as lines of a table.
pub fn tenants(report: &Report) -> Vec<String> {
    let server = &report.server;
    let says = format!("{} of {} in use", size(server.used), size(server.divided));
    let mut text = first(report, &says);
    text.push(format!(
        "{:<16} {:>9} {:>6} {:>9} {:>9} {:>8} {:>9} {:>7}",
        "tenant", "holds", "share", "given", "reads/s", "misses", "waits/s", "penalty"
    ));
    text.extend(report.tenants.iter().map(|tenant| {
        let recent = &tenant.recent;
        let held = tenant.used as f64 / server.used.max(1) as f64;
        format!(
            "{:<16} {:>9} {:>6} {:>9} {:>9} {:>8} {:>9} {:>7}",
            tenant.name,
            size(tenant.used),
            format!("{:.0} %", 100.0 * held),
            tenant.budget.map_or("-".to_owned(), size),
            count(recent.reads_per_s() as u64),
            recent.miss_ratio().map_or("-".to_owned(), percent),
            wait(1e3 * recent.wait_ms_per_s()),
            tenant.penalty_us.map_or("-".to_owned(), wait)
        )
    }));
    text.push(format!("Reads, misses and waiting {}.", lately(report, &report.recent)));
    text.push(
        "given: by the plan, if tenants share no pool. waits/s: misses per second × penalty."
            .into(),
    );
    text
}
