//! Dumps the items of tenants in a valley of their load to disk, and loads them back before the
//! next peak.

use super::SimulatedStore;
use base::{Bytes, Micros};
use tune::Pilot;
use tune::periodic::{PeriodicLoad, Turn};

/// The tenants whose items are dumped and loaded.
#[derive(Debug)]
pub(super) struct Offload {
    tenants: Vec<PeriodicTenant>,
    /// Bytes loaded back per second.
    rate: f64,
    /// Time up to which loading has progressed; `None` while nothing is being loaded.
    loading: Option<Micros>,
    dumps: u64,
}

/// A tenant whose load may have a period.
#[derive(Debug)]
struct PeriodicTenant {
    load: PeriodicLoad,
    /// Reads counted so far.
    reads: u64,
    /// The division at the start of the valley.
    division: Vec<(String, Bytes)>,
}

impl Offload {
    /// Offloads tenants of a store of `limit` bytes. Reads are counted in buckets of this length,
    /// and items are loaded back within `lead`.
    pub(super) fn new(bucket: Micros, lead: Micros, tenants: usize, limit: Bytes) -> Self {
        let tenant = |_| PeriodicTenant {
            load: PeriodicLoad::new(bucket, lead),
            reads: 0,
            division: vec![],
        };
        Self {
            tenants: (0..tenants).map(tenant).collect(),
            rate: 2.0 * limit.as_f64() / (lead.as_f64() / 1e6),
            loading: None,
            dumps: 0,
        }
    }

    /// Number of times that a tenant's items were dumped.
    pub(super) const fn dumps(&self) -> u64 {
        self.dumps
    }

    /// Looks at the loads of the tenants, and dumps or loads what is due.
    pub(super) fn look(&mut self, now: Micros, plant: &mut impl SimulatedStore, pilot: &mut Pilot) {
        for (number, tenant) in (0..).zip(&mut self.tenants) {
            let gets = plant.counts(number).gets;
            let more = gets - std::mem::replace(&mut tenant.reads, gets);
            match tenant.load.see(now, more) {
                Some(Turn::Valley) => {
                    plant.dump(number);
                    tenant.division = pilot.division();
                    self.dumps += 1;
                }
                Some(Turn::Peak) => {
                    pilot.restore(&tenant.division, plant);
                    self.loading = Some(now);
                }
                None => {}
            }
        }
        if let Some(since) = self.loading {
            let bytes = Bytes((self.rate * now.saturating_sub(since).as_f64() / 1e6) as u64);
            self.loading = (bytes == Bytes(0) || plant.load(bytes)).then_some(now);
        }
    }
}
