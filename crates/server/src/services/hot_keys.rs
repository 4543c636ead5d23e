//! HOTKEYS: the keys that cost most, counted while a session runs.
//!
//! Without a session, a batch of commands pays one load. A session counts the time and the bytes of
//! commands by key. It looks at one command in `sample` and scales the counts up. The number of
//! keys is bounded: when it is reached, the cheaper half is forgotten, so an expensive key stays.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The largest number of keys that are counted at once.
const KEYS_MAX: usize = 8_192;

/// The options of HOTKEYS START.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) cpu: bool,
    pub(crate) net: bool,
    /// The number of keys in the reply.
    pub(crate) count: usize,
    pub(crate) duration: Option<Duration>,
    /// One command in this many is counted.
    pub(crate) sample: u64,
}

/// The cost of a command or a key.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) nanos: u64,
    pub(crate) bytes: u64,
}

/// A session of HOTKEYS.
#[derive(Debug)]
struct Session {
    wanted: Wanted,
    started: Instant,
    started_unix_ms: u64,
    /// User and system time of the process at its start, in seconds.
    cpu: (f64, f64),
    ended: Option<Duration>,
    commands: u64,
    total: Cost,
    keys: HashMap<Vec<u8>, Cost>,
}

/// The reply of HOTKEYS GET.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) wanted: Wanted,
    pub(crate) active: bool,
    pub(crate) started_unix_ms: u64,
    pub(crate) duration: Duration,
    /// User and system time of the process since the session began, in seconds.
    pub(crate) cpu: (f64, f64),
    pub(crate) total: Cost,
    pub(crate) by_cpu: Vec<(Vec<u8>, u64)>,
    pub(crate) by_net: Vec<(Vec<u8>, u64)>,
}

/// The current or the last session, if there is one.
#[derive(Debug, Default)]
pub(crate) struct HotKeys {
    active: AtomicBool,
    session: Mutex<Option<Session>>,
}

impl HotKeys {
    fn lock(&self) -> MutexGuard<'_, Option<Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether commands are counted now.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    /// Begins a session. Returns false if one is running.
    pub(crate) fn start(&self, wanted: Wanted, unix_ms: u64, cpu: (f64, f64)) -> bool {
        let mut session = self.lock();
        self.end_if_due(session.as_mut());
        if self.is_active() {
            return false;
        }
        *session = Some(Session {
            wanted,
            started: Instant::now(),
            started_unix_ms: unix_ms,
            cpu,
            ended: None,
            commands: 0,
            total: Cost::default(),
            keys: HashMap::new(),
        });
        self.active.store(true, Ordering::Relaxed);
        true
    }

    /// Ends the session. Returns false if there never was one.
    pub(crate) fn stop(&self) -> bool {
        let mut session = self.lock();
        let Some(session) = session.as_mut() else {
            return false;
        };
        session.ended.get_or_insert(session.started.elapsed());
        self.active.store(false, Ordering::Relaxed);
        true
    }

    fn end_if_due(&self, session: Option<&mut Session>) {
        let Some(session) = session else { return };
        if let Some(duration) = session.wanted.duration
            && session.ended.is_none()
            && session.started.elapsed() >= duration
        {
            session.ended = Some(duration);
            self.active.store(false, Ordering::Relaxed);
        }
    }

    /// Forgets the session. Returns false if it is still running.
    pub(crate) fn reset(&self) -> bool {
        let mut session = self.lock();
        self.end_if_due(session.as_mut());
        if self.is_active() {
            return false;
        }
        *session = None;
        true
    }

    /// Counts a command. Its keys share its cost.
    pub(crate) fn note<'a>(&self, keys: impl ExactSizeIterator<Item = &'a [u8]>, cost: Cost) {
        let mut session = self.lock();
        self.end_if_due(session.as_mut());
        let Some(session) = session.as_mut().filter(|session| session.ended.is_none()) else {
            return;
        };
        session.commands += 1;
        session.total.nanos += cost.nanos;
        session.total.bytes += cost.bytes;
        if !session.commands.is_multiple_of(session.wanted.sample) || keys.len() == 0 {
            return;
        }
        let share = session.wanted.sample as f64 / keys.len() as f64;
        for key in keys {
            let known = match session.keys.get_mut(key) {
                Some(known) => known,
                None => session.keys.entry(key.to_vec()).or_default(),
            };
            known.nanos += (cost.nanos as f64 * share) as u64;
            known.bytes += (cost.bytes as f64 * share) as u64;
        }
        if session.keys.len() > KEYS_MAX {
            forget_half(&mut session.keys, session.wanted);
        }
    }

    /// The counts so far; `None` if there was no session.
    pub(crate) fn report(&self, cpu: (f64, f64)) -> Option<Report> {
        let mut session = self.lock();
        self.end_if_due(session.as_mut());
        let session = session.as_ref()?;
        let top = |cost: fn(&Cost) -> u64| {
            let mut all: Vec<_> = session.keys.iter().map(|(k, c)| (k.clone(), cost(c))).collect();
            all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            all.truncate(session.wanted.count);
            all
        };
        Some(Report {
            wanted: session.wanted,
            active: session.ended.is_none(),
            started_unix_ms: session.started_unix_ms,
            duration: session.ended.unwrap_or_else(|| session.started.elapsed()),
            cpu: (cpu.0 - session.cpu.0, cpu.1 - session.cpu.1),
            total: session.total,
            by_cpu: top(|cost| cost.nanos / 1_000),
            by_net: top(|cost| cost.bytes),
        })
    }
}

/// Forgets the cheaper half of the keys, by the costs that the session counts.
fn forget_half(keys: &mut HashMap<Vec<u8>, Cost>, wanted: Wanted) {
    let median = |cost: fn(&Cost) -> u64| {
        let mut all: Vec<u64> = keys.values().map(cost).collect();
        let middle = all.len() / 2;
        *all.select_nth_unstable(middle).1
    };
    let (nanos, bytes) = (median(|cost| cost.nanos), median(|cost| cost.bytes));
    let before = keys.len();
    keys.retain(|_, cost| wanted.cpu && cost.nanos > nanos || wanted.net && cost.bytes > bytes);
    debug_assert!(keys.len() < before);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expensive keys stay, with their cost, among any number of other keys.
    #[test]
    fn what_costs_much_is_not_forgotten() {
        let hot = HotKeys::default();
        let wanted = Wanted { cpu: true, net: true, count: 3, duration: None, sample: 1 };
        assert!(hot.start(wanted, 0, (0.0, 0.0)));
        assert!(!hot.start(wanted, 0, (0.0, 0.0)), "one at a time");
        for at in 0..100_000u64 {
            let cold = at.to_be_bytes();
            hot.note([&cold[..]].into_iter(), Cost { nanos: 1_000 + at % 7, bytes: 50 + at % 3 });
            if at % 50 == 0 {
                hot.note([&b"slow"[..]].into_iter(), Cost { nanos: 9_000, bytes: 10 });
                hot.note([&b"a"[..], b"b"].into_iter(), Cost { nanos: 10, bytes: 900 });
            }
        }
        let report = hot.report((1.0, 2.0)).unwrap();
        assert_eq!(report.by_cpu[0], (b"slow".to_vec(), 9 * 2_000));
        assert_eq!(report.by_net[..2], [(b"a".to_vec(), 900_000), (b"b".to_vec(), 900_000)]);
        assert!(hot.lock().as_ref().unwrap().keys.len() <= KEYS_MAX);
        assert!(!hot.reset(), "not while it is under way");
        assert!(hot.stop() && hot.reset());
        assert!(hot.report((0.0, 0.0)).is_none());
    }
}
