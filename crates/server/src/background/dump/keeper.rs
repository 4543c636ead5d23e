//! The thread that counts requests, detects valleys and peaks, and dumps and loads at a bounded
//! rate.

use super::dump::Dumping;
use super::file::DumpFile;
use super::load::Loading;
use crate::server::{Server, View};
use crate::services::transfers::{Transfer, TransferState, lock};
use base::{Micros, TenantId};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tune::periodic::{PeriodicLoad, Turn};

/// The number of looks at the counters in a bucket, and the least and the longest time between two.
const LOOKS: u64 = 4;
const LOOK_MIN: Duration = Duration::from_millis(10);
const LOOK_MAX: Duration = Duration::from_secs(1);
/// The longest time that an operator's request waits.
const REST_MAX: Duration = Duration::from_millis(100);
/// After a pause, the bytes of this time may be moved at once.
const CREDIT: Duration = Duration::from_millis(20);
/// A load begins earlier than the disk alone would need, by this factor.
const LEAD: f64 = 1.5;

/// A dump or a load in progress.
#[derive(Debug)]
enum Work {
    Dump(Dumping),
    Load(Loading),
}

/// A tenant: its load, its files, and its transfers.
#[derive(Debug)]
struct Tracked {
    load: PeriodicLoad,
    /// The number of reads counted so far.
    reads: u64,
    files: Vec<DumpFile>,
    work: Option<Work>,
    /// The dump or load that follows the current one.
    next: Option<(Turn, &'static str)>,
    shown: TransferState,
}

impl Tracked {
    fn new(bucket: Micros) -> Self {
        Self {
            load: PeriodicLoad::new(bucket, bucket),
            reads: 0,
            files: vec![],
            work: None,
            next: None,
            shown: TransferState::default(),
        }
    }

    fn disk(&self) -> u64 {
        let work = match &self.work {
            Some(Work::Dump(dump)) => dump.bytes(),
            Some(Work::Load(load)) => load.bytes(),
            None => 0,
        };
        work + self.files.iter().map(DumpFile::bytes).sum::<u64>()
    }
}

/// The transfers of all tenants.
struct Keeper<'a> {
    server: &'a Server,
    view: Arc<View>,
    tenants: Vec<Tracked>,
    bucket: Micros,
    next_look: Instant,
    /// The time at which the next block may be moved.
    due: Instant,
    /// The number of blocks so far.
    blocks: u64,
}

/// Counts, dumps and loads until the server ends.
pub(crate) fn run(server: &Server) {
    let (view, now) = (server.view.now(), Instant::now());
    let bucket = view.settings.dump_bucket;
    let mut keeper =
        Keeper { server, view, tenants: vec![], bucket, next_look: now, due: now, blocks: 0 };
    while !server.process.is_stopping() {
        let rest = keeper.round();
        std::thread::park_timeout(rest);
    }
}

impl Keeper<'_> {
    /// Does the work that is due now. Returns the time until there is more.
    fn round(&mut self) -> Duration {
        if let Some(view) = self.server.view.newer(&self.view) {
            self.view = view;
        }
        let settings = &self.view.settings;
        if settings.dump_max.0 == 0 {
            self.close();
            return REST_MAX;
        }
        if self.bucket != settings.dump_bucket {
            self.bucket = settings.dump_bucket;
            for tracked in &mut self.tenants {
                tracked.load = PeriodicLoad::new(self.bucket, self.bucket);
            }
        }
        let bucket = self.bucket;
        self.tenants.resize_with(self.view.names.len(), || Tracked::new(bucket));
        if Instant::now() >= self.next_look {
            self.look();
            let look = Duration::from_micros(bucket.0 / LOOKS).clamp(LOOK_MIN, LOOK_MAX);
            self.next_look = (self.next_look + look).max(Instant::now() + look / 2);
        }
        let asked = std::mem::take(&mut *lock(&self.server.saved.transfers.asked));
        for (tenant, turn) in asked {
            self.want(tenant, turn, "command");
        }
        self.work();
        self.show();
        let now = Instant::now();
        let mut rest = REST_MAX.min(self.next_look.saturating_duration_since(now));
        if self.tenants.iter().any(|tracked| tracked.work.is_some()) {
            rest = rest.min(self.due.saturating_duration_since(now));
        }
        rest.max(Duration::from_millis(1))
    }

    /// Forgets everything, because dumps are switched off.
    fn close(&mut self) {
        if self.tenants.is_empty() {
            return;
        }
        for tenant in 0..self.tenants.len() {
            self.server.store.forget_away(tenant as TenantId);
        }
        self.tenants.clear();
        self.show();
    }

    /// Counts reads, and detects tenants whose load begins a valley or a peak.
    fn look(&mut self) {
        let now = self.server.clock.micros();
        let rate = self.view.settings.dump_rate.as_f64().max(1.0);
        for tenant in 0..self.tenants.len() {
            let number = tenant as TenantId;
            let stats = self.server.store.tenant_stats(number);
            let tracked = &mut self.tenants[tenant];
            let reads = stats.counters.gets();
            // A tenant that is new to this thread may have had reads before.
            let before = if tracked.reads == 0 { reads } else { tracked.reads };
            tracked.reads = reads;
            let disk = tracked.disk();
            if tracked.work.is_none() && disk > 0 && self.server.store.away(number).0 == 0 {
                // Clients have overwritten or deleted all of its items.
                tracked.files.clear();
                self.server.store.forget_away(number);
            }
            let bytes = if disk > 0 { disk } else { stats.used.0 };
            let lead = LEAD * bytes as f64 / rate * 1e6 + self.bucket.as_f64();
            tracked.load.set_lead(Micros(lead as u64));
            let turn = tracked.load.see(now, reads - before.min(reads));
            let Some(turn) = turn else { continue };
            match turn {
                Turn::Valley => tracked.shown.valleys += 1,
                Turn::Peak => tracked.shown.peaks += 1,
            }
            lock(&self.server.saved.transfers.turned).push((number, turn));
            self.want(number, turn, if turn == Turn::Valley { "ebb" } else { "flood" });
        }
    }

    /// Begins a dump or a load, or queues it behind the one in progress. A peak ends a dump.
    fn want(&mut self, tenant: TenantId, turn: Turn, by: &'static str) {
        let Some(tracked) = self.tenants.get_mut(usize::from(tenant)) else {
            return;
        };
        match &mut tracked.work {
            None => self.begin(tenant, turn, by),
            Some(Work::Dump(dump)) if turn == Turn::Peak => {
                dump.transfer.because = Some("the load comes back".into());
                tracked.next = Some((turn, by));
            }
            Some(_) => tracked.next = Some((turn, by)),
        }
    }

    fn begin(&mut self, tenant: TenantId, turn: Turn, by: &'static str) {
        let (parts, view) = ((&*self.server.store, &self.server.clock), self.server.view.now());
        let tracked = &mut self.tenants[usize::from(tenant)];
        tracked.next = None;
        tracked.work = match turn {
            Turn::Valley => match Dumping::begin(parts, &view.settings.dir, tenant, by) {
                Ok(dump) => Some(Work::Dump(dump)),
                Err(why) => {
                    tracing::warn!("cannot dump a tenant: {why}");
                    let because = Some(why);
                    tracked.shown.dump = Some(Transfer { by, because, ..Transfer::default() });
                    None
                }
            },
            Turn::Peak => {
                let files = std::mem::take(&mut tracked.files);
                Some(Work::Load(Loading::begin(&self.server.clock, tenant, by, files)))
            }
        };
    }

    /// Moves the blocks that are due, one for each tenant in turn.
    fn work(&mut self) {
        let rate = self.view.settings.dump_rate.as_f64().max(1.0);
        let now = Instant::now();
        self.due = self.due.max(now.checked_sub(CREDIT).unwrap_or(now));
        for tenant in 0..self.tenants.len() {
            if Instant::now() < self.due {
                return;
            }
            let bytes = self.step(tenant);
            self.due += Duration::from_secs_f64(bytes as f64 / rate);
        }
    }

    /// Moves a block of a tenant. Returns its bytes.
    fn step(&mut self, tenant: usize) -> u64 {
        let disk: u64 = self.tenants.iter().map(Tracked::disk).sum();
        let left = self.view.settings.dump_max.0.saturating_sub(disk);
        let tracked = &mut self.tenants[tenant];
        let (before, transfer, goes_on) = match &mut tracked.work {
            None => return 0,
            Some(Work::Dump(dump)) => {
                self.blocks += 1;
                let before = dump.transfer.bytes;
                let goes_on = dump.transfer.because.is_none()
                    && dump.step(&self.server.store, self.server.clock.now(), self.blocks, left);
                (before, &dump.transfer, goes_on)
            }
            Some(Work::Load(load)) => {
                let before = load.transfer.bytes;
                let goes_on = load.step(&self.server.store, &self.server.clock, &self.server.view);
                (before, &load.transfer, goes_on)
            }
        };
        let bytes = transfer.bytes - before;
        if !goes_on {
            // A dictionary that came with a dump may be given up.
            self.server.compressor.wake();
            self.end(tenant);
        }
        bytes
    }

    /// Ends the dump or load of a tenant, and begins the next one.
    fn end(&mut self, tenant: usize) {
        let name = &self.view.names[tenant];
        let tracked = &mut self.tenants[tenant];
        match tracked.work.take() {
            Some(Work::Dump(dump)) => {
                let (transfer, file) = dump.end();
                tracked.files.extend(file);
                tell_dump(name, &transfer);
                tracked.shown.dumps += 1;
                tracked.shown.dumped += transfer.items;
                tracked.shown.dump = Some(transfer);
            }
            Some(Work::Load(load)) => {
                let transfer = load.end(&self.server.store);
                tell_load(name, &transfer);
                tracked.shown.loads += 1;
                tracked.shown.loaded += transfer.items;
                tracked.shown.load = Some(transfer);
            }
            None => {}
        }
        if let Some((turn, by)) = tracked.next.take() {
            self.begin(tenant as TenantId, turn, by);
        }
    }

    /// Publishes the state of all tenants.
    fn show(&self) {
        let shown = self.tenants.iter().map(|tracked| TransferState {
            doing: match tracked.work {
                None => "",
                Some(Work::Dump(_)) => "dumping",
                Some(Work::Load(_)) => "loading",
            },
            period_s: tracked.load.period().map(|p| p.length as f64 * self.bucket.as_f64() / 1e6),
            reads: tracked.load.last(),
            reads_peak: tracked.load.period().map(tune::periodic::Period::most),
            disk: tracked.disk(),
            ..tracked.shown.clone()
        });
        *lock(&self.server.saved.transfers.shown) = shown.collect();
    }
}

fn tell_dump(name: &str, transfer: &Transfer) {
    let Transfer { by, seconds, items, bytes, left, because, .. } = transfer;
    let because = because.as_ref().map_or(String::new(), |why| format!("; it ended early: {why}"));
    tracing::info!(
        "tenant {name} ({by}): dumped {items} items, {}, in {seconds:.2} s; {left} items left \
         memory{because}",
        base::Bytes(*bytes)
    );
}

fn tell_load(name: &str, transfer: &Transfer) {
    let Transfer { by, seconds, items, bytes, here, outdated, refused, torn, .. } = transfer;
    tracing::info!(
        "tenant {name} ({by}): loaded {items} items, {}, in {seconds:.2} s; {here} were still in \
         memory, {outdated} were out of date, {refused} did not fit, {torn} blocks were damaged",
        base::Bytes(*bytes)
    );
}
