//! The run: a thread that reads the traces, a thread for each connection, and one that watches.

use super::address::Address;
use super::backend::Backend;
use super::latency::Tally;
use super::link::Link;
use super::order::Order;
use super::pace::Pace;
use super::report::Report;
use super::worker::{Intake, Live, Scheduled, Worker};
use anyhow::{Context, bail};
use base::hash::mix;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};
use std::{array, mem, thread};

/// Requests handed to the connections of a tenant at a time: one lock, and at most one wake-up,
/// for so many.
const BATCH: usize = 32;
/// How often it is looked whether the run is over.
const LOOK: Duration = Duration::from_millis(20);

/// One tenant: its name, where its keys live, and what its misses cost.
#[derive(Clone, Debug)]
pub struct ReplayTenant {
    /// The name in reports, and of its table in the database.
    pub name: String,
    /// Stands before each key that is sent.
    pub prefix: String,
    /// The database its connections select.
    pub db: u32,
    /// What is asked on a miss.
    pub backend: Backend,
}

/// A run: who is sent what, and how.
pub struct Options {
    /// The server.
    pub to: Address,
    /// The tenants that the requests speak of.
    pub tenants: Vec<ReplayTenant>,
    /// The requests.
    pub order: Order,
    /// How many requests there are, where it is known; a warm-up needs it.
    pub requests: Option<u64>,
    /// Connections of each tenant.
    pub connections: usize,
    /// Requests a connection sends at once.
    pub depth: usize,
    /// When requests are sent.
    pub pace: Pace,
    /// Share of the requests, from the first, that are served and not counted.
    pub warmup: f64,
    /// Reproduces the waits.
    pub seed: u64,
    /// How often progress is told.
    pub interval: Duration,
}

/// How far a run is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Since the start.
    pub elapsed: Duration,
    /// Requests done.
    pub requests: u64,
    /// Requests in all, where it is known.
    pub requests_total: Option<u64>,
    /// Whether the requests are not counted yet.
    pub warming_up: bool,
    /// The tenants in order, over the time since progress was last told.
    pub tenants: Vec<Recent>,
}

/// What a tenant did lately.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recent {
    /// Requests done.
    pub requests: u64,
    /// Misses by reads; zero where nothing was read.
    pub miss_ratio: f64,
    /// Mean latency in microseconds.
    pub mean_us: f64,
}

/// Sends all requests and reports; `watch` is called every interval and at the end.
///
/// # Errors
/// The server cannot be reached or goes away, the traces cannot be read, a backend is missing. An
/// error reply, a wrong value or a failed query is counted and the run goes on.
pub fn run_replay(options: Options, watch: &mut dyn FnMut(&Progress)) -> anyhow::Result<Report> {
    let Options { to, tenants, order, requests, connections, depth, pace, warmup, seed, interval } =
        options;
    if tenants.is_empty() || connections == 0 || depth == 0 {
        bail!("nothing to send: at least one tenant, one connection and a depth of 1 are needed");
    }
    let measured_from = match requests {
        Some(requests) => (warmup * requests as f64) as u64,
        None if warmup == 0.0 => 0,
        None => bail!("a warm-up is a share of the requests: their number must be known"),
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
            lines.push((at, intake.clone(), backend, Link::connect(&to, tenant.db)?));
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
            // The queues end with the feeder: then the connections know that nothing comes.
            let queues = queues;
            let fed = feed(order, &queues, pace, measured_from, stop);
            fed.inspect_err(|_| stop.store(true, Relaxed))
        });
        let mut workers = vec![];
        for (at, intake, backend, link) in lines {
            let (prefix, live) = (tenants[at].prefix.as_bytes(), &live[at]);
            let late = &late;
            let worker =
                Worker { link, backend, prefix, intake, live, stop, start, depth, pace, late };
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

/// Hands the requests out to the tenants' connections, in order, until they or `stop` end it.
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
        // Nobody takes them any more only if the connections have failed, and they say why.
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

/// Reads the counters of all tenants, and what they did since it last looked.
struct Watcher<'a> {
    start: Instant,
    total: Option<u64>,
    measured_from: u64,
    live: &'a [Live],
    /// Requests, reads, misses and latency in nanoseconds of each tenant when last looked at.
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

#[cfg(test)]
mod tests {
    use super::super::order::{Lane, Merge, Owner};
    use super::*;
    use base::{Access, Micros, Op};
    use std::collections::HashMap;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Mutex;
    use trace::{Error, Source};
    use wire::resp::{Decoder, Encoder, Limits, Protocol};

    type Items = Arc<Mutex<HashMap<Vec<u8>, Vec<u8>>>>;

    /// A server without an end to its memory. Every `lie`-th read is answered with a wrong value.
    fn server(lie: Option<u64>) -> (Address, Items) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = Address::loopback(listener.local_addr().unwrap().port());
        let items = Items::default();
        let shared = items.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let items = shared.clone();
                thread::spawn(move || serve(stream.unwrap(), &items, lie));
            }
        });
        (to, items)
    }

    fn serve(mut stream: TcpStream, items: &Items, lie: Option<u64>) {
        let (mut decoder, mut bytes, mut out) = (Decoder::default(), vec![], vec![]);
        let mut reads = 0;
        loop {
            let mut piece = [0; 4096];
            match stream.read(&mut piece) {
                Ok(0) | Err(_) => return,
                Ok(n) => bytes.extend_from_slice(&piece[..n]),
            }
            while let Some(command) = decoder.decode(&bytes, &Limits::default()).unwrap() {
                let words: Vec<&[u8]> = command.iter_from(0).collect();
                let mut reply = Encoder::new(&mut out, Protocol::Resp2);
                let mut items = items.lock().unwrap();
                match words[0] {
                    b"GET" => {
                        reads += 1;
                        match items.get(words[1]) {
                            Some(_) if lie.is_some_and(|lie| reads % lie == 0) => {
                                reply.bulk(b"something else altogether");
                            }
                            Some(value) => reply.bulk(value),
                            None => reply.null(),
                        }
                    }
                    b"SET" => {
                        items.insert(words[1].to_vec(), words[2].to_vec());
                        reply.simple("OK");
                    }
                    _ => reply.error(b"ERR unknown command"),
                }
                let consumed = command.consumed;
                bytes.drain(..consumed);
            }
            stream.write_all(&out).unwrap();
            out.clear();
        }
    }

    /// `requests` reads of `keys` keys in turn; every tenth is a write.
    struct Turns {
        requests: u64,
        keys: u64,
        at: u64,
        key: String,
    }

    impl Source for Turns {
        fn next(&mut self) -> Option<Result<Access, Error>> {
            if self.at == self.requests {
                return None;
            }
            let number = self.at % self.keys;
            self.key = format!("k{number}");
            self.at += 1;
            let op = if self.at.is_multiple_of(10) { Op::Set } else { Op::Get };
            Some(Ok(Access { op, time: Micros(self.at), ..Access::get(number, 100) }))
        }
        fn key(&self) -> &[u8] {
            self.key.as_bytes()
        }
    }

    fn lane(tenant: usize, requests: u64, keys: u64) -> Lane {
        let source = Box::new(Turns { requests, keys, at: 0, key: String::new() });
        Lane { source, requests: Some(requests), owner: Owner::Tenant(tenant) }
    }

    fn options(to: Address, backend: &str) -> Options {
        let tenant = |name: &str| ReplayTenant {
            name: name.into(),
            prefix: format!("{name}:"),
            db: 0,
            backend: Backend::parse(backend).unwrap(),
        };
        Options {
            to,
            tenants: vec![tenant("a"), tenant("b")],
            order: Order::new(vec![lane(0, 3_000, 97), lane(1, 1_000, 31)], Merge::InProportion(1)),
            requests: Some(4_000),
            connections: 1,
            depth: 1,
            pace: Pace::Closed,
            warmup: 0.0,
            seed: 1,
            interval: Duration::from_millis(5),
        }
    }

    /// With one connection a tenant nothing is left to chance: each key misses once, unless its
    /// first request is a write.
    #[test]
    fn every_request_is_sent_once_and_misses_are_filled() {
        for depth in [1, 8] {
            let (to, items) = server(None);
            let mut last = 0;
            let options = Options { depth, ..options(to, "delay:0") };
            let report = run_replay(options, &mut |progress| last = progress.requests).unwrap();
            assert_eq!((report.requests, last, report.errors), (4_000, 4_000, 0));
            let items = items.lock().unwrap();
            assert_eq!(items.len(), 97 + 31);
            assert!(items.keys().all(|key| key.starts_with(b"a:") || key.starts_with(b"b:")));
            let misses: Vec<u64> = report.tenants.iter().map(|tenant| tenant.misses).collect();
            assert_eq!(misses, [97 - 9, 31 - 3]);
            assert_eq!(report.tenants[0].gets, 2_700);
        }
    }

    #[test]
    fn the_warmup_is_served_and_not_counted() {
        let (to, items) = server(None);
        let options = Options { warmup: 0.5, ..options(to, "delay:0") };
        let report = run_replay(options, &mut |_| ()).unwrap();
        assert_eq!((report.requests, report.requests_warmup), (2_000, 2_000));
        assert_eq!(report.tenants.iter().map(|tenant| tenant.misses).sum::<u64>(), 0);
        assert_eq!(items.lock().unwrap().len(), 97 + 31);
    }

    /// The check of values is worth nothing if it never fails.
    #[test]
    fn wrong_values_are_errors() {
        let (to, _) = server(Some(50));
        let report = run_replay(options(to, "delay:0"), &mut |_| ()).unwrap();
        assert!((50..=72).contains(&report.errors), "{}", report.errors);
        assert!(report.first_error.unwrap().contains("not what was written"));
    }

    /// A miss takes what its backend takes, and a hit nothing of it.
    #[test]
    fn misses_wait_for_their_backend() {
        let (to, _) = server(None);
        let options = Options { connections: 4, ..options(to, "delay:3ms") };
        let report = run_replay(options, &mut |_| ()).unwrap();
        for tenant in &report.tenants {
            assert!(tenant.penalty_us >= 3_000.0, "{tenant:?}");
            assert!(tenant.latency_us.p50 < 3_000.0, "{tenant:?}");
            assert!(tenant.latency_us.p999 >= 3_000.0, "{tenant:?}");
        }
    }

    /// An open loop that counted from the sending would show a server that stalls as a fast one.
    #[test]
    fn an_open_loop_counts_from_the_intended_times() {
        let (to, _) = server(None);
        // One connection can answer at most 200 misses of 5 ms a second: it falls behind.
        let rate = 100_000.0;
        let options = Options { pace: Pace::Open(rate), ..options(to, "delay:5ms") };
        let report = run_replay(options, &mut |_| ()).unwrap();
        let worst = report.tenants[0].latency_us;
        assert!(worst.p50 > 50_000.0, "half of the requests wait for 88 misses: {worst:?}");
    }

    #[test]
    fn a_paced_run_is_never_ahead_of_its_rate() {
        let (to, _) = server(None);
        let options = Options {
            pace: Pace::ClosedAtMost { rate: 20_000.0, burst: 8 },
            ..options(to, "delay:0")
        };
        let report = run_replay(options, &mut |_| ()).unwrap();
        assert!(report.seconds >= 3_992.0 / 20_000.0, "{}", report.seconds);
    }

    #[test]
    fn a_server_that_is_not_there_is_named() {
        let to = Address::loopback(1);
        let error = run_replay(options(to, "delay:0"), &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
    }
}
