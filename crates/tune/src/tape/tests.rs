//! Plays of generated requests on a tape: policies, sizes, removals, samples and bounds.

use super::*;
use crate::Evictor;
use base::hash::mix;
use base::{Access, Bytes, Filter, Micros};

/// Records one read a millisecond, of `keys` keys in turn.
fn looped(tape: &mut Tape, keys: u64, from: u64, count: u64, filter: Filter) {
    let read = |at: u64| Access {
        time: Micros::from_millis(at),
        penalty: Micros(1_000),
        ..Access::get(mix(at % keys), 1_000)
    };
    let accesses: Vec<_> = (from..from + count).map(read).collect();
    for look in accesses.chunks(500) {
        let sampled: Vec<_> = look.iter().filter(|a| filter.keeps(a.key)).copied().collect();
        tape.record(&sampled, filter);
    }
}

fn scene(evictor: Evictor, keys: u64, since_ms: u64) -> Scene {
    let pools = vec![ScenePool::shared(evictor, Some(Bytes(1_000 * keys)))];
    Scene { pools, prices: vec![], since: Micros::from_millis(since_ms) }
}

fn ratio(played: &Played) -> f64 {
    let reads: f64 = played.tenants.iter().flat_map(|one| one.reads).sum();
    played.misses() / reads
}

/// In a cache smaller than the loop, LRU misses every read, and a rank that learns misses a part of
/// them. If everything fits, only the first reads miss.
#[test]
fn policies_and_sizes_are_told_apart() {
    let mut tape = Tape::default();
    looped(&mut tape, 2_000, 0, 20_000, Filter::ALL);
    let at = |evictor, keys| tape.play(&scene(evictor, keys, 10_000)).unwrap();
    let lru = at(Evictor::klru_pool(5), 1_000);
    assert!(ratio(&lru) > 0.85, "{}", ratio(&lru));
    let rank = at(Evictor::gittins(64), 1_000);
    assert!(ratio(&rank) < 0.75, "{}", ratio(&rank));
    assert!((rank.tenants[0].held - 1e6).abs() < 1e4, "{}", rank.tenants[0].held);
    let pools = vec![ScenePool::shared(Evictor::gittins(64), None)];
    let all = tape.play(&Scene { pools, ..scene(Evictor::gittins(64), 1, 10_000) });
    let all = all.unwrap();
    assert_eq!(all.misses(), 0.0);
    assert!((all.tenants[0].held - 2e6).abs() < 1.0, "{}", all.tenants[0].held);
    assert!((9_990_000..=10_000_000).contains(&all.length.0), "{:?}", all.length);
    let (times, band) = ratio_of(&rank.waits(), &lru.waits());
    assert!(times < 0.85 && band < 0.1, "{times} {band}");
}

/// A play depends only on the content of the tape, however long the tape ran.
#[test]
fn a_play_begins_with_the_tape_and_nothing_else() {
    let (mut long, mut short) = (Tape::default(), Tape::default());
    looped(&mut long, 1_500, 0, 400_000, Filter::ALL);
    looped(&mut short, 1_500, 300_000, 100_000, Filter::ALL);
    let played = |tape: &Tape| {
        let since = tape.since().unwrap().0 / 1_000;
        let scene = Scene { since: Micros(0), ..scene(Evictor::klru_pool(5), 1_000, since) };
        ratio(&tape.play(&scene).unwrap())
    };
    assert!((played(&long) - played(&short)).abs() < 0.02, "{} {}", played(&long), played(&short));
}

/// Accesses too old for the window still warm the cache up.
#[test]
fn the_past_is_not_forgotten() {
    let mut tape = Tape::default();
    looped(&mut tape, 3_000, 0, 3_000, Filter::ALL);
    looped(&mut tape, 30, 3_000, 70_000, Filter::ALL);
    let read = Access { time: Micros::from_millis(80_000), ..Access::get(mix(2_999), 1_000) };
    tape.record(&[read], Filter::ALL);
    let lru = tape.play(&scene(Evictor::klru_pool(5), 4_000, 79_000)).unwrap();
    assert_eq!(lru.misses(), 0.0);
}

/// Deletes, times to live and overwritten sizes are on the tape.
#[test]
fn what_ends_an_item_is_on_the_tape() {
    let mut tape = Tape::default();
    let at = |ms: u64, access: Access| Access { time: Micros::from_millis(ms), ..access };
    let dying = Access { ttl: Micros::from_millis(1_000), ..Access::get(2, 100) };
    let accesses = [
        at(0, Access::get(1, 100)),
        at(0, dying),
        at(500, Access { ttl: Micros::from_millis(500), ..dying }),
        at(900, Access::get(1, 100)),
        at(1_000, Access::delete(1)),
        at(1_500, Access::get(1, 100)),
        at(1_600, dying),
        at(1_700, Access { ttl: Micros::from_millis(900), ..dying }),
    ];
    tape.record(&accesses, Filter::ALL);
    let played = tape.play(&scene(Evictor::klru_pool(5), 100, 1)).unwrap();
    // The removed item and the expired item miss once each.
    assert_eq!((played.misses(), ratio(&played)), (2.0, 0.4));
}

/// An expired item takes no memory, even without another request for it.
#[test]
fn dead_items_take_no_room() {
    let mut tape = Tape::default();
    let at = |ms: u64, access: Access| Access { time: Micros::from_millis(ms), ..access };
    let dying = |key| Access { ttl: Micros::from_millis(1_000), ..Access::get(key, 100) };
    let dying = (2..12).map(|key| at(0, dying(key)));
    let accesses: Vec<_> =
        dying.chain((0..12).map(|later| at(2_000 + later, Access::get(1, 100)))).collect();
    tape.record(&accesses, Filter::ALL);
    let played = tape.play(&scene(Evictor::klru_pool(5), 100, 1)).unwrap();
    assert_eq!(played.tenants[0].held, 100.0);
}

/// A share of the keys in the same share of the memory has the same miss ratio.
#[test]
fn a_share_of_the_keys_stands_for_all() {
    let mut tape = Tape::default();
    looped(&mut tape, 16_000, 0, 160_000, Filter::with_rate(0.25));
    assert!((tape.rate() - 0.25).abs() < 1e-6);
    let half = tape.play(&scene(Evictor::gittins(64), 8_000, 80_000)).unwrap();
    assert!((0.4..0.75).contains(&ratio(&half)), "{}", ratio(&half));
    assert!((half.tenants[0].held - 8e6).abs() < 4e5, "{}", half.tenants[0].held);
    looped(&mut tape, 16_000, 160_000, 1_000, Filter::with_rate(0.125));
    assert!((tape.rate() - 0.125).abs() < 1e-6, "and follows a lower rate");
}

#[test]
fn memory_is_bounded_whatever_comes() {
    let mut tape = Tape::default();
    tape.allow(Some(Bytes(1 << 20)));
    for round in 0..40 {
        looped(&mut tape, u64::MAX, round * 10_000, 10_000, Filter::ALL);
    }
    assert!(tape.past.len() <= tape.keys_max && tape.len() <= tape.window_max);
    assert!(tape.bytes() < Bytes(2 << 20), "{}", tape.bytes());
    assert!(tape.rate() < 0.5, "it watches fewer keys");
}
