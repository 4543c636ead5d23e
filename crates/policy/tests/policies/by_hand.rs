//! Newer policies on requests with a known outcome: the FIFO family step by step.

use policy::{Access, Bytes, Cache, parse};

/// A full cache of objects of one byte each.
fn full(name: &str, capacity: u64) -> Cache {
    let mut cache = Cache::new(&parse(name).unwrap(), Bytes(capacity), 1);
    get(&mut cache, 0..capacity);
    assert_eq!(cache.stats().evictions, 0, "it just filled");
    cache
}

fn get(cache: &mut Cache, keys: impl IntoIterator<Item = u64>) {
    for key in keys {
        cache.access(&Access::get(key, 1));
    }
}

fn held<const N: usize>(cache: &Cache, keys: [u64; N]) -> [bool; N] {
    keys.map(|key| cache.holds(key))
}

/// 40 places: 4 in the small queue, whose newest 2 are the window, 36 in the main one.
#[test]
fn clock2q_plus_ignores_hits_in_its_window() {
    let mut cache = full("clock2q-plus", 40);
    // Filled: 0 to 3 in the small queue, 4 to 39 in the main one. 0 is evicted and becomes a ghost.
    get(&mut cache, [40]);
    // No object entered behind 40, one behind 3, two behind 2: of the three hits only the last
    // counts.
    get(&mut cache, [40, 3, 2]);
    // 1 is evicted; then 2 moves on and 3 goes; then the main queue has one too many, and 4 goes.
    get(&mut cache, [41, 42, 43]);
    assert_eq!(
        held(&cache, [0, 1, 2, 3, 4, 5, 40]),
        [false, false, true, false, false, true, true]
    );
    // A ghost enters the main queue; 40, whose hit came too soon, is evicted for it.
    get(&mut cache, [0]);
    assert_eq!(held(&cache, [0, 40, 41]), [true, false, true]);
    // 5 goes for the first newcomer, as the ghost made the main queue too long; then 41 and 42 go.
    get(&mut cache, [44, 45, 46]);
    assert_eq!(held(&cache, [0, 5, 41, 42, 43]), [true, false, false, false, true]);
    // Without a window the hits of 40 and 3 count as well.
    let mut cache = full("clock2q-plus:window=0", 40);
    get(&mut cache, [40, 40, 3, 2, 41, 42]);
    assert_eq!(held(&cache, [1, 2, 3, 40, 41]), [false, true, true, true, false]);
}

/// 10 places: 1 for the small queue, which starts with all objects, and 9 for the main queue.
#[test]
fn qdlp_demotes_quickly_and_promotes_lazily() {
    let mut cache = full("qdlp", 10);
    // All are in the small queue. 0 and 1 were hit, so they move on, and 2 is evicted as a ghost.
    get(&mut cache, [0, 1, 10]);
    assert_eq!(held(&cache, [0, 1, 2, 3]), [true, true, false, true]);
    // The ghost enters the main queue at once, and 3 is evicted for it.
    get(&mut cache, [2]);
    assert_eq!(held(&cache, [2, 3, 4]), [true, false, true]);
    // The main queue holds 0, 1 and 2. The rest is hit: with 4 to 10 the queue is one too long. 0
    // is evicted, the oldest there, whose hit counted in the small queue only.
    get(&mut cache, (4..11).chain([11]));
    assert_eq!(held(&cache, [0, 1, 11]), [false, true, true]);
    // 1 is hit often; two bits count three rounds, and each begins as a ghost comes back. 0 was
    // evicted from the main queue and is no ghost: 11 is evicted for it.
    get(&mut cache, [1; 8]);
    let mut rounds = 0;
    while cache.holds(1) && rounds < 100 {
        let ghost = 1_000 + rounds;
        get(&mut cache, [ghost, 2_000, ghost]);
        rounds += 1;
    }
    // Nine are in the main queue, and each ghost evicts one: the hand passes 1 three times.
    assert_eq!(rounds, 1 + 3 * 8 + 1);
}

/// Every second request belongs to a loop of 300 objects, the others read new objects. LRU never
/// hits in 330 places. Once there is a model, the numbers of uses separate new objects from the
/// loop: then all but a few of the loop stay.
#[test]
fn three_l_cache_learns_who_comes_back() {
    let key = |at: u64| if at.is_multiple_of(2) { at / 2 % 300 } else { 1_000_000 + at };
    let misses = |name: &str| {
        let mut cache = Cache::new(&parse(name).unwrap(), Bytes(330), 1);
        get(&mut cache, (0..20_000).map(key));
        let before = cache.stats().misses;
        get(&mut cache, (20_000..30_000).map(key));
        cache.stats().misses - before
    };
    assert_eq!(misses("lru"), 10_000);
    let learned = misses("3l-cache:batch=2000");
    assert!((5_000..6_000).contains(&learned), "{learned}: half are new");
}
