//! Keyspace notifications about the keys of a call.

use super::call::Call;
use crate::facts::event_classes::{GENERIC, HASH};
use crate::server::audience::{self, KeyRef};
use tune::tenant::Origin;

impl Call<'_> {
    /// Sends an event about a key of the client.
    #[inline]
    pub(crate) fn event(&self, class: u32, event: &str, key: &[u8]) {
        if self.view.settings.notify & class != 0 {
            self.event_in(class, event, self.session.db, key);
            if class == HASH {
                let max = self.view.settings.tracking_max_keys;
                crate::server::field_expiry::note_death(self.server, max, &self.key(key), self.now);
            }
        }
    }

    /// Sends an event about a key of the client in another database.
    #[cold]
    pub(crate) fn event_in(&self, class: u32, event: &str, db: u8, key: &[u8]) {
        let (user, listener) = (self.session.user.as_deref(), self.session.client.listener);
        let tenant = self.view.owners(Origin { user, listener, db }).of(key);
        audience::tell(self.server, self.view, class, event, KeyRef { tenant, db, key });
    }

    /// Sends an event about removed elements, and `del` if the key disappeared with the last one.
    pub(crate) fn lost(&self, class: u32, event: &str, key: &[u8]) {
        if self.view.settings.notify & (class | GENERIC) == 0 {
            return;
        }
        self.event(class, event, key);
        if self.server.store.peek(&self.key(key), self.now, |_| ()).is_none() {
            self.event(GENERIC, "del", key);
        }
    }
}
