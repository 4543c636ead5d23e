//! The division of tenants' items into pools: the only place where the loop depends on it.

use crate::observe::ClassKind;
use crate::{Reading, SlabClass, TenantReading};
use base::penalty::{CLASSES, class_of};
use base::{Access, Bytes, Micros, TenantId};
use std::ops::RangeInclusive;

/// The division of tenants' items into pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pools {
    /// One pool for all tenants.
    Whole,
    /// A pool for each tenant.
    Tenant,
    /// A pool for each class of penalties, over all tenants.
    Class,
    /// A pool for each class of sizes of each tenant, if memory is divided in pages.
    Slab,
}

/// A pool that a recipe wants.
#[derive(Debug)]
pub(crate) struct WantedPool {
    pub(crate) name: String,
    pub(crate) tenants: Vec<TenantId>,
    pub(crate) class: Option<u8>,
    /// The sizes in samples that belong to its items, for a class of sizes.
    pub(crate) sizes: Option<RangeInclusive<u64>>,
}

impl Pools {
    /// The property that divides a tenant's items into classes.
    pub const fn class_kind(self) -> ClassKind {
        match self {
            Self::Whole | Self::Tenant => ClassKind::None,
            Self::Class => ClassKind::Penalties,
            Self::Slab => ClassKind::Sizes,
        }
    }

    /// Whether pools hold the items of one class only.
    pub fn has_classes(self) -> bool {
        self.class_kind() != ClassKind::None
    }

    /// Whether all tenants share a single pool.
    pub fn is_single(self) -> bool {
        self == Self::Whole
    }

    /// Whether each pool belongs to one tenant.
    pub const fn has_owners(self) -> bool {
        matches!(self, Self::Tenant | Self::Slab)
    }

    /// Whether memory is divided in pages.
    pub fn needs_pages(self) -> bool {
        self == Self::Slab
    }

    /// Whether pools that were never read lend their memory. A pool of a tenant does; a class of
    /// penalties does until the first decision.
    pub(crate) const fn may_lend(self, is_undecided: bool) -> bool {
        match self {
            Self::Tenant => true,
            Self::Class => is_undecided,
            Self::Whole | Self::Slab => false,
        }
    }

    /// The reason why a tenant has no curve of its own, where the division is the reason.
    pub fn why_no_curve(self) -> Option<&'static str> {
        self.needs_pages().then_some(
            "this recipe has a curve for each size class, not for each tenant: LARDER PLAN shows \
             the forecast of each class",
        )
    }

    /// Tenant and class of the pool of a request; zero where pools do not differ by it. `chunks`
    /// are the chunk sizes of a page, and `known` finds the class of a key whose penalty the
    /// request does not state.
    pub fn key_of(
        self,
        access: &Access,
        chunks: &[u32],
        known: impl FnOnce() -> Option<u8>,
    ) -> (TenantId, u8) {
        let class = match self {
            Self::Whole | Self::Tenant => 0,
            Self::Class if access.penalty == Micros(0) => known().unwrap_or(0),
            Self::Class => class_of(access.penalty),
            Self::Slab => {
                let least = chunks.partition_point(|&chunk| chunk < access.size.as_u32());
                least.min(chunks.len() - 1) as u8
            }
        };
        (if self.has_owners() { access.tenant } else { 0 }, class)
    }

    /// Name of a pool in reports. `tenant` is its owner's name, and `chunk` the size of its chunks,
    /// where it has them.
    pub fn label(self, tenant: &str, class: u8, chunk: Bytes) -> String {
        match self {
            Self::Whole => "all".to_owned(),
            Self::Tenant => tenant.to_owned(),
            Self::Class => class_name(class),
            Self::Slab => format!("{tenant} {chunk}"),
        }
    }

    /// The pools for the present tenants. A class that has a pool (`has_pool`) keeps it; the
    /// unknown class has one from the start.
    pub(crate) fn wanted(
        self,
        reading: &Reading,
        has_pool: impl Fn(u8) -> bool,
    ) -> Vec<WantedPool> {
        let everybody = || reading.tenants.iter().map(|tenant| tenant.id).collect::<Vec<_>>();
        match self {
            Self::Whole => {
                let name = self.label("", 0, Bytes(0));
                vec![WantedPool { name, tenants: everybody(), class: None, sizes: None }]
            }
            Self::Tenant => {
                let single = |tenant: &TenantReading| WantedPool {
                    name: self.label(&tenant.name, 0, Bytes(0)),
                    tenants: vec![tenant.id],
                    class: None,
                    sizes: None,
                };
                reading.tenants.iter().map(single).collect()
            }
            Self::Class => {
                let met = |class: &u8| {
                    *class == 0
                        || has_pool(*class)
                        || reading.tenants.iter().any(|tenant| {
                            let part = tenant.part(Some(*class));
                            part.gets > 0 || part.used > Bytes(0)
                        })
                };
                let pool = |class| WantedPool {
                    name: self.label("", class, Bytes(0)),
                    tenants: everybody(),
                    class: Some(class),
                    sizes: None,
                };
                (0..=CLASSES).filter(met).map(pool).collect()
            }
            Self::Slab => {
                let name = |tenant: TenantId| {
                    let found = reading.tenants.iter().find(|one| one.id == tenant);
                    found.map_or("", |one| &one.name)
                };
                let pool = |slab: &SlabClass| WantedPool {
                    name: self.label(name(slab.tenant), slab.class, slab.chunk),
                    tenants: vec![slab.tenant],
                    class: Some(slab.class),
                    sizes: Some(slab.sizes()),
                };
                reading.slabs.iter().map(pool).collect()
            }
        }
    }
}

/// The name of a penalty class in reports: the cost of its cheapest misses.
fn class_name(class: u8) -> String {
    match class {
        0 => "unmeasured".to_owned(),
        1 => "below 10 µs".to_owned(),
        class => format!("from {}", Micros(10 * ((1 << (class - 1)) - 1))),
    }
}
