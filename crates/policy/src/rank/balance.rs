//! Rank balance: memory goes where the victims are worth most [1].
//!
//! One cache ranked by hit density evicts whatever is worth least of all. Where memory is divided
//! in classes each evicts its own least, and those are worth the same everywhere only if the
//! division is right: the worth of the victims is what a page more would save. So a page moves from
//! the class whose victims are worth least to the one whose victims are worth most.
//!
//! Worth is hit density by byte. (The paper says that slabs move "from the highest average victim
//! rank to the lowest": its rank grows with badness there, as an age does.) A class that evicts
//! seldom is asked what it would evict: a *fake* eviction counts like a true one.
//!
//! Under a rank that learns nothing there are no densities. There a victim is worth the more the
//! younger it is: one list of all items would let the oldest go first, wherever it stands. So does
//! memcached's page mover [2].
//!
//! A cache of several parts, each with pages and victims of its own, is balanced part by part: the
//! mean over the parts is of no part, and a page moved by it is as often taken from the wrong one.
//!
//! [1] Beckmann, Chen, Cidon. LHD: Improving Cache Hit Rate by Maximizing Hit Density. NSDI '18,
//!     section 5.
//! [2] memcached, `slab_automove` and `slab_automove_ratio`, which is 0.8.

use super::Victims;

/// Victims below which nothing is known of a class.
const VICTIMS_MIN: u64 = 32;

/// Pages that a donor keeps at least.
const PAGES_MIN: u64 = 1;

/// Free chunks, in pages, from which on a class gets no more.
const FREE_MAX: f64 = 0.5;

/// How much more the receiver's victims must be worth by what is learnt of residents. With little
/// more victims come to be worth the same everywhere, and on a trace of small items more is missed
/// than without balance: what is expected of an item is learnt of those of all sizes, and probably
/// those of a class with few pages seem worth less than they are. Chosen on traces of
/// `docs/results/engine.md`.
pub const BETTER_LEARNT: f64 = 3.5;
/// The same by what is learnt of watched keys, resident or not. Two tenants whose victims differ
/// threefold would else stay divided as they came: for items of 400 and 1 000 bytes that was a
/// tenth of all misses.
pub const BETTER_WATCHED: f64 = 1.5;
/// The same by age, which needs no learning: memcached's ratio.
pub const BETTER_BY_AGE: f64 = 1.25;

/// What is known of a class.
#[derive(Clone, Copy, Debug, Default)]
pub struct Class {
    /// Pages it holds.
    pub pages: u64,
    /// Of those, how many its free chunks would make.
    pub free: f64,
    /// Whether anything left of late for want of a chunk.
    pub evicts: bool,
    /// What left, or would have.
    pub victims: Victims,
    /// Whether a page may be taken from it for who is to get one.
    pub may_give: bool,
}

impl Class {
    /// Whether enough victims were seen to go by them.
    pub const fn is_known(&self) -> bool {
        self.victims.count >= VICTIMS_MIN
    }

    /// What a page more would save, by byte: nothing where there are chunks to spare. Where a class
    /// is spread over shards one evicts and another has just been given a page: that is to be
    /// filled first.
    fn gain(&self) -> f64 {
        if self.evicts && self.free < FREE_MAX { self.victims.density } else { 0.0 }
    }

    /// What a page less costs, by byte: its items move to free chunks as far as there are any. A
    /// page of them is left out, for a class that was just given one would lose it before it is
    /// filled.
    pub fn loss(&self) -> f64 {
        let left = self.pages as f64 - self.free;
        if left <= 0.0 {
            return 0.0;
        }
        self.victims.density * (2.0 - self.free).clamp(0.0, 1.0)
    }
}

/// From which class to which a page is to move, if any is to: the victims of the one are so many
/// times better than those of the other.
pub fn balance(classes: &[Class], better: f64) -> Option<(usize, usize)> {
    let to = receiver(classes)?;
    Some((giver(classes, to, better)?, to))
}

/// The class to which a page would save most.
pub fn receiver(classes: &[Class]) -> Option<usize> {
    let known = classes.iter().enumerate().filter(|(_, class)| class.is_known());
    known.max_by(|(_, a), (_, b)| a.gain().total_cmp(&b.gain())).map(|(to, _)| to)
}

/// From which class a page is to move to this one, if from any.
pub fn giver(classes: &[Class], to: usize, better: f64) -> Option<usize> {
    let may_give = |at, class: &Class| {
        class.may_give && class.is_known() && class.pages > PAGES_MIN && at != to
    };
    let givers = classes.iter().enumerate().filter(|&(at, class)| may_give(at, class));
    let (from, least) = givers.min_by(|(_, a), (_, b)| a.loss().total_cmp(&b.loss()))?;
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

    /// Of two classes whose victims are of these ages the one with the older gives, unless they
    /// are nearly of one age.
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

    /// By density, not by age or badness: the worst victims give.
    #[test]
    fn a_page_goes_where_victims_are_worth_most() {
        assert_eq!(balance(&[class(5, 2.0), class(5, 1.0), class(5, 4.0)]), Some((1, 2)));
    }

    #[test]
    fn who_gives_nothing() {
        // Nearly equal: it would only go back and forth.
        assert_eq!(balance(&[class(5, 1.0), class(5, 3.4)]), None);
        // The last page, and classes of which little is known.
        assert_eq!(balance(&[class(1, 1.0), class(5, 4.0)]), None);
        assert_eq!(balance(&[class(1, 1.0), class(5, 2.0), class(5, 8.0)]), Some((1, 2)));
        let kept = Class { may_give: false, ..class(5, 1.0) };
        assert_eq!(balance(&[kept, class(5, 2.0), class(5, 8.0)]), Some((1, 2)));
        let few = Victims { count: VICTIMS_MIN - 1, density: 9.0 };
        assert_eq!(balance(&[class(5, 1.0), Class { victims: few, ..class(5, 0.0) }]), None);
        assert_eq!(balance(&[]), None);
    }

    /// However much its items are worth: it has chunks that nobody uses.
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
