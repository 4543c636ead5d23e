//! Cost of a hit: instructions and cache misses, beside a lower bound.
//!
//! Callgrind simulates a machine with caches of 32 KB and 2 MB. It counts a `get` that copies the
//! value out, from its call to its return. The cache holds 100 000 entries with 32-byte keys and
//! 100-byte values (17 MB). All keys are resident, and the bench reads them in random order, so
//! that nearly no part of an entry is in a processor cache.
//!
//! *Array* is the lower bound. It hashes the key, reads one of 2^18 slots of four bytes (more after
//! a collision), compares the key of the entry that the slot names, and copies the value. It has no
//! lock, does not record uses, and can neither grow nor evict.
//!
//! ```text
//! cargo x bench hits        needs valgrind
//! ```

use crate::peers::{CACHES, Held};
use crate::{KEY, Text, VALUE, callgrind, text};
use base::Prng;

const ITEMS: usize = 100_000;
const READS: usize = 100_000;
const SLOTS: usize = 1 << 18;

/// A fixed hash table with linear probing over an array of entries.
struct Array {
    slots: Vec<u32>,
    entries: Vec<(Text, [u8; VALUE])>,
}

impl Array {
    fn filled() -> Self {
        let entries: Vec<_> = (0..ITEMS).map(|n| (text(n), [1; VALUE])).collect();
        let mut slots = vec![u32::MAX; SLOTS];
        for (n, (key, _)) in entries.iter().enumerate() {
            let mut at = Self::slot(key);
            while slots[at] != u32::MAX {
                at = (at + 1) % SLOTS;
            }
            slots[at] = n as u32;
        }
        Self { slots, entries }
    }

    fn slot(key: &Text) -> usize {
        base::hash::bytes(0, key) as usize % SLOTS
    }
}

impl Held for Array {
    fn get(&self, key: &Text) -> Option<Vec<u8>> {
        let mut at = Self::slot(key);
        loop {
            let (own, value) = self.entries.get(self.slots[at] as usize)?;
            if own == key {
                return Some(value.to_vec());
            }
            at = (at + 1) % SLOTS;
        }
    }

    fn insert(&self, _: &Text, _: &[u8]) {}
}

fn cache(name: &str) -> Box<dyn Held> {
    if name == "array" {
        return Box::new(Array::filled());
    }
    let (_, make) = CACHES.iter().find(|(known, _)| *known == name).expect("a cache of the list");
    let cache = make(4 * (ITEMS * (KEY + VALUE)) as u64, 0, 2 * ITEMS);
    (0..ITEMS).for_each(|n| cache.insert(&text(n), &[1; VALUE]));
    cache.settle();
    cache
}

/// Runs under callgrind, and prints the number of hits.
pub(crate) fn one(name: &str) {
    let (cache, mut prng) = (cache(name), Prng::new(1));
    let keys = (0..READS).map(|_| text(prng.below(ITEMS as u64) as usize));
    println!("{}", keys.filter(|key| cache.get(key).is_some()).count());
}

/// Prints the table.
pub(crate) fn run() {
    println!("{:12}{:>14}{:>12}{:>12}", "a hit", "instructions", "D1 misses", "LL misses");
    for name in CACHES.iter().map(|(name, _)| *name).chain(["array"]) {
        let [instructions, first, last] = callgrind("*Held>::get", &["hit", name]);
        println!("{name:12}{instructions:>14.0}{first:>12.1}{last:>12.1}");
    }
}
