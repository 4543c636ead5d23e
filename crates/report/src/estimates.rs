//! The curves of the last minutes, whose differences say how far a curve can be trusted.
//!
//! The band of a curve comes from independent parts of one sample. The next sample may say
//! something else: another minute has other requests. So the band of a curve also holds the curves
//! of the minutes before it, as far as no change lies between them.

use crate::Tenant;
use std::collections::{BTreeMap, VecDeque};

/// Curves that are kept of each tenant, and tenants with curves, at most.
const CURVES_MAX: usize = 5;
const TENANTS_MAX: usize = 32;

/// The points of a curve: bytes and miss ratio.
type Points = Vec<(u64, f64)>;

/// The curves of each tenant, with their times, the newest last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Estimates(BTreeMap<String, VecDeque<(u64, Points)>>);

impl Estimates {
    /// Notes the curves of all tenants.
    pub(crate) fn note(&mut self, now_unix_s: u64, tenants: &[Tenant]) {
        for tenant in tenants.iter().take(TENANTS_MAX) {
            let Some(curve) = &tenant.curve else { continue };
            let points = curve.sizes.iter().copied().zip(curve.ratios.iter().copied()).collect();
            let known = self.0.entry(tenant.name.clone()).or_default();
            if known.len() == CURVES_MAX {
                known.pop_front();
            }
            known.push_back((now_unix_s, points));
        }
        self.0.retain(|name, _| tenants.iter().any(|tenant| tenant.name == *name));
    }

    /// Widens the band of a tenant's curve so that it holds its curves since a moment.
    pub(crate) fn widen(&self, tenant: &mut Tenant, from_unix_s: u64) {
        let Some(curve) = &mut tenant.curve else { return };
        let Some(known) = self.0.get(&tenant.name) else { return };
        let earlier: Vec<_> =
            known.iter().filter(|(at, _)| *at > from_unix_s).map(|(_, all)| all).collect();
        if earlier.is_empty() {
            return;
        }
        let bands = curve.sizes.iter().map(|&size| {
            let own = curve.at(size as f64)?;
            let then = earlier.iter().filter_map(|points| ratio(points, size));
            let edges = (own.ratio - own.band, own.ratio + own.band);
            Some(then.fold(edges, |(low, high), ratio| (low.min(ratio), high.max(ratio))))
        });
        if let Some(bands) = bands.collect::<Option<Vec<_>>>() {
            curve.low = bands.iter().map(|(low, _)| low.max(0.0)).collect();
            curve.high = bands.iter().map(|(_, high)| high.min(1.0)).collect();
        }
    }

    /// Memory of all curves, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let points = self.0.values().flatten().map(|(_, points)| points.capacity());
        points.sum::<usize>() * size_of::<(u64, f64)>()
    }
}

/// The miss ratio at a size; `None` beyond the last point.
fn ratio(points: &Points, size: u64) -> Option<f64> {
    let after = points.partition_point(|(known, _)| *known < size);
    let (right, low) = *points.get(after)?;
    let Some((left, high)) = after.checked_sub(1).map(|before| points[before]) else {
        return Some(low);
    };
    Some(high + (low - high) * (size - left) as f64 / (right - left).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use crate::History;
    use crate::finding::tests::healthy;
    use crate::sizing::{Need, Sizing};

    /// A minute ago the tenant seemed to need more memory. Its band has that in it until a change
    /// makes the earlier minute another matter.
    #[test]
    fn a_band_holds_what_was_said_before() {
        let need = |report: &crate::Report| {
            let Need::Memory { bytes, least, most } =
                Sizing::of(&report.tenants[0]).unwrap().need(0.2)
            else {
                panic!("it is never reached")
            };
            (bytes, least, most.unwrap_or(u64::MAX))
        };
        let (mut history, mut before) = (History::default(), healthy());
        let curve = before.tenants[0].curve.as_mut().unwrap();
        curve.sizes.iter_mut().for_each(|size| *size = *size / 4 * 5);
        let (earlier, ..) = need(&before);
        history.note_curves(before.server.now_unix_s, &before.tenants);
        let mut now = healthy();
        now.server.now_unix_s += 60;
        let (bytes, _, most) = need(&now);
        assert!(most < earlier, "{bytes} to {most}, and {earlier} before");
        let lately = history.lately(now.server.now_unix_s);
        history.widen(&mut now.tenants, lately);
        let (same, _, most) = need(&now);
        assert!(same == bytes && most >= earlier / 20 * 19, "{most}, and {earlier} before");
        // A change since then.
        let mut other = healthy();
        let from_unix_s = other.server.now_unix_s + 1;
        history.widen(&mut other.tenants, crate::Lately { from_unix_s, ..lately });
        assert_eq!(other, healthy());
    }
}
