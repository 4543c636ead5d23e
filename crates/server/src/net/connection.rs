//! A client's socket, and the bytes that wait in either direction.

use super::driver::Token;
use crate::facts::Speaks;
use crate::services::stream::Stream;
use crate::session::Session;
use crate::text::buffers::give_back;
use std::io;
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
    pub(crate) stream: Stream,
    pub(crate) session: Session,
    pub(crate) decoder: Codec,
    /// Bytes of an unfinished command.
    pub(crate) input: Vec<u8>,
    /// Replies to send. The socket has accepted the first `written` bytes of them.
    output: Vec<u8>,
    written: usize,
    /// The output goes out together with that of other connections; it does not wait for the
    /// socket.
    pub(crate) is_gathered: bool,
    /// The worker waits for the event that the socket accepts more bytes.
    pub(crate) awaits_room: bool,
    /// Replies that are held back while the client waits after a wrong password.
    pub(crate) held: Vec<u8>,
    /// Bytes of replies in this turn that were already written.
    pub(crate) replied: usize,
    /// The client sends no more; unread bytes may remain.
    pub(crate) read_closed: bool,
    /// The time since which the output is above the soft limit, in milliseconds of the server's
    /// clock.
    pub(crate) over_soft_since_ms: Option<u64>,
}

impl Connection {
    pub(crate) fn new(stream: Stream, session: Session) -> Self {
        Self {
            stream,
            decoder: Codec::of(session.client.speaks),
            session,
            input: vec![],
            output: vec![],
            written: 0,
            is_gathered: false,
            awaits_room: false,
            held: vec![],
            replied: 0,
            read_closed: false,
            over_soft_since_ms: None,
        }
    }

    /// The connection's token, at this place.
    pub(super) fn token(&self, at: usize) -> Token {
        Token { at, id: self.session.client.id }
    }

    /// Writes the gathered replies, as far as the socket accepts them now. Called before the
    /// connection is closed.
    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.is_gathered) {
            // A client that has disconnected gets none.
            let _ = self.stream.write(&self.output);
        }
        self.stream.say_goodbye();
    }

    /// Bytes of replies that wait until the socket accepts more.
    pub(crate) fn waiting(&self) -> usize {
        if self.is_gathered { 0 } else { self.backlog() }
    }

    /// Bytes of replies that are not sent yet, gathered or waiting.
    pub(crate) fn backlog(&self) -> usize {
        self.output.len() - self.written + self.stream.pending()
    }

    /// Appends `replies` to the gathered ones. It leaves an empty buffer in their place, from
    /// `spare` if it takes the buffer itself.
    pub(crate) fn gather(&mut self, replies: &mut Vec<u8>, spare: impl FnOnce() -> Vec<u8>) {
        if self.is_gathered {
            self.output.append(replies);
        } else {
            self.is_gathered = true;
            self.output = std::mem::replace(replies, spare());
        }
    }

    /// Takes the gathered replies out.
    pub(crate) fn take_gathered(&mut self) -> Vec<u8> {
        self.is_gathered = false;
        std::mem::take(&mut self.output)
    }

    /// Keeps gathered replies of which the socket has accepted only the first `written` bytes.
    pub(crate) fn keep_unsent(&mut self, replies: Vec<u8>, written: usize) {
        self.output = replies;
        self.written = written;
    }

    /// Sends `replies`, and keeps the rest that the socket does not accept. Returns the number of
    /// bytes written.
    pub(crate) fn send(&mut self, replies: &[u8]) -> io::Result<usize> {
        if self.waiting() > 0 {
            // Waiting replies go first, so that the order stays.
            self.output.extend_from_slice(replies);
            return Ok(0);
        }
        let mut sent = 0;
        while sent < replies.len() {
            match self.stream.write(&replies[sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.output.extend_from_slice(&replies[sent..]);
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Sends waiting replies, as far as the socket accepts them. Returns the number of bytes
    /// written.
    pub(crate) fn flush(&mut self) -> io::Result<usize> {
        let before = self.written;
        while self.waiting() > 0 {
            let rest = &self.output[self.written..];
            let result = if rest.is_empty() {
                self.stream.drain().map(|()| None)
            } else {
                self.stream.write(rest).map(Some)
            };
            match result {
                Ok(Some(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.written += written.unwrap_or(0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(self.written - before);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let sent = self.written - before;
        self.written = 0;
        give_back(&mut self.output);
        Ok(sent)
    }

    /// Frees memory that is not needed now.
    pub(crate) fn shrink(&mut self) {
        if self.input.is_empty() {
            give_back(&mut self.input);
            self.decoder.shrink();
        }
    }
}
