//! Items of an earlier run: which of them may still be restored.

use crate::contents::contents::Contents;
use crate::items::view::Saved;
use crate::learning::changed_keys::ChangedKeys;
use crate::{Key, Now, Scope};

impl Contents {
    /// Begins to record the keys that clients write and remove, in one of `shards` shards.
    pub(crate) fn begin_restore(&mut self, shards: usize) {
        self.restoring = Some(Box::new(ChangedKeys::new(shards)));
    }

    /// Ends to record them.
    pub(crate) fn end_restore(&mut self) {
        self.restoring = None;
    }

    /// Whether items of an earlier run are being restored.
    pub(crate) const fn is_restoring(&self) -> bool {
        self.restoring.is_some()
    }

    /// Records that a client wrote or removed this key, or tried to.
    #[inline]
    pub(crate) fn note_change(&mut self, key: &Key) {
        if let Some(changed) = &mut self.restoring {
            changed.add(key.hash);
        }
        if let Some(away) = &mut self.tenants[usize::from(key.tenant)].away {
            away.outdate(key.hash);
        }
    }

    /// Whether an item of an earlier run may be restored: no client has changed it, and it has not
    /// expired.
    pub(crate) fn takes_back(&self, key: &Key, saved: &Saved, now: Now) -> bool {
        let is_newer = self.restoring.as_ref().is_none_or(|changed| changed.has(key));
        !is_newer && saved.expires.is_none_or(|expires| expires >= now.unix_ms)
    }

    /// Records that a client removed all items of `scope`.
    pub(crate) fn note_flush(&mut self, scope: Scope) {
        if let Some(changed) = &mut self.restoring
            && !changed.flushed.contains(&scope)
        {
            changed.flushed.push(scope);
        }
    }
}
