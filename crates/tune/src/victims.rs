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
//! [1] Beckmann, Chen, Cidon. LHD: Improving Cache Hit Rate by Maximizing Hit Density. NSDI '18,
//!     section 5.

use policy::rank::Victims;

/// Victims below which nothing is known of a class.
const VICTIMS_MIN: u64 = 32;

/// Pages that a donor keeps at least.
const PAGES_MIN: u64 = 1;

/// How much more the receiver's victims must be worth.
const BETTER: f64 = 1.1;

/// From which class to which a page is to move, if any is to: of each class its pages and its
/// victims.
pub fn balance(classes: &[(u64, Victims)]) -> Option<(usize, usize)> {
    let known = || classes.iter().enumerate().filter(|(_, (_, v))| v.count >= VICTIMS_MIN);
    let worth = |(_, (_, victims)): &(usize, &(u64, Victims))| victims.density;
    let (to, (_, best)) = known().max_by(|a, b| worth(a).total_cmp(&worth(b)))?;
    let givers = known().filter(|(_, (pages, _))| *pages > PAGES_MIN);
    let (from, (_, least)) = givers.min_by(|a, b| worth(a).total_cmp(&worth(b)))?;
    (best.density > BETTER * least.density).then_some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(density: f64) -> Victims {
        Victims { count: 100, density }
    }

    /// By density, not by age or badness: the worst victims give.
    #[test]
    fn a_page_goes_where_victims_are_worth_most() {
        assert_eq!(balance(&[(5, of(2.0)), (5, of(1.0)), (5, of(3.0))]), Some((1, 2)));
    }

    #[test]
    fn who_gives_nothing() {
        // Nearly equal: it would only go back and forth.
        assert_eq!(balance(&[(5, of(1.0)), (5, of(1.09))]), None);
        // The last page, and classes of which little is known.
        assert_eq!(balance(&[(1, of(1.0)), (5, of(2.0))]), None);
        assert_eq!(balance(&[(1, of(1.0)), (5, of(2.0)), (5, of(3.0))]), Some((1, 2)));
        let few = Victims { count: VICTIMS_MIN - 1, density: 9.0 };
        assert_eq!(balance(&[(5, of(1.0)), (5, few)]), None);
        assert_eq!(balance(&[]), None);
    }
}
