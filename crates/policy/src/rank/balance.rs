//! Rank balance: moves memory to the class whose victims have the highest worth [1].
//!
//! One cache ranked by hit density evicts the item of least worth. Where memory is divided in
//! classes, each class evicts its own least item. Only the right division makes these worths equal:
//! the worth of a class's victims is the saving of one more page. So a page moves from the class
//! whose victims have the lowest worth to the class whose victims have the highest.
//!
//! Worth is hit density per byte. (The paper says that slabs move "from the highest average victim
//! rank to the lowest": its rank there grows with badness, as an age does.) A class that evicts
//! seldom names the victim that it would evict: a *fake* eviction counts like a true one.
//!
//! A rank that learns nothing gives no densities. Under it, a victim's worth is the higher, the
//! younger it is: a single list of all items would evict the oldest of all. The page mover of
//! memcached does the same [2].
//!
//! A cache of several parts, each with its own pages and victims, is balanced part by part. The
//! mean over the parts describes none of them, and often moves a page from the wrong one.
//!
//! [1] Beckmann, Chen, Cidon. LHD: Improving Cache Hit Rate by Maximizing Hit Density. NSDI '18,
//!     section 5.
//! [2] memcached, `slab_automove` and `slab_automove_ratio`, which is 0.8.

use super::Victims;

/// With fewer victims the worth of a class is unknown.
const VICTIMS_MIN: u64 = 32;

/// Pages that a donor keeps.
const PAGES_MIN: u64 = 1;

/// Free chunks, in pages, from which on a class receives no page.
const FREE_MAX: f64 = 0.5;

/// The ratio by which the receiver's victims must exceed the donor's in worth, where worth is
/// learnt from residents. A low ratio makes victims equal everywhere, and a trace of small items
/// then misses more than without balance. The expectation for an item is learnt from items of all
/// sizes, which probably understates the items of a class with few pages. Chosen on traces of
/// `docs/results/ranks.md`.
pub const BETTER_LEARNT: f64 = 3.5;
/// The ratio for worth learnt from watched keys, resident or not. With a higher ratio, two tenants
/// whose victims differ threefold would keep their first division: for items of 400 and 1 000 bytes
/// that cost a tenth of all misses.
pub const BETTER_WATCHED: f64 = 1.5;
/// The ratio for worth by age, which needs no learning: memcached's value.
pub const BETTER_BY_AGE: f64 = 1.25;

/// Pages, free chunks and victims of one class.
#[derive(Clone, Copy, Debug, Default)]
pub struct Class {
    /// Pages that it holds.
    pub pages: u64,
    /// Pages that its free chunks would fill, among the pages held.
    pub free: f64,
    /// Whether the class lately evicted an item for want of a chunk.
    pub evicts: bool,
    /// Its evicted items, with those of fake evictions.
    pub victims: Victims,
    /// Whether the receiver may take a page from it.
    pub may_give: bool,
}

impl Class {
    /// Whether the class has enough victims to judge their worth.
    pub const fn is_known(&self) -> bool {
        self.victims.count >= VICTIMS_MIN
    }

    /// The saving of one more page, per byte: nothing where chunks are free. A class spread over
    /// shards can evict in one shard and have a new page in another: that page must fill first.
    fn gain(&self) -> f64 {
        if self.evicts && self.free < FREE_MAX { self.victims.density } else { 0.0 }
    }

    /// The cost of one page less, per byte. Items of that page move to free chunks as far as there
    /// are any. The first free page does not count, or a class would lose a new page before it is
    /// filled.
    pub fn loss(&self) -> f64 {
        let left = self.pages as f64 - self.free;
        if left <= 0.0 {
            return 0.0;
        }
        self.victims.density * (2.0 - self.free).clamp(0.0, 1.0)
    }
}

/// The classes from which and to which one page should move, if any. The worth of the receiver's
/// victims must be more than `better` times that of the donor's.
pub fn balance(classes: &[Class], better: f64) -> Option<(usize, usize)> {
    let to = receiver(classes)?;
    Some((donor(classes, to, better)?, to))
}

/// The class for which one more page saves most.
pub fn receiver(classes: &[Class]) -> Option<usize> {
    let known = classes.iter().enumerate().filter(|(_, class)| class.is_known());
    known.max_by(|(_, a), (_, b)| a.gain().total_cmp(&b.gain())).map(|(to, _)| to)
}

/// The class from which a page should move to class `to`, if any.
pub fn donor(classes: &[Class], to: usize, better: f64) -> Option<usize> {
    let may_give = |at, class: &Class| {
        class.may_give && class.is_known() && class.pages > PAGES_MIN && at != to
    };
    let donors = classes.iter().enumerate().filter(|&(at, class)| may_give(at, class));
    let (from, least) = donors.min_by(|(_, a), (_, b)| a.loss().total_cmp(&b.loss()))?;
    (classes[to].is_known() && classes[to].gain() > better * least.loss()).then_some(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(density: f64) -> Victims {
        Victims { count: 100, density }
    }

    fn balance(classes: &[Class]) -> Option<(usize, usize)> {
        super::balance(classes, BETTER_LEARNT)
    }

    /// Between two classes with victims of these ages, the one with the older victims gives, unless
    /// the ages are nearly equal.
    #[test]
    fn by_age_the_older_give() {
        let of_age = |age: f64| Class { victims: of(-age).by_age(), ..class(5, 0.0) };
        let moves = |one, other| super::balance(&[of_age(one), of_age(other)], BETTER_BY_AGE);
        assert_eq!(moves(1_000.0, 9_000.0), Some((1, 0)));
        assert_eq!(moves(1_300.0, 1_000.0), Some((0, 1)));
        assert_eq!(moves(1_200.0, 1_000.0), None);
        assert_eq!(moves(0.0, 1_000.0), Some((1, 0)));
    }

    fn class(pages: u64, density: f64) -> Class {
        Class { pages, free: 0.0, evicts: true, victims: of(density), may_give: true }
    }

    /// Density decides, not age or badness: the class of the worst victims gives.
    #[test]
    fn a_page_goes_where_victims_are_worth_most() {
        assert_eq!(balance(&[class(5, 2.0), class(5, 1.0), class(5, 4.0)]), Some((1, 2)));
    }

    #[test]
    fn who_gives_nothing() {
        // Nearly equal: a page would only move back and forth.
        assert_eq!(balance(&[class(5, 1.0), class(5, 3.4)]), None);
        // The last page stays, and so do pages of classes with too few victims.
        assert_eq!(balance(&[class(1, 1.0), class(5, 4.0)]), None);
        assert_eq!(balance(&[class(1, 1.0), class(5, 2.0), class(5, 8.0)]), Some((1, 2)));
        let kept = Class { may_give: false, ..class(5, 1.0) };
        assert_eq!(balance(&[kept, class(5, 2.0), class(5, 8.0)]), Some((1, 2)));
        let few = Victims { count: VICTIMS_MIN - 1, density: 9.0 };
        assert_eq!(balance(&[class(5, 1.0), Class { victims: few, ..class(5, 0.0) }]), None);
        assert_eq!(balance(&[]), None);
    }

    /// Free chunks rule a class out as receiver, whatever the worth of its items.
    #[test]
    fn who_has_room_gets_nothing() {
        let roomy = Class { evicts: false, free: 0.5, ..class(5, 9.0) };
        assert_eq!(balance(&[class(5, 1.0), roomy, class(5, 4.0)]), Some((0, 2)));
        let given = Class { evicts: true, ..roomy };
        assert_eq!(balance(&[class(5, 1.0), given, class(5, 4.0)]), Some((0, 2)));
        let empty = Class { free: 2.0, ..roomy };
        assert_eq!(balance(&[class(5, 1.0), empty, class(5, 4.0)]), Some((1, 2)));
        let filling = Class { free: 1.0, ..given };
        assert_eq!(balance(&[class(5, 1.0), filling, class(5, 4.0)]), Some((0, 2)));
    }
}
