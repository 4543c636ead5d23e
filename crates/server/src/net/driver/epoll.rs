//! Readiness: epoll reports that a socket can be read or written, and a system call for each does
//! it.
//!
//! Events are edge-triggered, so nothing is registered again. A socket is read again only if it
//! filled the buffer, behind the sockets that became ready meanwhile. One wait reads only a few
//! sockets: their bytes, and the memory that their commands need, fit the caches together.

use super::driver::{Bytes, Driver, Event, Token, Unsent};
use super::socket::{Socket, Sockets};
use crate::services::mail::{CONNECTIONS, MAIL};
use crate::services::stream::Stream;
use mio::{Events, Interest, Poll, Registry};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

/// The largest number of bytes in one read.
const READ_MAX: usize = 64 << 10;
/// The largest number of sockets that one wait reads.
const READ_TOGETHER: usize = 16;

pub(super) struct Epoll {
    poll: Poll,
    polled: Events,
    pub(super) sockets: Sockets,
    /// The places of sockets to read.
    ready: VecDeque<usize>,
    /// The places of sockets to read after those that the next poll reports.
    again: VecDeque<usize>,
    /// Free memory to read into.
    idle: Vec<Box<[u8]>>,
}

impl Epoll {
    pub(super) fn new(poll: Poll) -> Self {
        Self {
            poll,
            polled: Events::with_capacity(1_024),
            sockets: Sockets::default(),
            ready: VecDeque::new(),
            again: VecDeque::new(),
            idle: vec![],
        }
    }

    /// Whether there are sockets to read.
    pub(super) fn is_any_ready(&self) -> bool {
        !self.ready.is_empty() || !self.again.is_empty()
    }

    /// Waits until sockets are ready, and sends the replies that waited for one.
    pub(super) fn poll(&mut self, most: Duration, events: &mut VecDeque<Event>) -> io::Result<()> {
        match self.poll.poll(&mut self.polled, Some(most)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            result => result?,
        }
        for event in &self.polled {
            let at = match event.token() {
                MAIL => {
                    events.push_back(Event::Mail);
                    continue;
                }
                CONNECTIONS => {
                    events.push_back(Event::Connections);
                    continue;
                }
                mio::Token(at) => at,
            };
            let Some(socket) = self.sockets.at(at) else { continue };
            if socket.waiting() > 0 && (event.is_writable() || socket.by_ring) {
                events.push_back(flush(self.poll.registry(), socket));
            }
            if !socket.by_ring {
                socket.has_ended |= event.is_read_closed();
                list(&mut self.ready, socket);
            }
        }
        Ok(())
    }

    /// Reads some of the ready sockets.
    pub(super) fn read_some(&mut self, events: &mut VecDeque<Event>) {
        if self.ready.is_empty() {
            std::mem::swap(&mut self.ready, &mut self.again);
        }
        for _ in 0..READ_TOGETHER {
            let Some(at) = self.ready.pop_front() else { break };
            let Some(socket) = self.sockets.at(at) else { continue };
            socket.is_listed = false;
            // A socket that is not read now is listed again when it is.
            if socket.is_reading {
                events.extend(read(socket, &mut self.idle, &mut self.again));
            }
        }
    }

    /// Sends waiting replies of a connection, as far as the socket accepts them.
    pub(super) fn flush(&mut self, token: Token) -> Option<Event> {
        let socket = self.sockets.get(token)?;
        Some(flush(self.poll.registry(), socket))
    }

    /// Adds a socket from which an io_uring receives.
    pub(super) fn add_by_ring(&mut self, token: Token, stream: Stream) {
        self.sockets.insert(Socket::new(token, stream, true));
    }
}

/// Adds a socket to a list of sockets to read, unless it stands in one.
fn list(list: &mut VecDeque<usize>, socket: &mut Socket) {
    if !std::mem::replace(&mut socket.is_listed, true) {
        list.push_back(socket.token.at);
    }
}

/// Reads from a socket once. Lists the socket `again` if there may be more to read.
fn read(
    socket: &mut Socket,
    idle: &mut Vec<Box<[u8]>>,
    again: &mut VecDeque<usize>,
) -> Option<Event> {
    let token = socket.token;
    let mut memory = idle.pop().unwrap_or_else(|| vec![0; READ_MAX].into());
    match socket.stream.read(&mut memory) {
        Ok(len) if len > 0 => {
            if len == memory.len() || socket.has_ended {
                list(again, socket);
            }
            Some(Event::Received(token, Bytes::Read(memory, len)))
        }
        result => {
            idle.push(memory);
            match result {
                Ok(_) => {
                    socket.has_ended = true;
                    Some(Event::HungUp(token))
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    list(again, socket);
                    None
                }
                Err(_) => Some(Event::Failed(token)),
            }
        }
    }
}

/// Sends waiting replies, as far as the socket accepts them.
fn flush(registry: &Registry, socket: &mut Socket) -> Event {
    match socket.flush().and_then(|()| await_room(registry, socket)) {
        Ok(()) => Event::Sent(socket.token),
        Err(_) => Event::Failed(socket.token),
    }
}

/// Switches on or off the report that a socket accepts more bytes, according to its replies.
fn await_room(registry: &Registry, socket: &mut Socket) -> io::Result<()> {
    let wanted = socket.waiting() > 0;
    if socket.awaits_room == wanted {
        return Ok(());
    }
    socket.awaits_room = wanted;
    let at = mio::Token(socket.token.at);
    let interest = socket.stream.interest();
    let source = socket.stream.source();
    match (socket.by_ring, wanted) {
        (true, true) => registry.register(source, at, Interest::WRITABLE),
        (true, false) => registry.deregister(source),
        (false, true) => registry.reregister(source, at, interest | Interest::WRITABLE),
        (false, false) => registry.reregister(source, at, interest),
    }
}

impl Driver for Epoll {
    fn name(&self) -> &'static str {
        "epoll"
    }

    fn wait(&mut self, most: Duration, events: &mut VecDeque<Event>) -> io::Result<()> {
        if self.ready.is_empty() {
            self.poll(if self.again.is_empty() { most } else { Duration::ZERO }, events)?;
            self.ready.append(&mut self.again);
        }
        self.read_some(events);
        Ok(())
    }

    fn add(&mut self, token: Token, mut stream: Stream) -> io::Result<()> {
        let interest = stream.interest();
        self.poll.registry().register(stream.source(), mio::Token(token.at), interest)?;
        self.sockets.insert(Socket::new(token, stream, false));
        Ok(())
    }

    fn remove(&mut self, token: Token) {
        if let Some(mut socket) = self.sockets.take(token) {
            socket.end();
            if !socket.by_ring || socket.awaits_room {
                // The socket is closed now, which deregisters it anyway.
                let _ = self.poll.registry().deregister(socket.stream.source());
            }
        }
    }

    fn set_reading(&mut self, token: Token, on: bool) {
        if let Some(socket) = self.sockets.get(token) {
            if on && (!socket.is_reading || socket.has_ended) {
                list(&mut self.again, socket);
            }
            socket.is_reading = on;
        }
    }

    fn recycle(&mut self, bytes: Bytes) {
        if let Bytes::Read(memory, _) = bytes {
            self.idle.push(memory);
        }
    }

    fn send(&mut self, token: Token, replies: &mut Vec<u8>) -> io::Result<usize> {
        let Some(socket) = self.sockets.get(token) else {
            replies.clear();
            return Ok(0);
        };
        socket.send(replies)?;
        let waiting = socket.waiting();
        if waiting > 0 || socket.awaits_room {
            await_room(self.poll.registry(), socket)?;
        }
        Ok(waiting)
    }

    fn unsent(&self, token: Token) -> Unsent {
        self.sockets.unsent(token)
    }
}

impl AsRawFd for Epoll {
    fn as_raw_fd(&self) -> RawFd {
        self.poll.as_raw_fd()
    }
}
