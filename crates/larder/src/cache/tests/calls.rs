//! Reads, writes, removals, parts and recipes.

use super::*;

#[test]
fn what_was_inserted_is_found_and_what_was_removed_is_not() {
    let cache = cache(1 << 20).build().unwrap();
    assert!(cache.is_empty() && cache.get("a").is_none());
    cache.insert("a", [1, 2]).unwrap();
    cache.insert("a", "longer than before").unwrap();
    assert_eq!(cache.get("a").unwrap(), b"longer than before");
    assert!(cache.contains("a") && cache.len() == 1);
    assert!(cache.remove("a") && !cache.remove("a") && !cache.contains("a"));
    let stats = cache.stats().counters;
    assert_eq!((stats.hits, stats.misses, stats.sets), (1, 1, 2));
}

#[test]
fn a_time_to_live_ends() {
    let cache = cache(1 << 20).build().unwrap();
    cache.insert_for("a", "x", Duration::from_millis(10)).unwrap();
    cache.insert("b", "x").unwrap();
    cache.advance(Duration::from_millis(10));
    assert!(cache.contains("a"), "alive to the end of its last millisecond");
    cache.advance(Duration::from_millis(1));
    assert!(!cache.contains("a") && cache.contains("b"));
    cache.insert_for("c", "x", Duration::from_millis(10)).unwrap();
    cache.advance(Duration::from_secs(1));
    cache.maintain();
    assert_eq!((cache.len(), cache.stats().counters.expired), (1, 2), "found without being asked");
}

#[test]
fn the_capacity_holds_and_can_change() {
    let cache = cache(1 << 20).build().unwrap();
    for n in 0..20_000u32 {
        cache.insert(n.to_le_bytes(), [0; 200]).unwrap();
        assert!(cache.used() <= cache.capacity());
    }
    assert!(cache.len() > 3_000, "{}", cache.len());
    cache.set_capacity(1 << 19);
    while cache.used() > Bytes(1 << 19) {
        cache.maintain();
    }
    let refused = cache.insert("big", vec![0; 1 << 20]);
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    assert!(cache.len() > 1_500, "nothing was evicted in vain: {}", cache.len());
}

/// Cheap and expensive entries have one size and one popularity. A policy that uses costs keeps the
/// expensive ones, whether the call or the builder stated the cost.
#[test]
fn dear_entries_stay() {
    let hyperbolic = rank::hyperbolic::Hyperbolic { cost: true, size: true };
    let evictor = Evictor { rank: Arc::new(hyperbolic), k: 16, pool: false };
    let dear = |key: &[u8]| Duration::from_millis(if key[0].is_multiple_of(2) { 1 } else { 64 });
    let by_call = cache(1 << 18).evictor(evictor.clone()).build().unwrap();
    let by_builder = cache(1 << 18).evictor(evictor).cost(move |key, _| dear(key)).build().unwrap();
    for n in 0..10_000u32 {
        let key = n.to_le_bytes();
        by_call.insert_priced(key, [0; 100], None, dear(&key)).unwrap();
        by_builder.insert(key, [0; 100]).unwrap();
    }
    for cache in [by_call, by_builder] {
        let cache = &cache;
        let kept =
            |odd| (0..10_000u32).filter(move |n| n % 2 == odd && cache.contains(n.to_le_bytes()));
        let (cheap, dear) = (kept(0).count(), kept(1).count());
        assert!(dear > 3 * cheap && cheap > 0, "{dear} dear and {cheap} cheap");
        assert!(cache.stats().penalty.count == 10_000.0);
    }
}

#[test]
fn parts_share_the_capacity_and_not_the_keys() {
    let cache = cache(1 << 20).parts(["a", "b"]).build().unwrap();
    let (a, b) = (cache.part("a").unwrap(), cache.part("b").unwrap());
    assert!(cache.part("c").is_none());
    a.insert("x", "1").unwrap();
    assert!(b.get("x").is_none());
    b.insert("x", "2").unwrap();
    b.clear();
    assert!(a.contains("x") && b.is_empty());
    assert!(matches!(Cache::builder(1).recipe("none").build(), Err(Error::Recipe(_))));
    for recipe in tune::recipe::ALL {
        assert!(Cache::builder(1 << 20).recipe(recipe.name).build().is_ok(), "{}", recipe.name);
    }
}

/// One part returns to keys that would fit, and the other never reads a key twice. With a recipe
/// the first part gets the memory that the second has no use for. Without one the parts share it as
/// their requests come.
#[test]
fn a_recipe_divides_the_memory_by_what_it_saw() {
    let run = |recipe: &str| {
        let cache = cache(4 << 20).parts(["users", "scan"]).recipe(recipe).build().unwrap();
        let (users, scan) = (cache.part("users").unwrap(), cache.part("scan").unwrap());
        assert!(cache.plan().is_none() && users.curve().is_none());
        let mut prng = Prng::new(2);
        let mut missed_before = 0;
        for step in 0..240_000u32 {
            let key = (prng.below(18_000) as u32).to_le_bytes();
            for (part, key) in [(&users, key), (&scan, step.to_le_bytes())] {
                if part.get(key).is_none() {
                    part.insert(key, [0; 100]).unwrap();
                }
            }
            cache.advance(Duration::from_micros(100));
            if step % 1_000 == 999 {
                cache.maintain();
            }
            if step == 160_000 {
                missed_before = users.stats().counters.misses;
            }
        }
        (users.stats().counters.misses - missed_before, users.curve(), cache.plan())
    };
    let (plain, no_curve, no_plan) = run("static");
    assert!(no_curve.is_none() && no_plan.is_none());
    let (tuned, curve, plan) = run("kredis:objective=hits:rate=1:move=0.5");
    let curve = curve.expect("it was watched");
    let [little, all] = [1, 4].map(|mib| curve.at(Bytes(mib << 20)).0);
    assert!(all < 0.15 && little > 0.4, "{little} with 1 MiB, {all} with 4");
    assert!(plan.is_some_and(|plan| plan.pools.len() == 2));
    assert!(4 * tuned < 3 * plain, "{tuned} misses with a recipe, {plain} without");
}

#[test]
fn one_thread_may_tend_for_all() {
    let cache = Cache::builder(1 << 20).maintained().build().unwrap();
    cache.insert_for("a", "x", Duration::ZERO).unwrap();
    let begun = Instant::now();
    while !cache.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody maintains");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(cache.stats().counters.expired, 1);
}
