//! Divides memory as the recipe would divide it.

use super::{Bounds, Division, SharedPool, Sizing};
use crate::{Report, Tenant};

/// Points of the curves that hulls are drawn through, as many as charts draw.
const POINTS: u64 = 32;

/// Divides memory among the tenants so that they wait least, within their floors and ceilings.
/// Tenants without a known curve keep the memory they hold.
pub fn divide(report: &Report, memory: u64) -> Division {
    if let Some(pool) = SharedPool::of(report) {
        let bounds: Vec<_> = report.tenants.iter().map(Bounds::of).collect();
        return pool.divide(memory, &bounds);
    }
    let sizings: Vec<_> = report.tenants.iter().map(Sizing::of).collect();
    let floor = |(tenant, sizing): (&Tenant, &Option<Sizing<'_>>)| match sizing {
        None => tenant.used,
        Some(_) => tenant.min.min(tenant.used.max(tenant.min)),
    };
    let mut shares: Vec<u64> = report.tenants.iter().zip(&sizings).map(floor).collect();
    let mut left = memory.saturating_sub(shares.iter().sum());
    let hulls: Vec<_> = report
        .tenants
        .iter()
        .zip(&sizings)
        .zip(&shares)
        .map(|((tenant, sizing), &share)| {
            let most = tenant.max.unwrap_or(u64::MAX);
            sizing.map_or_else(Vec::new, |sizing| {
                hull(&sizing, tenant.weight, share, most.min(memory))
            })
        })
        .collect();
    // The steepest piece of all hulls gets memory first.
    let mut pieces: Vec<_> = hulls
        .iter()
        .enumerate()
        .flat_map(|(at, hull)| hull.windows(2).map(move |pair| (at, pair[0], pair[1])))
        .map(|(at, (from, high), (to, low))| (at, to - from, (high - low) / (to - from) as f64))
        .collect();
    pieces.sort_by(|a, b| b.2.total_cmp(&a.2));
    for (at, bytes, _) in pieces {
        let given = bytes.min(left);
        shares[at] += given;
        left -= given;
    }
    let ratio = |(sizing, share): (&Option<Sizing<'_>>, &u64)| Some(sizing.as_ref()?.at(*share));
    let ratios = sizings.iter().zip(&shares).map(ratio).collect();
    Division::of(report, shares, ratios)
}

/// The lower convex hull of weighted waiting against bytes, from `from` to `most` bytes.
fn hull(sizing: &Sizing<'_>, weight: f64, from: u64, most: u64) -> Vec<(u64, f64)> {
    let end = sizing.end().max(from).min(most);
    // A curve is straight between its points, except for the bend at the memory the tenant holds.
    let mut sizes = sizing.sizes(POINTS);
    sizes.extend([from, sizing.tenant.used, end]);
    sizes.retain(|size| (from..=end).contains(size));
    sizes.sort_unstable();
    sizes.dedup();
    let mut hull: Vec<(u64, f64)> = vec![];
    for size in sizes {
        let point = (size, weight * sizing.waits(size).ratio);
        let slope = |a: (u64, f64), b: (u64, f64)| (b.1 - a.1) / (b.0 - a.0) as f64;
        while let [.., a, b] = hull[..]
            && slope(a, b) >= slope(b, point)
        {
            hull.pop();
        }
        hull.push(point);
    }
    hull
}
