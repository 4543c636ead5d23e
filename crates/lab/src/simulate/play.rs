//! Plays a trace to many caches, on all cores.

use super::feed::{Chunk, Feed, progress};
use super::outcome::{self, Interval, MissesBy, Outcome, Share};
use super::player::Player;
use super::size::Size;
use super::{LIVE, ReadSize};
use crate::product::Product;
use anyhow::{Result, anyhow};
use base::{Bytes, TenantId};
use indicatif::ProgressBar;
use policy::{Cache, Choice};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Chunks on their way to a thread; more would only hold memory.
const UNDER_WAY: usize = 4;

/// What is to be simulated, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<'a> {
    pub(super) choices: &'a [(String, Choice)],
    pub(super) sizes: &'a [Size],
    pub(super) seed: u64,
    pub(super) read_size: ReadSize,
    pub(super) interval: Option<u64>,
    pub(super) tenants: bool,
    pub(super) threads: usize,
}

/// One cache at work.
#[derive(Debug)]
struct Run {
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

impl Run {
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

    fn outcome(mut self, trace: &str, feed: &Feed, seed: u64) -> Outcome {
        if self.interval.as_ref().is_some_and(|i| !self.accesses.is_multiple_of(i.requests)) {
            self.close_interval();
        }
        let (cache, stats) = (&self.cache, self.cache.stats());
        Outcome {
            trace: trace.to_owned(),
            policy: self.policy.clone(),
            size: self.size.to_string(),
            size_bytes: outcome::shown_size(self.asked, cache.capacity(), cache.used()),
            requests: stats.gets,
            misses: stats.misses,
            miss_ratio: stats.miss_ratio(),
            byte_miss_ratio: stats.byte_miss_ratio(),
            requests_per_second: self.accesses as f64 / self.seconds.as_secs_f64().max(1e-9),
            mean_penalty_us: outcome::mean_penalty(&stats, feed.has_penalties()),
            misses_by: self.misses_by,
            accesses: self.accesses,
            evictions: stats.evictions,
            expirations: stats.expirations,
            refusals: stats.refusals,
            objects: cache.len() as u64,
            used_bytes: cache.used().0,
            footprint_bytes: feed.footprint(),
            keys: feed.keys(),
            seed,
            interval: self.interval.take(),
            tenants: self
                .tenants
                .as_ref()
                .map(|shares| outcome::tenants(shares, feed))
                .unwrap_or_default(),
        }
    }
}

/// Every policy at every size: policies in the order asked for, each with its sizes.
pub(super) fn all(trace: &str, feed: &Feed, plan: &Plan) -> Result<Vec<Outcome>> {
    let runs: Vec<Run> = plan
        .choices
        .iter()
        .flat_map(|choice| plan.sizes.iter().map(move |size| (choice, size)))
        .map(|((name, choice), size)| {
            let asked = size.of(feed.footprint());
            let interval = |requests| Interval { requests, miss_ratio: vec![] };
            Run {
                policy: name.clone(),
                size: size.clone(),
                asked,
                cache: match (choice.evictor(), plan.read_size) {
                    (Ok(evictor), _) if name.starts_with(LIVE) => {
                        Player::Product(Box::new(Product::new(evictor, asked, plan.seed)))
                    }
                    (_, ReadSize::New) => {
                        Player::Simulated(Box::new(Cache::new(choice, asked, plan.seed)))
                    }
                    (_, ReadSize::First) => {
                        let cache = Cache::new(choice, asked, plan.seed);
                        Player::Simulated(Box::new(cache.keeping_sizes()))
                    }
                },
                misses_by: MissesBy::default(),
                seconds: Duration::ZERO,
                accesses: 0,
                interval: plan.interval.map(interval),
                mark: (0, 0),
                tenants: plan.tenants.then(BTreeMap::new),
            }
        })
        .collect();
    let bar = progress(
        &format!("{trace}: {} caches", runs.len()),
        Some(feed.requests() * runs.len() as u64),
    );
    let outcomes = match feed.held() {
        Some(chunks) => one_after_another(runs, chunks, plan.threads, &bar, |run| {
            run.outcome(trace, feed, plan.seed)
        }),
        None => side_by_side(runs, feed, plan.threads, &bar)?
            .into_iter()
            .map(|run| run.outcome(trace, feed, plan.seed))
            .collect(),
    };
    bar.finish_and_clear();
    Ok(outcomes)
}

/// Each thread plays the whole trace to one cache, then takes the next. A cache is given up as soon
/// as it is counted, so no more of them are in memory than threads.
fn one_after_another<T: Send>(
    runs: Vec<Run>,
    chunks: &[Arc<Chunk>],
    threads: usize,
    bar: &ProgressBar,
    finish: impl Fn(Run) -> T + Sync,
) -> Vec<T> {
    let count = runs.len();
    let todo: Vec<Mutex<Option<Run>>> = runs.into_iter().map(|run| Mutex::new(Some(run))).collect();
    let done: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = todo.get(at) else { break };
                    let run = cell.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let Some(mut run) = run else { continue };
                    for chunk in chunks {
                        run.play(chunk);
                        bar.inc(chunk.accesses.len() as u64);
                    }
                    let result = Some(finish(run));
                    *done[at].lock().unwrap_or_else(PoisonError::into_inner) = result;
                }
            });
        }
    });
    let taken = done.into_iter().map(Mutex::into_inner);
    taken.filter_map(|cell| cell.unwrap_or_else(PoisonError::into_inner)).collect()
}

/// The trace is read once more; each thread has some of the caches and sees every chunk.
fn side_by_side(
    runs: Vec<Run>,
    feed: &Feed,
    threads: usize,
    bar: &ProgressBar,
) -> Result<Vec<Run>> {
    let threads = threads.clamp(1, runs.len().max(1));
    let mut hands: Vec<Vec<(usize, Run)>> = (0..threads).map(|_| vec![]).collect();
    for (at, run) in runs.into_iter().enumerate() {
        hands[at % threads].push((at, run));
    }
    let mut played = thread::scope(|scope| {
        let (senders, workers): (Vec<SyncSender<Arc<Chunk>>>, Vec<_>) = hands
            .into_iter()
            .map(|mut hand| {
                let (sender, receiver) = sync_channel::<Arc<Chunk>>(UNDER_WAY);
                let worker = scope.spawn(move || {
                    for chunk in receiver {
                        for (_, run) in &mut hand {
                            run.play(&chunk);
                            bar.inc(chunk.accesses.len() as u64);
                        }
                    }
                    hand
                });
                (sender, worker)
            })
            .unzip();
        let read = feed.again(|chunk| {
            for sender in &senders {
                // Only a worker that panicked hangs up; joining it tells.
                let _ = sender.send(Arc::clone(&chunk));
            }
            Ok(())
        });
        drop(senders);
        let hands: Result<Vec<_>> = workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| anyhow!("a simulation thread panicked")))
            .collect();
        read.and(hands)
    })?
    .into_iter()
    .flatten()
    .collect::<Vec<_>>();
    played.sort_by_key(|(at, _)| *at);
    Ok(played.into_iter().map(|(_, run)| run).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::Options;

    fn plan<'a>(choices: &'a [(String, Choice)], sizes: &'a [Size], threads: usize) -> Plan<'a> {
        Plan {
            choices,
            sizes,
            seed: 1,
            read_size: ReadSize::New,
            interval: Some(1000),
            tenants: true,
            threads,
        }
    }

    /// However a trace is played, on however many threads, the counts must be the same.
    #[test]
    fn ways_to_play_agree() {
        let trace = "synth:zipf:keys=2000:requests=150000:skew=0.9";
        let feed = Feed::read(trace, &Options::default(), false).unwrap();
        let choices =
            ["lru", "klru:5", "lhd"].map(|name| (name.to_owned(), policy::parse(name).unwrap()));
        let sizes = ["1%", "10%"].map(|size| Size::parse(size).unwrap());
        let counts = |outcomes: Vec<Outcome>| -> Vec<_> {
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
        let one = counts(one);
        assert_eq!(one, counts(all(trace, &feed, &plan(&choices, &sizes, 3)).unwrap()));
        let bar = ProgressBar::hidden();
        let runs = || -> Vec<Run> {
            let plan = plan(&choices, &sizes, 2);
            let (mut runs, size) = (vec![], &plan.sizes[1]);
            for (name, choice) in plan.choices {
                runs.push(Run {
                    policy: name.clone(),
                    size: size.clone(),
                    asked: size.of(feed.footprint()),
                    cache: Player::Simulated(Box::new(Cache::new(
                        choice,
                        size.of(feed.footprint()),
                        1,
                    ))),
                    misses_by: MissesBy::default(),
                    seconds: Duration::ZERO,
                    accesses: 0,
                    interval: None,
                    mark: (0, 0),
                    tenants: None,
                });
            }
            runs
        };
        let streamed = side_by_side(runs(), &feed, 2, &bar).unwrap();
        let streamed =
            counts(streamed.into_iter().map(|run| run.outcome(trace, &feed, 1)).collect());
        let large: Vec<_> = one.into_iter().filter(|count| count.1 == streamed[0].1).collect();
        assert_eq!(streamed, large);
    }

    /// Whatever a trace says, sums stay within their numbers: every policy sees the end of time,
    /// the largest objects, and lives that end beyond both.
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
        let feed = Feed::read(name, &Options::default(), true).unwrap();
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
