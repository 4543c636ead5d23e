//! Pools of the simulated store, and the pool of an item.

use super::item::Candidate;
use base::{Bytes, TenantId};
use tune::PoolStep;

/// A pool with its memory and its best candidates.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) step: PoolStep,
    pub(super) used: Bytes,
    /// Good candidates of earlier draws, the best last.
    pub(super) kept: Vec<Candidate>,
}

/// Index of the pool of a tenant's items of a class; the first where no pool names them.
pub(super) fn home(pools: &[Pool], tenant: TenantId, class: u8) -> usize {
    let is_home = |pool: &Pool| {
        pool.step.tenants.contains(&tenant) && pool.step.class.is_none_or(|wanted| wanted == class)
    };
    pools.iter().position(is_home).unwrap_or(0)
}
