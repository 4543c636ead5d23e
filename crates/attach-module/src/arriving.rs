//! Slots of a cluster that arrive as a whole (CLUSTER MIGRATESLOTS of Valkey 9).
//!
//! While they arrive, the server applies what the other node still does to their keys, and hides
//! the keys from clients and walks. If the module evicted one, a later change of it, such as an
//! INCR, would make a key with a wrong value. So these keys stay until the slots have arrived.

use std::cell::RefCell;
use wire::slots::slot;

/// The slots that arrive, as first and last of each range.
#[derive(Debug, Default)]
pub(crate) struct Arriving(RefCell<Vec<(u16, u16)>>);

impl Arriving {
    /// Notes that slots begin to arrive.
    pub(crate) fn begin(&self, ranges: &[(u16, u16)]) {
        self.0.borrow_mut().extend(ranges);
    }

    /// Notes that they have arrived, or will not.
    pub(crate) fn end(&self, ranges: &[(u16, u16)]) {
        self.0.borrow_mut().retain(|range| !ranges.contains(range));
    }

    /// Whether a key is in such a slot.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        let ranges = self.0.borrow();
        if ranges.is_empty() {
            return false;
        }
        let slot = slot(key);
        ranges.iter().any(|&(first, last)| (first..=last).contains(&slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_until_their_slots_have_arrived() {
        let arriving = Arriving::default();
        // The slot of `foo` is 12182, that of `bar` 5061.
        arriving.begin(&[(12_000, 12_182), (1, 2)]);
        assert!(arriving.has(b"foo") && arriving.has(b"a{foo}") && !arriving.has(b"bar"));
        arriving.end(&[(1, 2)]);
        assert!(arriving.has(b"foo"));
        arriving.end(&[(12_000, 12_182)]);
        assert!(!arriving.has(b"foo"));
    }
}
