//! A memory of evicted keys: a key that returns keeps its birth and its hits.
//!
//! Without it, a key that is hit now and then but evicted in between would look like a new key each
//! time. The memory keeps a key's fingerprint and its [`Past`]: five bytes. One key in eight
//! thousand is mistaken for another, and then has a wrong class.
//!
//! ```text
//! bucket of 8:   fingerprints 8 × 2 │ births 8 × 2 │ hits 8 × 1      the newest first
//! ```
//!
//! The low bits of the hash choose a bucket, which forgets its oldest key. To grow, the table is
//! doubled with its contents: one of the two copies of a key is never found again, and is forgotten
//! like any other. So no hash is stored, and the bound limits the used places of every bucket.

use super::class::Past;

/// Keys in a bucket.
const WAYS: usize = 8;
/// The fingerprint of an empty place.
const NONE: u16 = 0;

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    prints: [u16; WAYS],
    born: [u16; WAYS],
    hits: [u8; WAYS],
}

impl Bucket {
    fn past(&self, way: usize) -> Past {
        Past { born: self.born[way], hits: self.hits[way] }
    }

    fn put(&mut self, way: usize, print: u16, past: Past) {
        (self.prints[way], self.born[way], self.hits[way]) = (print, past.born, past.hits);
    }

    /// Moves the entries before `way` back by one place.
    fn shift(&mut self, way: usize) {
        self.prints.copy_within(..way, 1);
        self.born.copy_within(..way, 1);
        self.hits.copy_within(..way, 1);
    }

    fn forget_from(&mut self, way: usize) {
        self.prints[way..].fill(NONE);
    }
}

/// The pasts of evicted keys.
#[derive(Clone, Debug)]
pub struct Memory {
    /// A power of two in number.
    buckets: Vec<Bucket>,
    /// Places used in each bucket.
    ways: usize,
}

impl Default for Memory {
    fn default() -> Self {
        Self { buckets: vec![Bucket::default()], ways: 0 }
    }
}

/// The fingerprint of a hash: its top bits, which are independent of the bucket.
const fn print(hash: u64) -> u16 {
    let print = (hash >> 48) as u16;
    if print == NONE { 1 } else { print }
}

impl Memory {
    /// Bytes of one remembered key.
    pub const ENTRY: usize = Self::BUCKET / WAYS;
    /// Bytes of one bucket.
    pub const BUCKET: usize = size_of::<Bucket>();

    /// Remembers up to `keys` keys from now on, rounded up to a whole number of places a bucket.
    /// Shrinking forgets the oldest keys, and halving the table forgets half of all keys.
    pub fn resize(&mut self, keys: usize) {
        while keys > self.buckets.len() * WAYS {
            self.buckets.extend_from_within(..);
        }
        while self.buckets.len() > 1 && keys * 3 < self.buckets.len() * WAYS {
            self.buckets.truncate(self.buckets.len() / 2);
            self.buckets.shrink_to_fit();
        }
        let ways = keys.div_ceil(self.buckets.len()).min(WAYS);
        if ways < self.ways {
            self.buckets.iter_mut().for_each(|bucket| bucket.forget_from(ways));
        }
        self.ways = ways;
    }

    fn bucket(&mut self, hash: u64) -> &mut Bucket {
        let at = hash as usize & (self.buckets.len() - 1);
        &mut self.buckets[at]
    }

    /// Remembers an evicted key with this hash.
    pub fn insert(&mut self, hash: u64, past: Past) {
        if let Some(oldest) = self.ways.checked_sub(1) {
            let bucket = self.bucket(hash);
            bucket.shift(oldest);
            bucket.put(0, print(hash), past);
        }
    }

    /// Counts a hit at `now` of an evicted key with this hash: a read that misses.
    pub fn hit(&mut self, hash: u64, now: u64) {
        let bucket = self.bucket(hash);
        if let Some(way) = bucket.prints.iter().position(|&known| known == print(hash)) {
            let mut past = bucket.past(way);
            past.hit(now);
            bucket.put(way, print(hash), past);
        }
    }

    /// The past of a returning key with this hash, which the memory then forgets.
    pub fn take(&mut self, hash: u64) -> Option<Past> {
        let bucket = self.bucket(hash);
        let way = bucket.prints.iter().position(|&known| known == print(hash))?;
        let past = bucket.past(way);
        // The gap moves to the front, so that the order of the others stays.
        bucket.put(way, NONE, past);
        bucket.shift(way);
        bucket.put(0, NONE, past);
        Some(past)
    }

    /// Number of buckets, a power of two.
    pub const fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Up to `most` buckets from number `at` on, as bytes for [`Memory::recall`].
    pub fn piece(&self, at: usize, most: usize) -> Vec<u8> {
        let mut bytes = vec![];
        for bucket in self.buckets.iter().skip(at).take(most) {
            bytes.extend(bucket.prints.iter().chain(&bucket.born).flat_map(|n| n.to_le_bytes()));
            bytes.extend(bucket.hits);
        }
        bytes
    }

    /// Takes in a piece of another memory that had this number of buckets. Ignores bytes that are
    /// no such piece.
    pub fn recall(&mut self, at: usize, buckets: usize, bytes: &[u8]) {
        let (pieces, []) = bytes.as_chunks::<{ Self::BUCKET }>() else { return };
        if !buckets.is_power_of_two() || at + pieces.len() > buckets {
            return;
        }
        if self.buckets.len() != buckets {
            (self.buckets, self.ways) = (vec![Bucket::default(); buckets], WAYS);
        }
        for (bucket, bytes) in self.buckets[at..].iter_mut().zip(pieces) {
            let number = |at: usize| u16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]);
            *bucket = Bucket {
                prints: std::array::from_fn(number),
                born: std::array::from_fn(|way| number(WAYS + way)),
                hits: std::array::from_fn(|way| bytes[4 * WAYS + way]),
            };
        }
    }

    /// Bytes that it takes.
    pub const fn bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Bucket>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::hash::mix;

    fn past(key: u64) -> Past {
        Past { born: key as u16, hits: key as u8 }
    }

    #[test]
    fn what_was_evicted_lately_is_known_once() {
        let mut memory = Memory::default();
        memory.insert(mix(7), past(7));
        assert_eq!(memory.take(mix(7)), None, "there is no room yet");
        memory.resize(1_000);
        (0..3_000).for_each(|key| memory.insert(mix(key), past(key)));
        let known = |memory: &mut Memory, keys: std::ops::Range<u64>| {
            keys.filter(|&key| memory.take(mix(key)) == Some(past(key))).count()
        };
        assert!(known(&mut memory, 0..1_000) < 50);
        // Buckets do not fill evenly: nearly all keys of the last eighth of a thousand are there.
        assert!(known(&mut memory, 2_875..3_000) > 120);
        assert!(known(&mut memory, 2_000..2_875) > 600);
        assert!(known(&mut memory, 2_000..3_000) < 5, "taken");
    }

    #[test]
    fn it_grows_and_shrinks_with_what_it_knows() {
        let mut memory = Memory::default();
        memory.resize(100);
        (0..50).for_each(|key| memory.insert(mix(key), past(key)));
        memory.resize(3_000);
        assert!(memory.bytes() >= 3_000 * Memory::ENTRY && memory.bytes() < 6_000 * Memory::ENTRY);
        let known = (0..50).filter(|&key| memory.take(mix(key)) == Some(past(key))).count();
        assert!(known > 40, "{known}");
        memory.resize(10);
        assert!(memory.bytes() <= 32 * Memory::ENTRY, "{}", memory.bytes());
        memory.resize(0);
        memory.insert(mix(1), past(1));
        assert_eq!(memory.take(mix(1)), None);
    }

    #[test]
    fn another_run_remembers() {
        let (mut memory, mut other) = (Memory::default(), Memory::default());
        memory.resize(1_000);
        (0..500).for_each(|key| memory.insert(mix(key), past(key)));
        let buckets = memory.buckets();
        other.recall(0, buckets, &memory.piece(0, buckets)[1..]);
        other.recall(buckets, buckets, &memory.piece(0, 1));
        assert_eq!(other.take(mix(499)), None, "that is nothing");
        for at in (0..buckets).step_by(100) {
            other.recall(at, buckets, &memory.piece(at, 100));
        }
        other.resize(1_000);
        for key in 0..500 {
            let known = memory.take(mix(key));
            assert!(known.is_some() || key < 400);
            assert_eq!(other.take(mix(key)), known);
        }
    }

    const _: () = assert!(Memory::ENTRY == 5);
}
