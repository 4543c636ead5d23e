//! A plain striped hash table under any policy of the simulator. It shows the cost of the order of
//! eviction if everything else is equal.
//!
//! ```text
//!   hash ─▶ stripe: Mutex { index: hash ─▶ slot,  entries: slot ─▶ key and value,  policy }
//! ```
//!
//! The table reports insertions, hits and removals of slots to the policy, and the policy names the
//! slot to evict. A list or a heap orders all entries, so it has one stripe. A policy that draws
//! candidates or turns a hand does so in each stripe by itself. Every call locks its stripe, even
//! for a hit.
//!
//! The capacity is a number of entries, because all entries of this bench have one size. LHD learns
//! in each stripe by itself, as in the simulator.

use crate::Text;
use crate::peers::Held;
use base::hash;
use hashbrown::HashTable;
use policy::{Access, Bytes, Policy, Slot, Tick};
use std::sync::{Mutex, MutexGuard};

struct Entry {
    hash: u64,
    key: Box<[u8]>,
    value: Box<[u8]>,
}

struct Stripe {
    index: HashTable<Slot>,
    /// Entries by slot. The entry of a free slot has an empty key and an empty value.
    entries: Vec<Entry>,
    free: Vec<Slot>,
    policy: Box<dyn Policy>,
    tick: u64,
    capacity: usize,
}

/// The stripes of a table.
pub(crate) struct Table(Vec<Mutex<Stripe>>);

impl Table {
    /// Makes a table for `capacity` entries of `size` bytes in all stripes together, under the
    /// policy of this name.
    pub(crate) fn new(policy: &str, stripes: usize, capacity: usize, size: usize) -> Self {
        let choice = policy::parse(policy).expect("it is in the list");
        let capacity = capacity / stripes;
        let stripe = |seed| {
            Mutex::new(Stripe {
                index: HashTable::with_capacity(capacity),
                entries: Vec::with_capacity(capacity),
                free: vec![],
                policy: choice.build(Bytes((capacity * size) as u64), seed),
                tick: 0,
                capacity,
            })
        };
        Self((0..stripes as u64).map(stripe).collect())
    }

    fn stripe(&self, hash: u64) -> MutexGuard<'_, Stripe> {
        let at = (hash >> 32) as usize % self.0.len();
        self.0[at].lock().expect("no thread panics")
    }
}

impl Stripe {
    fn find(&self, hash: u64, key: &[u8]) -> Option<Slot> {
        let is_it = |&slot: &Slot| *self.entries[slot as usize].key == *key;
        self.index.find(hash, is_it).copied()
    }

    fn touch(&mut self, slot: Slot, access: &Access) {
        self.policy.on_hit(slot, access, Tick(self.tick));
    }

    fn evict(&mut self, incoming: &Access) {
        let slot = self.policy.victim(incoming, Tick(self.tick));
        let hash = self.entries[slot as usize].hash;
        self.policy.on_remove(slot, hash, true, Tick(self.tick));
        let place = self.index.find_entry(hash, |&other| other == slot);
        place.expect("a victim is here").remove();
        let entry = &mut self.entries[slot as usize];
        (entry.key, entry.value) = (Box::default(), Box::default());
        self.free.push(slot);
    }
}

impl Held for Table {
    fn get(&self, key: &Text) -> Option<Vec<u8>> {
        let hash = hash::bytes(0, key);
        let mut stripe = self.stripe(hash);
        stripe.tick += 1;
        let slot = stripe.find(hash, key)?;
        let value = stripe.entries[slot as usize].value.to_vec();
        stripe.touch(slot, &Access::get(hash, (key.len() + value.len()) as u32));
        Some(value)
    }

    fn insert(&self, key: &Text, value: &[u8]) {
        let hash = hash::bytes(0, key);
        let access = Access::get(hash, (key.len() + value.len()) as u32);
        let mut stripe = self.stripe(hash);
        let stripe = &mut *stripe;
        stripe.tick += 1;
        if let Some(slot) = stripe.find(hash, key) {
            stripe.entries[slot as usize].value.copy_from_slice(value);
            return stripe.touch(slot, &access);
        }
        if stripe.index.len() == stripe.capacity {
            stripe.evict(&access);
        }
        let entry = Entry { hash, key: (*key).into(), value: value.into() };
        let slot = match stripe.free.pop() {
            Some(slot) => {
                stripe.entries[slot as usize] = entry;
                slot
            }
            None => {
                stripe.entries.push(entry);
                (stripe.entries.len() - 1) as Slot
            }
        };
        let Stripe { index, entries, policy, tick, .. } = stripe;
        index.insert_unique(hash, slot, |&slot| entries[slot as usize].hash);
        policy.on_miss(&access, Tick(*tick));
        policy.on_insert(slot, &access, Tick(*tick));
    }
}
