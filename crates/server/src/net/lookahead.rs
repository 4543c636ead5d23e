//! Lookahead: the next keys of a pipeline are prefetched before their commands run.
//!
//! A lookup mostly waits for memory: first for the bucket, then for the item. When both are
//! prefetched a dozen commands ahead, they are in the cache when the command runs. The prefetch is
//! only a hint: a command may turn out to be about another key, or change what later commands find.

use super::connection::{Codec, Connection};
use crate::session::Session;
use base::TenantId;
use store::Store;
use wire::resp::second_words;

/// The largest number of commands that are prefetched together: their memory fits the first-level
/// cache.
const KEYS: usize = 16;

/// The number of following commands that have been prefetched.
pub(super) struct Lookahead(usize);

impl Lookahead {
    /// A single command is not prefetched, because there is no time to gain.
    pub(super) const ALONE: Self = Self(1);

    /// Moves to the command at the front of `bytes`, and prefetches more if needed.
    #[inline]
    pub(super) fn next(&mut self, store: &Store, session: &Session, bytes: &[u8]) {
        if self.0 == 0 && !bytes.is_empty() {
            self.0 = look(store, session, bytes);
        }
        self.0 = self.0.saturating_sub(1);
    }
}

/// The keys to prefetch.
pub(super) struct Keys {
    found: [(TenantId, u64); KEYS],
    seen: usize,
}

impl Default for Keys {
    fn default() -> Self {
        Self { found: [(0, 0); KEYS], seen: 0 }
    }
}

impl Keys {
    /// Adds the key of a connection's first command.
    #[inline]
    pub(super) fn add(&mut self, store: &Store, connection: &Connection, bytes: &[u8]) {
        let word = match connection.decoder {
            Codec::Redis(_) => second_words(bytes).next(),
            Codec::Memcached(_) => text_key(bytes),
        };
        if let Some(word) = word
            && self.seen < KEYS
        {
            let session = &connection.session;
            let key = store.key(session.owners.of(word), session.db, word);
            self.found[self.seen] = (key.tenant, key.hash);
            self.seen += 1;
        }
    }

    /// Prefetches the keys, if there are at least two.
    pub(super) fn prefetch(&self, store: &Store) {
        if self.seen > 1 {
            store.prefetch(&self.found[..self.seen]);
        }
    }
}

/// The second word of the first line, in the form of memcached's requests.
fn text_key(bytes: &[u8]) -> Option<&[u8]> {
    let line = &bytes[..bytes.len().min(256)];
    line.split(|byte| matches!(byte, b' ' | b'\r' | b'\n')).nth(1)
}

#[inline(never)]
fn look(store: &Store, session: &Session, bytes: &[u8]) -> usize {
    let mut keys: [(TenantId, u64); KEYS] = [(0, 0); KEYS];
    let mut seen = 0;
    for (known, word) in keys.iter_mut().zip(second_words(bytes)) {
        let key = store.key(session.owners.of(word), session.db, word);
        *known = (key.tenant, key.hash);
        seen += 1;
    }
    if seen > 1 {
        store.prefetch(&keys[..seen]);
    }
    seen.max(1)
}
