//! How the pilot sees pages, and how it moves them.
//!
//! Each size class of each tenant is a pool. A plan gives each pool a number of bytes, that is, of
//! pages. Every look compares the pages that the classes hold with the plan. The differences become
//! moves, and the store carries them out a page at a time. While there are unowned pages, a class
//! that needs a page takes one of them, and nothing moves.
//!
//! All tenants are one pool of the store. A class that needs a chunk evicts one of its own items.
//! Only a class without any chunk takes a page from the others, as in memcached.
//!
//! If the store balances ranks ([`Store::balance_pages`]), each shard moves its own pages, by the
//! worth of its own victims. The plan then keeps the current pages, and the pilot sees the result.
//!
//! An item too large for half a page has runs of its own. Runs are counted in pages, rounded up,
//! and plans treat them as a class with one item per page.

use base::{Bytes, Sample, TenantId};
use store::{Move, Now, SizeClass, SizeClassStats, Store};
use tune::{Part, PoolStep, Reading, SlabClass, TenantReading};

/// All pages count as taken if fewer are free than this share of the held pages.
const FREE: f64 = 1.0 / 64.0;

/// Changes of the memory in pages are reported only above this share of it.
const DRIFT: f64 = 1.0 / 32.0;

/// The pages that the plan gives to size classes.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// Pages by class.
    wanted: Vec<(SizeClass, f64)>,
    /// The policy in force.
    pub(crate) evictor: Option<tune::Evictor>,
    limit: Bytes,
}

/// One size class at a look: the form for the pilot, and its counts.
struct Seen {
    shown: SlabClass,
    part: Part,
}

fn seen(store: &Store, tenant: TenantId, class: usize, stats: &SizeClassStats) -> Seen {
    let page = store.page();
    let is_large = stats.chunk == Bytes(0);
    let worth = stats.victims.density;
    let pages = stats.bytes.0.div_ceil(page.0);
    let part = Part {
        class: class as u8,
        used: Bytes(pages * page.0),
        gets: stats.counts.gets,
        misses: stats.counts.misses,
        sets: stats.counts.sets,
        penalty: None,
    };
    let shown = SlabClass {
        tenant,
        class: class as u8,
        page,
        chunk: if is_large { page } else { Bytes(stats.page.0 / stats.slots.max(1)) },
        pages,
        free: if is_large { 0 } else { stats.free },
        evicted: stats.evicted,
        tail_hits: stats.counts.tail_hits,
        // An age has a negative rank, and each shard counts ages for itself.
        tail_age: (-worth).max(0.0) as u64 * store.shards() as u64,
        victims: if worth > 0.0 && !store.balances() {
            stats.victims
        } else {
            policy::rank::Victims::default()
        },
    };
    Seen { shown, part }
}

impl Pages {
    /// Takes the budgets of the pools from a step, as pages.
    pub(crate) fn want(&mut self, pools: &[PoolStep], page: Bytes) {
        let of = |pool: &PoolStep| {
            let (tenant, class) = (*pool.tenants.first()?, usize::from(pool.class?));
            Some((SizeClass { tenant, class }, pool.budget.as_f64() / page.as_f64()))
        };
        self.wanted = pools.iter().filter_map(of).collect();
    }

    /// Adds the pages to `reading`, which is complete otherwise, and makes the store move pages
    /// towards the plan.
    pub(crate) fn look(&mut self, store: &Store, reading: &mut Reading, now: Now) {
        for sample in &mut reading.samples {
            *sample = Sample { size: store.share_of(sample), ..*sample };
        }
        for tenant in &mut reading.tenants {
            show(store, tenant, &mut reading.slabs, now);
        }
        let page = store.page();
        let held: u64 = reading.slabs.iter().map(|class| class.pages).sum();
        let free = reading.limit.saturating_sub(store.used()).0 / page.0;
        let limit = Bytes((held + free) * page.0);
        if limit.0.abs_diff(self.limit.0) as f64 > DRIFT * limit.as_f64() {
            self.limit = limit;
        }
        let is_limited = reading.limit > Bytes(0);
        // Never less than the held pages, or their sum would exceed the limit.
        let shown = self.limit.max(Bytes(held * page.0));
        reading.limit = if is_limited { shown } else { Bytes(0) };
        // A store that balances its shards itself must not return to the pages that it held before.
        let is_full = is_limited && free as f64 <= FREE * held as f64 && !store.balances();
        store.move_pages(&if is_full { self.moves(&reading.slabs) } else { vec![] });
    }

    /// The moves from the pages that classes hold to the wanted ones.
    fn moves(&self, held: &[SlabClass]) -> Vec<Move> {
        let find = |of: SizeClass| {
            let is_it = |c: &&SlabClass| c.tenant == of.tenant && usize::from(c.class) == of.class;
            held.iter().find(is_it).map_or(0, |class| class.pages) as f64
        };
        let known: Vec<_> =
            self.wanted.iter().map(|&(of, wanted)| (of, wanted, find(of))).collect();
        let wanted: f64 = known.iter().map(|(_, wanted, _)| wanted).sum();
        let have: f64 = known.iter().map(|(.., have)| have).sum();
        // The memory may have changed a little since the plan was made.
        let scale = if wanted > 0.0 { have / wanted } else { 1.0 };
        let mut off: Vec<_> =
            known.into_iter().map(|(of, wanted, have)| (of, have - scale * wanted)).collect();
        off.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut moves = vec![];
        let (mut from, mut to) = (0, off.len().saturating_sub(1));
        while from < to {
            // Less than half a page is ignored, or a page would go back and forth.
            let whole = |pages: f64| (pages + 0.49).floor();
            let pages = whole(off[from].1).min(whole(-off[to].1));
            if pages < 1.0 {
                break;
            }
            moves.push(Move { from: off[from].0, to: off[to].0, pages: pages as u64 });
            off[from].1 -= pages;
            off[to].1 += pages;
            if whole(off[from].1) < 1.0 {
                from += 1;
            }
            if whole(-off[to].1) < 1.0 {
                to -= 1;
            }
        }
        moves
    }
}

/// Adds the classes of a tenant, and sets its used bytes to the sum of theirs.
fn show(store: &Store, tenant: &mut TenantReading, slabs: &mut Vec<SlabClass>, now: Now) {
    let classes = store.size_class_stats(tenant.id, now);
    let met = |class: &&Seen| class.shown.pages > 0 || class.part.gets + class.part.sets > 0;
    let all = classes.iter().enumerate().map(|(at, stats)| seen(store, tenant.id, at, stats));
    let all: Vec<_> = all.collect();
    tenant.used = all.iter().map(|class| class.part.used).sum();
    tenant.classes = all
        .iter()
        .filter(met)
        .map(|class| Part { penalty: tenant.penalty, ..class.part })
        .collect();
    slabs.extend(all.iter().filter(met).map(|class| class.shown));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(class: usize) -> SizeClass {
        SizeClass { tenant: 0, class }
    }

    fn held(pages: &[u64]) -> Vec<SlabClass> {
        let class = |(&pages, class)| SlabClass { class, pages, ..SlabClass::default() };
        pages.iter().zip(0..).map(class).collect()
    }

    fn moves(wanted: &[f64], had: &[u64]) -> Vec<(usize, usize, u64)> {
        let wanted = wanted.iter().enumerate().map(|(class, &pages)| (of(class), pages));
        let pages = Pages { wanted: wanted.collect(), ..Pages::default() };
        let moves = pages.moves(&held(had));
        moves.iter().map(|step| (step.from.class, step.to.class, step.pages)).collect()
    }

    /// Moves are of whole pages, from the largest surplus to the largest deficit. A difference of
    /// half a page does not move.
    #[test]
    fn moves_lead_to_what_is_wanted() {
        assert_eq!(moves(&[4.0, 4.0, 4.0], &[9, 2, 1]), [(0, 2, 3), (0, 1, 2)]);
        assert_eq!(moves(&[4.5, 4.5], &[4, 5]), []);
        assert_eq!(moves(&[4.0, 4.0], &[4, 4]), []);
        assert_eq!(moves(&[], &[4, 4]), []);
        // The plan was made for twice the memory.
        assert_eq!(moves(&[8.0, 8.0], &[6, 2]), [(0, 1, 2)]);
    }
}
