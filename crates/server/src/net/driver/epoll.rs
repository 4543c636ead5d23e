//! Readiness: epoll reports that a socket can be read or written, and a system call for each does
//! it.
//!
//! Events are edge-triggered, so nothing is registered again. A socket is read again only if it
//! filled the buffer.

use super::{Bytes, Driver, Event, Token};
use crate::services::mail::MAIL;
use crate::services::stream::Stream;
use mio::{Events, Interest, Poll, Registry};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

/// The largest number of bytes in one read.
const READ_MAX: usize = 64 << 10;

pub(super) struct Epoll {
    poll: Poll,
    ready: Events,
    /// Free memory to read into.
    idle: Vec<Box<[u8]>>,
}

impl Epoll {
    pub(super) fn new(poll: Poll) -> Self {
        Self { poll, ready: Events::with_capacity(1_024), idle: vec![] }
    }

    pub(super) fn registry(&self) -> &Registry {
        self.poll.registry()
    }
}

impl Driver for Epoll {
    fn name(&self) -> &'static str {
        "epoll"
    }

    fn wait(&mut self, most: Duration, events: &mut VecDeque<Event>) -> io::Result<()> {
        match self.poll.poll(&mut self.ready, Some(most)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            result => result?,
        }
        events.extend(self.ready.iter().map(|event| match event.token() {
            MAIL => Event::Mail,
            mio::Token(at) => Event::Ready(at, event.is_writable(), event.is_read_closed()),
        }));
        Ok(())
    }

    fn join(&mut self, stream: &mut Stream, place: Token) -> io::Result<()> {
        let interest = stream.interest();
        self.registry().register(stream.source(), mio::Token(place.at), interest)
    }

    fn leave(&mut self, stream: &mut Stream, _: Token) {
        // The socket is about to be closed, which deregisters it anyway.
        let _ = self.registry().deregister(stream.source());
    }

    fn watch_room(&mut self, stream: &mut Stream, place: Token, wanted: bool) -> io::Result<()> {
        let interest = stream.interest();
        let interest = if wanted { interest | Interest::WRITABLE } else { interest };
        self.registry().reregister(stream.source(), mio::Token(place.at), interest)
    }

    fn read(&mut self, stream: &mut Stream) -> io::Result<Bytes> {
        let mut memory = self.idle.pop().unwrap_or_else(|| vec![0; READ_MAX].into());
        match stream.read(&mut memory) {
            Ok(len) => Ok(Bytes::Read(memory, len)),
            Err(error) => {
                self.idle.push(memory);
                Err(error)
            }
        }
    }

    fn give_back(&mut self, bytes: Bytes) {
        if let Bytes::Read(memory, _) = bytes {
            self.idle.push(memory);
        }
    }

    fn pushes(&self, _: &Stream) -> bool {
        false
    }

    fn pause(&mut self, _: Token) {}

    fn resume(&mut self, _: &Stream, _: Token) -> io::Result<()> {
        Ok(())
    }

    fn gather(&mut self, _: &Stream, _: Token, _: Vec<u8>) {}

    fn flush(&mut self, _: &mut VecDeque<Event>) -> io::Result<()> {
        Ok(())
    }

    fn unsent(&mut self) -> Option<(Token, Vec<u8>, usize)> {
        None
    }

    fn spare(&mut self) -> Vec<u8> {
        vec![]
    }
}

impl AsRawFd for Epoll {
    fn as_raw_fd(&self) -> RawFd {
        self.poll.as_raw_fd()
    }
}
