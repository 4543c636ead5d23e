//! A few large items hold much of the memory and answer few of the reads.

use super::evidence::busy;
use super::{Finding, Severity};
use crate::Report;
use crate::words::{percent, size};

/// The least share of the tenant's memory, and the largest share of its hits, that the large items
/// have.
const MEMORY_MIN: f64 = 0.5;
const HITS_MAX: f64 = 0.05;

/// With fewer hits, their shares are not known well enough.
const COUNTED_MIN: u64 = 1_000;

pub(super) fn find(report: &Report, found: &mut Vec<Finding>) {
    for tenant in busy(report) {
        let mut classes = tenant.sizes.clone();
        classes.sort_by_key(|class| std::cmp::Reverse(class.size));
        let (used, hits) =
            classes.iter().fold((0, 0), |sum, class| (sum.0 + class.used, sum.1 + class.hits));
        // The tenant must hold a tenth of the memory: in a small tenant there is little to gain.
        if hits < COUNTED_MIN || used < report.server.divided / 10 {
            continue;
        }
        let (mut held, mut hit, mut items) = (0, 0, 0);
        for (at, class) in classes.iter().enumerate() {
            held += class.used;
            hit += class.hits;
            items += class.items;
            let share = hit as f64 / hits as f64;
            if share > HITS_MAX || at + 1 == classes.len() {
                break;
            }
            if held as f64 >= MEMORY_MIN * used as f64 {
                found.push(finding(tenant, class.size, items, held as f64 / used as f64, share));
                break;
            }
        }
    }
}

fn finding(tenant: &crate::Tenant, least: u64, items: u64, memory: f64, hits: f64) -> Finding {
    let smaller = tenant.sizes.iter().map(|class| class.size).filter(|&size| size < least).max();
    let least = smaller.unwrap_or(least);
    Finding {
        severity: Severity::Advice,
        tenant: Some(tenant.name.clone()),
        says: format!(
            "{} items of more than {} hold {} of its memory and answer {} of its hits.",
            crate::words::count(items),
            size(least),
            percent(memory),
            percent(hits)
        ),
        evidence: format!("It has {} items in all.", crate::words::count(tenant.items)),
        todo: "Compress them, split them, or store them elsewhere.".to_owned(),
        ..Finding::default()
    }
}
