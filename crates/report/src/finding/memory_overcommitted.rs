//! More memory is promised or used than there is, or memory has no limit.

use super::{Finding, Severity, command};
use crate::Report;
use crate::words::size;

/// Memory that a process takes beside its cached data: code, threads, buffers.
const BESIDE: u64 = 64 << 20;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    let server = &report.server;
    if server.maxmemory == 0 {
        found.push(Finding {
            severity: Severity::Warning,
            says: "There is no memory limit: nothing is evicted until the machine runs out of \
                   memory."
                .to_owned(),
            evidence: format!(
                "{} of the machine's {} are in use.",
                size(server.used),
                size(server.machine)
            ),
            todo: "CONFIG SET maxmemory SIZE, such as 1gb.".to_owned(),
            ..Finding::default()
        });
        return;
    }
    let is_too_much = server.machine > 0 && server.maxmemory > server.machine / 10 * 9;
    if is_too_much {
        let most = format!("{}mb", (server.machine / 4 * 3) >> 20);
        let sets = vec![("maxmemory".to_owned(), most)];
        found.push(Finding {
            severity: Severity::Warning,
            says: format!(
                "maxmemory is {}, but the machine has {}.",
                size(server.maxmemory),
                size(server.machine)
            ),
            evidence: "Buffers, the operating system and other programs need memory too."
                .to_owned(),
            todo: command(&sets),
            sets,
            ..Finding::default()
        });
    }
    let allowed = server.maxmemory + server.maxmemory / 5 + BESIDE;
    if server.resident > allowed {
        found.push(Finding {
            severity: Severity::Warning,
            says: format!(
                "The process uses {}, but maxmemory is {}.",
                size(server.resident),
                size(server.maxmemory)
            ),
            evidence: "Buffers of clients that read slowly take most of the rest.".to_owned(),
            todo: "CLIENT LIST shows them (qbuf, omem); client-query-buffer-limit and \
                   client-output-buffer-limit cap each of them."
                .to_owned(),
            ..Finding::default()
        });
    }
    let floors: u64 = report.tenants.iter().map(|tenant| tenant.min).sum();
    if floors > server.divided {
        found.push(Finding {
            severity: Severity::Warning,
            says: format!(
                "The floors of the tenants add up to {}, but there are only {} to divide.",
                size(floors),
                size(server.divided)
            ),
            evidence: "The server cannot keep all of them.".to_owned(),
            todo: "Lower the `min` of some tenants, or raise maxmemory.".to_owned(),
            ..Finding::default()
        });
    }
}
