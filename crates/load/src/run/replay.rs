//! The run itself: a thread that reads the traces, a thread for each connection, and a thread that
//! watches.

use super::options::{Options, Progress, Recent};
use crate::client::Client;
use crate::latency::Tally;
use crate::order::Order;
use crate::pace::Pace;
use crate::report::Report;
use crate::worker::{Intake, Live, Scheduled, Worker};
use anyhow::{Context, bail};
use base::hash::mix;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};
use std::{array, mem, thread};

/// Requests handed to the connections of a tenant at a time: one lock, and at most one wake-up, for
/// each batch.
const BATCH: usize = 32;
/// The time between two checks whether the run is over.
const LOOK: Duration = Duration::from_millis(20);

/// Sends all requests and reports; calls `watch` in every interval and at the end.
///
/// # Errors
/// The server is unreachable or lost, a trace is unreadable, or a backend is missing. An error
/// reply, a wrong value or a failed query is counted, and the run goes on.
pub fn run_replay(options: Options, watch: &mut dyn FnMut(&Progress)) -> anyhow::Result<Report> {
    let Options { to, tenants, order, requests, connections, depth, pace, .. } = options;
    let Options { tells_costs, warmup, seed, interval, .. } = options;
    if tenants.is_empty() || connections == 0 || depth == 0 {
        bail!("nothing to send: a run needs at least one tenant, one connection and a depth of 1");
    }
    let measured_from = match requests {
        Some(requests) => (warmup * requests as f64) as u64,
        None if warmup == 0.0 => 0,
        None => bail!("a warm-up is a share of the requests, so their number must be known"),
    };
    let (mut queues, mut lines) = (vec![], vec![]);
    for (at, tenant) in tenants.iter().enumerate() {
        let (queue, batches) = sync_channel((connections * depth).div_ceil(BATCH) + 1);
        let intake = Arc::new(Intake::new(batches));
        queues.push(queue);
        for connection in 0..connections {
            let seed = mix(seed ^ mix((at * connections + connection) as u64));
            let backend = tenant.backend.connect(&tenant.name, seed);
            let backend = backend.with_context(|| format!("backend of tenant {}", tenant.name))?;
            lines.push((at, intake.clone(), backend, Client::connect(&to, tenant.db)?));
        }
    }

    let stop = &AtomicBool::new(false);
    let live: Vec<Live> = tenants.iter().map(|_| Live::default()).collect();
    let late = AtomicU64::new(0);
    let start = Instant::now();
    let mut watcher = Watcher { start, total: requests, measured_from, live: &live, last: vec![] };
    let mut tallies: Vec<_> =
        tenants.iter().map(|tenant| (tenant.name.clone(), Tally::default())).collect();
    let mut result = Ok(());
    thread::scope(|scope| {
        let feeder = scope.spawn(move || {
            // The queues end with the feeder, which tells the connections that no more requests
            // come.
            let queues = queues;
            let fed = feed(order, &queues, pace, measured_from, stop);
            fed.inspect_err(|_| stop.store(true, Relaxed))
        });
        let mut workers = vec![];
        for (at, intake, backend, client) in lines {
            let (prefix, live) = (tenants[at].prefix.as_bytes(), &live[at]);
            let late = &late;
            let worker = Worker {
                client,
                backend,
                prefix,
                intake,
                live,
                stop,
                start,
                depth,
                pace,
                tells_costs,
                late,
            };
            let run = move || worker.run().inspect_err(|_| stop.store(true, Relaxed));
            workers.push((at, scope.spawn(run)));
        }
        let mut told = start;
        while !workers.iter().all(|(_, worker)| worker.is_finished()) {
            thread::sleep(LOOK);
            if told.elapsed() >= interval {
                told = Instant::now();
                watch(&watcher.look());
            }
        }
        for (at, worker) in workers {
            match worker.join().unwrap_or_else(|panic| resume_unwind(panic)) {
                Ok(tally) => tallies[at].1.merge(&tally),
                Err(error) if result.is_ok() => result = Err(error),
                Err(_) => {}
            }
        }
        let fed = feeder.join().unwrap_or_else(|panic| resume_unwind(panic));
        if result.is_ok() {
            result = fed;
        }
    });
    result?;
    watch(&watcher.look());
    Ok(Report::new(seed, start.elapsed(), measured_from, tallies))
}

/// Hands the requests to the tenants' connections, in order, until they end or `stop` is set.
fn feed(
    order: Order,
    queues: &[SyncSender<Vec<Scheduled>>],
    pace: Pace,
    measured_from: u64,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let mut batches: Vec<Vec<Scheduled>> = queues.iter().map(|_| vec![]).collect();
    for (index, request) in order.enumerate() {
        if stop.load(Relaxed) {
            return Ok(());
        }
        let (request, index) = (request?, index as u64);
        let (tenant, due) = (request.tenant, pace.due(index, request.time));
        let batch = &mut batches[tenant];
        batch.push(Scheduled { request, due, measured: index >= measured_from });
        // The receiver is gone only if the connections have failed, and they report the error.
        if batch.len() == BATCH && queues[tenant].send(mem::take(batch)).is_err() {
            return Ok(());
        }
    }
    for (queue, batch) in queues.iter().zip(batches) {
        if !batch.is_empty() {
            let _ = queue.send(batch);
        }
    }
    Ok(())
}

/// Reads the counters of all tenants, and their changes since the last look.
struct Watcher<'a> {
    start: Instant,
    total: Option<u64>,
    measured_from: u64,
    live: &'a [Live],
    /// Requests, reads, misses and latency in nanoseconds of each tenant at the last look.
    last: Vec<[u64; 4]>,
}

impl Watcher<'_> {
    fn look(&mut self) -> Progress {
        let now: Vec<_> = self.live.iter().map(Live::counts).collect();
        self.last.resize(now.len(), [0; 4]);
        let since = now.iter().zip(&self.last).map(|(now, last)| {
            let [requests, gets, misses, ns] = array::from_fn(|at| now[at] - last[at]);
            Recent {
                requests,
                miss_ratio: misses as f64 / gets.max(1) as f64,
                mean_us: ns as f64 / 1e3 / requests.max(1) as f64,
            }
        });
        let tenants = since.collect();
        let requests = now.iter().map(|[requests, ..]| requests).sum();
        self.last = now;
        Progress {
            elapsed: self.start.elapsed(),
            requests,
            requests_total: self.total,
            warming_up: requests < self.measured_from,
            tenants,
        }
    }
}
