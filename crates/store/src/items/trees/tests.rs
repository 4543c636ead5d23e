//! Compares trees with maps and vectors.

use super::*;
use crate::items::trees::branch::FANOUT;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Model = BTreeMap<(u32, Vec<u8>), (Option<u64>, Vec<u8>)>;

/// A body begins with the two bytes of a name; the rest is free.
fn with<R>(rank: u32, name: &[u8], f: impl FnOnce(&Probe<'_>) -> R) -> R {
    let order = |body: &[u8]| body[..2].cmp(name);
    f(&Probe { rank, order: &order })
}

fn put(tree: &mut Tree, rank: u32, name: &[u8], dies: Option<u64>, rest: &[u8]) -> bool {
    let (body, before) = ([name, rest].concat(), tree.bytes());
    let cost = tree.put_cost(body.len());
    let is_there = with(rank, name, |probe| tree.put(probe, dies, &body));
    assert!(tree.bytes() <= before + cost, "it grew by no more than was said");
    is_there
}

/// Checks that the summaries of branches are right, that all leaves have the same depth, and that
/// the bytes add up.
fn check(tree: &Tree) {
    fn look(branch: &Branch, depth: u32, height: u32, is_root: bool) -> u64 {
        match &branch.node {
            Node::Leaf(bytes) => {
                assert_eq!(depth, height, "leaves are equally deep");
                let all: Vec<_> = leaf::entries(bytes).collect();
                assert!(is_root || !all.is_empty());
                assert!(all.len() < 2 || bytes.len() <= 2 * LEAF_MAX + 600);
                assert_eq!(branch.count, all.len() as u64);
                assert_eq!(branch.rank, all.first().map_or(0, |entry| entry.rank));
                assert_eq!(branch.dies, leaf::next_death(bytes));
                branch.bytes()
            }
            Node::Inner(children) => {
                assert!((1..=FANOUT).contains(&children.len()));
                let below = children.iter().map(|child| look(child, depth + 1, height, false));
                let below: u64 = below.sum();
                assert_eq!(branch.count, children.iter().map(|child| child.count).sum::<u64>());
                assert_eq!(branch.rank, children[0].rank);
                assert_eq!(Some(branch.dies), children.iter().map(|child| child.dies).min());
                branch.bytes() + below
            }
        }
    }
    assert_eq!(look(&tree.root, 0, tree.height, true), tree.nodes, "bytes add up");
}

fn shows(tree: &Tree, model: &Model, from: u32) {
    let mine = tree.from_rank(from).map(|entry| (entry.rank, entry.dies, entry.body.to_vec()));
    let theirs =
        model.range((from, vec![])..).map(|((rank, _), (dies, body))| (*rank, *dies, body.clone()));
    assert!(mine.eq(theirs));
    let last = model.values().map(|(dies, _)| *dies).collect::<Option<Vec<_>>>();
    let last = last.filter(|all| !all.is_empty()).and_then(|all| all.into_iter().max());
    assert!(tree.ends() >= last && tree.ends().is_some() == last.is_some());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 64 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Compares a list with a vector: inserted entries are at their positions, in both directions,
    /// and spans are removed.
    #[test]
    fn is_a_list(
        steps in prop::collection::vec(
            (0u8..10, any::<prop::sample::Index>(), 0u64..90, 0usize..200),
            0..if cfg!(miri) { 60 } else { 500 }),
        from: prop::sample::Index,
    ) {
        let (mut tree, mut model) = (Tree::default(), Vec::<Vec<u8>>::new());
        for (number, (kind, at, count, len)) in steps.into_iter().enumerate() {
            let at = at.index(model.len() + 1);
            let body = [&number.to_le_bytes()[..], &vec![kind; len]].concat();
            let cost = tree.bytes() + tree.put_cost(body.len());
            match kind {
                0 => {
                    let before = tree.bytes();
                    let end = (at + count as usize).min(model.len());
                    let gone = tree.remove_span(at as u64, count, 3) as usize;
                    prop_assert!(gone <= end - at && (gone > 0 || end == at));
                    prop_assert!(tree.bytes() <= before, "what is removed needs no room");
                    // The last entries are removed first.
                    model.drain(end - gone..end);
                }
                1 => {
                    tree.replace(at as u64, &body);
                    if let Some(old) = model.get_mut(at) {
                        *old = body;
                    }
                }
                6 => {
                    // The last entry, half of the time.
                    let at = if count % 2 == 0 { model.len().saturating_sub(1) } else { at };
                    let (before, mut shown) = (tree.bytes(), vec![]);
                    let is_gone = tree.remove_at(at as u64, |body| shown.push(body.to_vec()));
                    let there = (at < model.len()).then(|| model.remove(at));
                    prop_assert!(is_gone == there.is_some() && tree.bytes() <= before);
                    prop_assert!(shown.iter().eq(&there), "it is shown once");
                }
                2 | 3 => {
                    tree.insert(0, &body);
                    model.insert(0, body);
                }
                4 | 5 => {
                    tree.insert(u64::MAX, &body);
                    model.push(body);
                }
                _ => {
                    tree.insert(at as u64, &body);
                    model.insert(at, body);
                }
            }
            prop_assert!(kind == 0 || tree.bytes() <= cost, "it grew by no more than was said");
            prop_assert_eq!(tree.len(), model.len() as u64);
        }
        check(&tree);
        let from = from.index(model.len() + 1);
        let bodies = tree.from(from as u64).map(|entry| entry.body);
        prop_assert!(bodies.eq(model[from..].iter().map(Vec::as_slice)));
        let back = tree.back_from(from as u64).map(|entry| entry.body);
        let until = (from + 1).min(model.len());
        prop_assert!(back.eq(model[..until].iter().rev().map(Vec::as_slice)));
    }

    /// Few ranks or many, short bodies and long ones. Every entry is found, in order, by rank and
    /// by position, and dead entries are removed.
    #[test]
    fn is_a_sorted_map(
        ranks in prop::sample::select(vec![1u32, 5, 100_000]),
        steps in prop::collection::vec(
            (0u8..10, any::<u32>(), any::<[u8; 2]>(), prop::option::of(1u64..100), 0usize..600),
            0..if cfg!(miri) { 60 } else { 600 }),
        from: u32,
    ) {
        let (mut tree, mut model) = (Tree::default(), Model::new());
        for (kind, rank, name, dies, len) in steps {
            // Each name has one rank.
            let rank = (rank ^ u32::from(name[0])) % ranks;
            let name = [name[0] % 16, name[1]];
            match kind {
                0 => {
                    let before = tree.bytes();
                    let removed = with(rank, &name, |probe| tree.remove(probe));
                    prop_assert!(tree.bytes() <= before, "what is removed needs no room");
                    let known = model.remove(&(rank, name.to_vec()));
                    prop_assert_eq!(removed, known.is_some());
                }
                1 if len < 20 => {
                    while tree.has_dead(len as u64) {
                        tree.remove_dead(len as u64, 3);
                    }
                    model.retain(|_, (dies, _)| dies.is_none_or(|dies| dies > len as u64));
                }
                _ => {
                    let rest = vec![kind; if kind == 9 { len } else { len % 40 }];
                    let is_there = put(&mut tree, rank, &name, dies, &rest);
                    let body = [&name[..], &rest].concat();
                    let known = model.insert((rank, name.to_vec()), (dies, body));
                    prop_assert_eq!(is_there, known.is_some());
                }
            }
            prop_assert_eq!(tree.len(), model.len() as u64);
        }
        check(&tree);
        shows(&tree, &model, 0);
        shows(&tree, &model, from % ranks);
        for (at, ((rank, name), (dies, body))) in model.iter().enumerate() {
            let entry = Entry { rank: *rank, dies: *dies, body };
            prop_assert_eq!(with(*rank, name, |probe| tree.get(probe)), Some(entry));
            prop_assert_eq!(tree.at(at as u64), Some(entry));
            prop_assert_eq!(with(*rank, name, |probe| tree.position(probe)), at as u64);
        }
        prop_assert_eq!(tree.at(model.len() as u64), None);
        let next = model.values().filter_map(|(dies, _)| *dies).min();
        prop_assert_eq!(tree.next_death(), next);
        let nodes = tree.nodes;
        let mut freed = 0;
        while !tree.is_empty() {
            freed += tree.take_apart(3);
        }
        freed += tree.take_apart(1);
        prop_assert_eq!((freed, tree.nodes), (nodes, 0));
    }
}

/// Pushes at either end leave full leaves behind, and a list pays one byte per element.
#[test]
fn a_list_is_dense() {
    let count = if cfg!(miri) { 300 } else { 20_000 };
    for front in [false, true] {
        let mut tree = Tree::default();
        for _ in 0..count {
            tree.insert(if front { 0 } else { u64::MAX }, &[7; 20]);
        }
        check(&tree);
        let each = tree.bytes() as f64 / f64::from(count);
        assert!(each < 21.0 * 1.15, "{each} bytes an element of 21, at the front: {front}");
    }
}

/// Entries in order leave full leaves, and random ones nearly full leaves.
#[test]
fn is_dense() {
    let count = if cfg!(miri) { 300 } else { 20_000 };
    for mixed in [false, true] {
        let mut tree = Tree::default();
        for at in 0..count {
            let rank = if mixed { base::hash::mix(u64::from(at)) as u32 } else { at };
            put(&mut tree, rank, b"ab", None, &[7; 20]);
        }
        check(&tree);
        // Each entry has four bytes of rank and one of length.
        let each = tree.bytes() as f64 / f64::from(count);
        assert!(
            each < 27.0 * if mixed { 1.25 } else { 1.15 },
            "{each} bytes an entry of 27, mixed: {mixed}"
        );
        for at in (0..count).step_by(2) {
            let rank = if mixed { base::hash::mix(u64::from(at)) as u32 } else { at };
            with(rank, b"ab", |probe| tree.remove(probe));
        }
        check(&tree);
    }
}

/// A long entry is not copied for its neighbours: it gets a leaf of its own.
#[test]
fn a_long_entry_stands_alone() {
    let mut tree = Tree::default();
    put(&mut tree, 50, b"ab", None, &vec![1; 100_000]);
    for rank in 0..100 {
        put(&mut tree, rank, b"cd", None, &[2; 20]);
    }
    let probe =
        |rank, name: &'static [u8]| with(rank, name, |probe| tree.get(probe).unwrap().body.len());
    assert_eq!((probe(50, b"ab"), probe(50, b"cd")), (100_002, 22));
    let mut alone = false;
    let mut branches = vec![&tree.root];
    while let Some(branch) = branches.pop() {
        match &branch.node {
            Node::Leaf(bytes) => alone |= branch.count <= 2 && bytes.len() > 100_000,
            Node::Inner(children) => branches.extend(children.iter()),
        }
    }
    assert!(alone);
}
