//! A client's socket with the replies that it has not accepted yet, and the table of all sockets.

use super::driver::{Token, Unsent};
use crate::services::stream::Stream;
use crate::text::buffers::give_back;
use std::io;

/// A client's socket, and the replies to send.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(super) struct Socket {
    pub(super) token: Token,
    pub(super) stream: Stream,
    /// Replies to send. The stream has accepted the first `written` bytes of them.
    output: Vec<u8>,
    written: usize,
    /// The replies go out together with those of other sockets; they do not wait for the socket.
    is_gathered: bool,
    /// The kernel reports when the socket accepts more bytes.
    pub(super) awaits_room: bool,
    /// The input of the client is wanted.
    pub(super) is_reading: bool,
    /// The client sends no more; unread bytes may remain.
    pub(super) has_ended: bool,
    /// It stands in the list of sockets to read.
    pub(super) is_listed: bool,
    /// An io_uring receives from it, if that is armed; otherwise the driver reads from it.
    pub(super) by_ring: bool,
    pub(super) is_armed: bool,
}

impl Socket {
    pub(super) const fn new(token: Token, stream: Stream, by_ring: bool) -> Self {
        Self {
            token,
            stream,
            output: vec![],
            written: 0,
            is_gathered: false,
            awaits_room: false,
            is_reading: true,
            has_ended: false,
            is_listed: false,
            by_ring,
            is_armed: false,
        }
    }

    /// Bytes of replies that wait until the socket accepts more.
    pub(super) fn waiting(&self) -> usize {
        if self.is_gathered { 0 } else { self.backlog() }
    }

    /// Bytes of replies that are not sent yet, gathered or waiting.
    pub(super) fn backlog(&self) -> usize {
        self.output.len() - self.written + self.stream.pending()
    }

    /// Sends replies behind those that are not sent yet, and keeps the rest that the socket does
    /// not accept. Empties `replies`.
    pub(super) fn send(&mut self, replies: &mut Vec<u8>) -> io::Result<()> {
        if self.backlog() > 0 {
            // Earlier replies go first, so that the order stays.
            self.output.append(replies);
            return if self.awaits_room { Ok(()) } else { self.flush() };
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
        replies.clear();
        Ok(())
    }

    /// Sends the replies that are not sent yet, as far as the socket accepts them.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.is_gathered = false;
        while self.backlog() > 0 {
            let rest = &self.output[self.written..];
            let result = if rest.is_empty() {
                self.stream.drain().map(|()| None)
            } else {
                self.stream.write(rest).map(Some)
            };
            match result {
                Ok(Some(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.written += written.unwrap_or(0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.written = 0;
        give_back(&mut self.output);
        Ok(())
    }

    /// Gathers replies, to be sent with those of other sockets. It leaves an empty buffer in their
    /// place, from `spare` if it takes the buffer itself. Returns whether they are the first.
    pub(super) fn gather(
        &mut self,
        replies: &mut Vec<u8>,
        spare: impl FnOnce() -> Vec<u8>,
    ) -> bool {
        if self.is_gathered {
            self.output.append(replies);
            return false;
        }
        self.is_gathered = true;
        self.output = std::mem::replace(replies, spare());
        true
    }

    /// Takes the gathered replies out.
    pub(super) fn take_gathered(&mut self) -> Option<Vec<u8>> {
        std::mem::take(&mut self.is_gathered).then(|| std::mem::take(&mut self.output))
    }

    /// Keeps gathered replies of which the socket has accepted only the first `written` bytes.
    pub(super) fn keep(&mut self, replies: Vec<u8>, written: usize) {
        self.output = replies;
        self.written = written;
    }

    /// Sends the gathered replies, as far as the socket accepts them now, and announces the end of
    /// the stream.
    pub(super) fn end(&mut self) {
        if let Some(replies) = self.take_gathered() {
            // A client that has disconnected gets none.
            let _ = self.stream.write(&replies);
        }
        self.stream.say_goodbye();
    }
}

/// All sockets of a worker, by their places.
#[derive(Debug, Default)]
pub(super) struct Sockets(Vec<Option<Socket>>);

impl Sockets {
    pub(super) fn insert(&mut self, socket: Socket) {
        let at = socket.token.at;
        if self.0.len() <= at {
            self.0.resize_with(at + 1, || None);
        }
        self.0[at] = Some(socket);
    }

    /// The socket at a place.
    #[inline]
    pub(super) fn at(&mut self, at: usize) -> Option<&mut Socket> {
        self.0.get_mut(at).and_then(Option::as_mut)
    }

    /// The socket of a connection, if it is still there.
    #[inline]
    pub(super) fn get(&mut self, token: Token) -> Option<&mut Socket> {
        self.at(token.at).filter(|socket| socket.token == token)
    }

    /// The bytes of replies to a client that are not sent yet.
    pub(super) fn unsent(&self, token: Token) -> Unsent {
        let socket = self.0.get(token.at).and_then(Option::as_ref);
        match socket.filter(|socket| socket.token == token) {
            Some(socket) if socket.is_gathered => Unsent { waiting: 0, gathered: socket.backlog() },
            Some(socket) => Unsent { waiting: socket.backlog(), gathered: 0 },
            None => Unsent::default(),
        }
    }

    pub(super) fn take(&mut self, token: Token) -> Option<Socket> {
        self.0.get_mut(token.at)?.take_if(|socket| socket.token == token)
    }
}
