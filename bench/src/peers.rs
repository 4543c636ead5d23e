//! The in-process caches that the benches compare, behind one trait. A new cache needs a type here
//! and an entry in [`CACHES`].

use crate::Text;
use crate::policies::fine;
use larder::Evictor;

/// A cache of byte strings.
pub(crate) trait Held: Sync {
    /// Returns a copy of the value.
    fn get(&self, key: &Text) -> Option<Vec<u8>>;
    /// Stores copies of the key and the value.
    fn insert(&self, key: &Text, value: &[u8]);
    /// Finishes deferred work.
    fn settle(&self) {}
}

/// Makes a cache of `capacity` bytes, for about `items` entries that each take `overhead` bytes
/// beyond key and value.
pub(crate) type Make = fn(capacity: u64, overhead: u64, items: usize) -> Box<dyn Held>;

/// The caches by name. Ratios are relative to the first.
pub(crate) const CACHES: [(&str, Make); 4] = [
    ("larder", |capacity, _, _| {
        let builder = larder::Cache::builder(capacity).slab(fine());
        Box::new(Larder(builder.maintained().build().expect("static is a recipe")))
    }),
    // With eight candidates, each line of sixteen tags serves two evictions.
    ("larder, lhd", |capacity, _, _| {
        let builder = larder::Cache::builder(capacity).slab(fine());
        Box::new(Larder(builder.evictor(Evictor::lhd(8)).maintained().build().expect("as above")))
    }),
    ("quick_cache", |capacity, overhead, items| {
        Box::new(Quick(quick_cache::sync::Cache::with_weighter(items, capacity, Weight(overhead))))
    }),
    ("moka", |capacity, overhead, _| {
        let weigher = move |key: &Vec<u8>, value: &Vec<u8>| {
            (key.len() + value.len()) as u32 + overhead as u32
        };
        let cache = moka::sync::Cache::builder().max_capacity(capacity).weigher(weigher).build();
        Box::new(Moka(cache))
    }),
];

/// The constructor of the cache of this name in [`CACHES`].
pub(crate) fn cache(name: &str) -> Make {
    CACHES.iter().find(|(known, _)| *known == name).expect("a cache of the list").1
}

pub(crate) struct Larder(pub(crate) larder::Cache);

impl Held for Larder {
    fn get(&self, key: &Text) -> Option<Vec<u8>> {
        self.0.get(key)
    }

    fn insert(&self, key: &Text, value: &[u8]) {
        self.0.insert(key, value).expect("an entry is small beside the cache");
    }
}

#[derive(Clone)]
struct Weight(u64);

impl quick_cache::Weighter<Vec<u8>, Vec<u8>> for Weight {
    fn weight(&self, key: &Vec<u8>, value: &Vec<u8>) -> u64 {
        (key.len() + value.len()) as u64 + self.0
    }
}

struct Quick(quick_cache::sync::Cache<Vec<u8>, Vec<u8>, Weight>);

impl Held for Quick {
    fn get(&self, key: &Text) -> Option<Vec<u8>> {
        self.0.get(&key[..])
    }

    fn insert(&self, key: &Text, value: &[u8]) {
        self.0.insert(key.to_vec(), value.to_vec());
    }
}

struct Moka(moka::sync::Cache<Vec<u8>, Vec<u8>>);

impl Held for Moka {
    fn get(&self, key: &Text) -> Option<Vec<u8>> {
        self.0.get(&key[..])
    }

    fn insert(&self, key: &Text, value: &[u8]) {
        self.0.insert(key.to_vec(), value.to_vec());
    }

    fn settle(&self) {
        self.0.run_pending_tasks();
    }
}
