//! Writes of items, by text and meta commands.

use super::request::{Ask, Expiry, TOO_LARGE, refused};
use super::{detail, watch};
use crate::call::size_check::Room;
use crate::facts::event_classes;
use crate::facts::memcached_events::Event;
use crate::values::text_value::Text;
use base::Micros;
use store::{Change, Item, Key, Now};

/// The outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Stored,
    NotStored,
    Exists,
    NotFound,
}

impl Outcome {
    /// Its code in replies of meta commands.
    pub(super) const fn code(self) -> &'static [u8] {
        match self {
            Self::Stored => b"HD",
            Self::NotStored => b"NS",
            Self::Exists => b"EX",
            Self::NotFound => b"NF",
        }
    }

    /// Its line in replies of text commands.
    pub(super) const fn line(self) -> &'static str {
        match self {
            Self::Stored => "STORED",
            Self::NotStored => "NOT_STORED",
            Self::Exists => "EXISTS",
            Self::NotFound => "NOT_FOUND",
        }
    }
}

/// The way in which an item is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
}

impl Mode {
    /// The mode that the token of `ms` names.
    pub(super) fn parse(token: Option<&[u8]>) -> Option<Self> {
        match token {
            None | Some([b'S' | b's']) => Some(Self::Set),
            Some([b'E' | b'e']) => Some(Self::Add),
            Some([b'R' | b'r']) => Some(Self::Replace),
            Some([b'A' | b'a']) => Some(Self::Append),
            Some([b'P' | b'p']) => Some(Self::Prepend),
            Some(_) => None,
        }
    }

    /// The text command that writes in this mode.
    pub(super) const fn verb(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Append => "append",
            Self::Prepend => "prepend",
        }
    }

    const fn joins(self) -> bool {
        matches!(self, Self::Append | Self::Prepend)
    }
}

/// A write of one item.
pub(super) struct Write<'a> {
    pub(super) mode: Mode,
    pub(super) new: Text<'a>,
    pub(super) life: Expiry,
    /// The cas that the item must have.
    pub(super) compare: Option<u64>,
    /// A write with an older cas stores the value as stale, instead of being refused.
    pub(super) invalidate: bool,
    /// The expiry of an item that append or prepend creates.
    pub(super) vivify: Option<Expiry>,
    /// The cost of a miss, as a hint of the client.
    pub(super) cost: Option<Micros>,
}

/// The result of a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) outcome: Outcome,
    /// The size of the data in bytes: of the new value, or of the sent data if nothing was stored.
    pub(super) size: usize,
}

impl Write<'_> {
    /// Does the write, counts it, and shows it to watchers.
    pub(super) fn carry_out(
        &self,
        ask: &Ask<'_>,
        key: &Key<'_>,
        verb: &str,
    ) -> Result<Written, &'static str> {
        ask.count(Event::CmdSet);
        detail::set(ask, key.bytes);
        let (mut before, mut was_there) = (None, false);
        // The check comes before the value is joined or copied, so a refused write takes no memory.
        let room = Room::of(&ask.server.store, ask.view, key.tenant, self.new.data.len());
        let write = |item: Option<&Item<'_>>| {
            let old = item.and_then(Text::of).map(|old| old.data.len());
            (before, was_there) = (old, item.is_some());
            let joined = old.filter(|_| self.mode.joins()).unwrap_or(0);
            if let Err(error) = room.check(joined, joined + self.new.data.len()) {
                return (Change::Keep, Err(error));
            }
            let (change, written) = self.apply(ask, item);
            (change, Ok(written))
        };
        let store = &ask.server.store;
        // Only a write without a condition lets the store decline the value.
        let is_plain = self.mode == Mode::Set && self.compare.is_none();
        let offered = Key { may_be_declined: is_plain, ..*key };
        let written = match self.cost {
            Some(cost) => store.update_with_hint(&offered, cost, ask.now, write),
            None => store.update(&offered, ask.now, write),
        };
        watch::fetch(ask, key, before);
        let written = written.and_then(|written| written).map_err(|error| {
            let status = watch::Status::of(error);
            watch::store(ask, key, verb, status, self.life, 0);
            refused(ask, error)
        })?;
        let outcome = written.outcome;
        if self.compare.is_some() && !self.mode.joins() && self.mode != Mode::Add {
            ask.count(match outcome {
                Outcome::Stored => Event::CasHits,
                Outcome::NotFound => Event::CasMisses,
                _ => Event::CasBadval,
            });
        }
        watch::store(ask, key, verb, watch::Status::Done(outcome), self.life, written.size);
        if outcome == Outcome::Stored {
            self.tell(ask, key, was_there);
        }
        Ok(written)
    }

    /// Sends the notifications about a stored value, with the names of the corresponding commands
    /// of Redis.
    fn tell(&self, ask: &Ask<'_>, key: &Key<'_>, was_there: bool) {
        if self.mode.joins() && was_there {
            return ask.tell(event_classes::STRING, "append", key);
        }
        let life = if self.mode.joins() { self.vivify.unwrap_or(self.life) } else { self.life };
        if life == Expiry::Over {
            if was_there {
                ask.notify_expiry(life, key);
            }
            return;
        }
        ask.tell(event_classes::STRING, "set", key);
        if life != Expiry::Forever {
            ask.notify_expiry(life, key);
        }
        if !was_there {
            ask.tell(event_classes::NEW, "new", key);
        }
    }

    /// Compares the cas that the item must have with its actual one.
    fn compared(&self, ask: &Ask<'_>, old: &Text<'_>) -> Compared {
        // No item has the cas 0, and without cas values none matches.
        match self.compare.filter(|_| ask.is_numbered()).filter(|&wanted| wanted > 0) {
            None if self.compare.is_none() || self.mode.joins() => Compared::Fits,
            Some(wanted) if wanted == old.cas => Compared::Fits,
            Some(wanted) if self.invalidate && wanted < old.cas && !self.mode.joins() => {
                Compared::Older
            }
            _ => Compared::Differs,
        }
    }

    fn apply(&self, ask: &Ask<'_>, item: Option<&Item<'_>>) -> (Change<'static>, Written) {
        let size = self.new.data.len();
        let keep = |outcome| (Change::Keep, Written { outcome, size });
        let stored = |text: &Text<'_>, expires| {
            let written = Written { outcome: Outcome::Stored, size: text.data.len() };
            (kept(text, expires, ask.now), written)
        };
        let old = item.and_then(Text::of);
        let mut new = self.new;
        // The reads so far were of other values.
        new.reads_before = item.map_or(0, |item| item.hits);
        let Some(old) = old else {
            return match self.mode {
                Mode::Set | Mode::Replace if self.compare.is_some() => keep(Outcome::NotFound),
                Mode::Set => stored(&new, self.life.ends()),
                Mode::Add if item.is_none() => stored(&new, self.life.ends()),
                Mode::Replace if item.is_some() => stored(&new, self.life.ends()),
                Mode::Append | Mode::Prepend if item.is_none() => match self.vivify {
                    Some(life) => stored(&new, life.ends()),
                    None => keep(Outcome::NotStored),
                },
                _ => keep(Outcome::NotStored),
            };
        };
        if self.mode == Mode::Add {
            return keep(Outcome::NotStored);
        }
        let expires = item.and_then(|item| item.expires);
        match self.compared(ask, &old) {
            Compared::Differs => return keep(Outcome::Exists),
            Compared::Older => {
                // The new value is stale from the start. It keeps the expiry of the old one, and
                // the note whether a client was asked to fetch it.
                (new.stale, new.token_sent) = (true, old.token_sent);
                return stored(&new, expires);
            }
            Compared::Fits if !self.mode.joins() => return stored(&new, self.life.ends()),
            Compared::Fits => {}
        }
        // The check comes before the values are joined, so a refused write takes no memory.
        if (old.data.len() + size) as u64 > ask.view.settings.memcached_item_max.0 {
            return keep(Outcome::NotStored);
        }
        let data = match self.mode {
            Mode::Prepend => [new.data, old.data].concat(),
            _ => [old.data, new.data].concat(),
        };
        stored(&Text { flags: old.flags, data: &data, ..new }, expires)
    }
}

/// The result of comparing a cas with that of an item.
enum Compared {
    Fits,
    /// The item's cas is newer, and the write may store a stale value.
    Older,
    Differs,
}

/// The change that stores a text until `expires`, or removes the item if that has passed.
pub(super) fn kept(text: &Text<'_>, expires: Option<u64>, now: Now) -> Change<'static> {
    if expires.is_some_and(|at| at < now.unix_ms) { Change::Remove } else { text.change(expires) }
}

/// Refuses data that are too large. Returns the line of the error.
pub(super) fn too_large(ask: &Ask<'_>, key: &Key<'_>, removes: bool, verb: &str) -> &'static str {
    // A reader could otherwise take the old value for the refused one.
    if removes && ask.server.store.delete(key, ask.now) {
        ask.tell(event_classes::GENERIC, "del", key);
    }
    ask.count(Event::StoreTooLarge);
    watch::store(ask, key, verb, watch::Status::TooLarge, Expiry::Forever, 0);
    TOO_LARGE
}
