//! Keyspace notifications about the keys of a call.

use super::call::Call;
use crate::facts::event_classes::{GENERIC, HASH};
use crate::server::audience::KeyRef;
use store::Key;
use tune::tenant::Origin;

impl Call<'_> {
    /// Sends an event about a key of the client.
    #[inline]
    pub(crate) fn event(&self, class: u32, event: &str, key: &[u8]) {
        if self.view.settings.notify & class != 0 {
            self.event_in(class, event, self.session.db, key);
            if class == HASH {
                self.note_death(&self.key(key));
            }
        }
    }

    /// Sends an event about a key of the client in another database.
    #[cold]
    pub(crate) fn event_in(&self, class: u32, event: &str, db: u8, key: &[u8]) {
        let (user, listener) = (self.session.user.as_deref(), self.session.client.listener);
        let tenant = self.view.owners(Origin { user, listener, db }).of(key);
        let (audience, mailboxes) = (&self.server.audience, self.server.clients.mailboxes());
        let place = KeyRef { tenant, db, key };
        audience.notify(mailboxes, &self.view.settings, class, event, place);
    }

    /// Notes the next expiry of a field of this key for clients that must hear of it.
    pub(crate) fn note_death(&self, key: &Key<'_>) {
        let (server, max) = (self.server, self.view.settings.tracking_max_keys);
        server.audience.note_death(server.clients.mail(), &server.store, max, key, self.now);
    }

    /// Sends an event about removed elements, and `del` if the key disappeared with the last one.
    pub(crate) fn lost(&self, class: u32, event: &str, key: &[u8]) {
        if self.view.settings.notify & (class | GENERIC) == 0 {
            return;
        }
        self.event(class, event, key);
        if self.server.store.glance(&self.key(key), self.now, |_| ()).is_none() {
            self.event(GENERIC, "del", key);
        }
    }
}
