//! The learnt state of one moment: indices by class and by tag, and prices by penalty class.

use super::class::{OCTAVES, PARTS, class_of};
use super::fetches::PENALTIES;
use super::table::IndexTable;
use crate::rank::lhd::octaves;
use base::{TenantId, penalty};

/// Hit classes that fit into a tag.
pub(super) const KEPT: usize = 8;
/// Rows by tag: keys never hit by their size class, then the other hit classes.
pub(super) const ROWS: usize = PARTS + KEPT - 1;
/// The part that no item of a hit octave has, so that its row is the row of the whole octave.
const WHOLE: u8 = ((PARTS - 1) * OCTAVES) as u8;

/// The cost of a miss of one tenant.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The mean cost, in microseconds; 0 without a timed fetch.
    pub mean: f32,
    /// By class of the last fetch, in microseconds; 0 without a fetch of that class.
    pub by_class: [f32; PENALTIES],
    /// Weight of the tenant's waiting.
    pub factor: f32,
}

impl Default for Cost {
    /// The cost for a tenant without any timed fetch.
    fn default() -> Self {
        Self { mean: 0.0, by_class: [0.0; PENALTIES], factor: 1.0 }
    }
}

/// The learnt state of one moment: indices and prices.
#[derive(Debug)]
pub struct Indices {
    pub(super) table: IndexTable,
    /// Indices by tenant, row of a tag and bucket of ages.
    pub(super) by_tag: Box<[f32]>,
    /// The mean size of an item.
    pub(super) mean_size: f32,
    /// Prices by tenant and penalty class, in microseconds.
    prices: Box<[[f32; PENALTIES]]>,
}

impl Indices {
    /// Adds the classes of tags to a table. `objects` are the items of each tenant in a shard,
    /// `mean_size` is the mean size of an item, and `costs` are the costs of a miss by tenant.
    pub fn new(table: IndexTable, objects: &[usize], mean_size: f32, costs: &[Cost]) -> Self {
        let all: usize = objects.iter().sum();
        let mut by_tag = Vec::with_capacity(table.len() * ROWS * table.ages());
        for tenant in 0..table.len() {
            // Intervals between hits in a tag are relative to the items of its tenant.
            let own = objects.get(tenant).copied().unwrap_or(all);
            for row in 0..ROWS {
                let [one, other] = classes_of_row(row, own);
                let index = |class, age| table.at(tenant, class, age);
                let mean = |age| f32::midpoint(index(one, age), index(other, age));
                by_tag.extend((0..table.ages()).map(mean));
            }
        }
        Self { by_tag: by_tag.into(), prices: prices(costs), mean_size, table }
    }

    /// Copies the indices with other costs of a miss.
    #[must_use]
    pub fn with_costs(&self, costs: &[Cost]) -> Self {
        let (table, by_tag) = (self.table.clone(), self.by_tag.clone());
        Self { table, by_tag, prices: prices(costs), mean_size: self.mean_size }
    }

    /// The mean size of an item.
    pub const fn mean_size(&self) -> f32 {
        self.mean_size
    }

    /// Bytes that the indices and prices take.
    pub const fn bytes(&self) -> usize {
        self.table.bytes() + size_of_val(&*self.by_tag) + size_of_val(&*self.prices)
    }

    /// The prices of a tenant by penalty class.
    #[inline]
    pub(super) fn prices(&self, tenant: TenantId) -> &[f32; PENALTIES] {
        &self.prices[(tenant as usize).min(self.prices.len() - 1)]
    }
}

/// Prices by tenant and penalty class. A tenant without a timed fetch has the mean of the others.
fn prices(costs: &[Cost]) -> Box<[[f32; PENALTIES]]> {
    let timed = || costs.iter().map(|cost| cost.mean).filter(|mean| *mean > 0.0);
    let usual = timed().sum::<f32>().max(1.0) / timed().count().max(1) as f32;
    let known = |known: f32, otherwise: f32| if known > 0.0 { known } else { otherwise };
    let of = |cost: &Cost| {
        let of_class = |class: usize| match class {
            0 => known(cost.mean, usual),
            _ => known(cost.by_class[class], penalty::of_class(class as u8).as_f64() as f32),
        };
        std::array::from_fn(|class| cost.factor * of_class(class))
    };
    if costs.is_empty() { [of(&Cost::default())].into() } else { costs.iter().map(of).collect() }
}

/// The two classes that a row of tags stands for.
fn classes_of_row(row: usize, objects: usize) -> [u8; 2] {
    match row.checked_sub(PARTS - 1) {
        Some(class @ 1..) => {
            octaves(class as u8, objects).map(|octave| WHOLE + (1 + octave).min(31))
        }
        _ => [class_of(0, 0, row as u8); 2],
    }
}
