//! Completion: the input of clients arrives by itself, and replies are sent together.
//!
//! An io_uring receives and sends for plain sockets. Everything else stays with epoll, and the
//! io_uring watches epoll's descriptor. That includes the mailbox, encrypted connections
//! (decryption reads as much as a record needs), and sockets that did not accept everything, until
//! they accept more.

use super::epoll::Epoll;
use super::{Bytes, Driver, Event, Token};
use crate::services::stream::Stream;
use mio::Interest;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;
use uring::{Completion, Ring};

/// The bits of a place in a token, and the mask of the client's id above them.
const AT: u32 = 32;
const ID: u64 = (1 << 30) - 1;

/// The value for no token.
const NONE: u64 = u64::MAX;

const fn token(place: Token) -> u64 {
    place.at as u64 | (place.id & ID) << AT
}

const fn place(token: u64) -> Token {
    Token { at: (token & ((1 << AT) - 1)) as usize, id: token >> AT }
}

impl Token {
    /// Whether this is the place of the client with this id.
    pub(in crate::net) const fn is_of(self, id: u64) -> bool {
        self.id & ID == id & ID
    }
}

pub(super) struct Uring {
    epoll: Epoll,
    ring: Ring,
    completions: Vec<Completion>,
    /// The tokens of running receives, by place; [`NONE`] for none.
    armed: Vec<u64>,
}

impl Uring {
    /// A driver for this thread. If that fails, returns the epoll driver unchanged, with the error.
    pub(super) fn new(epoll: Epoll) -> Result<Self, (Epoll, io::Error)> {
        let ring = Ring::new().and_then(|mut ring| ring.watch(&epoll).map(|()| ring));
        match ring {
            Ok(ring) => Ok(Self { epoll, ring, completions: vec![], armed: vec![] }),
            Err(error) => Err((epoll, error)),
        }
    }

    /// Reports the completions of the ring.
    fn tell(&mut self, events: &mut VecDeque<Event>) -> io::Result<()> {
        let mut is_ready = false;
        let armed = &mut self.armed;
        let mut disarm = |token| {
            let place = place(token);
            if armed[place.at] == token {
                armed[place.at] = NONE;
            }
            place
        };
        for completion in self.completions.drain(..) {
            events.push_back(match completion {
                Completion::Received(token, buffer) => {
                    Event::Received(place(token), Bytes::Received(buffer))
                }
                Completion::Closed(token) => Event::Closed(disarm(token)),
                Completion::Failed(token) => Event::Failed(disarm(token)),
                Completion::Paused(token) => Event::Paused(disarm(token)),
                Completion::Ready => {
                    is_ready = true;
                    continue;
                }
            });
        }
        if is_ready { self.epoll.wait(Duration::ZERO, events) } else { Ok(()) }
    }
}

impl Driver for Uring {
    fn name(&self) -> &'static str {
        "io_uring"
    }

    fn wait(&mut self, most: Duration, events: &mut VecDeque<Event>) -> io::Result<()> {
        self.ring.wait(most, &mut self.completions)?;
        self.tell(events)
    }

    fn join(&mut self, stream: &mut Stream, place: Token) -> io::Result<()> {
        if !self.pushes(stream) {
            return self.epoll.join(stream, place);
        }
        if self.armed.len() <= place.at {
            self.armed.resize(place.at + 1, NONE);
        }
        self.resume(stream, place)
    }

    fn leave(&mut self, stream: &mut Stream, place: Token) {
        if !self.pushes(stream) {
            return self.epoll.leave(stream, place);
        }
        if std::mem::replace(&mut self.armed[place.at], NONE) != NONE {
            // The ring also keeps the socket open, until the cancellation.
            let _ = self.ring.cancel(token(place));
            stream.shut_down();
        }
        self.epoll.leave(stream, place);
    }

    fn watch_room(&mut self, stream: &mut Stream, place: Token, wanted: bool) -> io::Result<()> {
        if !self.pushes(stream) {
            return self.epoll.watch_room(stream, place, wanted);
        }
        let registry = self.epoll.registry();
        if wanted {
            registry.register(stream.source(), mio::Token(place.at), Interest::WRITABLE)
        } else {
            registry.deregister(stream.source())
        }
    }

    fn read(&mut self, stream: &mut Stream) -> io::Result<Bytes> {
        self.epoll.read(stream)
    }

    fn give_back(&mut self, bytes: Bytes) {
        match bytes {
            Bytes::Received(buffer) => self.ring.give_back(buffer),
            read @ Bytes::Read(..) => self.epoll.give_back(read),
        }
    }

    fn pushes(&self, stream: &Stream) -> bool {
        !matches!(stream, Stream::Tls(_))
    }

    fn pause(&mut self, place: Token) {
        if self.armed[place.at] != NONE {
            // If the queue is full, the ring goes on receiving, and the bytes are kept.
            let _ = self.ring.cancel(token(place));
        }
    }

    fn resume(&mut self, stream: &Stream, place: Token) -> io::Result<()> {
        if self.pushes(stream) && self.armed[place.at] == NONE {
            self.ring.receive(stream, token(place))?;
            self.armed[place.at] = token(place);
        }
        Ok(())
    }

    fn gather(&mut self, stream: &Stream, place: Token, replies: Vec<u8>) {
        self.ring.send(stream, token(place), replies);
    }

    fn flush(&mut self, events: &mut VecDeque<Event>) -> io::Result<()> {
        self.ring.flush(&mut self.completions)?;
        self.tell(events)
    }

    fn unsent(&mut self) -> Option<(Token, Vec<u8>, usize)> {
        self.ring.unsent().map(|unsent| (place(unsent.token), unsent.bytes, unsent.written))
    }

    fn spare(&mut self) -> Vec<u8> {
        self.ring.spare()
    }
}
