//! Items of an earlier run: which of them may still be restored.

use crate::items::view::Saved;
use crate::shard::shard::Shard;
use crate::{Key, Now, Scope};

impl Shard {
    /// Records that a client wrote or removed this key, or tried to.
    #[inline]
    pub(crate) fn note_change(&mut self, key: &Key) {
        if let Some(changed) = &mut self.changed {
            changed.add(key.hash);
        }
        if let Some(away) = &mut self.tenants[usize::from(key.tenant)].away {
            away.outdate(key.hash);
        }
    }

    /// Whether an item of an earlier run may be restored: no client has changed it, and it has not
    /// expired.
    pub(crate) fn takes_back(&self, key: &Key, saved: &Saved, now: Now) -> bool {
        let is_newer = self.changed.as_ref().is_none_or(|changed| changed.has(key));
        !is_newer && saved.expires.is_none_or(|expires| expires >= now.unix_ms)
    }

    /// Records that a client removed all items of `scope`.
    pub(crate) fn note_flush(&mut self, scope: Scope) {
        if let Some(changed) = &mut self.changed
            && !changed.flushed.contains(&scope)
        {
            changed.flushed.push(scope);
        }
    }
}
