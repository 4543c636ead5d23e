//! Half the memory would serve the tenants as well.

use super::evidence::READS_MIN;
use super::{Finding, Severity, command};
use crate::Report;
use crate::claim;
use crate::words::{size, span, wait};

/// The largest share by which half the memory may lengthen the waiting.
const COST_MAX: f64 = 0.01;

/// The least uptime in seconds: before it, the cache may not have seen its usual load.
const UPTIME_MIN_S: u64 = 3_600;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    let server = &report.server;
    if server.divided == 0 || server.uptime_s < UPTIME_MIN_S {
        return;
    }
    let claims = claim::memory(report, server.divided / 2);
    let Some(half) = claims.first() else { return };
    let costs = half.high - half.now;
    if costs > COST_MAX * half.now || report.recent.reads < READS_MIN {
        return;
    }
    let sets = vec![("maxmemory".to_owned(), format!("{}mb", server.maxmemory >> 21))];
    found.push(Finding {
        severity: Severity::Advice,
        says: format!(
            "Half the memory, {}, is enough: all clients together would wait at most {} per second \
             longer.",
            size(server.maxmemory / 2),
            wait(1e3 * costs.max(0.0))
        ),
        evidence: format!(
            "This is based on the time since the server started, {} ago.",
            span(server.uptime_s)
        ),
        todo: command(&sets),
        sets,
        claims,
        ..Finding::default()
    });
}
