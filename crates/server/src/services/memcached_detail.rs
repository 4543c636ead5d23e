//! The counts of memcached's `stats detail`: reads, hits, writes and removals by prefix of the key.

use crate::settings::config::Settings;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Prefixes beyond this number are counted together: clients choose the keys, so memory must be
/// bounded.
const PREFIXES_MAX: usize = 10_000;
/// The byte that ends a prefix, unless the settings name another.
pub(crate) const DELIMITER: u8 = b':';
const OTHERS: &[u8] = b"(others)";

/// Counts by prefix.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    pub(crate) on: AtomicBool,
    pub(crate) counts: Mutex<BTreeMap<Vec<u8>, [u64; 4]>>,
}

pub(crate) const GET: usize = 0;
pub(crate) const HIT: usize = 1;
pub(crate) const SET: usize = 2;
pub(crate) const DELETE: usize = 3;

impl Detail {
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Counts from the start on, if the settings name a delimiter.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { on: settings.memcached_delimiter.is_some().into(), counts: Mutex::default() }
    }

    /// Forgets all counts.
    pub(crate) fn reset(&self) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Counts an access to a key.
    pub(crate) fn add(&self, settings: &Settings, key: &[u8], what: &[usize]) {
        if !self.is_on() {
            return;
        }
        let delimiter = settings.memcached_delimiter.unwrap_or(DELIMITER);
        let Some(end) = key.iter().position(|&byte| byte == delimiter) else {
            return;
        };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = counts.contains_key(&key[..end]);
        let prefix = if is_known || counts.len() < PREFIXES_MAX { &key[..end] } else { OTHERS };
        let counts = counts.entry(prefix.to_vec()).or_default();
        for &at in what {
            counts[at] += 1;
        }
    }
}
