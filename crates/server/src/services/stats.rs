//! The counters of the server, separate for each worker.
//!
//! A counter has one writer, so counting is a load and a store without a locked instruction. No two
//! workers share a cache line. Readers add up the workers.
//!
//! The time of commands is measured in the first [`TIMED_FIRST`] batches of a second, and then in
//! one of [`TIMED_EVERY`]. Two readings of the clock for each command would cost more than a GET.
//! So a quiet server times every command. On a busy server each timed call stands for the calls
//! that were not timed.

use super::hot_keys::HotKeys;
use super::top_keys::TopKeys;
use crate::text::log_throttle::LogThrottle;
use base::{Bytes, histogram};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of batches in each second that are all timed, and the interval of timed batches after
/// them.
const TIMED_FIRST: u64 = 64;
const TIMED_EVERY: u64 = 64;

/// The number of batches for which this batch of a second (counted from 1) stands if it is timed; 0
/// if it is not timed.
pub(crate) const fn weight(batch: u64) -> u64 {
    match batch {
        0..=TIMED_FIRST => 1,
        later if later.is_multiple_of(TIMED_EVERY) => TIMED_EVERY,
        _ => 0,
    }
}

/// A number that one thread counts up and any thread may read.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`. Only the thread that owns the counter may call it.
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of one command.
#[derive(Debug, Default)]
pub(crate) struct PerCommand {
    pub(crate) calls: Counter,
    pub(crate) failed: Counter,
    pub(crate) rejected: Counter,
    pub(crate) timed: Counter,
    pub(crate) timed_us: Counter,
}

/// The counters of one worker.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Worker {
    pub(crate) commands: Vec<PerCommand>,
    pub(crate) net_in: Counter,
    pub(crate) net_out: Counter,
    pub(crate) reads: Counter,
    pub(crate) writes: Counter,
    pub(crate) polls: Counter,
    /// Memcached's counters, by [`Event`](crate::facts::memcached_events::Event).
    pub(crate) events: [Counter; crate::facts::memcached_events::EVENTS],
    /// The times of commands in microseconds, by command, from the timed batches.
    latencies: Mutex<BTreeMap<u16, BTreeMap<u16, u64>>>,
    /// The keys of some commands of the timed batches, and the number of commands seen in them.
    hottest: Mutex<TopKeys>,
    seen: Counter,
}

impl Worker {
    pub(crate) fn new(commands: usize) -> Self {
        Self {
            commands: (0..commands).map(|_| PerCommand::default()).collect(),
            net_in: Counter::default(),
            net_out: Counter::default(),
            reads: Counter::default(),
            writes: Counter::default(),
            polls: Counter::default(),
            events: Default::default(),
            latencies: Mutex::default(),
            hottest: Mutex::default(),
            seen: Counter::default(),
        }
    }

    /// The table in which to count the keys of a command in a timed batch; `None` for most
    /// commands. Only the thread that owns the counters may call it.
    pub(crate) fn hottest_now(&self) -> Option<MutexGuard<'_, TopKeys>> {
        /// A prime, so that no pattern in a pipeline hides a key.
        const ONE_OF: u64 = 5;
        self.seen.add(1);
        self.seen.get().is_multiple_of(ONE_OF).then(|| self.hottest())
    }

    /// The most requested keys of the timed batches.
    pub(crate) fn hottest(&self) -> MutexGuard<'_, TopKeys> {
        self.hottest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the time of a command in a timed batch that stands for `weight` batches.
    pub(crate) fn time(&self, command: u16, micros: u64, weight: u64) {
        let counted = &self.commands[command as usize];
        counted.timed.add(weight);
        counted.timed_us.add(micros * weight);
        let bucket = histogram::bucket(micros) as u16;
        let mut latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        *latencies.entry(command).or_default().entry(bucket).or_default() += weight;
    }
}

/// The counters of the whole server.
#[derive(Debug)]
pub(crate) struct Stats {
    pub(crate) workers: Vec<Worker>,
    pub(crate) connections: AtomicU64,
    pub(crate) rejected_connections: AtomicU64,
    /// The number of flushed items.
    pub(crate) flushed: AtomicU64,
    pub(crate) output_limit_closed: AtomicU64,
    pub(crate) query_limit_closed: AtomicU64,
    /// The number of clients closed by `timeout`.
    pub(crate) idle_closed: AtomicU64,
    /// HTTP requests at the wrong port, by the protocol of the port.
    pub(crate) http_at_redis: LogThrottle,
    pub(crate) http_at_memcached: LogThrottle,
    pub(crate) resident: AtomicU64,
    /// The time spent looking for expired items, in microseconds.
    pub(crate) expire_us: AtomicU64,
    pub(crate) used_peak: AtomicU64,
    /// Commands, bytes received and bytes sent in the last second.
    pub(crate) per_second: [AtomicU64; 3],
    /// The keys that HOTKEYS counts.
    pub(crate) hot_keys: HotKeys,
    /// The number of error replies by their first word.
    errors: Mutex<BTreeMap<String, u64>>,
    /// The counts at the last CONFIG RESETSTAT, which are subtracted.
    pub(crate) baseline: Mutex<Totals>,
}

/// Sums over the workers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) commands: Vec<CommandTotals>,
    pub(crate) net_in: u64,
    pub(crate) net_out: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) polls: u64,
    pub(crate) connections: u64,
    pub(crate) rejected_connections: u64,
    pub(crate) flushed: u64,
    pub(crate) events: Vec<u64>,
    pub(crate) store: store::Counters,
}

/// The sums for one command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CommandTotals {
    pub(crate) calls: u64,
    pub(crate) failed: u64,
    pub(crate) rejected: u64,
    pub(crate) timed: u64,
    pub(crate) timed_us: u64,
}

impl CommandTotals {
    /// The microseconds spent, estimated from the timed calls.
    pub(crate) fn micros(&self) -> u64 {
        match self.timed {
            0 => 0,
            timed => {
                (u128::from(self.timed_us) * u128::from(self.calls) / u128::from(timed)) as u64
            }
        }
    }
}

impl Totals {
    pub(crate) fn calls(&self) -> u64 {
        self.commands.iter().map(|command| command.calls).sum()
    }

    fn minus(&mut self, base: &Self) {
        for (now, then) in self.commands.iter_mut().zip(&base.commands) {
            now.calls -= then.calls;
            now.failed -= then.failed;
            now.rejected -= then.rejected;
            now.timed -= then.timed;
            now.timed_us -= then.timed_us;
        }
        self.net_in -= base.net_in;
        self.net_out -= base.net_out;
        self.reads -= base.reads;
        self.writes -= base.writes;
        self.polls -= base.polls;
        self.connections -= base.connections;
        self.rejected_connections -= base.rejected_connections;
        self.flushed -= base.flushed;
        let (now, then) = (&mut self.store, &base.store);
        now.hits -= then.hits;
        now.misses -= then.misses;
        now.misses_expired -= then.misses_expired;
        now.sets -= then.sets;
        now.deletes -= then.deletes;
        now.expired -= then.expired;
        now.expired_swept -= then.expired_swept;
        now.expired_for_room -= then.expired_for_room;
        now.evicted -= then.evicted;
        now.evicted_bytes -= then.evicted_bytes;
        now.not_admitted -= then.not_admitted;
    }
}

impl Stats {
    pub(crate) fn new(workers: usize, commands: usize) -> Self {
        Self {
            workers: (0..workers).map(|_| Worker::new(commands)).collect(),
            connections: AtomicU64::new(0),
            rejected_connections: AtomicU64::new(0),
            flushed: AtomicU64::new(0),
            output_limit_closed: AtomicU64::new(0),
            query_limit_closed: AtomicU64::new(0),
            idle_closed: AtomicU64::new(0),
            http_at_redis: LogThrottle::default(),
            http_at_memcached: LogThrottle::default(),
            resident: AtomicU64::new(0),
            expire_us: AtomicU64::new(0),
            used_peak: AtomicU64::new(0),
            per_second: Default::default(),
            hot_keys: HotKeys::default(),
            errors: Mutex::default(),
            baseline: Mutex::default(),
        }
    }

    /// The resident memory of the process.
    pub(crate) fn resident(&self) -> Bytes {
        Bytes(self.resident.load(Ordering::Relaxed))
    }

    /// Counts an error reply.
    pub(crate) fn error(&self, text: &[u8]) {
        let code = text.split(|&byte| byte == b' ').next().unwrap_or_default();
        let code = String::from_utf8_lossy(code).into_owned();
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        *errors.entry(code).or_default() += 1;
    }

    /// The number of error replies by their first word.
    pub(crate) fn errors(&self) -> BTreeMap<String, u64> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The sums since the start.
    pub(crate) fn since_start(&self, store: store::Counters) -> Totals {
        self.sum(store)
    }

    fn sum(&self, store: store::Counters) -> Totals {
        let mut sum = Totals {
            connections: self.connections.load(Ordering::Relaxed),
            rejected_connections: self.rejected_connections.load(Ordering::Relaxed),
            flushed: self.flushed.load(Ordering::Relaxed),
            events: self.sum_events(),
            store,
            ..Totals::default()
        };
        for worker in &self.workers {
            sum.commands.resize(worker.commands.len(), CommandTotals::default());
            for (total, counted) in sum.commands.iter_mut().zip(&worker.commands) {
                total.calls += counted.calls.get();
                total.failed += counted.failed.get();
                total.rejected += counted.rejected.get();
                total.timed += counted.timed.get();
                total.timed_us += counted.timed_us.get();
            }
            sum.net_in += worker.net_in.get();
            sum.net_out += worker.net_out.get();
            sum.reads += worker.reads.get();
            sum.writes += worker.writes.get();
            sum.polls += worker.polls.get();
        }
        sum
    }

    /// The sums of memcached's counters since the start or the last reset.
    pub(crate) fn events(&self) -> Vec<u64> {
        let baseline = self.baseline.lock().unwrap_or_else(PoisonError::into_inner);
        let sums = self.sum_events();
        let base = baseline.events.iter().copied().chain(std::iter::repeat(0));
        sums.iter().zip(base).map(|(sum, base)| sum - base).collect()
    }

    fn sum_events(&self) -> Vec<u64> {
        let of = |at: usize| self.workers.iter().map(|worker| worker.events[at].get()).sum();
        (0..crate::facts::memcached_events::EVENTS).map(of).collect()
    }

    /// The sums since the start or the last CONFIG RESETSTAT.
    pub(crate) fn totals(&self, store: store::Counters) -> Totals {
        let mut totals = self.sum(store);
        totals.minus(&self.baseline.lock().unwrap_or_else(PoisonError::into_inner));
        totals
    }

    /// Resets the counts (CONFIG RESETSTAT). The call of this command is the first that counts
    /// again.
    pub(crate) fn reset(&self, store: store::Counters, command: Option<u16>) {
        let mut sum = self.sum(store);
        if let Some(counted) = command.and_then(|at| sum.commands.get_mut(usize::from(at))) {
            counted.calls = counted.calls.saturating_sub(1);
        }
        *self.baseline.lock().unwrap_or_else(PoisonError::into_inner) = sum;
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).clear();
        for worker in &self.workers {
            worker.latencies.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// The times of each timed command: (upper edge in microseconds, calls), in order.
    pub(crate) fn latencies(&self) -> BTreeMap<u16, Vec<(u64, u64)>> {
        let mut sum: BTreeMap<u16, BTreeMap<u16, u64>> = BTreeMap::new();
        for worker in &self.workers {
            let latencies = worker.latencies.lock().unwrap_or_else(PoisonError::into_inner);
            for (command, buckets) in latencies.iter() {
                let into = sum.entry(*command).or_default();
                for (bucket, count) in buckets {
                    *into.entry(*bucket).or_default() += count;
                }
            }
        }
        let edge = |bucket: u16| {
            let bucket = usize::from(bucket);
            histogram::left_edge(bucket) + histogram::width(bucket) - 1
        };
        sum.into_iter()
            .map(|(command, buckets)| {
                (command, buckets.into_iter().map(|(at, count)| (edge(at), count)).collect())
            })
            .collect()
    }
}
