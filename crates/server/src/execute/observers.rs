//! The observers of a request: which of them see a request of which origin.
//!
//! A batch asks once which observers are on. While none is, a request pays one test.

use super::missing_keys::looks_for_missing;
use super::request::{AnyRequest, Origin, Outcome};
use crate::call::Call;
use crate::server::{Audience, Turns, View};
use crate::services::hot_keys::HotKeys;
use crate::services::monitors::{MONITOR, TRACE};
use std::time::Instant;

/// A set of observers, a bit for each.
type Set = u16;

/// CLIENT PAUSE holds the request. (A blocked command waits before its retry begins.)
const PAUSE: Set = 1;
/// A script that runs for too long: the request is refused. (A blocked command waits.)
const BUSY: Set = 1 << 1;
/// MONITOR and MONITOR TRACE. A queued command is shown when it is queued.
const MONITORS: Set = 1 << 2;
/// Client-side caches.
const TRACKING: Set = 1 << 3;
/// Events about keys that do not exist. (The handlers of memcached's protocol send them.)
const MISSING_KEYS: Set = 1 << 4;
/// HOTKEYS. A queued command counts when it is queued.
const HOT_KEYS: Set = 1 << 5;
/// The histogram of latencies. A queued command counts when it is queued.
const TIMES: Set = 1 << 6;
/// The report's list of the most frequent keys.
const TOP_KEYS: Set = 1 << 7;
/// The count of calls of each command.
const CALLS: Set = 1 << 8;
/// The count of refusals of each command.
const REFUSALS: Set = 1 << 9;

/// The column of memcached's clients in the table; those of RESP are [`Origin::column`].
const MEMCACHED: usize = 4;

const YES: bool = true;
const NO: bool = false;

/// The observers that see a request.
#[rustfmt::skip]
const TABLE: [(Set, [bool; 5]); 10] = [
    //              client  EXEC  script  retry  memcached
    (PAUSE,         [YES,   NO,   NO,     NO,    YES]),
    (BUSY,          [YES,   NO,   NO,     NO,    YES]),
    (MONITORS,      [YES,   NO,   YES,    NO,    NO]),
    (TRACKING,      [YES,   YES,  YES,    YES,   YES]),
    (MISSING_KEYS,  [YES,   YES,  YES,    YES,   NO]),
    (HOT_KEYS,      [YES,   NO,   NO,     NO,    NO]),
    (TIMES,         [YES,   NO,   NO,     NO,    NO]),
    (TOP_KEYS,      [YES,   NO,   NO,     NO,    YES]),
    (CALLS,         [YES,   YES,  YES,    NO,    NO]),
    (REFUSALS,      [YES,   NO,   YES,    NO,    NO]),
];

/// The observers in a column of the table.
const fn of_column(column: usize) -> Set {
    let (mut set, mut row) = (0, 0);
    while row < TABLE.len() {
        if TABLE[row].1[column] {
            set |= TABLE[row].0;
        }
        row += 1;
    }
    set
}

/// The observers of each column.
const COLUMNS: [Set; 5] = [of_column(0), of_column(1), of_column(2), of_column(3), of_column(4)];

impl Origin<'_> {
    /// The column of the table for a request of RESP.
    const fn column(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Exec => 1,
            Self::Script(_) => 2,
            Self::Retry => 3,
        }
    }

    /// Whether the calls of commands are counted.
    #[inline]
    pub(super) const fn counts_calls(self) -> bool {
        COLUMNS[self.column()] & CALLS != 0
    }

    /// Whether refused commands are counted.
    pub(super) const fn counts_refusals(self) -> bool {
        COLUMNS[self.column()] & REFUSALS != 0
    }
}

/// The observers of a batch of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    on: Set,
    /// The number of batches for which this one is timed; 0 if it is not timed.
    weight: u64,
    /// The number of the worker that runs the batch.
    worker: usize,
}

/// A batch of a client's requests, before its observers are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begins<'a> {
    pub(crate) audience: &'a Audience,
    pub(crate) hot_keys: &'a HotKeys,
    pub(crate) turns: &'a Turns,
    pub(crate) view: &'a View,
    /// The number of the worker.
    pub(crate) worker: usize,
    /// The number of batches for which this one is timed; 0 if it is not timed.
    pub(crate) weight: u64,
    pub(crate) now_ms: u64,
    /// A script holds the gate for too long.
    pub(crate) is_busy: bool,
}

impl Batch {
    /// A batch of a client of RESP.
    #[inline]
    pub(crate) fn of_redis(begins: Begins<'_>) -> Self {
        Self::begin(begins, COLUMNS[Origin::Client.column()])
    }

    /// A batch of a client of memcached's protocol.
    #[inline]
    pub(crate) fn of_memcached(begins: Begins<'_>) -> Self {
        Self::begin(begins, COLUMNS[MEMCACHED])
    }

    #[inline]
    fn begin(begins: Begins<'_>, column: Set) -> Self {
        let Begins { audience, hot_keys, turns, view, worker, weight, now_ms, is_busy } = begins;
        let paused = turns.pause.until(now_ms).is_some();
        let timed = set_if(TIMES | TOP_KEYS, weight > 0);
        let asked = set_if(PAUSE, paused) | set_if(BUSY, is_busy) | timed;
        let on = (asked | Self::asked(audience, hot_keys, view)) & column;
        Self { on, weight, worker }
    }

    /// The observers of a command within a command.
    pub(super) fn nested(call: &Call<'_>, origin: Origin<'_>) -> Self {
        let asked = Self::asked(&call.server.audience, &call.server.stats.hot_keys, call.view);
        let worker = call.session.client.place.worker;
        Self { on: asked & COLUMNS[origin.column()], weight: 0, worker }
    }

    /// The observers that clients or settings ask for.
    #[inline]
    fn asked(audience: &Audience, hot_keys: &HotKeys, view: &View) -> Set {
        set_if(MONITORS, audience.monitors.is_wanted(MONITOR | TRACE))
            | set_if(TRACKING, audience.tracking.is_active())
            | set_if(MISSING_KEYS, looks_for_missing(view))
            | set_if(HOT_KEYS, hot_keys.is_active())
    }

    /// Whether any observer sees the requests.
    #[inline]
    pub(super) const fn is_observed(&self) -> bool {
        self.on != 0
    }

    /// Whether clients with caches hear of the keys that the requests change.
    pub(crate) const fn is_tracked(&self) -> bool {
        self.has(TRACKING)
    }

    #[inline]
    pub(super) const fn worker(&self) -> usize {
        self.worker
    }

    #[inline]
    const fn has(&self, observers: Set) -> bool {
        self.on & observers != 0
    }
}

#[inline]
const fn set_if(observers: Set, is_on: bool) -> Set {
    if is_on { observers } else { 0 }
}

/// Runs a request by `carry_out` while the observers of its batch look on.
pub(super) fn run<R: AnyRequest>(
    request: &mut R,
    batch: &Batch,
    carry_out: impl FnOnce(&mut R) -> Option<R::Command>,
) -> Outcome {
    if batch.has(PAUSE) && request.is_paused() {
        return Outcome::Postponed;
    }
    if batch.has(BUSY) && request.refuse_busy(batch.worker) {
        return Outcome::Replied;
    }
    if batch.has(MONITORS) {
        request.show();
    }
    if batch.has(TRACKING) {
        request.remember_reads();
    }
    let missing = if batch.has(MISSING_KEYS) { request.missing_keys() } else { vec![] };
    let mark = request.mark();
    let began = batch.has(TIMES | HOT_KEYS).then(Instant::now);
    let command = carry_out(request);
    let took = began.map(|began| began.elapsed()).unwrap_or_default();
    if batch.has(HOT_KEYS) {
        request.count_hot_keys(took.as_nanos() as u64, mark);
    }
    if batch.has(TIMES)
        && let Some(command) = command
    {
        request.count_time(command, took.as_micros() as u64, batch.weight, batch.worker);
    }
    if batch.has(TOP_KEYS) {
        request.count_top_keys(command, batch.worker);
    }
    if batch.has(TRACKING) {
        request.invalidate(mark);
    }
    if batch.has(MISSING_KEYS) {
        request.notify_missing(&missing);
    }
    Outcome::Replied
}
