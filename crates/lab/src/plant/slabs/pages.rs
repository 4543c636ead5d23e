//! Pages of classes: which class takes a page, which gives one, and when an item is evicted
//! instead.

use super::SlabPlant;
use super::plant::{NONE, SlabPage};

impl SlabPlant {
    /// A page of the class with a free chunk.
    pub(super) fn open_page(&mut self, class: usize) -> Option<u32> {
        while let Some(&page) = self.classes[class].open.last() {
            let held = &self.pages[page as usize];
            if held.class == class as u32 && held.items.len() < self.per_page(class) {
                return Some(page);
            }
            self.classes[class].open.pop();
        }
        None
    }

    /// A page of the class with a free chunk. Without one, the class takes a page or evicts an
    /// item.
    pub(super) fn room(&mut self, class: usize) -> Option<u32> {
        loop {
            if let Some(page) = self.open_page(class) {
                return Some(page);
            }
            let owner = &self.members[self.owner(class)];
            let page = u64::from(self.slabs.page);
            let may_grow = owner.bounds.max.is_none_or(|max| (owner.pages + 1) * page <= max.0);
            if may_grow && self.pages_taken < self.pages_max() {
                self.take_new(class);
                continue;
            }
            if let Some(donor) = self.donor(class).filter(|_| may_grow) {
                self.take_from(donor, class);
                continue;
            }
            let victim = self.victim(class)?;
            self.classes[class].evicted += 1;
            self.remove(victim);
        }
    }

    /// The class that gives a page to this one: the class furthest above its budget, if this one is
    /// below its own. A class without any page gets one from the class with most.
    fn donor(&self, class: usize) -> Option<usize> {
        let own = &self.classes[class];
        let has = own.pages.len() as f64;
        let asker = self.owner(class);
        let page = u64::from(self.slabs.page);
        let may_give = |&at: &usize| {
            let owner = &self.members[self.owner(at)];
            let safe = self.owner(at) == asker || (owner.pages - 1) * page >= owner.bounds.min.0;
            at != class && safe
        };
        let givers = (0..self.classes.len()).filter(|&at| !self.classes[at].pages.is_empty());
        let givers = givers.filter(may_give);
        if own.pages.is_empty() {
            let most = givers.max_by_key(|&at| self.classes[at].pages.len());
            return most;
        }
        if own.wanted.is_none_or(|wanted| has + 0.5 > wanted) {
            return None;
        }
        let excess = |at: &usize| {
            let of = &self.classes[*at];
            of.pages.len() as f64 - of.wanted.unwrap_or(of.pages.len() as f64)
        };
        let above = givers.map(|at| (at, excess(&at))).filter(|(_, excess)| *excess >= 0.5);
        above.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(at, _)| at)
    }

    fn take_new(&mut self, class: usize) {
        self.pages_taken += 1;
        let page = self.free_pages.pop().unwrap_or_else(|| {
            self.pages.push(SlabPage { class: NONE, items: vec![] });
            (self.pages.len() - 1) as u32
        });
        self.give(page, class);
    }

    /// Moves a page from `donor` to `class`, and evicts the items that are still on it.
    fn take_from(&mut self, donor: usize, class: usize) {
        let page = self.empty_page(donor);
        self.moves += 1;
        self.give(page, class);
    }

    fn give(&mut self, page: u32, class: usize) {
        self.pages[page as usize].class = class as u32;
        self.classes[class].pages.push(page);
        self.classes[class].open.push(page);
        let owner = self.owner(class);
        self.members[owner].pages += 1;
    }

    /// Takes a page from a class that has one, and empties it.
    pub(super) fn empty_page(&mut self, donor: usize) -> u32 {
        let page = self.page_to_give(donor);
        self.rescue(donor, page);
        while let Some(&slot) = self.pages[page as usize].items.last() {
            self.remove(slot);
        }
        self.pages[page as usize].class = NONE;
        self.classes[donor].pages.retain(|&held| held != page);
        let owner = self.owner(donor);
        self.members[owner].pages -= 1;
        page
    }
}
