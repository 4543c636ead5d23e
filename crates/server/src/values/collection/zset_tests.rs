//! Compares large sorted sets with a map, members with one hash and many with one score included.

use super::*;
use crate::values::rank::by_member;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;
use store::{Config, Key, Now, Store};

/// Pairs of members with one hash, as the seed of this run makes them.
static TWINS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let (mut seen, mut twins) = (HashMap::new(), vec![]);
    for number in 0u32.. {
        let name = number.to_string().into_bytes();
        if let Some(other) = seen.insert(by_member(&name), name.clone()) {
            twins.extend([other, name]);
        }
        if twins.len() == 6 {
            break;
        }
    }
    twins
});

/// A member: one of the twins, the empty one, or another.
fn member(number: u8) -> Vec<u8> {
    match usize::from(number) {
        0 => vec![],
        twin if twin <= TWINS.len() => TWINS[twin - 1].clone(),
        other => format!("member {other}").into_bytes(),
    }
}

type Model = BTreeMap<Vec<u8>, f64>;

/// Checks scores, positions, both edges of each score and the order of a scan, and that places are
/// long only if they have to be or had to be.
fn compare(tree: &Tree, model: &Model) {
    let view = View::Tree(tree);
    let mut sorted: Vec<Vec<u8>> = model.iter().map(|(m, s)| body(m, *s)).collect();
    sorted.sort();
    assert_eq!(tree.len(), 2 * sorted.len() as u64, "a place for each body");
    for (at, wanted) in sorted.iter().enumerate() {
        let (member, of) = pair(wanted);
        assert_eq!(view.at::<Zset>(at as u64), Some(&wanted[..]));
        assert_eq!(super::position(view, member), Some((at as u64, of)));
        let below = model.values().filter(|&&score| score < of).count() as u64;
        let until = model.values().filter(|&&score| score <= of).count() as u64;
        assert_eq!(super::before(view, Edge::Score(of)), below);
        assert_eq!(super::before(view, Edge::BehindScore(of)), until);
    }
    for number in 0..=u8::MAX {
        let member = member(number);
        assert_eq!(super::score(view, &member), model.get(&member).copied());
    }
    let (mut shown, mut from) = (vec![], Some(0));
    while let Some(start) = from {
        from = super::scan(view, start, 3, |member, score| shown.push((member.to_vec(), score)));
    }
    shown.sort_by(|(one, _), (other, _)| one.cmp(other));
    assert!(shown.into_iter().eq(model.clone()), "a scan shows each member once");
}

proptest! {
    #[test]
    fn a_sorted_set_changes_like_a_map(
        steps in prop::collection::vec((0u8..8, any::<u8>(), 0u8..40), 0..600),
        scores in 1u8..40,
        base in prop::sample::select(vec![0.0, -7.0, 0.1, 1e300, f64::NEG_INFINITY]),
    ) {
        let (store, now) = (Store::new(Config::default()), Now::default());
        let key = Key::new(0, 0, 0, b"set");
        let mut model = Model::new();
        store.edit(&key, now, |edit| {
            let mut tree = Tree::default();
            for number in 0..20 {
                let score = base + f64::from(number % scores);
                model.insert(member(number), score);
            }
            let mut bodies: Vec<_> = model.iter().map(|(m, s)| body(m, *s)).collect();
            bodies.sort();
            bodies.iter().try_for_each(|body| Zset::add(&mut tree, body))?;
            edit.make_tree(tree, ZSET, &[], None)?;
            for (kind, number, score) in steps {
                let (member, score) = (member(number), base + f64::from(score % scores));
                let mut held = Held::Tree(edit);
                match kind {
                    0..5 => {
                        let found = super::find(held.view(), &member);
                        assert_eq!(found.map(|found| found.score), model.get(&member).copied());
                        super::put(&mut held, &member, score, found)?;
                        model.insert(member, score);
                    }
                    5 | 6 => {
                        let is_there = super::remove(&mut held, &member);
                        assert_eq!(is_there, model.remove(&member).is_some());
                    }
                    _ => {
                        let position = u64::from(number) % model.len().max(1) as u64;
                        let gone = held.view().at::<Zset>(position).map(<[u8]>::to_vec);
                        let count = super::remove_span(&mut held, position, 1);
                        let removed = gone.and_then(|body| model.remove(pair(&body).0));
                        assert_eq!(count, u64::from(removed.is_some()));
                    }
                }
            }
            if let Some(tree) = edit.tree() {
                compare(tree, &model);
            }
            Ok::<_, Error>(())
        }).unwrap();
    }
}

/// The bytes of a member in a large set: a place has no copy of it, unless many have its score.
#[test]
fn a_place_is_short() {
    let bytes = |score: fn(u32) -> f64| {
        let mut bodies: Vec<_> =
            (0..20_000).map(|at| body(format!("member:{at:07}").as_bytes(), score(at))).collect();
        bodies.sort();
        let mut tree = Tree::default();
        bodies.iter().try_for_each(|body| Zset::add(&mut tree, body)).unwrap();
        tree.bytes() / 20_000
    };
    let (own, shared) = (bytes(f64::from), bytes(|at| f64::from(at / 100)));
    assert!(own + 10 < shared, "{own} bytes, and {shared} of members with the scores of others");
}
