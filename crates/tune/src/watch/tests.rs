//! Tests of a pool's models.

use super::allowance::{SAMPLES_PER_S, SAMPLES_PER_S_BUSY};
use super::rate::RATE_GRANTED;
use super::{Watch, samples_per_s};
use base::Access;
use curve::Bytes;

fn reads(prng: &mut base::Prng, count: u64, keys: u64) -> Vec<Access> {
    (0..count).map(|_| Access::get(base::hash::mix(prng.below(keys)), 10)).collect()
}

/// DLRU's published rate is no overrun on a busy server; sampling every key is.
#[test]
fn what_a_recipe_asks_for_is_granted() {
    let recipe = crate::recipe::parse("dlru").unwrap();
    let spec = curve::find("miniature").unwrap();
    let mut watch = Watch::new(spec, &recipe, usize::MAX, Bytes(1 << 20), 1);
    assert!(!watch.overrun(260_000.0, samples_per_s(260_000.0)));
    assert!((watch.filter().rate() - RATE_GRANTED).abs() < 1e-6);
    let recipe = crate::recipe::parse("dlru:rate=1").unwrap();
    let mut watch = Watch::new(spec, &recipe, usize::MAX, Bytes(1 << 20), 1);
    assert!(watch.overrun(260_000.0, samples_per_s(260_000.0)));
    assert!((watch.filter().rate() - 1.0 / 256.0).abs() < 1e-6);
}

/// A loop over two thousand keys hits in a cache of all its keys, and in no smaller one. The
/// curve must show that, however few looks at a sample there are.
#[test]
fn what_is_not_sampled_takes_its_time() {
    let recipe = crate::recipe::parse("lama:rate=0.25").unwrap();
    let spec = curve::find("aet").unwrap();
    let mut watch = Watch::new(spec, &recipe, usize::MAX, Bytes(10_000), 1);
    let round: Vec<_> = (0..2_000).map(|key| Access::get(base::hash::mix(key), 10)).collect();
    let mut requests = round.iter().cycle();
    for _ in 0..40 {
        let look: Vec<_> = requests.by_ref().take(1_400).copied().collect();
        let filter = watch.filter();
        let sampled = look.iter().filter(|access| filter.keeps(access.key)).copied();
        watch.learn(&sampled.collect::<Vec<_>>(), look.len() as u64);
    }
    watch.epoch(1_000.0, SAMPLES_PER_S, 0.5);
    let curve = &watch.curves()[0].curve;
    let (less, more) = (curve.at(Bytes(18_000)).0, curve.at(Bytes(22_000)).0);
    assert!(less > 0.95 && more < 0.1, "{less} {more}");
}

/// Intervals of 150 reads are too short alone; the third has enough together with the two
/// before.
#[test]
fn an_interval_of_few_reads_goes_on() {
    let recipe = crate::recipe::parse("dlru:rate=1").unwrap();
    let spec = curve::find("miniature").unwrap();
    let mut watch = Watch::new(spec, &recipe, usize::MAX, Bytes(1_000), 1);
    let mut prng = base::Prng::new(1);
    for interval in 1..=6 {
        watch.learn(&reads(&mut prng, 150, 400), 150);
        watch.epoch(1_000.0, SAMPLES_PER_S, 0.0);
        assert_eq!(watch.curves().is_empty(), interval < 3, "{interval}");
    }
    // The next interval begins anew: each counts the misses of three, and 100 of 400 keys fit.
    let misses: f64 = watch.curves()[0].groups.unwrap().iter().sum();
    assert!((0.6 * 450.0..0.9 * 450.0).contains(&misses), "{misses}");
}

/// If each epoch forgot a sixth, 40 reads an epoch would never exceed 270.
#[test]
fn few_reads_are_kept_for_longer() {
    let recipe = crate::recipe::parse("kredis").unwrap();
    let spec = curve::find("krr").unwrap();
    let mut watch = Watch::new(spec, &recipe, usize::MAX, Bytes(1 << 20), 1);
    watch.begin(1.0);
    let mut prng = base::Prng::new(1);
    for epoch in 1..=20 {
        watch.learn(&reads(&mut prng, 40, 1_000), 40);
        watch.epoch(40.0, SAMPLES_PER_S, 0.85);
        assert_eq!(watch.curves().is_empty(), epoch < 10, "{epoch}");
    }
}

/// Models must not slow a busy server, and must not learn slowly on an idle one.
#[test]
fn models_take_the_time_there_is() {
    assert_eq!(samples_per_s(0.0), SAMPLES_PER_S);
    assert_eq!(samples_per_s(5_000.0), SAMPLES_PER_S);
    assert_eq!(samples_per_s(100_000.0), SAMPLES_PER_S_BUSY);
    assert_eq!(samples_per_s(1e6), 2_000.0);
    assert_eq!(samples_per_s(1e9), SAMPLES_PER_S);
}
