//! A list of buckets that grows and shrinks at its end by small segments, so that no growth
//! copies more than a few kilobytes.
//!
//! The first segment starts with one bucket and doubles up to a full segment: a tenant with three
//! items should not pay for a page of buckets in every shard.

use super::bucket::Bucket;

/// Buckets in a full segment: 4 KiB.
const SEGMENT: usize = 64;
/// A segment is given back only when this many buckets of the one before are free too, so that a
/// list that hovers about a boundary does not allocate at every step.
const SPARE: usize = SEGMENT / 2;

const BUCKET: u64 = size_of::<Bucket>() as u64;
const HANDLE: u64 = size_of::<Box<[Bucket]>>() as u64;

/// Buckets by index.
#[derive(Default)]
pub(super) struct Segments {
    segments: Vec<Box<[Bucket]>>,
    len: usize,
}

impl Segments {
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    fn capacity(&self) -> usize {
        match self.segments.as_slice() {
            [] => 0,
            [first] => first.len(),
            all => all.len() * SEGMENT,
        }
    }

    /// Bytes taken.
    pub(super) fn bytes(&self) -> u64 {
        self.capacity() as u64 * BUCKET + self.segments.capacity() as u64 * HANDLE
    }

    /// Bytes that [`Segments::push`] would take, counting what it gives back only afterwards.
    #[inline]
    pub(super) fn push_cost(&self) -> u64 {
        if self.len < self.capacity() { 0 } else { self.grow_cost() }
    }

    fn grow_cost(&self) -> u64 {
        let (buckets, handles) = match self.capacity() {
            0 => (1, 1),
            small if small < SEGMENT => (2 * small, 0),
            _ if self.segments.len() == self.segments.capacity() => {
                (SEGMENT, 2 * self.segments.len())
            }
            _ => (SEGMENT, 0),
        };
        buckets as u64 * BUCKET + handles as u64 * HANDLE
    }

    /// Adds an empty bucket and returns its index.
    #[inline]
    pub(super) fn push(&mut self) -> usize {
        if self.len == self.capacity() {
            self.grow();
        }
        self.len += 1;
        self.len - 1
    }

    fn grow(&mut self) {
        let new = |len: usize| (0..len).map(|_| Bucket::empty());
        match self.capacity() {
            0 => {
                self.segments.reserve_exact(1);
                self.segments.push(new(1).collect());
            }
            small if small < SEGMENT => {
                let old = std::mem::take(&mut self.segments[0]);
                self.segments[0] = old.into_iter().chain(new(small)).collect();
            }
            _ => {
                if self.segments.len() == self.segments.capacity() {
                    self.segments.reserve_exact(self.segments.len());
                }
                self.segments.push(new(SEGMENT).collect());
            }
        }
    }

    /// Drops the last bucket, which is empty.
    pub(super) fn pop(&mut self) {
        self.len -= 1;
        debug_assert!(self[self.len].len() == 0, "items would be lost");
        if self.len == 0 {
            *self = Self::default();
        } else if self.segments.len() > 1 && self.capacity() - self.len >= SEGMENT + SPARE {
            self.segments.pop();
        }
    }
}

impl std::ops::Index<usize> for Segments {
    type Output = Bucket;
    #[inline]
    fn index(&self, at: usize) -> &Bucket {
        &self.segments[at / SEGMENT][at % SEGMENT]
    }
}

impl std::ops::IndexMut<usize> for Segments {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut Bucket {
        &mut self.segments[at / SEGMENT][at % SEGMENT]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a push takes must have been announced: memory is reserved by it.
    #[test]
    fn a_push_takes_what_it_said() {
        let mut list = Segments::default();
        for at in 0..SEGMENT * 9 {
            let (before, cost, room) = (list.bytes(), list.push_cost(), list.capacity());
            assert_eq!(list.push(), at);
            assert!(list.bytes() <= before + cost, "at {at}");
            assert!(cost > 0 || list.capacity() == room, "at {at}");
        }
        let most = list.bytes();
        while list.len() > 0 {
            list.pop();
            assert!(list.bytes() <= most);
        }
        assert_eq!(list.bytes(), 0);
    }
}
