//! Single flight: one fetch however many threads miss, and no thread waits for ever.

use super::*;
use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

const THREADS: usize = 8;
/// A timeout far longer than any of these tests takes, so that a thread that waits for ever fails
/// its test.
const LONG: Duration = Duration::from_secs(60);

/// The name of a change of a key, the change itself, and the value that the key holds afterwards.
type Change = (&'static str, fn(&Cache), Option<&'static [u8]>);

/// A fetch of `key` on a thread of its own, already begun; it ends with the result that the test
/// sends.
struct Slow {
    thread: JoinHandle<Result<Vec<u8>, &'static str>>,
    end: Sender<Result<&'static str, &'static str>>,
}

impl Slow {
    fn begin(cache: &Cache, key: &'static str) -> Self {
        let (cache, (end, ends)) = (cache.clone(), channel());
        let (begin, begun) = channel();
        let fetch = move || {
            begin.send(()).unwrap();
            ends.recv_timeout(LONG).expect("the test says how it ends")
        };
        let thread = thread::spawn(move || cache.get_or_try_insert_with(key, fetch));
        begun.recv_timeout(LONG).expect("it fetches");
        Self { thread, end }
    }

    fn ends(self, result: Result<&'static str, &'static str>) -> Result<Vec<u8>, &'static str> {
        self.end.send(result).unwrap();
        self.thread.join().unwrap()
    }
}

/// Starts threads that read `key`, and fetch `mine` where they must; receives the value that each
/// read.
fn ask(cache: &Cache, key: &'static str, mine: &'static str, threads: usize) -> Receiver<Vec<u8>> {
    let (got, all) = channel();
    for _ in 0..threads {
        let (cache, got) = (cache.clone(), got.clone());
        thread::spawn(move || got.send(cache.get_or_insert_with(key, || mine)));
    }
    all
}

/// Waits until that many threads wait for a flight.
fn joined(cache: &Cache, threads: usize) {
    let begun = Instant::now();
    while cache.shared.flights.waiting() < threads {
        assert!(begun.elapsed() < LONG, "they do not come");
        thread::yield_now();
    }
}

#[test]
fn threads_that_miss_at_once_wait_for_one_fetch() {
    let cache = cache(1 << 20).build().unwrap();
    for round in 0..50u32 {
        let (fetches, begin) = (AtomicUsize::new(0), Barrier::new(THREADS));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    begin.wait();
                    let value = cache.get_or_insert_with(round.to_le_bytes(), || {
                        fetches.fetch_add(1, Relaxed);
                        thread::sleep(Duration::from_millis(1));
                        b"fetched"
                    });
                    assert_eq!(value, b"fetched");
                });
            }
        });
        assert_eq!(fetches.load(Relaxed), 1, "round {round}");
    }
    assert_eq!(cache.stats().counters.sets, 50);
}

/// The caller's function runs without a lock, of the flights or of the store. Other reads are
/// answered meanwhile, also for keys of the same shard.
#[test]
fn a_fetch_holds_up_no_other_key() {
    let cache = cache(1 << 20).shards(1).build().unwrap();
    let slow = Slow::begin(&cache, "slow");
    for n in 0..100u32 {
        assert_eq!(cache.get_or_insert_with(n.to_le_bytes(), || "quick"), b"quick");
    }
    assert!(cache.get("slow").is_none() && cache.len() == 100);
    assert_eq!(slow.ends(Ok("done")).unwrap(), b"done");
    assert_eq!(cache.get("slow").unwrap(), b"done");
}

#[test]
fn after_an_error_one_that_waits_fetches() {
    let cache = cache(1 << 20).build().unwrap();
    let slow = Slow::begin(&cache, "key");
    let others = ask(&cache, "key", "mine", THREADS);
    joined(&cache, THREADS);
    assert_eq!(slow.ends(Err("down")), Err("down"));
    for _ in 0..THREADS {
        assert_eq!(others.recv_timeout(LONG).unwrap(), b"mine");
    }
    assert_eq!(cache.stats().counters.sets, 1, "one of them fetched for all");
}

#[test]
fn after_a_panic_one_that_waits_fetches() {
    let cache = cache(1 << 20).build().unwrap();
    let slow = Slow::begin(&cache, "key");
    let others = ask(&cache, "key", "mine", THREADS);
    joined(&cache, THREADS);
    // Without a sender the fetch panics.
    drop(slow.end);
    assert!(slow.thread.join().is_err());
    for _ in 0..THREADS {
        assert_eq!(others.recv_timeout(LONG).unwrap(), b"mine");
    }
    assert_eq!(cache.stats().counters.sets, 1);
}

/// A value fetched before its key was removed, cleared or inserted anew is out of date.
#[test]
fn a_change_outdates_the_fetch_under_way() {
    let cache = cache(1 << 20).build().unwrap();
    let changes: [Change; 3] = [
        ("remove", |cache| assert!(!cache.remove("key")), None),
        ("clear", Cache::clear, None),
        ("insert", |cache| cache.insert("key", "newer").unwrap(), Some(b"newer")),
    ];
    for (what, change, then) in changes {
        let slow = Slow::begin(&cache, "key");
        let waits = ask(&cache, "key", "unused", 1);
        joined(&cache, 1);
        change(&cache);
        let newer = cache.get_or_insert_with("key", || "newer");
        assert_eq!(newer, b"newer", "{what}: a later reader does not wait for the older fetch");
        if then.is_none() {
            cache.remove("key");
        }
        assert_eq!(slow.ends(Ok("older")).unwrap(), b"older");
        assert_eq!(waits.recv_timeout(LONG).unwrap(), b"older", "{what}: it asked before");
        assert_eq!(cache.get("key").as_deref(), then, "{what}");
        cache.remove("key");
    }
}

#[test]
fn parts_fetch_a_key_each_for_itself() {
    let cache = cache(1 << 20).parts(["a", "b"]).build().unwrap();
    let (a, b) = (cache.part("a").unwrap(), cache.part("b").unwrap());
    let slow = Slow::begin(&a, "key");
    assert_eq!(b.get_or_insert_with("key", || "of b"), b"of b");
    b.clear();
    assert_eq!(slow.ends(Ok("of a")).unwrap(), b"of a");
    assert!(a.contains("key") && b.is_empty());
}

#[test]
fn a_value_that_cannot_fit_is_returned_and_not_kept() {
    let cache = cache(1 << 20).build().unwrap();
    for _ in 0..2 {
        assert_eq!(cache.get_or_insert_with("big", || vec![1; 2 << 20]).len(), 2 << 20);
    }
    assert!(cache.is_empty());
}

#[test]
fn a_fetch_of_its_own_key_panics_and_does_not_hang() {
    let cache = cache(1 << 20).build().unwrap();
    let inner = cache.clone();
    let outer = move || inner.get_or_insert_with("a", || inner.get_or_insert_with("a", || "b"));
    assert!(thread::spawn(outer).join().is_err());
    assert_eq!(cache.get_or_insert_with("a", || "c"), b"c", "the key can be fetched again");
}
