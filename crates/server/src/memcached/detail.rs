//! `stats detail`: reads, hits, writes and removals by prefix of the key. A prefix ends at the
//! first colon, or at another byte that `memcached-delimiter` names.
//!
//! It is off until a client switches it on or the settings name the byte. Then every request takes
//! one lock.

use super::request::{Ask, Done};
use crate::settings::config::Settings;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Prefixes beyond this number are counted together: clients choose the keys, so memory must be
/// bounded.
const PREFIXES_MAX: usize = 10_000;
/// The byte that ends a prefix, unless the settings name another.
pub(super) const DELIMITER: u8 = b':';
const OTHERS: &[u8] = b"(others)";

/// Counts by prefix.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    on: AtomicBool,
    counts: Mutex<BTreeMap<Vec<u8>, [u64; 4]>>,
}

const GET: usize = 0;
const HIT: usize = 1;
const SET: usize = 2;
const DELETE: usize = 3;

impl Detail {
    pub(super) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Counts from the start on, if the settings name a delimiter.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { on: settings.memcached_delimiter.is_some().into(), counts: Mutex::default() }
    }

    /// Forgets all counts.
    pub(super) fn reset(&self) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn add(&self, ask: &Ask<'_>, key: &[u8], what: &[usize]) {
        if !self.is_on() {
            return;
        }
        let delimiter = ask.view.settings.memcached_delimiter.unwrap_or(DELIMITER);
        let Some(end) = key.iter().position(|&byte| byte == delimiter) else { return };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = counts.contains_key(&key[..end]);
        let prefix = if is_known || counts.len() < PREFIXES_MAX { &key[..end] } else { OTHERS };
        let counts = counts.entry(prefix.to_vec()).or_default();
        for &at in what {
            counts[at] += 1;
        }
    }
}

pub(super) fn get(ask: &Ask<'_>, key: &[u8], hit: bool) {
    ask.server.detail.add(ask, key, if hit { &[GET, HIT] } else { &[GET] });
}

pub(super) fn set(ask: &Ask<'_>, key: &[u8]) {
    ask.server.detail.add(ask, key, &[SET]);
}

pub(super) fn delete(ask: &Ask<'_>, key: &[u8]) {
    ask.server.detail.add(ask, key, &[DELETE]);
}

/// `stats detail on|off|dump`.
pub(super) fn command(ask: &mut Ask<'_>) -> Done {
    if !ask.view.settings.memcached_dump {
        return Err("CLIENT_ERROR stats detail not allowed");
    }
    let detail = &ask.server.detail;
    match ask.request.get(2) {
        Some(b"on") => detail.on.store(true, Ordering::Relaxed),
        Some(b"off") => detail.on.store(false, Ordering::Relaxed),
        Some(b"dump") => {
            let counts = detail.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for (prefix, [get, hit, set, del]) in counts {
                let prefix = String::from_utf8_lossy(&prefix);
                ask.print(format_args!(
                    "PREFIX {prefix} get {get} hit {hit} set {set} del {del}\r\n"
                ));
            }
            return ask.line("END");
        }
        _ => return Err("CLIENT_ERROR usage: stats detail on|off|dump"),
    }
    ask.line("OK")
}
