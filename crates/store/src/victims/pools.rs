//! Pools: their budgets, and the order in which they lose items when memory is full.
//!
//! A pool exceeds its budget by its *overdraft*, a share of the budget. The pool with the largest
//! overdraft gives first. If none of its items may be evicted, the next pool with an overdraft
//! gives, then the pool of the write that needs the room. Then the others follow, the closest to
//! its budget first. So a pool within its budget never gives while another pool is above its own.
//!
//! Comparing pools reads the counters of all their tenants. A shard keeps the order. If there are
//! many counters, it sorts again only once in several evictions, so that the cost of an eviction
//! does not depend on their number.

use crate::Pool;
use crate::bytes::account::Account;
use crate::bytes::measured::SLOTS;
use crate::victims::budget::RoomRequest;
use base::{Prng, TenantId};
use policy::Evictor;
use policy::rank::{Learnt, Lessons};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// An order is valid for one eviction per this many of its counters.
const GOOD_FOR: usize = 16;
/// Pools at the head of an order that are checked for still being above their budgets.
const HEAD: usize = 8;

/// The pools with the accounts of their tenants. They are replaced as a whole.
#[derive(Debug)]
pub(crate) struct Pools {
    all: Vec<Members>,
    /// The pool of each tenant.
    of: Vec<usize>,
    /// Whether pools are penalty classes.
    by_class: bool,
    /// Number of counters from which an order is computed.
    counters: usize,
}

#[derive(Debug)]
struct Members {
    class: Option<u8>,
    budget: u64,
    evictor: Evictor,
    accounts: Vec<(TenantId, Arc<Account>)>,
}

impl Members {
    fn used_of(&self, account: &Account) -> u64 {
        self.class.map_or_else(|| account.used(), |class| account.class(class).load(Relaxed))
    }

    fn used(&self) -> u64 {
        self.accounts.iter().map(|(_, account)| self.used_of(account)).sum()
    }

    /// Bytes above the budget as a share of it; negative if below.
    fn overdraft(&self) -> f64 {
        (self.used() as f64 - self.budget as f64) / self.budget.max(1) as f64
    }

    /// Bytes above the budget.
    fn excess(&self) -> u64 {
        self.used().saturating_sub(self.budget)
    }
}

/// The order in which a shard's pools give, with their overdrafts, from a few evictions ago.
#[derive(Debug, Default)]
pub(crate) struct OverdraftOrder {
    sorted: Vec<(usize, f64)>,
    /// The bytes of all pools, as a share of all budgets.
    mean: f64,
    /// Number of evictions for which the order is still valid.
    good_for: usize,
}

impl OverdraftOrder {
    /// Drops the order, because the pools have changed.
    pub(crate) fn forget(&mut self) {
        self.sorted.clear();
    }
}

impl Pools {
    /// Assigns tenants to pools. Tenants that no pool names join the first one. Ranks that learn
    /// use `learnt`.
    pub(crate) fn new(pools: &[Pool], accounts: &[Arc<Account>], learnt: &Learnt) -> Self {
        let mut of = vec![0; accounts.len()];
        for (at, pool) in pools.iter().enumerate().rev() {
            for &tenant in &pool.tenants {
                if let Some(of) = of.get_mut(usize::from(tenant)) {
                    *of = at;
                }
            }
        }
        let by_class = pools.iter().any(|pool| pool.class.is_some());
        let mut members: Vec<_> = pools
            .iter()
            .map(|pool| Members {
                class: pool.class,
                budget: pool.budget.0,
                evictor: match pool.evictor.rank.renewed(learnt) {
                    Some(rank) => Evictor { rank, ..pool.evictor },
                    None => pool.evictor.clone(),
                },
                accounts: vec![],
            })
            .collect();
        let account = |tenant: usize| (tenant as TenantId, Arc::clone(&accounts[tenant]));
        for (tenant, &home) in of.iter().enumerate() {
            if let Some(members) = members.get_mut(home) {
                members.accounts.push(account(tenant));
            }
        }
        if by_class {
            for (at, pool) in pools.iter().enumerate() {
                let others = pool.tenants.iter().map(|&tenant| usize::from(tenant));
                let others = others.filter(|&tenant| of.get(tenant).is_some_and(|&of| of != at));
                members[at].accounts.extend(others.map(account));
            }
        }
        let counters = members.iter().map(|pool| pool.accounts.len()).sum();
        Self { all: members, of, by_class, counters }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The policy that chooses the victims among a tenant's items.
    pub(crate) fn evictor(&self, tenant: TenantId) -> &Evictor {
        &self.all[self.of[usize::from(tenant)]].evictor
    }

    /// The tenants of a pool, among which its pages are balanced; none if the pool evicts nothing.
    pub(crate) fn tenants_of(&self, pool: usize) -> impl Iterator<Item = TenantId> {
        let members = &self.all[pool];
        let evicts = members.evictor.k > 0;
        members.accounts.iter().filter(move |_| evicts).map(|(tenant, _)| *tenant)
    }

    /// The tenants of a pool, starting at a random one; none if the pool evicts nothing.
    pub(crate) fn drawn_from(
        &self,
        pool: usize,
        prng: &mut Prng,
    ) -> impl Iterator<Item = TenantId> + use<'_> {
        let members = &self.all[pool];
        let accounts = if members.evictor.k > 0 { &members.accounts[..] } else { &[] };
        let first = prng.below(accounts.len().max(1) as u64) as usize;
        accounts[first..].iter().chain(&accounts[..first]).map(|(tenant, _)| *tenant)
    }

    /// The lessons from which a pool's rank learns, if it learns.
    pub(crate) fn learns(&self, pool: usize) -> Option<Lessons> {
        self.all[pool].evictor.rank.learns()
    }

    /// Whether the ranks of a pool are a worth per byte.
    pub(crate) fn are_worth(&self, pool: usize) -> bool {
        self.all[pool].evictor.rank.is_worth()
    }

    /// Whether the worth of a tenant's victims has the same unit under these pools as under
    /// `other`.
    pub(crate) fn ranks_like(&self, other: &Self, tenant: TenantId) -> bool {
        let measure = |pools: &Self| {
            let pool = *pools.of.get(usize::from(tenant))?;
            let rank = &pools.all[pool].evictor.rank;
            Some((rank.is_worth(), rank.learns(), rank.is_priced()))
        };
        measure(self) == measure(other)
    }

    /// The pool of a tenant.
    pub(crate) fn pool_of(&self, tenant: TenantId) -> usize {
        self.of[usize::from(tenant)]
    }

    /// Whether pools are penalty classes.
    pub(crate) const fn are_classes(&self) -> bool {
        self.by_class
    }

    /// Whether any pool evicts at all.
    pub(crate) fn evict(&self) -> bool {
        self.all.iter().any(|pool| pool.evictor.k > 0)
    }

    /// Whether another pool than the tenant's is above its budget by at least `bytes`.
    pub(crate) fn owes(&self, order: &mut OverdraftOrder, tenant: TenantId, bytes: u64) -> bool {
        if self.by_class || self.all.len() == 1 {
            return false;
        }
        let own = self.of[usize::from(tenant)];
        let worst = self.debtor(order);
        worst != own && self.all[worst].excess() >= bytes
    }

    /// The pools in their order, sorted again if the order is no longer valid.
    fn sorted<'a>(&self, order: &'a mut OverdraftOrder) -> &'a [(usize, f64)] {
        if order.good_for == 0 || order.sorted.is_empty() {
            order.sorted.clear();
            order.sorted.extend(self.all.iter().map(Members::overdraft).enumerate());
            order.sorted.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
            order.good_for = self.counters / GOOD_FOR + 1;
            if self.by_class {
                let sum = |of: fn(&Members) -> u64| self.all.iter().map(of).sum::<u64>() as f64;
                order.mean = sum(Members::used).max(1.0) / sum(|pool| pool.budget).max(1.0);
            }
        }
        order.good_for -= 1;
        &order.sorted
    }

    /// The pool with the largest overdraft, or the one closest to its budget.
    fn debtor(&self, order: &mut OverdraftOrder) -> usize {
        // A pool that has given enough since then is skipped.
        let head = self.sorted(order).iter().take(HEAD).map(|&(at, _)| at);
        let mut first = 0;
        for (nth, at) in head.enumerate() {
            if self.all[at].excess() > 0 {
                return at;
            }
            if nth == 0 {
                first = at;
            }
        }
        first
    }

    /// The penalty classes in the order in which they lose items. Each has its bytes divided by its
    /// budget, relative to all of them.
    pub(crate) fn classes(&self, order: &mut OverdraftOrder) -> SmallVec<[(u8, f64); SLOTS]> {
        let of = |&(at, overdraft): &(usize, f64)| Some((self.all[at].class?, 1.0 + overdraft));
        let mut all: SmallVec<_> = self.sorted(order).iter().filter_map(of).collect();
        all.iter_mut().for_each(|(_, share): &mut (u8, f64)| *share /= order.mean);
        all
    }

    /// The pool that gives first.
    pub(crate) fn first(&self, order: &mut OverdraftOrder, want: &RoomRequest) -> usize {
        if self.all.len() == 1 || self.by_class {
            return 0;
        }
        match want.tenant.map(|tenant| self.of[usize::from(tenant)]) {
            Some(own) if want.own => own,
            Some(own) => match self.debtor(order) {
                debtor if self.all[debtor].excess() > 0 => debtor,
                _ => own,
            },
            None => self.debtor(order),
        }
    }

    /// All pools in the order in which they give, for when no item of the first may be evicted.
    #[cold]
    pub(crate) fn all_in_order(&self, want: &RoomRequest) -> Vec<usize> {
        let own = want.tenant.map(|tenant| self.of[usize::from(tenant)]);
        if want.own || self.by_class {
            return vec![own.unwrap_or(0)];
        }
        let place = |(at, pool): (usize, &Members)| {
            let overdraft = pool.overdraft();
            (if own == Some(at) { overdraft.max(0.0) } else { overdraft }, at)
        };
        let mut all: Vec<_> = self.all.iter().enumerate().map(place).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all.into_iter().map(|(_, at)| at).collect()
    }
}
