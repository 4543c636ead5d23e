//! Identities that hold in every report: rows add up to totals, and waiting equals misses times
//! their mean cost.
//!
//! The server checks its reports by these identities where assertions are on, so every test that
//! requests a report checks it too. The lab checks each report that it makes.

use crate::{Recent, Report, TENANTS_MAX};

/// The relative rounding error that sums of single precision may have.
const ROUNDING: f64 = 1e-3;

impl Report {
    /// Checks that the figures of the report add up.
    ///
    /// # Errors
    /// A sentence that names the two figures that differ.
    pub fn check(&self) -> Result<(), String> {
        let differs = |a: f64, b: f64| (a - b).abs() > ROUNDING * a.abs().max(b.abs()) + 1e-6;
        for tenant in &self.tenants {
            let Recent { seconds, reads, misses, wait_ms, .. } = tenant.recent;
            let name = &tenant.name;
            if misses > reads {
                return Err(format!("{name} misses {misses} of {reads} reads"));
            }
            if reads > 0 && seconds != self.recent.seconds {
                let all = self.recent.seconds;
                return Err(format!("{name} covers {seconds} s, but the total covers {all} s"));
            }
            let us = tenant.penalty_us.unwrap_or_default();
            if wait_ms > 0.0 && differs(wait_ms, misses as f64 * us / 1e3) {
                return Err(format!(
                    "{name} waits {wait_ms} ms, but misses {misses} times at {us} µs"
                ));
            }
        }
        let rows = Recent::sum(self.tenants.iter().map(|tenant| &tenant.recent));
        let all = &self.recent;
        let is_sum = rows.reads == all.reads && rows.misses == all.misses;
        // With very many tenants, some have no row.
        if self.tenants.len() < TENANTS_MAX && (!is_sum || differs(rows.wait_ms, all.wait_ms)) {
            return Err(format!("the rows add up to {rows:?}, but the total is {all:?}"));
        }
        Ok(())
    }
}
