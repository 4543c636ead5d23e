//! Compares the table with a map: look-ups, growth, shrinking, walks, draws, and the shape of its
//! chains.

use super::*;
use crate::items::item::Parts;
use crate::items::pages::pages::Pages;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const SEED: u64 = 11;

fn key(n: u32) -> [u8; 4] {
    n.to_le_bytes()
}

fn hash(n: u32) -> u64 {
    hash_of(SEED, 0, &key(n))
}

fn number(item: Ref) -> u32 {
    u32::from_le_bytes(item.key().try_into().unwrap())
}

/// A table and the pages of its items.
struct Filled {
    table: ItemTable,
    pages: Pages,
}

impl Filled {
    fn new() -> Self {
        Self { table: ItemTable::default(), pages: Pages::for_test() }
    }
}

impl std::ops::Deref for Filled {
    type Target = ItemTable;
    fn deref(&self) -> &ItemTable {
        &self.table
    }
}

fn insert(filled: &mut Filled, n: u32) {
    let value = n.wrapping_mul(7).to_le_bytes();
    let name = key(n);
    let value = [&value[..], b""];
    let parts = Parts { db: 0, key: &name, value, expires: None, kind: 0, is_compressed: false };
    let Filled { table, pages } = filled;
    let room = table.bytes() + table.insert_cost(hash(n));
    table.insert(SEED, hash(n), pages.of_test(&parts));
    assert!(table.bytes() <= room, "an insertion took more than it said");
}

fn remove(filled: &mut Filled, n: u32) -> bool {
    let Filled { table, pages } = filled;
    let place = table.find(hash(n), 0, &key(n));
    if let Some(place) = place {
        let before = table.bytes();
        let (item, freed) = table.remove(place);
        assert_eq!((number(item.view()), table.bytes()), (n, before - freed));
        pages.free(item);
        if table.is_sparse() {
            let room = table.bytes() + table.merge_cost();
            table.merge(SEED);
            assert!(table.bytes() <= room, "a merge took more than it said");
        }
    }
    place.is_some()
}

/// Checks that every item is in the chain of its hash, that there are no gaps and no empty overflow
/// buckets, and that all links agree in both directions.
fn check(table: &ItemTable) {
    let mut items = 0;
    let mut overflow = 0;
    for home in 0..table.primary.len() as u32 {
        let mut before = NIL;
        for id in table.chain(home) {
            let bucket = table.bucket(id);
            assert_eq!(bucket.prev(), before);
            let end = bucket.last().map_or(0, |last| last + 1);
            let first = usize::from(before != NIL);
            assert!((first..end).all(|at| bucket.word(at) != 0), "a gap");
            let is_last = bucket.next() == NIL;
            assert!(before == NIL || !is_last || bucket.len() > 1, "a bucket for one item");
            assert!(is_last || end == ENTRIES - 1, "a chain with room inside");
            for (_, item) in bucket.items() {
                assert_eq!(table.home(hash(number(item))), home, "in a foreign chain");
                items += 1;
            }
            overflow += usize::from(id >= OVERFLOW);
            before = id;
        }
    }
    assert_eq!((items, overflow), (table.len(), table.overflow.len()));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 64 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn agrees_with_a_map(
        ops in prop::collection::vec((0u8..5, 0u32..600), 0..if cfg!(miri) { 60 } else { 3000 }),
    ) {
        let (mut table, mut model) = (Filled::new(), BTreeSet::new());
        for (op, n) in ops {
            // Phases of growth and of shrinking depend on the range of keys of an operation.
            match op {
                0 | 1 if !model.contains(&n) => {
                    insert(&mut table, n);
                    model.insert(n);
                }
                2 => prop_assert_eq!(remove(&mut table, n), model.remove(&n)),
                3 if n < 20 => {
                    for n in n * 10..n * 10 + 100 {
                        prop_assert_eq!(remove(&mut table, n), model.remove(&n));
                    }
                }
                _ => {
                    let found = table.find(hash(n), 0, &key(n));
                    prop_assert_eq!(found.is_some(), model.contains(&n));
                    if let Some(place) = found {
                        let value = n.wrapping_mul(7).to_le_bytes();
                        prop_assert_eq!(table.get(place).value(), &value[..]);
                        prop_assert_eq!(table.find_word(hash(n), table.word(place)), Some(place));
                    }
                }
            }
        }
        check(&table);
        for &n in &model {
            prop_assert!(remove(&mut table, n));
        }
        prop_assert_eq!((table.len(), table.bytes()), (0, 0));
    }

    /// A walk meets every item once that is there from its first to its last call, and no item that
    /// was never there, while the table splits and merges.
    #[test]
    fn a_walk_meets_all_that_stays(
        stay in 0u32..if cfg!(miri) { 30 } else { 400 },
        churn in prop::collection::vec((any::<bool>(), 0u32..40), 0..200),
    ) {
        let mut table = Filled::new();
        (0..stay).for_each(|n| insert(&mut table, n));
        let mut met = BTreeMap::new();
        let (mut position, mut churn, mut present) = (0, churn.into_iter(), BTreeSet::new());
        while position != END {
            position = table.walk(SEED, position, |item| {
                *met.entry(number(item)).or_insert(0) += 1;
            });
            let Some((grow, n)) = churn.next() else { continue };
            for n in 10_000 + n * 10..10_000 + n * 10 + if cfg!(miri) { 10 } else { 50 } {
                if grow && present.insert(n) {
                    insert(&mut table, n);
                } else if !grow && present.remove(&n) {
                    remove(&mut table, n);
                }
            }
        }
        prop_assert!((0..stay).all(|n| met.get(&n) == Some(&1)), "{:?}", met);
        prop_assert!(met.keys().all(|n| *n < stay || *n >= 10_000));
    }
}

/// Draws that favour some places would spare the items in others for ever.
#[test]
fn draws_are_uniform() {
    let items = if cfg!(miri) { 40 } else { 500 };
    let mut table = Filled::new();
    (0..items).for_each(|n| insert(&mut table, n));
    assert!(cfg!(miri) || table.overflow.len() > 3, "overflow buckets are drawn from too");
    let mut prng = Prng::new(5);
    let mut counts = vec![0u32; items as usize];
    let draws = if cfg!(miri) { 2_000 } else { 500_000 };
    for _ in 0..draws {
        let (place, word) = table.draw(&mut prng);
        if word != 0 {
            assert!(table.word(place) == word);
            counts[number(table.get(place)) as usize] += 1;
        }
    }
    let hits: u32 = counts.iter().sum();
    assert!(f64::from(hits) > 0.4 * f64::from(draws), "{hits} of {draws} draws met an item");
    let mean = f64::from(hits) / f64::from(items);
    let chi2: f64 = counts.iter().map(|&n| (f64::from(n) - mean).powi(2) / mean).sum();
    // The bound is four standard deviations.
    let freedom = f64::from(items - 1);
    assert!(chi2 < freedom + 4.0 * (2.0 * freedom).sqrt(), "chi² {chi2} at {freedom}");
}

/// The memory of a table follows its number of items, up and down.
#[test]
fn load_is_constant() {
    let n = if cfg!(miri) { 100 } else { 50_000 };
    let mut table = Filled::new();
    for i in 0..n {
        insert(&mut table, i);
        if i > 10_000 {
            let each = table.bytes() as f64 / f64::from(i);
            assert!((10.0..15.0).contains(&each), "{each} bytes an item at {i}");
        }
    }
    (0..n - n / 10).for_each(|i| assert!(remove(&mut table, i)));
    check(&table);
    let each = table.bytes() as f64 / f64::from(n / 10);
    assert!(cfg!(miri) || each < 36.0, "{each} bytes an item after nine tenths went");
}
