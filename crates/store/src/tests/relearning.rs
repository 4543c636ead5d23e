//! Learning anew: dictionaries that get better, retired ones, and values that stop shrinking.

use super::compression::{document, misses, noise, store};
use crate::compression::octaves::{Octave, State};
use crate::sync::shim::lock;
use crate::{Compression, Scope, Store};
use base::Prng;

/// Items with a retired dictionary are compressed anew, so that its memory becomes free.
#[test]
fn a_retired_dictionary_leaves_its_items() {
    let store = store(4 << 20, Compression::Auto, 0.0);
    misses(&store, 30_000, document);
    let before = {
        let mut worker = lock(&store.compression.worker);
        let known = &mut worker.tenants[0];
        for octave in &mut known.octaves {
            if let State::Ready(number @ 1..) = octave.state {
                known.retired.push(number);
                octave.state = State::Unknown;
            }
        }
        let retired = known.retired.clone();
        worker.wake();
        retired
    };
    assert!(!before.is_empty());
    // Items for which there is no need of memory keep it.
    misses(&store, 90_000, document);
    let worker = lock(&store.compression.worker);
    let known = &worker.tenants[0];
    assert_eq!((&known.retired[..], known.dictionaries.len()), (&[][..], before.len()));
    drop(worker);
    assert!(store.compression_stats(0).items > 500);
}

/// Once values shrink less than they did, samples of them train another dictionary, which then
/// serves.
#[test]
fn values_of_another_kind_get_another_dictionary() {
    fn ready(store: &Store) -> Vec<u16> {
        let worker = lock(&store.compression.worker);
        let number = |octave: &Octave| match octave.state {
            State::Ready(number @ 1..) => Some(number),
            _ => None,
        };
        worker.tenants[0].octaves.iter().filter_map(number).collect()
    }
    fn page(n: u64, _: u64) -> Vec<u8> {
        let mut prng = Prng::new(n);
        let row = |_| {
            let (price, stock) = (prng.below(10_000), prng.below(500));
            format!(r#"<tr class="offer"><td>{price} EUR</td><td title="stock">{stock}</td></tr>"#)
        };
        format!("<h1>{n}</h1>{}", (0..8).map(row).collect::<String>()).into_bytes()
    }
    let store = store(4 << 20, Compression::Auto, 0.0);
    misses(&store, 30_000, document);
    let before = ready(&store);
    store.flush(Scope::ALL);
    misses(&store, 30_000, page);
    let after = ready(&store);
    assert!(
        !before.is_empty() && before.len() == after.len() && before != after,
        "{before:?} {after:?}"
    );
    let stats = store.compression_stats(0);
    assert!(stats.stored.0 * 3 < stats.plain.0, "{stats:?}");
}

/// Once no value shrinks any more, the octave is left alone, and nothing is compressed in vain.
#[test]
fn documents_that_become_noise_are_left_alone() {
    for weight in [0.0, 1.0] {
        let store = store(4 << 20, Compression::Auto, weight);
        misses(&store, 30_000, document);
        store.flush(Scope::ALL);
        misses(&store, 30_000, noise);
        let worker = lock(&store.compression.worker);
        let octaves = worker.tenants[0].octaves;
        drop(worker);
        let is_ready = |octave: &Octave| matches!(octave.state, State::Ready(_));
        assert!(!octaves.iter().any(is_ready), "{octaves:?}");
        let before = store.compression_stats(0);
        misses(&store, 30_000, noise);
        let after = store.compression_stats(0);
        assert!(after.items == 0 && after.writes - before.writes < 2_000, "{before:?} {after:?}");
    }
}
