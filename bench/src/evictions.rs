//! Cost of an eviction of the store: instructions, cache misses and time.
//!
//! Callgrind simulates a machine with caches of 32 KB and 2 MB. It counts the functions that make
//! room for a write: they begin when the write finds no free chunk, and end when it has one. A full
//! cache of 50 000 entries (9 MB) takes new keys. After each write the bench reads a random key
//! among the newer half of the entries, so that tags are as outdated as in real use. No sweep runs,
//! so the store learns nothing: the table of ranks keeps its first contents and its size.
//!
//! *Items* is LHD that ranks by the items alone, without tags. Its difference to *lhd* is the gain
//! of the tags.
//!
//! *Time* is the time of the same functions, measured by the store without a simulation. In each
//! round it is the time of the median write, divided by the mean number of victims per write. The
//! figure is the median of five rounds. It includes two readings of the clock for each write.
//!
//! ```text
//! cargo x bench evictions        needs valgrind
//! ```

use crate::policies::{fine, fresh, random, room};
use crate::{Text, VALUE, callgrind, median};
use base::{Prng, TenantId, Tick};
use larder::{Evictor, Meta, Rank};
use policy::rank::gittins::LiveRank;
use policy::rank::lhd::Ranks;
use std::sync::Arc;

const ITEMS: usize = 50_000;
/// New keys that each pass writes.
const OPS: usize = 50_000;
const ROUNDS: usize = 5;

/// Evictors by name; the number in a name is the number of candidates.
const EVICTORS: [(&str, fn() -> Evictor); 12] = [
    ("random", random),
    ("k-lru", Evictor::default),
    ("lhd 1", || Evictor::lhd(1)),
    ("lhd 8", || Evictor::lhd(8)),
    ("lhd 16", || Evictor::lhd(16)),
    ("lhd 32", || Evictor::lhd(32)),
    ("lhd 64", || Evictor::lhd(64)),
    ("gittins 32", || gittins(32)),
    ("gittins 64", || gittins(64)),
    ("items 16", || by_items(16)),
    ("items 32", || by_items(32)),
    ("items 64", || by_items(64)),
];

/// Tenants that share a cache, each with a quarter of the items.
const PARTS: [&str; 4] = ["a", "b", "c", "d"];

/// The ranks of LHD, read from items: the store cannot rank by tags alone.
#[derive(Debug, Default)]
struct ByItems(Ranks);

impl Rank for ByItems {
    fn rank(&self, item: &Meta, now: Tick) -> f32 {
        self.0.rank(item, now)
    }

    fn rank_in(&self, tenant: TenantId, class: u8, item: &Meta, now: Tick) -> f32 {
        self.0.rank_in(tenant, class, item, now)
    }
}

fn gittins(k: u8) -> Evictor {
    Evictor { rank: Arc::new(LiveRank::unlearnt(true)), k, pool: false }
}

fn by_items(k: u8) -> Evictor {
    Evictor { rank: Arc::new(ByItems::default()), k, pool: false }
}

fn cache(evictor: &str, sharing: &str) -> larder::Cache {
    let (_, make) = EVICTORS.iter().find(|(name, _)| *name == evictor).expect("it is in the list");
    let evictor = make();
    let capacity = room(ITEMS, &evictor);
    let builder = larder::Cache::builder(capacity).evictor(evictor).shards(8);
    let builder = builder.slab(fine());
    let builder = if sharing == "parts" { builder.parts(PARTS) } else { builder };
    builder.build().expect("static is a recipe")
}

/// Writes [`OPS`] new keys. After each write it reads a random key among the newer half of the
/// entries.
fn work(cache: &larder::Cache, prng: &mut Prng, written: &mut Vec<Text>) {
    let parts = PARTS.map(|name| cache.part(name).unwrap_or_else(|| cache.clone()));
    for _ in 0..OPS {
        let cache = &parts[written.len() % PARTS.len()];
        let key = fresh();
        cache.insert(key, [1; VALUE]).expect("an entry is small beside the cache");
        written.push(key);
        // Goes back by a multiple of the number of parts, so that the key is in the same part.
        let back = PARTS.len() * (prng.below(ITEMS as u64 / 8) as usize) + 1;
        if let Some(key) = written.len().checked_sub(back).map(|at| written[at]) {
            std::hint::black_box(cache.get_with(key, <[u8]>::len));
        }
    }
}

/// Runs under callgrind, and prints the number of victims.
pub(crate) fn one(evictor: &str, sharing: &str) {
    let cache = cache(evictor, sharing);
    let (mut prng, mut written) = (Prng::new(1), vec![]);
    (0..3).for_each(|_| work(&cache, &mut prng, &mut written));
    println!("{}", cache.pauses().victims);
}

/// Instructions, misses of the first-level cache and misses of the last-level cache, per eviction.
fn counted(evictor: &str, sharing: &str) -> [f64; 3] {
    callgrind("*clear_chunk*", &["eviction", evictor, sharing])
}

/// Prints the table.
pub(crate) fn run() {
    let mut caches = vec![];
    for sharing in ["one", "parts"] {
        for (evictor, _) in EVICTORS {
            let (cache, mut written) = (cache(evictor, sharing), vec![]);
            let mut prng = Prng::new(1);
            (0..2).for_each(|_| work(&cache, &mut prng, &mut written));
            caches.push((sharing, evictor, cache, written, prng));
        }
    }
    let mut rounds = vec![vec![]; caches.len()];
    for _ in 0..ROUNDS {
        for ((_, _, cache, written, prng), rounds) in caches.iter_mut().zip(&mut rounds) {
            let before = cache.pauses();
            work(cache, prng, written);
            rounds.push(cache.pauses().of_a_victim_since(&before).expect("it evicts"));
        }
    }
    println!(
        "{:6}{:11}{:>14}{:>8}{:>12}{:>12}{:>8}{:>8}",
        "", "", "instructions", "ratio", "D1 misses", "LL misses", "ns", "ratio"
    );
    let mut base = 0.0;
    for (at, (sharing, evictor, ..)) in caches.iter().enumerate() {
        let [instructions, first, last] = counted(evictor, sharing);
        if *evictor == "random" {
            base = instructions;
        }
        // The first evictor of each group is random.
        let random = at - at % EVICTORS.len();
        let ratio = rounds[at].iter().zip(&rounds[random]).map(|(ns, random)| ns / random);
        let ns = median(rounds[at].iter().copied());
        println!(
            "{sharing:6}{evictor:11}{instructions:>14.0}{:>8.2}{first:>12.1}{last:>12.1}{ns:>8.0}\
             {:>8.2}",
            instructions / base,
            median(ratio),
        );
    }
}
