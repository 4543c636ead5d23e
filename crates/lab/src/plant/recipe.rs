//! The simulated store that suits a recipe.

use super::{Bounds, SampledPlant, SimulatedStore, SlabPlant, Slabs};
use anyhow::{Result, ensure};
use base::Bytes;
use tune::Recipe;

/// An empty simulated store of `memory` for these tenants, numbered in their order: one of pages if
/// the recipe divides pages.
///
/// # Errors
/// The memory holds no page.
pub(crate) fn of(
    recipe: &Recipe,
    memory: Bytes,
    tenants: &[Bounds],
    seed: u64,
) -> Result<Box<dyn SimulatedStore>> {
    if !recipe.pools.needs_pages() {
        return Ok(Box::new(SampledPlant::new(memory, tenants, seed)));
    }
    let slabs = Slabs::within(memory);
    let page = Bytes(u64::from(slabs.page));
    ensure!(memory >= page, "{memory} is less than a page: give {recipe} at least {page}");
    let plant = SlabPlant::new(memory, slabs, tenants);
    Ok(Box::new(plant.evicting(recipe.evictors[0], seed)))
}
