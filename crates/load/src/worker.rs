//! One connection and its thread: it takes requests, sends them, and times the answers.
//!
//! A round is up to `depth` requests in one write. Hits are checked and are then done. Misses query
//! the backend; their waits overlap, and a miss is done when its value arrives. The SET that
//! follows is sent at once, and its reply is read later, with the replies of the next round. So the
//! time of a request is the time that an application sees: the GET, and on a miss the backend.
//!
//! Each connection has a thread, because it mostly waits, and a waiting thread costs nothing.

use crate::answer::Answer;
use crate::backend;
use crate::client::Client;
use crate::latency::Tally;
use crate::order::Request;
use crate::pace::Pace;
use crate::{value, wait};
use base::{Micros, Op};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A closed loop that is later than this shifts its times.
const LATE_MAX: Duration = Duration::from_millis(5);

/// A request and its time.
#[derive(Debug)]
pub(crate) struct Scheduled {
    pub(crate) request: Request,
    /// The time since the start of the run.
    pub(crate) due: Duration,
    /// Whether the request counts, because the warm-up is over.
    pub(crate) measured: bool,
}

/// The queue from which the connections of a tenant take their requests.
#[derive(Debug)]
pub(crate) struct Intake(Mutex<(VecDeque<Scheduled>, Receiver<Vec<Scheduled>>)>);

impl Intake {
    pub(crate) fn new(batches: Receiver<Vec<Scheduled>>) -> Self {
        Self(Mutex::new((VecDeque::new(), batches)))
    }

    /// Takes the next request into `round`, and the following requests that are due by then or by
    /// `now`, up to `depth` in all. Waits while the queue is empty; returns false at its end.
    fn take(&self, round: &mut Vec<Scheduled>, depth: usize, now: Duration) -> bool {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (ready, batches) = &mut *inner;
        if ready.is_empty() {
            match batches.recv() {
                Ok(batch) => ready.extend(batch),
                Err(_) => return false,
            }
        }
        while round.len() < depth {
            match ready.front() {
                Some(next) if round.first().is_none_or(|first| next.due <= now.max(first.due)) => {
                    round.extend(ready.pop_front());
                }
                _ => break,
            }
        }
        true
    }
}

/// Counters of the connections of a tenant, for progress reports.
#[derive(Debug, Default)]
pub(crate) struct Live {
    pub(crate) requests: AtomicU64,
    pub(crate) gets: AtomicU64,
    pub(crate) misses: AtomicU64,
    pub(crate) latency_ns: AtomicU64,
}

impl Live {
    /// Requests, reads, misses, and latency in nanoseconds.
    pub(crate) fn counts(&self) -> [u64; 4] {
        [&self.requests, &self.gets, &self.misses, &self.latency_ns]
            .map(|counter| counter.load(Relaxed))
    }
}

/// The result of a reply to GET.
enum Seen {
    Right,
    /// The value is right for an earlier length of the object.
    Resized,
    Absent,
    Wrong(String),
}

/// A miss whose backend answer is under way.
struct Pending {
    at: usize,
    seed: u64,
    asked: Instant,
    ready: Instant,
}

/// One connection of a tenant.
pub(crate) struct Worker<'a> {
    pub(crate) client: Client,
    pub(crate) backend: backend::Connection,
    pub(crate) prefix: &'a [u8],
    pub(crate) intake: Arc<Intake>,
    pub(crate) live: &'a Live,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) start: Instant,
    pub(crate) depth: usize,
    pub(crate) pace: Pace,
    /// Whether writes after a miss state the time of the fetch.
    pub(crate) tells_costs: bool,
    /// Nanoseconds by which the run is behind its times; see [`Pace::ClosedAtMost`].
    pub(crate) late: &'a AtomicU64,
}

struct Round {
    requests: Vec<Scheduled>,
    /// Misses whose backend has not been queried yet.
    missed: Vec<usize>,
    pending: Vec<Pending>,
    /// Replies to SETs of earlier rounds that have not been read yet.
    owed: usize,
    /// The key as it is sent; its first `prefix` bytes are the tenant's prefix.
    key: Vec<u8>,
    prefix: usize,
    value: Vec<u8>,
    tally: Tally,
}

impl Worker<'_> {
    /// Sends requests until none are left.
    pub(crate) fn run(mut self) -> anyhow::Result<Tally> {
        wait::sharpen();
        let mut round = Round {
            requests: vec![],
            missed: vec![],
            pending: vec![],
            owed: 0,
            key: self.prefix.to_vec(),
            prefix: self.prefix.len(),
            value: vec![],
            tally: Tally::default(),
        };
        while !self.stop.load(Relaxed) {
            round.requests.clear();
            if !self.intake.take(&mut round.requests, self.depth, self.start.elapsed()) {
                break;
            }
            wait::until(self.start + self.due(round.requests[0].due));
            self.send(&mut round)?;
        }
        self.read_replies(&mut round)?;
        Ok(round.tally)
    }

    /// The time to send a request that is due at `due`, shifted by the lateness of the run.
    fn due(&self, due: Duration) -> Duration {
        if !matches!(self.pace, Pace::ClosedAtMost { .. }) {
            return due;
        }
        let now = self.start.elapsed();
        let shifted = due + Duration::from_nanos(self.late.load(Relaxed));
        if now.saturating_sub(shifted) > LATE_MAX {
            self.late.fetch_max(now.saturating_sub(due).as_nanos() as u64, Relaxed);
        }
        shifted
    }

    fn send(&mut self, round: &mut Round) -> anyhow::Result<()> {
        for at in 0..round.requests.len() {
            let request = &round.requests[at].request;
            match request.op {
                Op::Set => {
                    self.put_set(round, at, value::seed(&round.requests[at].request.key), None);
                }
                Op::Get => self.client.get(round.named(at)),
                Op::Delete => self.client.delete(round.named(at)),
            }
        }
        let sent = Instant::now();
        self.client.flush()?;
        self.read_replies(round)?;
        for at in 0..round.requests.len() {
            self.answer(round, at, sent)?;
        }
        // Queried only now, because a query takes time, and the replies behind a miss have arrived
        // already.
        for at in std::mem::take(&mut round.missed) {
            self.ask(round, at, sent);
        }
        round.pending.sort_by_key(|pending| pending.ready);
        for Pending { at, seed, asked, ready } in std::mem::take(&mut round.pending) {
            wait::until(ready);
            let now = Instant::now();
            if round.requests[at].measured {
                round.tally.penalty_sum += now - asked;
            }
            self.done(round, at, sent, now);
            let cost = Micros((now - asked).as_micros() as u64);
            self.put_set(round, at, seed, self.tells_costs.then_some(cost));
            self.client.flush()?;
            round.owed += 1;
        }
        Ok(())
    }

    /// Reads the reply to the request at `at`, and notes a miss for the backend.
    fn answer(&mut self, round: &mut Round, at: usize, sent: Instant) -> anyhow::Result<()> {
        let Scheduled { request, measured, .. } = &round.requests[at];
        let measured = *measured;
        if request.op != Op::Get {
            let refused = self.client.next(refusal)?;
            self.done(round, at, sent, Instant::now());
            round.refuse(refused, measured);
            return Ok(());
        }
        self.live.gets.fetch_add(1, Relaxed);
        round.tally.gets += u64::from(measured);
        match self.client.next(|answer| see(&answer, request))? {
            Seen::Right => {
                let now = Instant::now();
                self.done(round, at, sent, now);
                if measured {
                    round.tally.record_hit(now.saturating_duration_since(sent));
                }
            }
            Seen::Resized => {
                // The object has another size by now, so this client writes it as after a change.
                self.done(round, at, sent, Instant::now());
                round.tally.resized += u64::from(measured);
                self.put_set(round, at, value::seed(&round.requests[at].request.key), None);
                self.client.flush()?;
                round.owed += 1;
            }
            Seen::Wrong(text) => {
                self.done(round, at, sent, Instant::now());
                round.refuse(Some(text), measured);
            }
            Seen::Absent => {
                self.live.misses.fetch_add(1, Relaxed);
                round.tally.misses += u64::from(measured);
                round.missed.push(at);
            }
        }
        Ok(())
    }

    /// Queries the backend for the key that the request at `at` missed.
    fn ask(&mut self, round: &mut Round, at: usize, sent: Instant) {
        let asked = Instant::now();
        let Scheduled { request, measured, .. } = &round.requests[at];
        match self.backend.ask(&request.key) {
            Ok((seed, wait)) => {
                let ready = Instant::now() + wait;
                round.pending.push(Pending { at, seed, asked, ready });
            }
            Err(error) => {
                let measured = *measured;
                self.done(round, at, sent, Instant::now());
                round.refuse(Some(format!("{error:#}")), measured);
            }
        }
    }

    /// Records the time of the request at `at`, which is done.
    fn done(&self, round: &mut Round, at: usize, sent: Instant, now: Instant) {
        let Scheduled { due, measured, .. } = round.requests[at];
        let from = if self.pace.is_open() { self.start + due } else { sent };
        let latency = now.saturating_duration_since(from);
        self.live.requests.fetch_add(1, Relaxed);
        self.live.latency_ns.fetch_add(latency.as_nanos() as u64, Relaxed);
        if measured {
            round.tally.record(latency);
        }
    }

    fn put_set(&mut self, round: &mut Round, at: usize, seed: u64, cost: Option<Micros>) {
        let Request { value_size, ttl, .. } = round.requests[at].request;
        round.value.clear();
        value::write(seed, value_size as usize, &mut round.value);
        round.named(at);
        self.client.set(&round.key, &round.value, ttl, cost);
    }

    /// Reads the replies to the SETs of earlier rounds.
    fn read_replies(&mut self, round: &mut Round) -> anyhow::Result<()> {
        for _ in 0..std::mem::take(&mut round.owed) {
            let refused = self.client.next(refusal)?;
            round.refuse(refused, true);
        }
        Ok(())
    }
}

impl Round {
    /// The key of the request at `at` as it is sent, with the tenant's prefix.
    fn named(&mut self, at: usize) -> &[u8] {
        let key = &self.requests[at].request.key;
        self.key.truncate(self.prefix);
        self.key.extend_from_slice(key);
        &self.key
    }

    fn refuse(&mut self, refused: Option<String>, measured: bool) {
        if let Some(text) = refused {
            self.tally.errors += u64::from(measured);
            self.tally.first_error.get_or_insert(text);
        }
    }
}

fn refusal(answer: Answer<'_>) -> Option<String> {
    match answer {
        Answer::Refused(text) => Some(text.into_owned()),
        _ => None,
    }
}

fn see(answer: &Answer<'_>, request: &Request) -> Seen {
    let seed = value::seed(&request.key);
    match answer {
        Answer::Absent => Seen::Absent,
        Answer::Value(bytes) if value::is_right(seed, bytes) => {
            if bytes.len() == request.value_size as usize { Seen::Right } else { Seen::Resized }
        }
        Answer::Refused(text) => Seen::Wrong(text.to_string()),
        Answer::Value(_) | Answer::Done => Seen::Wrong(format!(
            "the value of key '{}' is not what was written",
            String::from_utf8_lossy(&request.key)
        )),
    }
}
