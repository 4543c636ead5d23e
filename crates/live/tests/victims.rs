//! Golden file of victims: the items that leave the store, their order and their cause, under every
//! recipe.
//!
//! Five streams of calls run on a store that the pilot controls by each recipe, from two seeds. One
//! hash covers tenant, key and cause of every removed item, in order of removal. A change of any
//! line is a change of behaviour: `cargo x golden` rewrites the file, and its diff is reviewed. The
//! test is in this crate because the recipes stand above the store.

use base::{Bytes, Micros, Prng, TenantId, hash};
use live::{Known, Live, tick};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use store::{Bounds, Config, Now, Probe, RemovalCause, RemovalListener, Store, Tree};
use tune::{Pilot, Recipe, recipe};

/// Calls per stream.
const CALLS: u64 = 20_000;
/// Time between two calls, in microseconds: a stream is twenty epochs of most recipes.
const GAP: u64 = 1_000;
/// Calls between two looks of the pilot.
const LOOK_EVERY: u64 = 200;
const MEMORY: Bytes = Bytes(1 << 20);
const TENANTS: TenantId = 2;
const SEEDS: [u64; 2] = [1, 2];
/// Every recipe. Recipes that plan by a number of reads get a short interval, to plan often in a
/// short stream.
const RECIPES: [&str; 7] = [
    "auto",
    "static",
    "dlru:interval=2000:rate=0.5",
    "kredis",
    "predis",
    "lama:interval=2000",
    "rankcache:interval=1000",
];

/// A stream: its name, and the function that makes the call of a given number.
type Stream = (&'static str, fn(&mut Player, u64));

const STREAMS: [Stream; 5] = [
    ("popular", Player::popular),
    ("sizes", Player::sizes),
    ("costs", Player::costs),
    ("deaths", Player::deaths),
    ("collections", Player::collections),
];

/// A removed item.
#[derive(Clone, Copy, Debug)]
struct Left {
    tenant: TenantId,
    key: u64,
    cause: RemovalCause,
}

/// A store with its source of keys, its clock and the list of removed items.
struct Player {
    store: Store,
    prng: Prng,
    now: u64,
    left: Arc<Mutex<Vec<Left>>>,
}

impl Player {
    fn new(recipe: &Recipe, seed: u64) -> Self {
        let config = Config {
            maxmemory: MEMORY,
            shards: 1,
            reader_slots: 1,
            seed,
            tenants: vec![Bounds { min: Bytes(MEMORY.0 / 8), max: None }; TENANTS.into()],
            evictor: live::evictor(recipe.evictors[0]),
            ..Config::default()
        };
        let store = Store::new(config);
        let left = Arc::new(Mutex::new(vec![]));
        let list = Arc::clone(&left);
        let listener: Arc<RemovalListener> =
            Arc::new(move |tenant, key: &[u8], _: &[u8], cause| {
                let key = key.try_into().map_or(u64::MAX, u64::from_le_bytes);
                list.lock().unwrap().push(Left { tenant, key, cause });
            });
        store.listen(&listener);
        Self { store, prng: Prng::new(seed), now: 0, left }
    }

    /// Plays a stream to its end, and returns the removed items in order.
    fn play(recipe: &Recipe, (_, call): Stream, seed: u64) -> Vec<Left> {
        let mut player = Self::new(recipe, seed);
        let known: Vec<_> = (0..TENANTS).map(|at| Known::named(&at.to_string())).collect();
        let mut live = Live::default();
        live.follow(&player.store, recipe);
        let mut pilot = recipe.steers().then(|| Pilot::new(*recipe, seed));
        for at in 0..CALLS {
            player.now += GAP;
            call(&mut player, at);
            if at % LOOK_EVERY == 0 {
                player.store.sweep(player.time(), 16);
                if let Some(pilot) = &mut pilot {
                    tick(pilot, &mut live.on(&player.store, &known, player.time()));
                }
            }
            if at == CALLS * 3 / 4 {
                player.store.set_limit(Bytes(MEMORY.0 * 3 / 4));
            }
        }
        let left = player.left.lock().unwrap();
        left.clone()
    }

    fn time(&self) -> Now {
        Now { unix_ms: self.now / 1_000, micros: Micros(self.now) }
    }

    /// A number below `n`, drawn so that low numbers are likelier.
    fn skewed(&mut self, n: u64) -> u64 {
        let low = self.prng.below(n);
        let lower = self.prng.below(low + 1);
        self.prng.below(lower + 1)
    }

    /// Reads a key. After a miss, writes it with a penalty of `cost`.
    fn read(&mut self, tenant: TenantId, key: u64, len: usize, cost: u64, lives: Option<u64>) {
        let bytes = key.to_le_bytes();
        let key = self.store.key(tenant, 0, &bytes);
        if self.store.get(&key, self.time(), |_| ()).is_none() {
            let now = self.time();
            let expires = lives.map(|lives| now.unix_ms + lives);
            _ = self.store.set_priced(&key, &vec![1; len], expires, Micros(cost), now);
        }
    }

    /// The tenants take turns: one has popular keys, the other reads its keys in a cycle.
    fn popular(&mut self, at: u64) {
        let tenant = TenantId::from(at.is_multiple_of(2));
        let key = if tenant == 1 { at / 2 % 3_000 } else { self.skewed(16_000) };
        self.read(tenant, key, 100 + key as usize % 64, 1_000, None);
    }

    /// Values that grow by phase. A few are as long as many others together.
    fn sizes(&mut self, at: u64) {
        let phase = at * 4 / CALLS;
        let key = self.skewed(6_000) + phase * 1_000;
        let long = hash::mix(key).is_multiple_of(64);
        let len = (hash::mix(key) % (60 << (2 * phase))) as usize + if long { 20_000 } else { 0 };
        self.read(TenantId::from(key.is_multiple_of(3)), key, len, 500, None);
    }

    /// Reads whose misses differ in cost by a thousand, and writes without reads.
    fn costs(&mut self, at: u64) {
        let key = self.skewed(12_000);
        let cost = [100, 3_000, 100_000][(hash::mix(key) % 3) as usize];
        let tenant = TenantId::from(key.is_multiple_of(2));
        if at.is_multiple_of(5) {
            let bytes = key.to_le_bytes();
            let key = self.store.key(tenant, 0, &bytes);
            _ = self.store.set(&key, &[2; 150], None, self.time());
        } else {
            self.read(tenant, key, 150, cost, None);
        }
    }

    /// Most items expire, and some are deleted.
    fn deaths(&mut self, at: u64) {
        let key = self.skewed(14_000);
        let tenant = TenantId::from(key.is_multiple_of(5));
        if at.is_multiple_of(16) {
            let bytes = key.to_le_bytes();
            let key = self.store.key(tenant, 0, &bytes);
            self.store.delete(&key, self.time());
        } else {
            let lives = (!key.is_multiple_of(4)).then_some(4_000 + hash::mix(key) % 20_000);
            self.read(tenant, key, 200, 1_000, lives);
        }
    }

    /// Small collections that grow, beside plain values.
    fn collections(&mut self, at: u64) {
        let key = self.skewed(3_000);
        let tenant = TenantId::from(key.is_multiple_of(2));
        if !key.is_multiple_of(3) {
            return self.read(tenant, key, 300, 2_000, None);
        }
        let bytes = key.to_le_bytes();
        let (now, key) = (self.time(), self.store.key(tenant, 0, &bytes));
        // An edit refused for lack of room changes nothing, so its error does not matter.
        _ = self.store.edit(&key, now, |edit| grow(edit, at));
    }
}

/// Adds an entry to a collection under a new name. Makes the collection if it is absent.
fn grow(edit: &mut store::Edit<'_, '_>, name: u64) -> Result<(), store::Error> {
    if edit.tree().is_none() {
        edit.make_tree(Tree::default(), store::TREE | 2, b"", None)?;
    }
    let bytes = name.to_le_bytes();
    let order = |body: &[u8]| -> Ordering { body[..8].cmp(&bytes) };
    let body = [&bytes[..], &[3; 40]].concat();
    edit.put(&Probe { rank: hash::mix(name) as u32, order: &order }, None, &body)?;
    edit.written();
    Ok(())
}

/// One line: the number of removed items by cause, and the hash of all of them in order.
fn told(left: &[Left]) -> String {
    let mut causes: BTreeMap<String, u32> = BTreeMap::new();
    let mut sum = 0;
    for one in left {
        let cause = format!("{:?}", one.cause);
        for part in [one.tenant.into(), one.key, hash::bytes(0, cause.as_bytes())] {
            sum = hash::mix(sum ^ part);
        }
        *causes.entry(cause.to_lowercase()).or_default() += 1;
    }
    let counts: Vec<_> = causes.iter().map(|(cause, times)| format!("{cause} {times}")).collect();
    format!("{sum:016x} {}", counts.join(", "))
}

fn golden() -> String {
    let mut out =
        String::from("# stream, recipe, seed: hash of tenant, key and cause; how many left\n");
    for stream in STREAMS {
        for name in RECIPES {
            let recipe = recipe::parse(name).unwrap();
            for seed in SEEDS {
                let line = told(&Player::play(&recipe, stream, seed));
                let _ = writeln!(out, "{} {} {seed}: {line}", stream.0, recipe.name);
            }
        }
    }
    out
}

#[test]
fn the_same_items_leave_for_the_same_reasons() {
    let got = golden();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/victims.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, got).unwrap();
        return;
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<_> =
        got.lines().filter(|line| !want.lines().any(|old| old == *line)).collect();
    let same = got == want;
    assert!(same, "if the change is meant, say `cargo x golden`:\n{}", changed.join("\n"));
}

/// The golden file covers every recipe and stream, and every line counts evicted items.
#[test]
fn every_line_is_about_victims() {
    let is_played = |recipe: &&Recipe| RECIPES.iter().any(|name| name.starts_with(recipe.name));
    assert!(recipe::ALL.iter().copied().all(|recipe| is_played(&recipe)));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/victims.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), STREAMS.len() * recipe::ALL.len() * SEEDS.len());
    let of = |line: &&str| line.contains("evicted ");
    assert!(lines.iter().all(of), "a stream in which nothing is evicted tests nothing");
}

/// Two equal runs give the same line. A line changes if two victims swap places, or if a cause or a
/// tenant changes.
#[test]
fn a_canary_that_swaps_two_victims_is_heard() {
    let recipe = recipe::parse("static").unwrap();
    let left = Player::play(&recipe, STREAMS[0], 1);
    assert_eq!(told(&left), told(&Player::play(&recipe, STREAMS[0], 1)));
    let evicted = |one: &&Left| one.cause == RemovalCause::Evicted;
    assert!(left.iter().filter(evicted).count() > 1_000);
    let at = left.windows(2).position(|two| two[0].key != two[1].key).unwrap();
    let mut swapped = left.clone();
    swapped.swap(at, at + 1);
    assert_ne!(told(&left), told(&swapped));
    let mut other = left.clone();
    other[at].cause = RemovalCause::Expired;
    assert_ne!(told(&left), told(&other));
    let mut other = left.clone();
    other[at].tenant ^= 1;
    assert_ne!(told(&left), told(&other));
}
