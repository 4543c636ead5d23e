//! A collection in one piece: bodies one after the other, each with its length in front.
//!
//! Such a collection is an item like any other. A read walks through it in order, and a write
//! copies it.

use super::shape::FLAT_MAX;
use crate::text::varint::{put_len, take_len};

/// The bodies in order.
pub(crate) fn bodies(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    std::iter::from_fn(move || {
        let len = take_len(&mut bytes)?;
        let (body, rest) = bytes.split_at_checked(len)?;
        bytes = rest;
        Some(body)
    })
}

/// Appends a body.
pub(crate) fn push(out: &mut Vec<u8>, body: &[u8]) {
    put_len(out, body.len());
    out.extend_from_slice(body);
}

/// A collection in one piece that is being changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flat(Vec<u8>);

impl Flat {
    pub(super) const fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it has become too long for one piece.
    pub(super) fn is_large(&self) -> bool {
        self.0.len() > FLAT_MAX && bodies(&self.0).nth(1).is_some()
    }

    /// The position of the first body that `is_it` accepts.
    pub(super) fn position(&self, is_it: impl FnMut(&[u8]) -> bool) -> Option<u64> {
        bodies(&self.0).position(is_it).map(|at| at as u64)
    }

    /// The offset of the body at `position`; the end if there are fewer bodies.
    fn offset(&self, position: u64) -> usize {
        let mut rest = &self.0[..];
        for _ in 0..position {
            let Some(len) = take_len(&mut rest) else {
                break;
            };
            rest = rest.get(len..).unwrap_or_default();
        }
        self.0.len() - rest.len()
    }

    /// Appends a body.
    pub(super) fn push(&mut self, body: &[u8]) {
        push(&mut self.0, body);
    }

    /// Inserts a body at `position`, or at the end if there are fewer bodies.
    pub(super) fn insert(&mut self, position: u64, body: &[u8]) {
        let at = self.offset(position);
        let mut written = Vec::with_capacity(body.len() + 5);
        push(&mut written, body);
        self.0.splice(at..at, written);
    }

    /// Removes `count` bodies from `position` on. Returns how many it removed.
    pub(super) fn remove_span(&mut self, position: u64, count: u64) -> u64 {
        let from = self.offset(position);
        let mut rest = Self(self.0.split_off(from));
        let gone = count.min(bodies(&rest.0).count() as u64);
        let until = rest.offset(gone);
        self.0.extend(rest.0.drain(..).skip(until));
        gone
    }

    /// Replaces the body at `position`.
    pub(super) fn replace(&mut self, position: u64, body: &[u8]) {
        if self.remove_span(position, 1) == 1 {
            self.insert(position, body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares it with a vector that gets the same steps.
        #[test]
        fn is_a_sequence(
            steps in prop::collection::vec(
                (0u8..4, 0u64..12, 0u64..4, prop::collection::vec(any::<u8>(), 0..200)), 0..30),
        ) {
            let (mut flat, mut model) = (Flat::default(), Vec::<Vec<u8>>::new());
            for (what, at, count, body) in steps {
                let place = (at as usize).min(model.len());
                match what {
                    0 => {
                        flat.push(&body);
                        model.push(body);
                    }
                    1 => {
                        flat.insert(at, &body);
                        model.insert(place, body);
                    }
                    2 => {
                        let end = (place + count as usize).min(model.len());
                        prop_assert_eq!(flat.remove_span(at, count), (end - place) as u64);
                        model.drain(place..end);
                    }
                    _ => {
                        flat.replace(at, &body);
                        if let Some(old) = model.get_mut(at as usize) {
                            *old = body;
                        }
                    }
                }
                prop_assert!(bodies(flat.bytes()).eq(model.iter().map(Vec::as_slice)));
            }
        }

        #[test]
        fn rubbish_does_no_harm(value in prop::collection::vec(any::<u8>(), 0..60)) {
            bodies(&value).for_each(drop);
            let mut flat = Flat::new(value);
            flat.remove_span(3, 2);
            flat.insert(1, b"a");
        }
    }
}
