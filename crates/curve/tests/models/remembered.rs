//! A model that receives the state of another continues as if it had seen the accesses itself.

use base::hash::mix;
use base::{Access, Bytes, Micros, Op, Prng};
use curve::{Model, Params, Remembered, Spec};

fn read(time: u64, key: u64) -> Access {
    let size = 100 + (key % 7) as u32 * 50;
    Access { time: Micros(time), ..Access::get(mix(key), size) }
}

/// Skewed reads of 5 000 keys, starting at `time`.
fn reads(prng: &mut Prng, time: u64, count: u64) -> Vec<Access> {
    (0..count).map(|at| read(time + at, (prng.unit().powi(3) * 5_000.0) as u64)).collect()
}

fn krr(keys_max: usize) -> Box<dyn Model> {
    made(&curve::krr::SPEC, keys_max)
}

fn made(spec: &Spec, keys_max: usize) -> Box<dyn Model> {
    (spec.build)(&Params { k: 5, keys_max, ..Params::default() })
}

/// Covers every registered model that can be remembered.
#[test]
fn a_model_goes_on_where_another_ended() {
    let remember = |spec: &&&Spec| made(spec, usize::MAX).remembered().is_some();
    let all: Vec<_> = curve::ALL.iter().filter(remember).collect();
    assert!(["krr", "eaet"].iter().all(|name| all.iter().any(|spec| spec.name == *name)));
    for (spec, keys_max) in all.iter().flat_map(|spec| [(spec, usize::MAX), (spec, 1_000)]) {
        let (mut prng, mut old) = (Prng::new(5), made(spec, keys_max));
        let mut new = made(spec, keys_max);
        old.accesses(&reads(&mut prng, 0, 60_000));
        old.forget(0.9);
        let remembered = old.remembered().unwrap();
        assert!(new.remember(&remembered));
        assert_eq!(new.remembered().unwrap(), remembered);
        assert_eq!(new.curve(), old.curve());
        // The new model has the objects, so it counts none of them as new when it is read again.
        let more = reads(&mut prng, 60_000, 60_000);
        old.accesses(&more);
        new.accesses(&more);
        let differ = (1..40)
            .map(|at| Bytes(at * 25_000))
            .map(|size| (old.curve().at(size).0 - new.curve().at(size).0).abs());
        let most = differ.fold(0.0, f64::max);
        assert!(most < 0.02, "{} {keys_max}: {most}", spec.name);
    }
}

/// A simulated cache continues with the same residents of the same ages, so it misses about as
/// often as the old one.
#[test]
fn a_miniature_goes_on_with_its_residents() {
    let made = |k| {
        let (sizes, rate) = (vec![Bytes(900_000)], 0.5);
        (curve::miniature::SPEC.build)(&Params { k, sizes, rate, ..Params::default() })
    };
    for k in [1, 5, 16] {
        let (mut prng, mut old, mut new) = (Prng::new(5), made(k), made(k));
        old.accesses(&reads(&mut prng, 0, 60_000));
        old.skip(7);
        let remembered = old.remembered().unwrap();
        assert!(remembered.objects.len() > 500, "{}", remembered.objects.len());
        assert!(remembered.objects.is_sorted_by_key(|one| one.age));
        assert!(new.remember(&remembered));
        assert_eq!(new.remembered().unwrap(), remembered);
        assert_eq!((new.curve(), new.groups()), (old.curve(), old.groups()));
        let (more, empty) = (reads(&mut prng, 60_000, 2_000), made(k));
        let misses = |mut model: Box<dyn Model>| {
            let misses = |model: &dyn Model| model.groups().unwrap().iter().sum::<f64>();
            let before = misses(&*model);
            model.accesses(&more);
            misses(&*model) - before
        };
        let [old, new, empty] = [old, new, empty].map(misses);
        assert!((new - old).abs() < 0.1 * old, "{k}: {new} for {old}");
        assert!(empty > 1.3 * old, "{k}: it would tell nothing: {empty} for {old}");
    }
}

#[test]
fn lives_go_on() {
    let mut old = krr(usize::MAX);
    for key in 0..10 {
        old.access(&Access { op: Op::Set, ttl: Micros(1_000), ..read(500, key) });
    }
    let mut new = krr(usize::MAX);
    assert!(new.remember(&old.remembered().unwrap()));
    (0..5).for_each(|key| new.access(&read(900, key)));
    (5..10).for_each(|key| new.access(&read(1_100, key)));
    let after = new.remembered().unwrap();
    assert_eq!(after.hits.iter().sum::<f64>(), 5.0, "five were read in time: {after:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let mut old = krr(usize::MAX);
    old.accesses(&reads(&mut Prng::new(1), 0, 1_000));
    let good = old.remembered().unwrap();
    assert!(!old.remember(&good), "it has seen something itself");
    for bad in [
        Remembered { rate: 0.0, ..good.clone() },
        Remembered { reads: f64::NAN, ..good.clone() },
        Remembered { hits: vec![-1.0], ..good.clone() },
        Remembered { hits: vec![0.0; 1 << 20], ..good.clone() },
    ] {
        assert!(!krr(usize::MAX).remember(&bad));
    }
    let mut twice = good.clone();
    twice.objects.extend(good.objects.clone());
    assert!(krr(usize::MAX).remember(&twice), "of a key that is named twice one is taken");
}
