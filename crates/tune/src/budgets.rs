//! Budgets before any plan: the bytes that each pool holds, within the bounds.

use crate::{Reading, TenantReading};
use base::{Bytes, TenantId};

/// The readings of these tenants. The plant lists tenants in the order of their numbers, so that
/// one of thousands is found at once.
pub(crate) fn members<'a>(
    reading: &'a Reading,
    tenants: &'a [TenantId],
) -> impl Iterator<Item = &'a TenantReading> + Clone {
    let find = |id: &TenantId| reading.tenants.binary_search_by_key(id, |tenant| tenant.id).ok();
    tenants.iter().filter_map(find).map(|at| &reading.tenants[at])
}

/// The bytes that a pool holds and a part of the free memory. The part is by the weight of the
/// pool's tenants or, for a class, by the bytes it holds. So at the start each pool keeps what it
/// gained in competition.
pub(crate) fn natural(reading: &Reading, tenants: &[TenantId], class: Option<u8>) -> Bytes {
    let used: Bytes = members(reading, tenants).map(|tenant| tenant.part(class).used).sum();
    let all_used: Bytes = reading.tenants.iter().map(|tenant| tenant.used).sum();
    let free = reading.limit.saturating_sub(all_used).as_f64();
    let weights =
        |all: &mut dyn Iterator<Item = &TenantReading>| all.map(|t| t.weight).sum::<f64>();
    let (part, all) = if class.is_some() {
        (used.as_f64(), all_used.as_f64())
    } else {
        (weights(&mut members(reading, tenants)), weights(&mut reading.tenants.iter()))
    };
    used + Bytes((free * part / f64::max(all, f64::MIN_POSITIVE)) as u64)
}

/// Budgets in proportion to `had`, within the bounds. They sum to the limit if they can, and never
/// to more. Floors that do not fit are cut in proportion.
pub(crate) fn fit(had: &[Bytes], bounds: &[(Bytes, Option<Bytes>)], limit: Bytes) -> Vec<Bytes> {
    let floors: Bytes = bounds.iter().map(|(floor, _)| *floor).sum();
    if floors >= limit {
        let scale = limit.as_f64() / floors.as_f64().max(1.0);
        return bounds.iter().map(|(low, _)| Bytes((low.as_f64() * scale) as u64)).collect();
    }
    let scaled = |scale: f64| -> Vec<Bytes> {
        let all = had.iter().zip(bounds);
        all.map(|(had, (floor, cap))| {
            let wanted = Bytes((had.as_f64().max(1.0) * scale) as u64);
            cap.map_or(wanted, |cap| wanted.min(cap)).max(*floor)
        })
        .collect()
    };
    let sum =
        |scale: f64| scaled(scale).into_iter().map(|budget| u128::from(budget.0)).sum::<u128>();
    let (mut low, mut high) = (0.0, limit.as_f64());
    for _ in 0..128 {
        let middle = f64::midpoint(low, high);
        if sum(middle) <= u128::from(limit.0) { low = middle } else { high = middle }
    }
    scaled(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// For all holdings and bounds, budgets never exceed the limit, and floors that fit are
        /// met.
        #[test]
        fn budgets_fit(
            pools in proptest::collection::vec((0u64..1 << 30, 0u64..1 << 20, any::<bool>()), 1..9),
            limit in 1u64..1 << 32,
        ) {
            let had: Vec<_> = pools.iter().map(|pool| Bytes(pool.0)).collect();
            let bounds: Vec<_> = pools
                .iter()
                .map(|&(_, floor, capped)| (Bytes(floor), capped.then_some(Bytes(2 * floor))))
                .collect();
            let budgets = fit(&had, &bounds, Bytes(limit));
            let sum: Bytes = budgets.iter().copied().sum();
            prop_assert!(sum <= Bytes(limit));
            let floors: Bytes = bounds.iter().map(|(floor, _)| *floor).sum();
            if floors <= Bytes(limit) {
                for (budget, (floor, cap)) in budgets.iter().zip(&bounds) {
                    prop_assert!(budget >= floor);
                    prop_assert!(cap.is_none_or(|cap| *budget <= cap));
                }
            }
            if bounds.iter().all(|(_, cap)| cap.is_none()) && floors < Bytes(limit) {
                let lost = pools.len() as u64 + limit / 1_000;
                prop_assert!(sum.0 + lost >= limit, "{sum} of {limit}");
            }
        }
    }
}
