//! A cache that compresses shows plain values, and holds more.

use super::*;
use std::fmt::Write;

fn document(n: u64) -> Vec<u8> {
    let mut prng = Prng::new(n);
    let mut text = format!(r#"{{"id":{n},"entries":["#);
    for _ in 0..8 {
        let (score, user) = (prng.below(10_000), prng.below(500));
        let author = format_args!(r#""author":"user-{user}","state":"published""#);
        write!(text, r#"{{"score":{score},{author}}},"#).unwrap();
    }
    text.into_bytes()
}

/// Entries held after reads of many keys, each of whose misses costs 50 ms.
fn held(compressed: bool) -> (u64, u64) {
    let builder = cache(1 << 20).cost(|_, _| Duration::from_millis(50));
    let cache = if compressed { builder.compressed() } else { builder }.build().unwrap();
    let mut prng = Prng::new(5);
    for step in 0..60_000u64 {
        let n = prng.below(100) * prng.below(100);
        let want = document(n);
        match cache.get(n.to_le_bytes()) {
            Some(found) => assert_eq!(found, want),
            None => _ = cache.insert(n.to_le_bytes(), &want),
        }
        if step % 100 == 0 {
            cache.advance(Duration::from_millis(100));
            cache.maintain();
        }
    }
    assert!(cache.used() <= cache.capacity());
    for (key, value) in &cache {
        assert_eq!(value, document(u64::from_le_bytes(key.try_into().unwrap())));
    }
    (cache.len(), cache.compression().items)
}

#[test]
fn a_compressed_cache_holds_more() {
    let ((plain, none), (more, compressed)) = (held(false), held(true));
    assert_eq!(none, 0);
    assert!(compressed > 0 && more > plain + plain / 5, "{more} entries, {plain} without");
}
