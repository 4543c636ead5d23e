//! Keyspace notifications: messages about keys on certain channels.
//!
//! ```text
//!   __keyspace@0__:user:7   set          what happened to a key
//!   __keyevent@0__:expired  user:7       which key something happened to
//! ```
//!
//! `notify-keyspace-events` names the classes of events that are sent. Without classes an event
//! costs one test. Evictions and expirations are sent when the store notes them (`removal_events.rs`).
//!
//! A notification about a key goes only to clients that can reach the key.

use super::server::{Server, View};
use crate::background::removal_events;
use crate::commands::{self, Call, flag};
use base::TenantId;
use tune::tenant::Origin;

/// Sends on `__keyspace@db__:key`.
pub(crate) const KEYSPACE: u32 = 1;
/// Sends on `__keyevent@db__:event`.
pub(crate) const KEYEVENT: u32 = 1 << 1;
/// Commands for keys of any type, such as DEL and EXPIRE.
pub(crate) const GENERIC: u32 = 1 << 2;
/// Commands for strings.
pub(crate) const STRING: u32 = 1 << 3;
/// Commands for lists.
pub(crate) const LIST: u32 = 1 << 4;
/// Commands for sets.
pub(crate) const SET: u32 = 1 << 5;
/// Commands for hashes.
pub(crate) const HASH: u32 = 1 << 6;
/// Commands for sorted sets.
pub(crate) const ZSET: u32 = 1 << 7;
/// Expired keys.
pub(crate) const EXPIRED: u32 = 1 << 8;
/// Evicted keys.
pub(crate) const EVICTED: u32 = 1 << 9;
/// Reads that found no key.
pub(crate) const MISS: u32 = 1 << 12;
/// Keys that did not exist before.
pub(crate) const NEW: u32 = 1 << 13;

/// The letters of the classes; the ones that `A` includes come first.
const LETTERS: &[(char, u32)] = &[
    ('g', GENERIC),
    ('$', STRING),
    ('l', LIST),
    ('s', SET),
    ('h', HASH),
    ('z', ZSET),
    ('x', EXPIRED),
    ('e', EVICTED),
    ('t', 1 << 10),
    ('d', 1 << 11),
    ('K', KEYSPACE),
    ('E', KEYEVENT),
    ('m', MISS),
    ('n', NEW),
];
/// The number of classes that `A` includes.
const ALL: usize = 10;

fn all() -> u32 {
    LETTERS[..ALL].iter().map(|(_, class)| class).sum()
}

/// Reads the value of `notify-keyspace-events`.
pub(crate) fn parse(text: &str) -> Result<u32, String> {
    let class = |letter| match LETTERS.iter().find(|(known, _)| *known == letter) {
        Some((_, class)) => Ok(*class),
        None if letter == 'A' => Ok(all()),
        None => Err("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".to_owned()),
    };
    text.chars().try_fold(0, |sum, letter| Ok(sum | class(letter)?))
}

/// The letters of classes, as the setting shows them.
pub(crate) fn show(classes: u32) -> String {
    let is_all = classes & all() == all();
    let rest = if is_all { &LETTERS[ALL..] } else { LETTERS };
    let letters = rest.iter().filter(|(_, class)| classes & class != 0).map(|(letter, _)| letter);
    is_all.then_some(&'A').into_iter().chain(letters).collect()
}

/// The key that an event is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyRef<'a> {
    pub(crate) tenant: TenantId,
    pub(crate) db: u8,
    pub(crate) key: &'a [u8],
}

/// Sends an event if the settings include its class.
pub(crate) fn tell(server: &Server, view: &View, class: u32, event: &str, place: KeyRef<'_>) {
    let classes = view.settings.notify;
    if classes & class == 0 {
        return;
    }
    let KeyRef { tenant, db, key } = place;
    // If some clients have keys of their own, only clients of that tenant may learn about them.
    let is_told_apart =
        view.settings.tenants.iter().any(crate::settings::config::TenantConfig::is_private);
    let of = is_told_apart.then_some(tenant);
    if classes & KEYSPACE != 0 {
        let channel = [format!("__keyspace@{db}__:").as_bytes(), key].concat();
        server.pubsub.publish(&server.mailboxes, &channel, event.as_bytes(), false, of);
    }
    if classes & KEYEVENT != 0 {
        let channel = format!("__keyevent@{db}__:{event}");
        server.pubsub.publish(&server.mailboxes, channel.as_bytes(), key, false, of);
    }
}

impl Call<'_> {
    /// Sends an event about a key of the client.
    #[inline]
    pub(crate) fn event(&self, class: u32, event: &str, key: &[u8]) {
        if self.view.settings.notify & class != 0 {
            self.event_in(class, event, self.session.db, key);
            if class == HASH {
                let max = self.view.settings.tracking_max_keys;
                removal_events::note_death(self.server, max, &self.key(key), self.now);
            }
        }
    }

    /// Sends an event about a key of the client in another database.
    #[cold]
    pub(crate) fn event_in(&self, class: u32, event: &str, db: u8, key: &[u8]) {
        let (user, listener) = (self.session.user.as_deref(), self.session.client.listener);
        let tenant = self.view.owners(Origin { user, listener, db }).of(key);
        tell(self.server, self.view, class, event, KeyRef { tenant, db, key });
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

/// Whether the settings ask for events about reads without a result, or about new keys.
#[inline]
pub(crate) fn looks_for_absent(view: &View) -> bool {
    view.settings.notify & (MISS | NEW) != 0
}

/// The keys of a command that do not exist before it runs.
pub(crate) fn before<'a>(call: &Call<'a>) -> Vec<&'a [u8]> {
    let command = commands::find(call.arg(0)).map(commands::get);
    let runs = |command: &&commands::Command| {
        call.session.transaction.is_none() && !command.has(flag::CARRIES)
    };
    let Some(command) = command.filter(runs) else {
        return vec![];
    };
    let places = command
        .key_places(call.args.len(), |at| call.args.get(at))
        .filter(|&at| at < call.args.len());
    let is_absent =
        |key: &&[u8]| call.server.store.peek(&call.key(key), call.now, |_| ()).is_none();
    places.map(|at| call.arg(at)).filter(is_absent).collect()
}

/// Sends events for the `absent` keys: a miss if the command read them, or new if they exist now.
pub(crate) fn after(call: &Call<'_>, absent: &[&[u8]]) {
    let Some(command) = commands::find(call.arg(0)).map(commands::get) else { return };
    for key in absent {
        if command.has(flag::READ) {
            call.event(MISS, "keymiss", key);
        } else if call.server.store.peek(&call.key(key), call.now, |_| ()).is_some() {
            call.event(NEW, "new", key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// redis-server 7 shows the same letters, except that it forgets `n` beside `A`.
    #[test]
    fn classes_are_shown_as_redis_does() {
        for (given, shown) in [
            ("", ""),
            ("KEA", "AKE"),
            ("KEAnm", "AKEmn"),
            ("nmxeK", "xeKmn"),
            ("gd$lshzxet", "A"),
            ("Ex", "xE"),
        ] {
            assert_eq!(show(parse(given).unwrap()), shown, "{given}");
        }
        assert!(parse("Kq").unwrap_err().contains("Invalid event class character"));
    }
}
