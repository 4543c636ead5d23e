//! Caches as the dashboard may meet them: with a month of history, without a limit of memory, with
//! forty tenants, and empty. A scene is a function of a moment.

use report::{
    Change, ChangeKind, CommandTimes, Counters, Curve, Forecasts, History, MEMORY, MemoryUse,
    Point, Process, ProcessPoint, Recent, Report, Server, Tenant, ThreadUse,
};
use std::f64::consts::TAU;

const MIB: u64 = 1 << 20;
const HOUR_S: u64 = 3_600;

/// A state that the dashboard shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    pub(super) name: &'static str,
    /// Names of the tenants.
    tenants: fn() -> Vec<String>,
    /// Seconds since the cache started, and seconds between two points of its history.
    uptime_s: u64,
    step_s: u64,
    limit: u64,
}

/// All scenes.
pub(super) const ALL: [Scene; 4] = [
    Scene {
        name: "month",
        tenants: || ["web", "jobs", "search"].map(str::to_owned).into(),
        uptime_s: 30 * 24 * HOUR_S,
        step_s: 60,
        limit: 900 * MIB,
    },
    Scene {
        name: "unlimited",
        tenants: || ["web", "jobs"].map(str::to_owned).into(),
        uptime_s: 2 * HOUR_S,
        step_s: 1,
        limit: 0,
    },
    Scene {
        name: "forty",
        tenants: || (1..=40).map(|at| format!("customer-{at:02}.production")).collect(),
        uptime_s: 6 * HOUR_S,
        step_s: 2,
        limit: 4 << 30,
    },
    Scene {
        name: "empty",
        tenants: || vec!["default".to_owned()],
        uptime_s: 5,
        step_s: 1,
        limit: 0,
    },
];

impl Scene {
    /// The report and the history of this cache at `now_unix_s`.
    pub(super) fn at(&self, now_unix_s: u64) -> (Report, History) {
        let names = (self.tenants)();
        let mut history = History::default();
        let began = now_unix_s - self.uptime_s;
        let kind = ChangeKind::Start;
        let text = "started with recipe auto".to_owned();
        history.note(Change { unix_s: began, kind, text, ..Change::default() });
        for second in (began..now_unix_s).step_by(self.step_s as usize) {
            let points = (0..names.len()).map(|at| self.point(at, second, now_unix_s));
            history.push(names.iter().map(String::as_str).zip(points));
            history.push_process(&self.process_point(names.len(), second));
        }
        for (part, kind, text) in [
            (0.3, ChangeKind::Setting, "maxmemory is now 900 MiB (was 700 MiB)"),
            (0.55, ChangeKind::Load, "web reads twice as many keys a second"),
            (0.56, ChangeKind::Setting, "tenant line: jobs match prefix jobs: min 40mb"),
            (0.9, ChangeKind::Misses, "jobs misses 31 % instead of 24 %"),
        ] {
            if names.len() > 1 {
                let unix_s = began + (part * self.uptime_s as f64) as u64;
                history.note(Change { unix_s, kind, text: text.into(), ..Change::default() });
            }
        }
        (self.report(&names, &history, now_unix_s), history)
    }

    /// Whether clients read anything.
    const fn is_read(&self) -> bool {
        self.uptime_s > 60
    }

    fn used(&self, at: usize, tenants: usize) -> u64 {
        let share = [0.5, 0.2, 0.3][at % 3] / (tenants as f64 / 3.0).max(1.0);
        let all = if self.limit == 0 { 300 * MIB } else { self.limit };
        if self.is_read() { (share * 0.9 * all as f64) as u64 } else { 0 }
    }

    /// The requests of a tenant in one step: a wave of a day, and a week's smaller one.
    fn point(&self, at: usize, second: u64, now_unix_s: u64) -> Point {
        let tenants = (self.tenants)().len();
        let wave = |hours: u64| (TAU * second as f64 / (hours * HOUR_S) as f64 + at as f64).sin();
        let busy = 1.0 + 0.5 * wave(24) + 0.2 * wave(24 * 7) + 0.05 * wave(1);
        let old = 1.0 - (now_unix_s - second) as f64 / self.uptime_s as f64;
        let reads = if self.is_read() {
            busy * self.step_s as f64 * [900.0, 400.0, 120.0][at % 3]
        } else {
            0.0
        };
        let ratio = [0.12, 0.3, 0.2][at % 3] * (1.0 + 0.2 * wave(5));
        let misses = ratio * reads;
        let causes = [0.3, 0.5, 0.15, 0.04, 0.01].map(|share| (share * misses) as u32);
        let used = self.used(at, tenants) as f64 * (20.0 * old).min(1.0) * (1.0 + 0.1 * wave(24));
        Point {
            // A point stands at the end of its step.
            unix_s: (second + self.step_s) as u32,
            reads: reads as u32,
            misses: misses as u32,
            causes,
            sampled: (misses / 50.0) as u32,
            wait_ms: (misses * [3.0, 1.2, 28.0][at % 3]) as f32,
            used_kib: (used as u64 >> 10) as u32,
            budget_kib: 0,
            forecast: if reads > 0.0 { (ratio * 0.98) as f32 } else { -1.0 },
        }
    }

    fn process_point(&self, tenants: usize, second: u64) -> ProcessPoint {
        let wave = (TAU * second as f64 / (24 * HOUR_S) as f64).sin();
        let used: u64 = (0..tenants).map(|at| self.used(at, tenants)).sum();
        let parts = parts(used);
        let each = self.step_s as f64;
        let rate =
            |rate: f64| if self.is_read() { ((1.0 + 0.4 * wave) * rate * each) as u32 } else { 0 };
        ProcessPoint {
            unix_s: second as u32,
            clients: (40.0 + 20.0 * wave) as u32,
            commands: rate(1_700.0),
            timed: rate(110.0),
            quantiles_us: [9.0, 60.0 + (20.0 * wave) as f32],
            memory_kib: parts.map(|bytes| (bytes >> 10) as u32),
            left: [rate(210.0), rate(90.0), rate(12.0)],
        }
    }

    fn report(&self, names: &[String], history: &History, now_unix_s: u64) -> Report {
        let lately = history.lately(now_unix_s);
        let tenants: Vec<_> = (0..names.len())
            .map(|at| {
                let recent = history.of(Some(&names[at]), lately);
                self.tenant(at, names, recent)
            })
            .collect();
        let used: u64 = tenants.iter().map(|tenant| tenant.used).sum();
        let resident = parts(used).iter().sum();
        Report {
            server: Server {
                version: "0.1.0".to_owned(),
                now_unix_s,
                uptime_s: self.uptime_s,
                quiet_s: lately.quiet_s,
                recipe: "auto".to_owned(),
                policy: "auto".to_owned(),
                maxmemory: self.limit,
                divided: self.limit / 20 * 19,
                used,
                resident,
                machine: 16 << 30,
                clients: 52,
                sampled: 0.02,
                models: 3 * MIB,
                ..Server::default()
            },
            recent: Recent::sum(tenants.iter().map(|tenant| &tenant.recent)),
            tenants,
            changes: history.changes().cloned().collect(),
            moves: history.moves(now_unix_s.saturating_sub(HOUR_S), now_unix_s),
            forecasts: Forecasts { count: 500, median: 0.004, most: 0.013, ..Forecasts::default() },
            process: Some(process(used, self.is_read())),
            ..Report::default()
        }
    }

    fn tenant(&self, at: usize, names: &[String], recent: Recent) -> Tenant {
        let used = self.used(at, names.len());
        let ratio = recent.miss_ratio().unwrap_or_default();
        let all: u64 = (0..names.len()).map(|at| self.used(at, names.len())).sum();
        let share = used.max(1) as f64 / all.max(1) as f64;
        let sizes: Vec<u64> = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0]
            .map(|times| (times * used as f64) as u64)
            .into();
        let ratios: Vec<f64> =
            [10.0, 3.2, 2.0, 1.3, 1.0, 0.8, 0.7, 0.6].map(|times| (times * ratio).min(1.0)).into();
        let curve = Curve {
            low: ratios.iter().map(|ratio| ratio * 0.9).collect(),
            high: ratios.iter().map(|ratio| (ratio * 1.1).min(1.0)).collect(),
            pool: sizes.iter().map(|size| (*size as f64 / share) as u64).collect(),
            played: sizes.clone(),
            reads: 1e5,
            sizes,
            ratios,
        };
        Tenant {
            name: names[at].clone(),
            used,
            weight: 1.0,
            items: used / 4_000,
            policy: "gittins:k=64".to_owned(),
            penalty_us: recent.miss_us(),
            mib_saves_us: self.is_read().then_some(900.0 / (1 + at) as f64),
            curve: (self.is_read() && used > 0).then_some(curve),
            counters: Counters {
                hits: recent.reads - recent.misses,
                misses: recent.misses,
                evicted: recent.misses / 2,
                expired: recent.misses / 6,
                ..Counters::default()
            },
            recent,
            ..Tenant::default()
        }
    }
}

/// Resident memory by use.
fn parts(used: u64) -> [u64; MEMORY.len()] {
    [used, used / 12, 3 * MIB, MIB / 2, 14 * MIB]
}

fn process(used: u64, is_read: bool) -> Process {
    let part = |(name, bytes): (&&str, u64)| MemoryUse {
        name: (*name).to_owned(),
        bytes,
        help: "Bytes of the process that hold this.".to_owned(),
    };
    let command = |(name, calls): (&str, u64)| CommandTimes {
        name: name.to_owned(),
        calls,
        failed: 0,
        mean_us: Some(11.0),
        quantiles_us: Some([9, 60, 240]),
    };
    let thread = |name: &str| ThreadUse {
        name: name.to_owned(),
        busy: Some(0.31),
        cpu_s: 812.0,
        commands: name.starts_with('w').then_some(91_000_000),
    };
    let called = [("get", 812_000_000), ("set", 104_000_000), ("del", 3_100_000), ("mget", 52_000)];
    Process {
        clients_max: 10_000,
        connections: 90_213,
        commands_per_s: 1_702,
        bytes_per_s: (310_000, 7_100_000),
        commands: if is_read { called.map(command).into() } else { vec![] },
        memory: MEMORY.iter().zip(parts(used)).map(part).collect(),
        reserve: 20 * MIB,
        threads: ["worker-0", "worker-1", "http", "pilot"].map(thread).into(),
        evicting: 71_000_000,
        evicting_us: (2.1, 940.0),
        ..Process::default()
    }
}
