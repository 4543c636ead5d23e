//! The removal listener hears of every removal once, on the thread that caused it.

use super::*;
use crate::RemovalCause::{self, Evicted, Expired, Removed, Replaced};
use std::collections::HashMap;
use std::thread::{self, ThreadId};

/// One report to a listener: part, key, value, cause, and the thread that ran the listener.
type Told = (String, Vec<u8>, Vec<u8>, RemovalCause, ThreadId);
type Log = Arc<Mutex<Vec<Told>>>;

fn listened(builder: Builder) -> (Cache, Log) {
    let log = Log::default();
    let all = Arc::clone(&log);
    let note = move |left: Removal<'_>| {
        let Removal { part, key, value, cause } = left;
        all.lock().unwrap().push((part.to_owned(), key, value, cause, thread::current().id()));
    };
    (builder.removal_listener(note).build().unwrap(), log)
}

fn take(log: &Log) -> Vec<Told> {
    std::mem::take(&mut *log.lock().unwrap())
}

#[test]
fn each_cause_is_told_with_the_value_that_left() {
    let (cache, log) = listened(cache(1 << 20).parts(["a", "b"]));
    let (a, b) = (cache.part("a").unwrap(), cache.part("b").unwrap());
    a.insert("x", "1").unwrap();
    a.insert("x", "longer than before").unwrap();
    b.insert_for("y", "2", Duration::from_millis(1)).unwrap();
    b.insert_priced("y", "3", Some(Duration::from_millis(1)), Duration::from_secs(1)).unwrap();
    assert!(a.remove("x") && !a.remove("x"));
    cache.advance(Duration::from_millis(2));
    assert!(take(&log).len() == 3, "nobody has met what is dead");
    assert!(!b.contains("y"));
    a.insert("z", "4").unwrap();
    a.clear();
    assert!(a.is_empty() && b.is_empty());
    let told = take(&log);
    let all: Vec<_> = told.iter().map(|t| (t.0.as_str(), &t.1[..], &t.2[..], t.3)).collect();
    assert_eq!(all, [("b", &b"y"[..], &b"3"[..], Expired), ("a", b"z", b"4", Removed)]);
    let before = (a.insert("x", "5"), a.insert("x", "6"), a.get("x"));
    assert_eq!(before.2.unwrap(), b"6");
    assert_eq!((take(&log)[0].2.as_slice(), a.len()), (&b"5"[..], 1));
    let refused = a.insert("x", vec![0; 2 << 20]);
    assert!(refused.is_err() && take(&log).is_empty(), "a value that stays is not told");
}

#[test]
fn maintenance_tells_of_the_dead() {
    let (cache, log) = listened(cache(1 << 20));
    cache.insert_for("a", "x", Duration::from_millis(10)).unwrap();
    cache.advance(Duration::from_secs(1));
    cache.maintain();
    assert_eq!(take(&log)[0].3, Expired);
}

/// Each inserted entry is either still there or was reported, on the thread that inserted, at the
/// end of its own call.
#[test]
fn every_eviction_is_told_on_the_thread_that_wrote() {
    let (cache, log) = listened(cache(1 << 20));
    let threads: u32 = 4;
    let ids: HashMap<ThreadId, u32> = thread::scope(|scope| {
        let write = |of: u32| {
            let (cache, log) = (&cache, &log);
            move || {
                for n in 0..10_000u32 {
                    cache.insert([of.to_le_bytes(), n.to_le_bytes()].concat(), [7; 200]).unwrap();
                }
                let me = thread::current().id();
                let mine = log.lock().unwrap().iter().filter(|told| told.4 == me).count();
                // More than half of the writes of one thread do not fit, even for the thread that
                // starts first.
                assert!(mine > 2_000, "{mine}: told before its calls returned");
                (me, of)
            }
        };
        let all: Vec<_> = (0..threads).map(|of| scope.spawn(write(of))).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let told = take(&log);
    assert!(told.iter().all(|t| t.3 == Evicted && t.2 == [7; 200] && ids.contains_key(&t.4)));
    assert_eq!(told.len() as u64, cache.stats().counters.evicted);
    let mut keys: Vec<_> = told.into_iter().map(|t| t.1).chain(cache.iter().map(|e| e.0)).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 10_000 * threads as usize, "each is there or was told");
    assert_eq!(keys.len() as u64, cache.len() + cache.stats().counters.evicted);
}

#[test]
fn a_lower_capacity_is_told_by_who_tends() {
    let (cache, log) = listened(cache(1 << 20));
    for n in 0..4_000u32 {
        cache.insert(n.to_le_bytes(), [0; 200]).unwrap();
    }
    take(&log);
    let before = cache.len();
    cache.set_capacity(1 << 19);
    while cache.used() > Bytes(1 << 19) {
        cache.maintain();
    }
    let told = take(&log);
    assert!(told.len() > 500 && told.iter().all(|t| t.3 == Evicted), "{}", told.len());
    assert_eq!(told.len() as u64, before - cache.len());
}

/// No lock is held, so a listener may call the cache. Its own removals are reported after it
/// returns.
#[test]
fn a_listener_may_call_the_cache() {
    let handle: Arc<Mutex<Option<Cache>>> = Arc::default();
    let (log, of_listener) = (Log::default(), Arc::clone(&handle));
    let all = Arc::clone(&log);
    let listener = move |left: Removal<'_>| {
        let cache = of_listener.lock().unwrap().clone().unwrap();
        all.lock().unwrap().push((
            left.part.to_owned(),
            left.key.clone(),
            left.value,
            left.cause,
            thread::current().id(),
        ));
        if left.key != b"log" {
            cache.insert("log", left.key).unwrap();
            cache.remove("log");
        }
    };
    let cache = cache(1 << 20).removal_listener(listener).build().unwrap();
    *handle.lock().unwrap() = Some(cache.clone());
    cache.insert("a", "1").unwrap();
    cache.insert("a", "2").unwrap();
    let told: Vec<_> = take(&log).into_iter().map(|told| (told.1, told.3)).collect();
    assert_eq!(told, [(b"a".to_vec(), Replaced), (b"log".to_vec(), Removed)]);
    *handle.lock().unwrap() = None;
}

#[test]
fn a_panic_of_the_listener_reaches_the_caller_and_loses_nothing() {
    let log = Log::default();
    let all = Arc::clone(&log);
    let listener = move |left: Removal<'_>| {
        assert!(left.key != b"bad", "a listener that panics");
        let told = (String::new(), left.key, left.value, left.cause, thread::current().id());
        all.lock().unwrap().push(told);
    };
    let cache = cache(1 << 20).removal_listener(listener).build().unwrap();
    cache.insert("bad", "1").unwrap();
    cache.insert("good", "2").unwrap();
    let call = std::panic::AssertUnwindSafe(|| cache.remove("bad"));
    assert!(std::panic::catch_unwind(call).is_err());
    assert!(!cache.contains("bad"), "the call was done");
    assert!(cache.remove("good"));
    assert_eq!(take(&log).len(), 1);
}

#[test]
fn the_thread_that_tends_outlives_a_panic() {
    let listener = |_: Removal<'_>| panic!("a listener that panics");
    let cache = Cache::builder(1 << 20).removal_listener(listener).maintained().build().unwrap();
    for _ in 0..2 {
        cache.insert_for("a", "x", Duration::ZERO).unwrap();
        let begun = Instant::now();
        while !cache.is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nobody maintains");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A fetch that replaces nothing reports its evictions, and holds no lock while it does.
#[test]
fn a_fetch_tells_of_what_it_evicts() {
    let (cache, log) = listened(cache(1 << 20));
    for n in 0..5_000u32 {
        cache.get_or_insert_with(n.to_le_bytes(), || [0; 500]);
    }
    assert_eq!(take(&log).len() as u64, cache.stats().counters.evicted);
}
