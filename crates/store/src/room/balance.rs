//! Moves of pages between classes, one at a time: by a plan, or, if ranks are balanced, by the
//! victims of each shard.
//!
//! A plan names the classes and the number of pages. The sweep carries it out, one page for each
//! shard that it visits: the page's items move to free chunks of their class or are evicted, and
//! the page is cut again. Between tenants a page moves only within the min of the one and the max
//! of the other. If tenants are separate pools, pages also move by themselves, when budgets change
//! and a tenant writes.
//!
//! Each shard balances ranks by itself, by the worth of its own victims
//! ([`policy::rank::balance`]). Their mean worth over all shards is true of none, and moving pages
//! by it does more harm than good. A page moves when a full class needs a chunk. It also moves when
//! the sweep visits, so that quiet classes take part.

use crate::Now;
use crate::contents::contents::Contents;
use crate::items::pages::pages::Pages;
use crate::items::sizes::size_class::{Move, SizeClass, SizeClassStats};
use crate::room::room::Room;
use crate::victims::budget::{Around, RoomRequest};
use base::{Bytes, TenantId};
use policy::rank::Lessons;
use policy::rank::balance::{BETTER_BY_AGE, BETTER_LEARNT, BETTER_WATCHED, Class, donor, receiver};

/// A shard moves a page at most once in this many requests, and at most once in this part of its
/// items. With pages moving a tenth as often, there were more misses than without any moves.
const BALANCE_EVERY: u64 = 64;
const BALANCE_PART: u64 = 64;
/// Most bytes of the pages moved at once, if the sweep visits rarely. Such a move takes far less
/// than a millisecond.
const BALANCE_MOST: u64 = 64 << 10;

/// A full class looks for a page of another class after this many evictions, or after this part of
/// the items of a page. The worth of victims is known only after some evictions.
const ASKS_EVERY: u64 = 8;
const ASKS_PART: u64 = 4;
/// Fake evictions of a class with too few known victims, at each look.
const FAKES: u64 = 8;
/// Most tenants whose classes are compared at once; of more, this many are drawn.
const TENANTS_MAX: usize = 16;

/// The need for room of a move, in the name of the receiving tenant.
pub(crate) const fn request_of(step: &Move, now: Now) -> RoomRequest {
    RoomRequest { tenant: Some(step.to.tenant), own: false, pinned: 0, now }
}

impl Pages {
    pub(crate) fn report(&mut self, class: usize, stats: &mut SizeClassStats) {
        let held = &self.held[class];
        let slots = u64::from(self.classes.slots(class)) * held.pages.len() as u64;
        stats.chunk = Bytes(self.classes.chunk(class));
        stats.page = Bytes(self.classes.page_of(class));
        stats.pages += held.pages.len() as u64;
        stats.bytes += Bytes(held.bytes);
        stats.items += held.items;
        stats.free += slots - held.items;
        stats.evicted += held.evicted;
        stats.slots = self.classes.slots(class).into();
        stats.counts += held.counts;
        let (all, here) = (&mut stats.victims, held.victims);
        all.count += here.count;
        if all.count > 0 {
            let weight = here.count as f64 / all.count as f64;
            all.density += weight * (here.density - all.density);
        }
        if held.reported != held.evicted {
            self.held[class].reported = held.evicted;
        }
    }
}

/// Bytes of the pages of a class, if there is such a class.
fn bytes_of(contents: &Contents, of: SizeClass) -> Option<u64> {
    let held = &contents.tenants.get(usize::from(of.tenant))?.pages.held;
    (of.class < held.len()).then(|| held[of.class].bytes)
}

impl Room {
    /// Whether there is a page to take, and the receiving class may have it.
    pub(crate) fn can_move(contents: &Contents, step: &Move) -> bool {
        let Move { from, to, .. } = *step;
        // The giving tenant keeps its min, and the receiving one stays within its max.
        let bounds_allow = |page: u64| {
            let [donor, receiver] = [from, to].map(|of| &contents.tenant(of.tenant).account);
            from.tenant == to.tenant
                || donor.loose() >= page && receiver.used() + page <= receiver.max()
        };
        let Some(receiver) = contents.tenants.get(usize::from(to.tenant)) else { return false };
        let page = receiver.pages.classes.page_of(to.class);
        from != to
            && bytes_of(contents, to).is_some()
            && bytes_of(contents, from).is_some_and(|bytes| bytes >= page)
            && bounds_allow(page)
    }

    /// The move of a page to the class at `to`, from the best of several classes with these
    /// statistics.
    fn donor_of(
        contents: &Contents,
        all: &[SizeClass],
        mut known: Vec<Class>,
        to: usize,
        better: f64,
    ) -> Option<Move> {
        let step = |from: usize| Move { from: all[from], to: all[to], pages: 1 };
        for (at, class) in known.iter_mut().enumerate() {
            class.may_give = Self::can_move(contents, &step(at));
        }
        donor(&known, to, better).map(step)
    }

    /// Moves as many pages as are due, from the class whose victims are worth least to the one
    /// whose victims are worth most. Returns whether any page moved.
    pub(crate) fn balance(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        now: Now,
    ) -> bool {
        // Checked before any tenant is looked at, because there may be thousands.
        if contents.clock.tick < self.balance_at {
            return false;
        }
        let items = contents.tenants.iter().map(|tenant| tenant.table.len() as u64).sum::<u64>();
        let every = BALANCE_EVERY.max(items / BALANCE_PART);
        let due = (contents.clock.tick - self.balanced) / every;
        self.balance_at = if due == 0 { self.balanced } else { contents.clock.tick } + every;
        if due == 0 {
            return false;
        }
        self.balanced = contents.clock.tick;
        let most = due.min((BALANCE_MOST / around.budget.page()).max(1));
        let mut moved = false;
        for pool in 0..self.pools.len() {
            moved |= self.balance_pool(contents, around, pool, most, now);
        }
        moved
    }

    /// Balances the tenants of a pool, with up to `most` pages.
    fn balance_pool(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        pool: usize,
        most: u64,
        now: Now,
    ) -> bool {
        let ((all, evict), better) = (self.look_at_victims(contents, pool, now), self.better(pool));
        let mut moved = false;
        for _ in 0..most {
            let looks = all.iter().zip(&evict);
            let known: Vec<_> =
                looks.map(|(&of, &evicts)| self.class_state(contents, of, evicts)).collect();
            let Some(to) = receiver(&known) else { break };
            let step = Self::donor_of(contents, &all, known, to, better);
            let Some(step) = step else { break };
            self.move_page(contents, around, &step, &request_of(&step, now));
            moved = true;
        }
        moved
    }

    /// The factor by which the victims of a pool's class must be worth more for it to get a page.
    fn better(&self, pool: usize) -> f64 {
        match self.pools.learns(pool) {
            Some(Lessons::Watched) => BETTER_WATCHED,
            _ if self.pools.are_worth(pool) => BETTER_LEARNT,
            _ => BETTER_BY_AGE,
        }
    }

    /// Moves a page to a full class from the one whose victims are worth least, if they are worth
    /// less than the full class's own. It looks for one only after enough new evictions since the
    /// last look. Returns whether a page moved.
    pub(crate) fn try_gain_page(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        to: SizeClass,
        want: &RoomRequest,
    ) -> bool {
        if !around.budget.balances() {
            return false;
        }
        let pages = &mut contents.tenant_mut(to.tenant).pages;
        let every = ASKS_EVERY.max(u64::from(pages.classes.slots(to.class)) / ASKS_PART);
        let Some(held) = pages.held.get_mut(to.class) else { return false };
        if held.evicted - held.asked < every {
            return false;
        }
        held.asked = held.evicted;
        let pool = self.pools.pool_of(to.tenant);
        let all = self.classes_of(contents, pool, Some(to.tenant));
        let Some(at) = all.iter().position(|&of| of == to) else { return false };
        let known: Vec<_> =
            all.iter().map(|&of| self.asked(contents, of, true, want.now)).collect();
        let step = Self::donor_of(contents, &all, known, at, self.better(pool));
        if let Some(step) = &step {
            self.move_page(contents, around, step, want);
        }
        step.is_some()
    }

    /// The classes with pages of a pool's tenants; with many tenants, of some of them and of `own`.
    fn classes_of(
        &mut self,
        contents: &mut Contents,
        pool: usize,
        own: Option<TenantId>,
    ) -> Vec<SizeClass> {
        let mut tenants: Vec<_> = self.pools.tenants_of(pool).collect();
        if tenants.len() > TENANTS_MAX {
            let first = contents.clock.prng.below(tenants.len() as u64) as usize;
            tenants.rotate_left(first);
            tenants.truncate(TENANTS_MAX);
            let own = own.filter(|own| !tenants.contains(own));
            tenants.extend(own);
        }
        let mut all = vec![];
        for at in tenants {
            let classes = contents.tenant(at).pages.with_pages();
            all.extend(classes.map(|class| SizeClass { tenant: at, class }));
        }
        all
    }

    /// The classes of a pool, and whether each has evicted since the last call. For a class without
    /// evictions a victim is chosen but not evicted. Large items never count as evicting, so that
    /// their class gets no page here: it takes its memory from the class whose memory is worth
    /// least.
    fn look_at_victims(
        &mut self,
        contents: &mut Contents,
        pool: usize,
        now: Now,
    ) -> (Vec<SizeClass>, Vec<bool>) {
        let all = self.classes_of(contents, pool, None);
        let mut evict = vec![];
        for &of in &all {
            let pages = &mut contents.tenant_mut(of.tenant).pages;
            let is_chunk = of.class < pages.classes.large();
            let held = &mut pages.held[of.class];
            let evicts = held.evicted > held.balanced;
            held.balanced = held.evicted;
            if !evicts && held.items > 0 {
                self.probe_victim(contents, of.tenant, of.class, now);
            }
            evict.push(evicts && is_chunk);
        }
        (all, evict)
    }

    /// The statistics of a class. If too few victims are known, more are chosen but not evicted.
    pub(super) fn asked(
        &mut self,
        contents: &mut Contents,
        of: SizeClass,
        evicts: bool,
        now: Now,
    ) -> Class {
        for _ in 0..FAKES {
            let known = self.class_state(contents, of, evicts);
            if known.is_known() || known.pages == 0 {
                return known;
            }
            self.probe_victim(contents, of.tenant, of.class, now);
        }
        self.class_state(contents, of, evicts)
    }

    pub(crate) fn class_state(&self, contents: &Contents, of: SizeClass, evicts: bool) -> Class {
        let pages = &contents.tenant(of.tenant).pages;
        let (held, slots) = (&pages.held[of.class], u64::from(pages.classes.slots(of.class)));
        let pages = held.pages.len() as u64;
        let free = (slots * pages - held.items) as f64 / slots as f64;
        let are_worth = self.pools.evictor(of.tenant).rank.is_worth();
        let victims = if are_worth { held.victims } else { held.victims.by_age() };
        Class { pages, free, evicts, victims, may_give: true }
    }

    pub(crate) fn move_page(
        &mut self,
        contents: &mut Contents,
        around: &Around<'_>,
        step: &Move,
        want: &RoomRequest,
    ) {
        let Move { from, to, .. } = *step;
        let receiver = &contents.tenant(to.tenant).pages;
        let (page, cost) = (receiver.classes.page_of(to.class), receiver.class_cost(to.class));
        let need = page + cost;
        let mut freed = self.shrink_by_a_page(contents, from, want);
        while freed.bytes() < need {
            let more = self.take_page(contents, from, want);
            if more.is_nothing() {
                break;
            }
            freed += more;
        }
        let tenant = contents.tenant_mut(to.tenant);
        // The class of large items keeps no spare pages: it takes free memory.
        let is_chunk = to.class < tenant.pages.classes.large();
        if is_chunk && freed.bytes() >= need && tenant.account.try_take(need) {
            if tenant.pages.add_page(to.class, page) {
                freed = freed.without(need);
            } else {
                tenant.account.give(need);
            }
        }
        around.budget.memory.take_back(freed);
    }
}
