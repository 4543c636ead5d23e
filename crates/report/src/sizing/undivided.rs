//! One LRU cache for all tenants, for recipes that divide memory: what each tenant would hold, by
//! the curves.
//!
//! An LRU cache holds what was used since some moment, the same for all tenants. A tenant fills
//! with what it misses: while it holds `m` bytes, it brings in its reads × its miss ratio with `m`
//! bytes × the size of an item. So all tenants grow from nothing along their own curves, for the
//! same time, until together they fill the memory (Xiang et al., *HOTL*, ASPLOS 2013).

use super::{Division, SharedPool, Sizing};
use crate::{Report, Tenant};

/// Steps in which the memory is filled.
const STEPS: u32 = 2_000;

/// The division of one LRU cache, without floors and ceilings. `None` where tenants share a pool
/// anyway, or a tenant that is read has no curve.
pub fn undivided(report: &Report) -> Option<Division> {
    let memory = report.server.divided as f64;
    if SharedPool::of(report).is_some() || memory <= 0.0 {
        return None;
    }
    let is_read = |tenant: &Tenant| tenant.recent.reads > 0;
    let mut sizings = vec![];
    for tenant in &report.tenants {
        let sizing = Sizing::of(tenant);
        if is_read(tenant) && sizing.is_none() {
            return None;
        }
        sizings.push(sizing.filter(|_| is_read(tenant)));
    }
    if sizings.iter().flatten().count() < 2 {
        return None;
    }
    // A tenant cannot hold more than all that it reads.
    let mut held = vec![0.0; sizings.len()];
    let brought = |at: usize, held: f64| {
        let (tenant, sizing) = (&report.tenants[at], sizings[at].as_ref());
        let item = tenant.used as f64 / tenant.items.max(1) as f64;
        let misses = sizing.map_or(0.0, |sizing| {
            if held < sizing.end() as f64 { sizing.at(held as u64).ratio } else { 0.0 }
        });
        tenant.recent.reads_per_s() * misses * item
    };
    for _ in 0..STEPS {
        let rates: Vec<f64> =
            held.iter().enumerate().map(|(at, held)| brought(at, *held)).collect();
        let all: f64 = rates.iter().sum();
        if all <= 0.0 {
            break;
        }
        for (held, rate) in held.iter_mut().zip(rates) {
            *held += rate / all * memory / f64::from(STEPS);
        }
    }
    let shares: Vec<u64> = held.into_iter().map(|bytes| bytes as u64).collect();
    let ratios =
        sizings.iter().zip(&shares).map(|(sizing, &share)| Some(sizing.as_ref()?.at(share)));
    let ratios = ratios.collect();
    Some(Division::of(report, shares, ratios))
}

#[cfg(test)]
mod tests {
    use super::super::tests::tenant;
    use super::*;
    use crate::Server;

    fn report(tenants: Vec<Tenant>) -> Report {
        let divided = tenants.iter().map(|tenant| tenant.used).sum();
        Report { server: Server { divided, ..Server::default() }, tenants, ..Report::default() }
    }

    /// An LRU cache does not know what a miss costs: equal tenants get equal shares.
    #[test]
    fn costs_do_not_count() {
        let ratio = |used: u64| 1.0 - 0.9 * used as f64 / 1_000_000.0;
        let one = |name: &str, used: u64, us: f64| Tenant {
            items: used / 100,
            ..tenant(name, used, 1_000_000, us, ratio(used))
        };
        let report = report(vec![one("dear", 900_000, 10_000.0), one("cheap", 100_000, 10.0)]);
        let all = undivided(&report).unwrap();
        assert!(all.shares.iter().all(|share| share.abs_diff(500_000) < 5_000), "{:?}", all.shares);
        let now: f64 =
            report.tenants.iter().map(|one| Sizing::of(one).unwrap().waits(one.used).ratio).sum();
        assert!(all.wait_ms > 2.0 * now, "{} {now}", all.wait_ms);
    }

    /// A tenant that reads twice as much fills faster, and no tenant holds more than it reads.
    #[test]
    fn a_tenant_that_misses_more_holds_more() {
        let one =
            |name: &str, end: u64| Tenant { items: 1_000, ..tenant(name, 400_000, end, 1e3, 0.64) };
        let mut tenants = vec![one("busy", 1_000_000), one("calm", 1_000_000)];
        tenants[0].recent.reads *= 2;
        tenants[0].recent.misses *= 2;
        let shares = undivided(&report(tenants)).unwrap().shares;
        assert!(shares[0] > shares[1] + 100_000, "{shares:?}");
        assert!((780_000..=800_000).contains(&shares.iter().sum::<u64>()), "{shares:?}");
        let lone = report(vec![one("busy", 1_000_000)]);
        assert_eq!(undivided(&lone), None, "one tenant is undivided already");
    }
}
