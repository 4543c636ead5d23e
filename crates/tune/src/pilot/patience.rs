//! The number of epochs that another policy must win before it replaces the first.
//!
//! Miniatures show a mean over the last epochs. So one phase of the load shows the same result for
//! as long as that mean remembers it, and a policy chosen for a phase is in force when the next
//! begins. Only a result of many epochs in a row is more than a phase. When the first policy
//! returns, the number of epochs required doubles from then on. The first policy needs no patience:
//! it returns at once.

use crate::Evictor;

/// The latest results, and the number of equal ones in a row.
#[derive(Debug, Default)]
pub(super) struct Patience {
    shown: Vec<Evictor>,
    in_a_row: u32,
    /// Number of returns of the first policy.
    returned: u32,
}

/// The most doublings.
const RETURNED_MAX: u32 = 8;

impl Patience {
    /// Whether the best policies of an epoch may replace those in force. A policy other than
    /// `first` must be the best in `epochs` epochs in a row, and more after returns.
    pub(super) fn is_enough(
        &mut self,
        shown: &[Evictor],
        in_force: &[Evictor],
        first: Evictor,
        epochs: u32,
    ) -> bool {
        if shown == in_force {
            (self.in_a_row, self.shown) = (0, vec![]);
            return true;
        }
        if shown != self.shown {
            (self.in_a_row, self.shown) = (0, shown.to_vec());
        }
        self.in_a_row += 1;
        if shown.iter().all(|evictor| *evictor == first) {
            self.returned += u32::from(epochs > 0);
            return true;
        }
        self.in_a_row >= epochs << self.returned.min(RETURNED_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: [Evictor; 1] = [Evictor::gittins(64)];
    const OTHER: [Evictor; 1] = [Evictor::LFU];

    #[test]
    fn another_policy_is_shown_in_many_epochs_in_a_row() {
        let mut patience = Patience::default();
        let mut shows = |shown: &[Evictor], in_force: &[Evictor]| {
            patience.is_enough(shown, in_force, FIRST[0], 3)
        };
        assert!(shows(&FIRST, &FIRST), "nothing changes");
        assert_eq!([0; 2].map(|_| shows(&OTHER, &FIRST)), [false; 2]);
        assert!(shows(&FIRST, &FIRST), "the row is broken");
        assert_eq!([0; 3].map(|_| shows(&OTHER, &FIRST)), [false, false, true]);
        assert!(shows(&FIRST, &OTHER), "the first returns at once");
        let again: Vec<bool> = (0..6).map(|_| shows(&OTHER, &FIRST)).collect();
        assert_eq!(again, [false, false, false, false, false, true], "twice as many");
    }

    #[test]
    fn a_recipe_without_patience_waits_for_nothing() {
        assert!(Patience::default().is_enough(&OTHER, &FIRST, FIRST[0], 0));
    }
}
