//! Tests of the causes.

use super::watched::SETTLING_MIN;
use super::watching::KEYS_MAX;
use super::{TenantTap, Watching};
use Sighting::{Delete, Hit, Miss, Write};
use base::{Bytes, Cause, Causes, Filter, Micros, Sample, Sighting, TenantId};

fn sample(at_s: u64, key: u64, sighting: Sighting, ttl_s: u64) -> Sample {
    Sample {
        time: Micros::from_secs(at_s),
        key,
        tenant: 0,
        sighting,
        size: 10,
        ttl: Micros::from_secs(ttl_s),
        penalty: Micros(0),
    }
}

/// A tenant whose keys are all sampled.
const fn tenant(tenant: TenantId, items: u64) -> TenantTap {
    TenantTap { tenant, tap: Filter::ALL, items, misses: 0 }
}

fn seen(samples: &[Sample]) -> Causes {
    let mut watching = Watching::default();
    watching.look(samples, &[tenant(0, 1)], None, Micros(0));
    watching.misses(0)
}

#[test]
fn every_cause_is_told() {
    let told = |samples: &[Sample]| {
        let misses = seen(samples);
        let of = |cause: &Cause| misses[*cause as usize] > 0;
        Cause::ALL.into_iter().filter(of).collect::<Vec<_>>()
    };
    assert_eq!(told(&[sample(0, 1, Miss, 0)]), [Cause::NeverSeen]);
    assert_eq!(told(&[sample(0, 1, Write, 0), sample(9, 1, Miss, 0)]), [Cause::Evicted]);
    assert_eq!(told(&[sample(0, 1, Write, 5), sample(9, 1, Miss, 0)]), [Cause::Expired]);
    assert_eq!(told(&[sample(0, 1, Write, 9), sample(5, 1, Miss, 0)]), [Cause::Evicted]);
    let renewed = [sample(0, 1, Write, 5), sample(4, 1, Hit, 60), sample(9, 1, Miss, 0)];
    assert_eq!(told(&renewed), [Cause::Evicted]);
    let removed = [sample(0, 1, Hit, 0), sample(1, 1, Delete, 0), sample(2, 1, Miss, 0)];
    assert_eq!(told(&removed), [Cause::Deleted]);
    let early = [sample(0, 1, Miss, 0), sample(5, 1, Miss, 0), sample(60, 1, Write, 0)];
    assert_eq!(told(&early), [Cause::TooEarly]);
    assert_eq!(seen(&early)[Cause::TooEarly as usize], 2);
    let fetched = [sample(0, 1, Miss, 0), sample(3, 1, Write, 0)];
    assert_eq!(told(&fetched), [Cause::NeverSeen], "the read made somebody write it");
    assert_eq!(told(&[sample(0, 1, Delete, 0), sample(1, 1, Miss, 0)]), [Cause::NeverSeen]);
}

#[test]
fn a_longer_life_would_have_answered_some() {
    let mut watching = Watching::default();
    let written = |key| sample(0, key, Write, 10);
    let samples = [
        written(1),
        written(2),
        sample(5, 1, Hit, 5),
        sample(15, 1, Miss, 0),
        sample(25, 2, Miss, 0),
    ];
    watching.look(&samples, &[tenant(0, 1)], None, Micros(0));
    assert_eq!(watching.twice_the_ttl(0), Some(0.5));
}

/// A key that is read every second, and fetched when its item has expired.
#[test]
fn twice_the_life_halves_the_misses_of_a_key_that_is_read_often() {
    let (mut watching, mut samples, mut expires) = (Watching::default(), vec![], 0);
    for at in 0..2_000 {
        let left = u64::saturating_sub(expires, at);
        if left > 0 {
            samples.push(sample(at, 1, Hit, left));
        } else {
            samples.extend([sample(at, 1, Miss, 0), sample(at, 1, Write, 10)]);
            expires = at + 10;
        }
    }
    watching.look(&samples, &[tenant(0, 1)], None, Micros(0));
    let saved = watching.twice_the_ttl(0).unwrap();
    assert!((saved - 0.5).abs() < 0.01, "{saved}");
}

#[test]
fn a_tenant_that_was_emptied_lost_its_items_on_request() {
    let mut watching = Watching::default();
    watching.look(&[sample(0, 1, Write, 0)], &[tenant(0, 1)], None, Micros(0));
    watching.look(&[], &[tenant(0, 0)], None, Micros(1));
    watching.look(&[sample(9, 1, Miss, 0)], &[tenant(0, 0)], None, Micros(2));
    assert_eq!(watching.misses(0)[Cause::Deleted as usize], 1);
}

/// The number of watched keys is bounded, and keys that stay watched give the same causes.
#[test]
fn what_is_watched_is_bounded() {
    let mut watching = Watching::default();
    let tenants = [tenant(0, 100), tenant(1, 100)];
    for at in 0..60 {
        let keys = (0..5_000).map(|key| base::hash::mix(at * 5_000 + key));
        let few = (0..50).map(|key| Sample { tenant: 1, ..sample(at, key << 50, Hit, 0) });
        let samples: Vec<_> = keys.map(|key| sample(at, key, Miss, 0)).chain(few).collect();
        watching.look(&samples, &tenants, None, Micros::from_secs(at));
        assert!(watching.of.iter().map(|own| own.keys.len()).sum::<usize>() <= KEYS_MAX);
    }
    assert!(watching.of[0].watches.rate() < 0.2);
    assert_eq!(watching.of[1].watches, Filter::ALL, "those of others stay");
    let misses = watching.misses(0);
    let error = misses[0] as f64 / 300_000.0 - 1.0;
    assert!(error.abs() < 0.05 && misses[1..] == [0; 4], "{misses:?}");
}

/// More tenants than keys that may be watched, each with a key or two.
#[test]
fn what_is_watched_of_many_tenants_is_bounded() {
    let mut watching = Watching::default();
    let tenants: Vec<TenantTap> = (0..5_000).map(|id| tenant(id, 100)).collect();
    let samples: Vec<Sample> = (0..10_000u64)
        .map(|at| Sample { tenant: (at % 5_000) as u16, ..sample(1, at << 48 | at, Miss, 0) })
        .collect();
    watching.look(&samples, &tenants, Some(Bytes(1 << 20)), Micros::from_secs(1));
    let keys = watching.of.iter().map(|own| own.keys.len()).sum::<usize>();
    assert!((800..=3_276).contains(&keys), "{keys}");
}

/// Misses do not count at first in a cache that was full at the start, nor for keys not sampled
/// before.
#[test]
fn what_may_have_been_seen_before_does_not_count_at_first() {
    let mut watching = Watching::default();
    watching.look(&[sample(0, 1, Miss, 0)], &[tenant(0, 9_999)], None, Micros(0));
    assert_eq!(watching.misses(0), Causes::default());
    watching.look(&[], &[tenant(0, 9_999)], None, SETTLING_MIN);
    watching.look(&[sample(61, 2, Miss, 0)], &[tenant(0, 9_999)], None, SETTLING_MIN);
    assert_eq!(watching.misses(0), [1, 0, 0, 0, 0]);
}

/// Keys of a new cache are written before any read. A key that is sampled only later may have
/// been written already.
#[test]
fn values_loaded_beforehand_are_no_first_reads() {
    let half = Filter::below(Filter::ALL.threshold() / 2);
    for (misses, counted) in [(0, [0; 5]), (5_000, [1, 0, 0, 0, 0])] {
        let mut watching = Watching::default();
        watching.look(&[], &[TenantTap { tap: half, ..tenant(0, 10) }], None, Micros(0));
        let at = Micros::from_secs(1);
        let key = (0..100).map(base::hash::mix).find(|&key| !half.keeps(key)).unwrap();
        let miss = sample(1, key, Miss, 0);
        watching.look(&[miss], &[TenantTap { misses, ..tenant(0, 5_000) }], None, at);
        assert_eq!(watching.misses(0), counted);
    }
}
