//! A client's connection: its session, and the bytes that wait.

use super::driver::Token;
use crate::facts::Speaks;
use crate::session::Session;
use crate::text::buffers::give_back;
use wire::{memcached, resp};

/// The decoder of a client's bytes.
#[derive(Debug)]
pub(crate) enum Codec {
    Redis(resp::Decoder),
    Memcached(Box<memcached::Decoder>),
}

impl Default for Codec {
    fn default() -> Self {
        Self::Redis(resp::Decoder::default())
    }
}

impl Codec {
    fn of(speaks: Speaks) -> Self {
        match speaks {
            Speaks::Redis => Self::default(),
            Speaks::Memcached => Self::Memcached(Box::default()),
        }
    }

    /// The least number of bytes of the request that is being read.
    pub(crate) fn wanted(&self) -> usize {
        match self {
            Self::Redis(decoder) => decoder.wanted(),
            Self::Memcached(decoder) => decoder.wanted(),
        }
    }

    fn shrink(&mut self) {
        match self {
            Self::Redis(decoder) => decoder.shrink(),
            Self::Memcached(decoder) => decoder.shrink(),
        }
    }
}

/// A client's connection, which one worker owns.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) session: Session,
    pub(crate) decoder: Codec,
    /// Bytes of an unfinished command, and of later ones while the client waits.
    pub(crate) input: Vec<u8>,
    /// Bytes of replies that wait until the client's socket accepts more.
    pub(crate) waiting: usize,
    /// Replies that are held back while the client waits after a wrong password.
    pub(crate) held: Vec<u8>,
    /// Bytes of replies in this turn that were already written.
    pub(crate) replied: usize,
    /// The time since which the output is above the soft limit, in milliseconds of the server's
    /// clock.
    pub(crate) over_soft_since_ms: Option<u64>,
}

impl Connection {
    pub(crate) fn new(session: Session) -> Self {
        Self {
            decoder: Codec::of(session.client.speaks),
            session,
            input: vec![],
            waiting: 0,
            held: vec![],
            replied: 0,
            over_soft_since_ms: None,
        }
    }

    /// The connection's token, at this place.
    pub(super) fn token(&self, at: usize) -> Token {
        Token { at, id: self.session.client.id }
    }

    /// Frees memory that is not needed now.
    pub(crate) fn shrink(&mut self) {
        if self.input.is_empty() {
            give_back(&mut self.input);
            self.decoder.shrink();
        }
    }
}
