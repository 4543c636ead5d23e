//! How an item is written, by the text and by the meta commands.

use super::{Ask, Done, Event, Life, TOO_LARGE, detail, refused, watch};
use crate::value::Text;
use base::Micros;
use store::{Change, Item, Key};

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Stored,
    NotStored,
    Exists,
    NotFound,
}

impl Outcome {
    /// As the meta commands say it.
    pub(super) const fn code(self) -> &'static [u8] {
        match self {
            Self::Stored => b"HD",
            Self::NotStored => b"NS",
            Self::Exists => b"EX",
            Self::NotFound => b"NF",
        }
    }

    /// As the text commands say it.
    pub(super) const fn line(self) -> &'static str {
        match self {
            Self::Stored => "STORED",
            Self::NotStored => "NOT_STORED",
            Self::Exists => "EXISTS",
            Self::NotFound => "NOT_FOUND",
        }
    }
}

/// How an item is written.
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

    /// The mode of a text command.
    pub(super) fn of_verb(verb: &[u8]) -> Self {
        match verb {
            b"add" => Self::Add,
            b"replace" => Self::Replace,
            b"append" => Self::Append,
            b"prepend" => Self::Prepend,
            _ => Self::Set,
        }
    }

    const fn joins(self) -> bool {
        matches!(self, Self::Append | Self::Prepend)
    }
}

/// A write.
pub(super) struct Write<'a> {
    pub(super) mode: Mode,
    pub(super) new: Text<'a>,
    pub(super) life: Life,
    /// The number that the item must have.
    pub(super) compare: Option<u64>,
    /// An older number marks the item stale instead of refusing the write.
    pub(super) invalidate: bool,
    /// The life of an item that is made by joining to nothing.
    pub(super) vivify: Option<Life>,
    /// What a miss costs, where the client says it.
    pub(super) cost: Option<Micros>,
}

impl Write<'_> {
    /// Writes, counts it, and shows it to those who watch.
    pub(super) fn carry_out(
        &self,
        ask: &Ask<'_>,
        key: &Key<'_>,
        verb: &[u8],
    ) -> Result<Outcome, &'static str> {
        ask.count(Event::CmdSet);
        let (store, write) = (&ask.shared.store, |item: Option<&Item<'_>>| self.apply(item));
        let outcome = match self.cost {
            Some(cost) => store.update_told(key, cost, ask.now, write),
            None => store.update(key, ask.now, write),
        };
        let outcome = outcome.map_err(|error| refused(ask, error))?;
        if self.compare.is_some() {
            ask.count(match outcome {
                Outcome::Stored => Event::CasHits,
                Outcome::NotFound => Event::CasMisses,
                _ => Event::CasBadval,
            });
        }
        detail::set(ask, key.bytes);
        let stored = outcome == Outcome::Stored;
        watch::store(ask, key, verb, stored, self.life, self.new.data.len());
        Ok(outcome)
    }

    fn apply(&self, item: Option<&Item<'_>>) -> (Change<'static>, Outcome) {
        let keep = |outcome| (Change::Keep, outcome);
        let old = item.and_then(Text::of);
        let mut new = self.new;
        if let Some(wanted) = self.compare {
            match old {
                None => return keep(Outcome::NotFound),
                Some(old) if old.cas == wanted => {}
                Some(old) if self.invalidate && wanted < old.cas => new.stale = true,
                Some(_) => return keep(Outcome::Exists),
            }
        }
        match (self.mode, item.is_some()) {
            (Mode::Add, true) | (Mode::Replace, false) => return keep(Outcome::NotStored),
            _ => {}
        }
        if !self.mode.joins() {
            return (stored(&new, self.life), Outcome::Stored);
        }
        match (old, self.vivify) {
            (Some(old), _) => {
                let parts = [old.data, new.data];
                let data = if self.mode == Mode::Append {
                    parts.concat()
                } else {
                    [parts[1], parts[0]].concat()
                };
                let joined = Text { flags: old.flags, data: &data, ..new };
                let expires = item.and_then(|item| item.expires);
                (joined.change(expires), Outcome::Stored)
            }
            (None, Some(life)) if item.is_none() => (stored(&new, life), Outcome::Stored),
            (None, _) => keep(Outcome::NotStored),
        }
    }
}

fn stored(text: &Text<'_>, life: Life) -> Change<'static> {
    match life {
        Life::Over => Change::Remove,
        life => text.change(life.expires()),
    }
}

/// Refuses data that are too large.
pub(super) fn too_large(ask: &Ask<'_>, key: &Key<'_>, mode: Mode) -> Done {
    // What the key held would otherwise be taken for the value that was refused.
    if mode == Mode::Set {
        ask.shared.store.delete(key, ask.now);
    }
    ask.count(Event::StoreTooLarge);
    Err(TOO_LARGE)
}
