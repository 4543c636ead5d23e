//! Looking ahead: of a pipeline the next keys are known before their commands are carried out.
//!
//! A look-up waits for memory most of its time, for the bucket and then for the item. Asked for a
//! dozen commands before, both are there when their turn comes. Nothing rests on what was seen: a
//! command may be about something else, or change what the next ones find.

use crate::connection::{Codec, Connection};
use crate::session::Session;
use base::TenantId;
use store::Store;
use wire::resp::second_words;

/// Commands looked at together: what they ask for fits the first cache.
const KEYS: usize = 16;

/// How many of the next commands memory has been asked for.
pub(super) struct Lookahead(usize);

impl Lookahead {
    /// A command that comes alone is not looked at: there is no time to gain.
    pub(super) const ALONE: Self = Self(1);

    /// The command at the front of `bytes` is next.
    #[inline]
    pub(super) fn next(&mut self, store: &Store, session: &Session, bytes: &[u8]) {
        if self.0 == 0 && !bytes.is_empty() {
            self.0 = look(store, session, bytes);
        }
        self.0 = self.0.saturating_sub(1);
    }
}

/// Keys to ask memory for.
#[derive(Default)]
pub(super) struct Keys {
    found: [(TenantId, u64); KEYS],
    seen: usize,
}

impl Keys {
    /// The key that the first command of a connection is about.
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

    /// Asks for them.
    pub(super) fn prefetch(&self, store: &Store) {
        if self.seen > 1 {
            store.prefetch(&self.found[..self.seen]);
        }
    }
}

/// The second word of the first line, as memcached's clients write it.
fn text_key(bytes: &[u8]) -> Option<&[u8]> {
    let line = &bytes[..bytes.len().min(256)];
    line.split(|byte| matches!(byte, b' ' | b'\r' | b'\n')).nth(1)
}

#[inline(never)]
fn look(store: &Store, session: &Session, bytes: &[u8]) -> usize {
    let mut keys: [(TenantId, u64); KEYS] = Default::default();
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
