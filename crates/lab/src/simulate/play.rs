//! Plays a trace to many caches, on all cores.

use super::args::{LIVE, ReadSize};
use super::chunk::Chunk;
use super::feed::{self, Feed, Whole};
use super::outcome::{self, CacheOutput, Interval, MissesBy, Share};
use super::player::Player;
use super::size::Size;
use crate::compressed::CompressArgs;
use crate::plant::Product;
use crate::progress::Progress;
use anyhow::{Result, anyhow};
use base::{Bytes, TenantId};
use load::open::Options;
use policy::{Cache, Choice};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Number of chunks that wait for a thread; more would only take memory.
const UNDER_WAY: usize = 4;

/// Policies and sizes to simulate, and the options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<'a> {
    pub(super) choices: &'a [(String, Choice)],
    pub(super) sizes: &'a [Size],
    pub(super) seed: u64,
    pub(super) read_size: ReadSize,
    pub(super) compress: CompressArgs,
    pub(super) interval: Option<u64>,
    pub(super) tenants: bool,
    pub(super) threads: usize,
}

/// One cache with its counts.
#[derive(Debug)]
struct CacheRun {
    policy: String,
    size: Size,
    asked: Bytes,
    cache: Player,
    misses_by: MissesBy,
    seconds: Duration,
    accesses: u64,
    interval: Option<Interval>,
    /// Reads and misses at the beginning of the present interval.
    mark: (u64, u64),
    tenants: Option<BTreeMap<TenantId, Share>>,
}

impl CacheRun {
    fn play(&mut self, chunk: &Chunk) {
        let start = Instant::now();
        match (&self.interval, &self.tenants) {
            (None, None) => {
                for (access, &cause) in chunk.accesses.iter().zip(&chunk.causes) {
                    if self.cache.access(access) == policy::Outcome::Miss {
                        self.misses_by.count(cause);
                    }
                }
                self.accesses += chunk.accesses.len() as u64;
            }
            _ => self.play_with_detail(chunk),
        }
        self.seconds += start.elapsed();
    }

    fn play_with_detail(&mut self, chunk: &Chunk) {
        for (access, &cause) in chunk.accesses.iter().zip(&chunk.causes) {
            let answer = self.cache.access(access);
            let missed = answer == policy::Outcome::Miss;
            if missed {
                self.misses_by.count(cause);
            }
            if let Some(tenants) = &mut self.tenants
                && answer != policy::Outcome::Done
            {
                let share = tenants.entry(access.tenant).or_default();
                share.gets += 1;
                share.get_bytes += u64::from(access.size);
                share.misses += u64::from(missed);
                share.miss_bytes += u64::from(missed) * u64::from(access.size);
            }
            self.accesses += 1;
            if let Some(interval) = &self.interval
                && self.accesses.is_multiple_of(interval.requests)
            {
                self.close_interval();
            }
        }
    }

    fn close_interval(&mut self) {
        let Some(interval) = &mut self.interval else { return };
        let stats = self.cache.stats();
        let (gets, misses) = (stats.gets - self.mark.0, stats.misses - self.mark.1);
        self.mark = (stats.gets, stats.misses);
        interval.miss_ratio.push((gets > 0).then(|| misses as f64 / gets as f64));
    }

    fn outcome(mut self, trace: &str, whole: &Whole, plan: &Plan) -> CacheOutput {
        if self.interval.as_ref().is_some_and(|i| !self.accesses.is_multiple_of(i.requests)) {
            self.close_interval();
        }
        let (cache, stats) = (&self.cache, self.cache.stats());
        CacheOutput {
            trace: trace.to_owned(),
            policy: self.policy.clone(),
            size: self.size.to_string(),
            size_bytes: outcome::shown_size(self.asked, cache.capacity(), cache.used()),
            requests: stats.gets,
            misses: stats.misses,
            miss_ratio: stats.miss_ratio(),
            byte_miss_ratio: stats.byte_miss_ratio(),
            requests_per_second: self.accesses as f64 / self.seconds.as_secs_f64().max(1e-9),
            mean_penalty_us: outcome::mean_penalty(&stats, whole.has_penalties),
            misses_by: self.misses_by.of(stats.misses),
            accesses: self.accesses,
            evictions: stats.evictions,
            expirations: stats.expirations,
            refusals: stats.refusals,
            objects: cache.len() as u64,
            used_bytes: cache.used().0,
            footprint_bytes: whole.footprint,
            keys: whole.keys,
            estimated: whole.is_estimate,
            seed: plan.seed,
            compress_ratio: plan.compress.compress_ratio,
            interval: self.interval.take(),
            tenants: self
                .tenants
                .as_ref()
                .map(|shares| outcome::tenants(shares, whole))
                .unwrap_or_default(),
        }
    }
}

impl Plan<'_> {
    /// The caches at the start: policies in the order asked for, each with its sizes.
    fn runs(&self, size_of: impl Fn(&Size) -> Bytes) -> Vec<CacheRun> {
        let of_all_sizes = |choice| self.sizes.iter().map(move |size| (choice, size));
        let pairs = self.choices.iter().flat_map(of_all_sizes);
        pairs.map(|((name, choice), size)| self.run(name, choice, size, size_of(size))).collect()
    }

    fn run(&self, name: &str, choice: &Choice, size: &Size, asked: Bytes) -> CacheRun {
        let cache = match (choice.evictor(), self.read_size) {
            (Ok(evictor), _) if name.starts_with(LIVE) => {
                Player::Product(Box::new(Product::new(evictor, asked, self.seed)))
            }
            (_, ReadSize::New) => Player::Simulated(Box::new(Cache::new(choice, asked, self.seed))),
            (_, ReadSize::First) => {
                let cache = Cache::new(choice, asked, self.seed);
                Player::Simulated(Box::new(cache.keeping_sizes()))
            }
        };
        CacheRun {
            policy: name.to_owned(),
            size: size.clone(),
            asked,
            cache,
            misses_by: MissesBy::default(),
            seconds: Duration::ZERO,
            accesses: 0,
            interval: self.interval.map(|requests| Interval { requests, miss_ratio: vec![] }),
            mark: (0, 0),
            tenants: self.tenants.then(BTreeMap::new),
        }
    }

    /// Whether the sizes of all caches are known before the trace is read.
    fn is_known_beforehand(&self) -> bool {
        self.sizes.iter().all(|size| matches!(size, Size::Bytes(..)))
    }
}

/// Plays the trace to every policy at every size. The caches play while the trace is read if no
/// size is a share of the footprint, no policy needs foresight, and each cache has a thread.
/// Otherwise the trace is read first.
pub(super) fn trace(
    name: &str,
    options: &Options,
    foresight: bool,
    plan: &Plan,
) -> Result<(Whole, Vec<CacheOutput>)> {
    let caches = plan.choices.len() * plan.sizes.len();
    if !foresight && caches <= plan.threads && plan.is_known_beforehand() {
        return while_read(name, options, plan);
    }
    let feed = Feed::read(name, options, plan.compress, foresight)?;
    let outcomes = all(name, &feed, plan)?;
    Ok((feed.whole, outcomes))
}

/// Plays a trace that has been read to every policy at every size.
pub(super) fn all(trace: &str, feed: &Feed, plan: &Plan) -> Result<Vec<CacheOutput>> {
    let runs = plan.runs(|size| size.of(feed.whole.footprint));
    let requests = feed.whole.requests * runs.len() as u64;
    let bar = Progress::of(&format!("{trace}: {} caches", runs.len()), requests);
    let finish = |run: CacheRun| run.outcome(trace, &feed.whole, plan);
    one_after_another(runs, feed, plan.threads, &bar, finish)
}

/// Each thread plays the whole trace to one cache, then takes the next. A cache is dropped as soon
/// as its result is known, so memory never holds more caches than threads.
fn one_after_another<T: Send>(
    runs: Vec<CacheRun>,
    feed: &Feed,
    threads: usize,
    bar: &Progress,
    finish: impl Fn(CacheRun) -> T + Sync,
) -> Result<Vec<T>> {
    let count = runs.len();
    let todo: Vec<Mutex<Option<CacheRun>>> =
        runs.into_iter().map(|run| Mutex::new(Some(run))).collect();
    let done: Vec<Mutex<Option<Result<T>>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = todo.get(at) else { break };
                    let run = cell.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let Some(mut run) = run else { continue };
                    let played = feed.play(|chunk| {
                        run.play(chunk);
                        bar.add(chunk.accesses.len() as u64);
                    });
                    let result = Some(played.map(|()| finish(run)));
                    *done[at].lock().unwrap_or_else(PoisonError::into_inner) = result;
                }
            });
        }
    });
    let taken = done.into_iter().map(Mutex::into_inner);
    taken.filter_map(|cell| cell.unwrap_or_else(PoisonError::into_inner)).collect()
}

/// Each thread has one of the caches and sees every chunk as it is read. A single thread reads the
/// trace as well.
fn while_read(name: &str, options: &Options, plan: &Plan) -> Result<(Whole, Vec<CacheOutput>)> {
    let mut runs = plan.runs(|size| size.of(0));
    if plan.threads == 1
        && let Some(mut run) = runs.pop()
    {
        let played = |chunk: Chunk| {
            run.play(&chunk);
            Ok(chunk)
        };
        let whole = feed::read(name, options, plan.compress, played)?;
        let outcome = run.outcome(name, &whole, plan);
        return Ok((whole, vec![outcome]));
    }
    thread::scope(|scope| {
        let (senders, workers): (Vec<SyncSender<Arc<Chunk>>>, Vec<_>) = runs
            .into_iter()
            .map(|mut run| {
                let (sender, receiver) = sync_channel::<Arc<Chunk>>(UNDER_WAY);
                let worker = scope.spawn(move || {
                    for chunk in receiver {
                        run.play(&chunk);
                    }
                    run
                });
                (sender, worker)
            })
            .unzip();
        let mut handed = VecDeque::new();
        let whole = feed::read(name, options, plan.compress, |chunk| {
            let chunk = Arc::new(chunk);
            for sender in &senders {
                // Only a worker that panicked hangs up; joining it reports the panic.
                let _ = sender.send(Arc::clone(&chunk));
            }
            handed.push_back(chunk);
            // A chunk that all workers have played is filled again.
            let is_played = handed.front().is_some_and(|chunk| Arc::strong_count(chunk) == 1);
            let played = is_played.then(|| handed.pop_front()).flatten();
            Ok(played.and_then(Arc::into_inner).unwrap_or_default())
        });
        drop(senders);
        let runs: Result<Vec<CacheRun>> = workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| anyhow!("a simulation thread panicked")))
            .collect();
        let (whole, runs) = (whole?, runs?);
        let outcomes = runs.into_iter().map(|run| run.outcome(name, &whole, plan)).collect();
        Ok((whole, outcomes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan<'a>(choices: &'a [(String, Choice)], sizes: &'a [Size], threads: usize) -> Plan<'a> {
        Plan {
            choices,
            sizes,
            seed: 1,
            read_size: ReadSize::New,
            compress: CompressArgs::default(),
            interval: Some(1000),
            tenants: true,
            threads,
        }
    }

    /// The counts depend neither on the way in which a trace is played nor on the number of
    /// threads.
    #[test]
    fn ways_to_play_agree() {
        let trace = "synth:zipf:keys=2000:requests=150000:skew=0.9";
        let feed = Feed::read(trace, &Options::default(), CompressArgs::default(), false).unwrap();
        let choices =
            ["lru", "klru:5", "lhd"].map(|name| (name.to_owned(), policy::parse(name).unwrap()));
        let sizes = ["1%", "10%"].map(|size| Size::parse(size).unwrap());
        let counts = |outcomes: &[CacheOutput]| -> Vec<_> {
            outcomes.iter().map(|o| (o.policy.clone(), o.size_bytes, o.misses)).collect()
        };
        let one = all(trace, &feed, &plan(&choices, &sizes, 1)).unwrap();
        for outcome in &one {
            let by = outcome.misses_by;
            let sum = by.first_seen + by.expired + by.deleted + by.evicted;
            assert_eq!(sum, outcome.misses);
            let interval = outcome.interval.as_ref().unwrap();
            assert_eq!(interval.miss_ratio.len(), 150);
            let mean = interval.miss_ratio.iter().flatten().sum::<f64>() / 150.0;
            assert!((mean - outcome.miss_ratio).abs() < 1e-9);
            assert_eq!(outcome.tenants.iter().map(|t| t.misses).sum::<u64>(), outcome.misses);
        }
        let three = all(trace, &feed, &plan(&choices, &sizes, 3)).unwrap();
        assert_eq!(counts(&one), counts(&three));
        let sizes = sizes.map(|size| size.of(feed.whole.footprint));
        let sizes = sizes.map(|bytes| Size::Bytes(bytes, bytes.0.to_string()));
        let plan = plan(&choices, &sizes, 6);
        let (whole, streamed) = while_read(trace, &Options::default(), &plan).unwrap();
        assert_eq!(counts(&one), counts(&streamed));
        assert_eq!((whole.keys, whole.footprint), (feed.whole.keys, feed.whole.footprint));
        assert!(one.iter().zip(&streamed).all(|(a, b)| a.misses_by == b.misses_by));
    }

    /// Half of a loop never hits in LRU. With values of 40 %, all of it fits the same memory.
    #[test]
    fn a_cache_that_compresses_holds_more() {
        let trace = "synth:loop:keys=1000:requests=20000:size=const/1000";
        let sizes = ["50%", "45%"].map(|size| Size::parse(size).unwrap());
        let choices = [("lru".to_owned(), policy::parse("lru").unwrap())];
        let misses = |compress_ratio: Option<f64>| -> Vec<u64> {
            let compress = CompressArgs { compress_ratio };
            let plan = Plan { compress, ..plan(&choices, &sizes, 2) };
            let (whole, outcomes) = super::trace(trace, &Options::default(), false, &plan).unwrap();
            assert_eq!(whole.footprint, 1_000_000);
            assert!(outcomes.iter().all(|outcome| outcome.compress_ratio == compress_ratio));
            outcomes.iter().map(|outcome| outcome.misses).collect()
        };
        assert_eq!(misses(None), [20_000, 20_000]);
        assert_eq!(misses(Some(0.4)), [1_000, 1_000]);
        assert_eq!(misses(Some(0.48)), [1_000, 20_000]);
    }

    /// No trace makes a sum overflow: every policy sees the end of time, the largest objects, and
    /// lives that end beyond the largest time.
    #[test]
    fn the_largest_numbers_are_no_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.csv");
        let (time, size) = (u64::MAX, 1u64 << 40);
        let line = |at: u64, op: &str| format!("{},k{},4,{size},65535,{op},{time}\n", at, at % 3);
        let lines: Vec<_> = [0, 1, time - 2, time - 1, time, time]
            .into_iter()
            .flat_map(|at| [line(at, "get"), line(at, "set"), line(at, "delete"), line(at, "get")])
            .collect();
        std::fs::write(&path, lines.concat()).unwrap();
        let name = path.to_str().unwrap();
        let feed = Feed::read(name, &Options::default(), CompressArgs::default(), true).unwrap();
        let choices: Vec<_> =
            policy::ALL.iter().map(|spec| (spec.name.to_owned(), Choice::of(spec))).collect();
        let sizes = ["1", "50%", "18446744073709551615", "1000000000000%"];
        let sizes = sizes.map(|size| Size::parse(size).unwrap());
        for outcome in all(name, &feed, &plan(&choices, &sizes, 2)).unwrap() {
            assert_eq!(outcome.accesses, 24, "{}", outcome.policy);
            assert!(outcome.misses <= outcome.requests, "{}", outcome.policy);
        }
    }
}
