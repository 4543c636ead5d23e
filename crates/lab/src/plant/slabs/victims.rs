//! Choice of a victim in a class: the oldest item, or of some drawn items the one that is worth
//! least; and of a page to give away.

use super::SlabPlant;
use super::plant::NONE;
use super::worth::home;
use base::Tick;
use base::list::NIL;
use policy::rank::lhd::hit_class;

/// Number of a donor's pages that are drawn, to give the one of least worth.
const PAGES_DRAWN: usize = 8;

impl SlabPlant {
    fn items_held(&self) -> usize {
        self.members.iter().map(|member| member.places.len()).sum()
    }

    /// Learns the densities anew, if it is time.
    pub(super) fn learn(&mut self) {
        let objects = self.items_held();
        let Some(worth) = &mut self.worth else { return };
        if !worth.learner.is_due(self.tick, worth.evictions, objects as u64) {
            return;
        }
        let (mut explorers, mut bytes) = (0.0, 0.0);
        let mut lasting = vec![];
        for &slot in self.members.iter().flat_map(|member| member.places.values()) {
            let item = &self.items[slot as usize];
            let (owner, size) = home(&self.slabs, &self.chunks, item.class as usize);
            let age = self.tick - item.last;
            bytes += f64::from(size);
            if worth.ranks.explores(age, Tick(self.tick)) {
                explorers += f64::from(size);
            }
            lasting.push((owner, item.hit_class, age as u32, 1.0));
        }
        worth.learner.take(&worth.lived);
        let share = explorers / f64::max(bytes, 1.0);
        worth.ranks = worth.learner.learn(self.tick, &lasting, objects, share);
    }

    /// Notes the use of an item: one lifetime ends, in a hit or unread, and the next begins.
    pub(super) fn lives_on(&mut self, slot: u32, hit: bool) {
        let objects = self.items_held();
        let Some(worth) = &mut self.worth else { return };
        let item = &mut self.items[slot as usize];
        let (owner, _) = home(&self.slabs, &self.chunks, item.class as usize);
        let age = (self.tick - item.last) as u32;
        worth.lived.count(owner, item.hit_class, age, hit);
        item.hit_class = hit_class(age, objects);
    }

    /// Ends the lifetime of an item that is removed.
    pub(super) fn ends(&mut self, slot: u32) {
        let Some(worth) = &mut self.worth else { return };
        let item = &self.items[slot as usize];
        let (owner, _) = home(&self.slabs, &self.chunks, item.class as usize);
        worth.lived.count(owner, item.hit_class, (self.tick - item.last) as u32, false);
    }

    /// The item of a class that is evicted next; `None` in an empty class.
    pub(super) fn victim(&mut self, class: usize) -> Option<u32> {
        if self.worth.is_none() {
            let oldest = self.classes[class].order.oldest();
            return (oldest != NIL).then_some(oldest);
        }
        let (slot, density) = self.least(class)?;
        self.classes[class].victims.add(density.into());
        if let Some(worth) = &mut self.worth {
            worth.evictions += 1;
        }
        Some(slot)
    }

    /// Notes the density of the item that a class would evict, where it evicted none lately.
    pub(super) fn pretend(&mut self) {
        if self.worth.is_none() {
            return;
        }
        for class in 0..self.classes.len() {
            let evicted = self.classes[class].evicted;
            if std::mem::replace(&mut self.classes[class].reported, evicted) == evicted
                && let Some((_, density)) = self.least(class)
            {
                self.classes[class].victims.add(density.into());
            }
        }
    }

    /// The item of least density among some drawn from a class.
    fn least(&mut self, class: usize) -> Option<(u32, f32)> {
        let (worth, pages) = (self.worth.as_ref()?, &self.classes[class].pages);
        let (owner, size) = home(&self.slabs, &self.chunks, class);
        let mut best: Option<(u32, f32)> = None;
        for _ in 0..if pages.is_empty() { 0 } else { worth.candidates } {
            let page = pages[self.prng.below(pages.len() as u64) as usize];
            let held = &self.pages[page as usize].items;
            if held.is_empty() {
                continue;
            }
            let slot = held[self.prng.below(held.len() as u64) as usize];
            let density = worth.density(&self.items[slot as usize], owner, size, self.tick);
            if best.is_none_or(|(_, least)| density < least) {
                best = Some((slot, density));
            }
        }
        best
    }

    /// The page that a class gives: that of its oldest item, or the one of least worth among some
    /// drawn.
    pub(super) fn page_to_give(&mut self, class: usize) -> u32 {
        let pages = &self.classes[class].pages;
        let Some(worth) = &self.worth else {
            return match self.classes[class].order.oldest() {
                NIL => pages[0],
                oldest => self.items[oldest as usize].page,
            };
        };
        let (owner, size) = home(&self.slabs, &self.chunks, class);
        let sum = |page: u32| -> f32 {
            let held = self.pages[page as usize].items.iter();
            let densities =
                held.map(|&at| worth.density(&self.items[at as usize], owner, size, self.tick));
            // Explorers are worth nothing yet.
            densities.filter(|density| density.is_finite()).sum()
        };
        let drawn = (0..PAGES_DRAWN).map(|_| pages[self.prng.below(pages.len() as u64) as usize]);
        let drawn: Vec<_> = drawn.map(|page| (page, sum(page))).collect();
        let least = drawn.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
        least.map_or(pages[0], |(page, _)| page)
    }

    /// Saves items of a page that is given away, where items are ranked. The class evicts its items
    /// of least worth until the rest fits its other pages. The items left on the page then move to
    /// these.
    pub(super) fn rescue(&mut self, class: usize, page: u32) {
        if self.worth.is_none() {
            return;
        }
        let others = self.per_page(class) * (self.classes[class].pages.len() - 1);
        while self.classes[class].order.len() > others {
            let Some((slot, _)) = self.least(class) else { return };
            self.remove(slot);
        }
        self.pages[page as usize].class = NONE;
        for slot in std::mem::take(&mut self.pages[page as usize].items) {
            let Some(to) = self.open_page(class) else { return };
            let held = &mut self.pages[to as usize].items;
            let item = &mut self.items[slot as usize];
            (item.page, item.at) = (to, held.len() as u32);
            held.push(slot);
        }
    }
}
