//! Recording: accesses to sampled keys in a window, and one entry for each key before it.

use base::{Access, Bytes, Filter, Micros, Op, TenantId};
use std::collections::{HashMap, VecDeque};

/// Bounds of the maximum numbers of accesses and of keys on a tape. A play of the largest tape
/// takes about thirty milliseconds.
const WINDOW: (usize, usize) = (8_192, 65_536);
const KEYS: (usize, usize) = (4_096, 24_576);

/// Memory of an access, and of a key before the window.
const ACCESS_BYTES: u64 = size_of::<Entry>() as u64;
const KEY_BYTES: u64 = 2 * ACCESS_BYTES + 16;

/// Memory that a tape may use, as a divisor of the memory of the models.
const SHARE: u64 = 2;

/// Maximum age of an access in the window, in milliseconds.
const REACH_MS: u32 = 1_200_000;

/// Maximum length of a tape in milliseconds, because its times are numbers of 32 bits.
const LENGTH_MAX_MS: u32 = u32::MAX / 2;

/// An access on the tape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) key: u64,
    /// Time since the tape began, in milliseconds.
    pub(super) at_ms: u32,
    pub(super) size: u32,
    pub(super) penalty_us: u32,
    /// The whole time to live; the next field is the rest of it at this access. 0 for no limit.
    pub(super) ttl_ms: u32,
    pub(super) left_ms: u32,
    pub(super) tenant: TenantId,
    pub(super) op: Op,
}

const _: () = assert!(size_of::<Entry>() == 32);

/// A key before the window: its last access, the time of its first one, and the number of accesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Past {
    pub(super) last: Entry,
    pub(super) first_ms: u32,
    pub(super) uses: u32,
}

/// The recent requests to sampled keys.
#[derive(Clone, Debug)]
pub struct Tape {
    filter: Filter,
    pub(super) window: VecDeque<Entry>,
    pub(super) past: HashMap<u64, Past>,
    /// Whole times to live by key, in milliseconds. A read shows only the rest of one.
    lives: HashMap<u64, u32>,
    pub(super) window_max: usize,
    pub(super) keys_max: usize,
    /// Time of the first access.
    pub(super) began: Option<Micros>,
}

impl Default for Tape {
    fn default() -> Self {
        Self {
            filter: Filter::NONE,
            window: VecDeque::new(),
            past: HashMap::new(),
            lives: HashMap::new(),
            window_max: WINDOW.1,
            keys_max: KEYS.1,
            began: None,
        }
    }
}

/// A number for a key of a tenant.
const fn name(access: &Access) -> u64 {
    // Keeps the bits that decide whether the key is sampled.
    access.key ^ (base::hash::mix(access.tenant as u64) >> 24)
}

pub(super) fn millis(time: Micros) -> u32 {
    u32::try_from(time.0.div_ceil(1_000)).unwrap_or(u32::MAX)
}

impl Tape {
    /// Bounds the tape by the memory that the models may use.
    pub(crate) fn allow(&mut self, memory: Option<Bytes>) {
        let Some(memory) = memory else { return };
        let bytes = memory.0 / SHARE / 2;
        self.window_max = ((bytes / ACCESS_BYTES) as usize).clamp(WINDOW.0, WINDOW.1);
        self.keys_max = ((bytes / KEY_BYTES) as usize).clamp(KEYS.0, KEYS.1);
    }

    /// Appends the accesses that were sampled with this filter since the last call, in their order
    /// of arrival. A narrower filter drops keys from the tape. A much wider one begins a new tape
    /// while the tape has few keys, because the earlier accesses to the added keys are unknown.
    pub(crate) fn record(&mut self, accesses: &[Access], filter: Filter) {
        let (own, sampled) = (self.filter.threshold(), filter.threshold());
        if sampled < own {
            self.narrow(filter);
        } else if own == 0 || (sampled >= 4 * own && self.keys() < self.keys_max / 8) {
            self.begin(filter);
        }
        for access in accesses {
            if self.filter.keeps(access.key) {
                self.see(access);
            }
        }
        let now = self.window.back().map_or(0, |last| last.at_ms);
        if now > LENGTH_MAX_MS {
            return self.begin(filter);
        }
        while let Some(&first) = self.window.front()
            && (self.window.len() > self.window_max || now - first.at_ms > REACH_MS)
        {
            self.window.pop_front();
            self.leave(first);
        }
        while self.past.len() > self.keys_max && self.filter.threshold() > 1 {
            self.narrow(Filter::below(self.filter.threshold() / 2));
        }
    }

    /// Begins a new tape.
    fn begin(&mut self, filter: Filter) {
        let (window_max, keys_max) = (self.window_max, self.keys_max);
        *self = Self { filter, window_max, keys_max, ..Self::default() };
    }

    fn see(&mut self, access: &Access) {
        let began = *self.began.get_or_insert(access.time);
        let (key, left) = (name(access), millis(access.ttl));
        // A fetch brings the whole time to live, and a read shows the rest of it.
        let ttl_ms = match (access.op, left) {
            (_, 0) | (Op::Delete, _) => {
                self.lives.remove(&key);
                0
            }
            (Op::Set, _) => *self.lives.entry(key).insert_entry(left).get(),
            (Op::Get, _) => {
                let known = self.lives.entry(key).or_insert(left);
                *known = left.max(*known);
                *known
            }
        };
        self.window.push_back(Entry {
            key,
            at_ms: millis(access.time.saturating_sub(began)),
            left_ms: left,
            size: access.size.as_u32(),
            penalty_us: u32::try_from(access.penalty.0).unwrap_or(u32::MAX),
            ttl_ms,
            tenant: access.tenant,
            op: access.op,
        });
    }

    /// Moves an access that is too old for the window to the past.
    fn leave(&mut self, entry: Entry) {
        if entry.op == Op::Delete {
            self.past.remove(&entry.key);
            return;
        }
        let fresh = Past { last: entry, first_ms: entry.at_ms, uses: 0 };
        let past = self.past.entry(entry.key).or_insert(fresh);
        past.last = entry;
        past.uses = past.uses.saturating_add(1);
    }

    /// Continues the tape with the fewer keys of this filter.
    fn narrow(&mut self, filter: Filter) {
        self.filter = filter;
        // The number from `name` differs from its key only in low bits.
        self.window.retain(|entry| filter.keeps(entry.key));
        self.past.retain(|&key, _| filter.keeps(key));
        self.lives.retain(|&key, _| filter.keeps(key));
        self.past.shrink_to_fit();
    }

    fn keys(&self) -> usize {
        self.past.len().max(self.window.len() / 4)
    }

    /// Accesses in the window.
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// Whether the window has no access.
    pub fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// Share of the keys that are on the tape.
    pub fn rate(&self) -> f64 {
        self.filter.rate()
    }

    /// Start of the window: every later access to a sampled key is on the tape. `None` while the
    /// window has no access.
    pub fn since(&self) -> Option<Micros> {
        let first = self.window.front()?;
        Some(self.began? + Micros::from_millis(first.at_ms.into()))
    }

    /// Memory that the tape holds.
    pub fn bytes(&self) -> Bytes {
        let past = self.past.capacity() as u64 * KEY_BYTES;
        let lives = self.lives.capacity() as u64 * 16;
        Bytes(self.window.capacity() as u64 * ACCESS_BYTES + past + lives)
    }
}
