//! Expiries of items: a hierarchical timing wheel [1] for each tenant in each shard.
//!
//! An item with an expiry has an *entry* in the *slot* of its time. Slots of the lowest level are a
//! millisecond wide, those of each next level 64 times as wide:
//!
//! ```text
//!   level 0     64 slots of 1 ms       the next 64 ms
//!         1     64 slots of 64 ms      4 s
//!         2     64 slots of 4 s        4 min
//!         …
//!         5     64 slots of 12 days    2 years; what dies later waits in the last slot
//! ```
//!
//! When the time of a wide slot comes, its entries are spread over narrower ones. An entry is eight
//! bytes, and a slot is a list of entries. So spreading only changes links and needs no memory,
//! which matters because it happens when memory is short.
//!
//! ```text
//!   0                 4               8
//!  ┌─────────────────┬───────────────┐
//!  │ 32 bits of hash │ next of list  │     the hash names a chain of the table; what is dead
//!  └─────────────────┴───────────────┘     there, and where who lives belongs, is looked up
//! ```
//!
//! Invariant: each item with an expiry has an entry that is *no later* than the expiry. If an
//! expiry is postponed, the old entry stays, and is entered again when it is due. So a session that
//! is refreshed with each request costs nothing here. An item that is deleted, or gets an earlier
//! expiry, leaves a *stale* entry, which is recognised when it is due. If more than half of the
//! entries may be stale, the wheel is emptied, and a walk through the table enters all items again.
//! The wheel may not know an item until that walk has reached it.
//!
//! [1] Varghese, Lauck. Hashed and Hierarchical Timing Wheels. SOSP '87.

use crate::sync::segments::Segments;

const LEVELS: usize = 6;
/// Slots per level, as a power of two.
const BITS: usize = 6;
const SLOTS: usize = 1 << BITS;
const NIL: u32 = u32::MAX;
/// Entries that may be stale in any case, because a small wheel is not worth a walk.
const STALE_MIN: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    hash: u32,
    next: u32,
}

const _: () = assert!(size_of::<Entry>() == 8);

/// An entry that was taken out, to be entered again or dropped.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct Taken {
    at: u32,
    /// The low half of the item's hash.
    pub(crate) hash: u32,
}

/// The entries of the items that expire.
pub(crate) struct Wheel {
    /// The first entry of each slot's list.
    heads: [[u32; SLOTS]; LEVELS],
    /// The lists that are not empty, one bit per slot.
    occupied: [u64; LEVELS],
    /// A time before which no slot has entries.
    hand: u64,
    /// A list taken out of its slot, and entries whose items were dead when entered. All of them
    /// are due.
    pending: u32,
    entries: Segments<Entry>,
    /// Entries from this index on have never been used.
    used: usize,
    /// The list of free entries.
    free: u32,
    len: usize,
    /// The position up to which a walk through the table has entered items; `None` without a walk.
    pub(crate) walk: Option<u64>,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            heads: [[NIL; SLOTS]; LEVELS],
            occupied: [0; LEVELS],
            hand: 0,
            pending: NIL,
            entries: Segments::default(),
            used: 0,
            free: NIL,
            len: 0,
            walk: None,
        }
    }
}

impl Wheel {
    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> u64 {
        size_of::<Self>() as u64 + self.entries.bytes()
    }

    /// Most bytes that one more entry needs.
    pub(crate) fn enter_cost(&self) -> u64 {
        if self.has_spare() { 0 } else { self.entries.push_cost(1) }
    }

    /// Allocates the memory of [`Wheel::enter_cost`], so that the next entry needs none.
    pub(crate) fn reserve(&mut self) {
        if !self.has_spare() {
            _ = self.entries.push();
        }
    }

    /// Whether there is a free entry.
    pub(crate) const fn has_spare(&self) -> bool {
        self.free != NIL || self.used < self.entries.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Enters an item with this hash, which expires after the millisecond `when`.
    pub(crate) fn enter(&mut self, hash: u64, when: u64, now: u64) {
        if self.len == 0 {
            self.hand = self.hand.max(now);
        }
        let at = match self.free {
            NIL => {
                if self.used == self.entries.len() {
                    _ = self.entries.push();
                }
                self.used += 1;
                self.used as u32 - 1
            }
            at => {
                self.free = self.entries[at as usize].next;
                at
            }
        };
        self.len += 1;
        let hash = hash as u32;
        if when < now {
            self.entries[at as usize] = Entry { hash, next: self.pending };
            self.pending = at;
        } else {
            self.link(Taken { at, hash }, when);
        }
    }

    /// The slot of a time, as level and number.
    fn slot(&self, when: u64) -> (usize, usize) {
        let when = when.max(self.hand);
        let steps = |level: usize| (when >> (BITS * level)) - (self.hand >> (BITS * level));
        let top = LEVELS - 1;
        let level = (0..top).find(|&level| steps(level) < SLOTS as u64).unwrap_or(top);
        let step = steps(level).min(SLOTS as u64 - 1);
        (level, ((self.hand >> (BITS * level)) + step) as usize % SLOTS)
    }

    fn link(&mut self, Taken { at, hash }: Taken, when: u64) {
        let (level, slot) = self.slot(when);
        let head = std::mem::replace(&mut self.heads[level][slot], at);
        self.entries[at as usize] = Entry { hash, next: head };
        self.occupied[level] |= 1 << slot;
    }

    /// The first slot with entries: its start time, its level and its number.
    fn first(&self) -> Option<(u64, usize, usize)> {
        let first = |level: usize| {
            let hand = self.hand >> (BITS * level);
            let ahead = self.occupied[level].rotate_right((hand as usize % SLOTS) as u32);
            let step = u64::from(ahead.trailing_zeros());
            let begins = (hand + step) << (BITS * level);
            (ahead != 0).then_some((begins, level, (hand + step) as usize % SLOTS))
        };
        (0..LEVELS).filter_map(first).min()
    }

    /// A time up to which [`Wheel::take`] finds nothing.
    pub(crate) fn no_expiry_before(&self) -> u64 {
        match self.pending {
            NIL => self.first().map_or(u64::MAX, |(begins, ..)| begins),
            _ => 0,
        }
    }

    /// Takes out an entry whose slot began before `now`.
    pub(crate) fn take(&mut self, now: u64) -> Option<Taken> {
        if self.pending == NIL {
            let (begins, level, slot) = self.first()?;
            if begins >= now {
                self.hand = self.hand.max(now);
                return None;
            }
            self.hand = self.hand.max(begins);
            self.pending = std::mem::replace(&mut self.heads[level][slot], NIL);
            self.occupied[level] &= !(1 << slot);
        }
        let at = self.pending;
        let Entry { hash, next } = self.entries[at as usize];
        self.pending = next;
        Some(Taken { at, hash })
    }

    /// Enters a taken entry again, or drops it if `when` is `None`.
    pub(crate) fn put_back(&mut self, taken: Taken, when: Option<u64>) {
        if let Some(when) = when {
            self.link(taken, when);
        } else {
            self.entries[taken.at as usize].next = self.free;
            self.free = taken.at;
            self.len -= 1;
        }
    }

    /// Whether a walk is worth it: too many entries may be stale, where `expiring` of `items` items
    /// need one, or too much memory is unused.
    pub(crate) const fn is_loose(&self, expiring: usize, items: usize) -> bool {
        let few = 2 * expiring + items / 8 + STALE_MIN;
        self.walk.is_none() && (self.len > few || self.used > 4 * few)
    }

    /// Drops all entries, to be entered again by a walk through the table. Keeps the memory.
    pub(crate) fn restart(&mut self) {
        self.heads = [[NIL; SLOTS]; LEVELS];
        self.occupied = [0; LEVELS];
        (self.pending, self.free) = (NIL, NIL);
        (self.used, self.len) = (0, 0);
        self.walk = Some(0);
    }

    /// Frees the memory of up to `most` entries that a restart left unused.
    pub(crate) fn shrink(&mut self, most: usize) {
        let spare = self.entries.len() - self.used;
        if self.walk.is_none() {
            (0..spare.min(most)).for_each(|_| self.entries.pop());
        }
    }

    /// Shows the hash of each entry, and the start time of its slot.
    #[cfg(test)]
    pub(crate) fn each(&self, mut visit: impl FnMut(u32, u64)) {
        let mut list = |mut at: u32, begins: u64| {
            while at != NIL {
                let Entry { hash, next } = self.entries[at as usize];
                visit(hash, begins);
                at = next;
            }
        };
        list(self.pending, 0);
        for level in 0..LEVELS {
            for step in 0..SLOTS as u64 {
                let slot = (self.hand >> (BITS * level)) + step;
                list(self.heads[level][slot as usize % SLOTS], slot << (BITS * level));
            }
        }
    }

    #[cfg(test)]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    #[cfg(test)]
    pub(crate) const fn hand(&self) -> u64 {
        self.hand
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 3 } else { 256 },
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// Compares the wheel with a plain list: an entry comes out right after the millisecond in
        /// which it is due, however far the clock jumps.
        #[test]
        fn entries_come_up_in_their_time(
            start in 0u64..1 << 42,
            steps in prop::collection::vec((0u32..42, any::<u64>(), 0u32..24, any::<u64>()), 1..80),
        ) {
            let (mut wheel, mut list, mut now) = (Wheel::default(), vec![], start);
            for (n, (far, ahead, jump, by)) in steps.into_iter().enumerate() {
                let when = now + ahead % (1 << far);
                wheel.enter(n as u64, when, now);
                list.push((n as u32, when));
                now += by % (1 << jump);
                let mut due = vec![];
                while let Some(taken) = wheel.take(now) {
                    let (_, when) = list[taken.hash as usize];
                    let lives = when >= now;
                    if !lives {
                        due.push(taken.hash);
                    }
                    wheel.put_back(taken, lives.then_some(when));
                }
                due.sort_unstable();
                let is_due = |&(_, when): &(u32, u64)| when < now && when != 0;
                let expected: Vec<_> = list.iter().filter(|e| is_due(e)).map(|e| e.0).collect();
                prop_assert_eq!(due, expected);
                prop_assert!(wheel.no_expiry_before() >= now);
                for entry in list.iter_mut().filter(|entry| entry.1 < now) {
                    entry.1 = 0;
                }
                prop_assert_eq!(wheel.len(), list.iter().filter(|entry| entry.1 != 0).count());
            }
        }
    }

    /// Far more entries than fit in one segment are all dropped, and their memory is freed.
    #[test]
    fn a_restart_leaves_nothing_behind() {
        let mut wheel = Wheel::default();
        for n in 0..10_000 {
            let (before, cost) = (wheel.bytes(), wheel.enter_cost());
            wheel.enter(n, n * 1_000, 0);
            assert!(wheel.bytes() <= before + cost);
        }
        assert!(wheel.is_loose(4_000, 4_000) && !wheel.is_loose(5_000, 5_000));
        assert!(wheel.walk.is_none());
        let full = wheel.bytes();
        wheel.restart();
        assert!(wheel.take(u64::MAX).is_none() && wheel.bytes() == full);
        wheel.walk = None;
        wheel.shrink(10_000);
        assert_eq!(wheel.bytes(), Wheel::default().bytes());
    }
}
