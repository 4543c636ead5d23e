//! Completion: the input of clients arrives by itself, and replies are sent together.
//!
//! An io_uring receives and sends for plain sockets. Everything else stays with epoll, and the
//! io_uring watches epoll's descriptor. That includes the mailbox, encrypted connections
//! (decryption reads as much as a record needs), and sockets that did not accept everything, until
//! they accept more.

use super::driver::{Bytes, Driver, Event, Token, Unsent};
use super::epoll::Epoll;
use super::socket::Socket;
use crate::services::stream::Stream;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;
use uring::{Completion, Ring};

/// The bits of a place in the number that the ring knows a socket by, and the mask of the client's
/// id above them.
const AT: u32 = 32;
const ID: u64 = (1 << 30) - 1;
/// Longer replies are not gathered: compared with them the call that writes them costs little.
const GATHER_MAX: usize = 32 << 10;
/// The largest number of connections whose gathered replies wait for each other.
const GATHERED_MAX: usize = 64;

const fn number(token: Token) -> u64 {
    token.at as u64 | (token.id & ID) << AT
}

pub(super) struct Uring {
    /// The driver for everything else. It owns all sockets.
    epoll: Epoll,
    ring: Ring,
    completions: Vec<Completion>,
    /// Connections with gathered replies.
    gathered: Vec<Token>,
    /// Connections from which the ring paused to receive, although their input is wanted.
    paused: Vec<Token>,
    /// Events to report in the next wait.
    events: VecDeque<Event>,
}

impl Uring {
    /// A driver for this thread, with the ring that [`Self::ring`] has made.
    pub(super) const fn new(epoll: Epoll, ring: Ring) -> Self {
        Self {
            epoll,
            ring,
            completions: vec![],
            gathered: vec![],
            paused: vec![],
            events: VecDeque::new(),
        }
    }

    /// An io_uring for this thread that watches an epoll.
    pub(super) fn ring(epoll: &Epoll) -> io::Result<Ring> {
        let mut ring = Ring::new()?;
        ring.watch(epoll)?;
        Ok(ring)
    }

    /// The socket that the ring knows by a number, if it is still there.
    fn socket(&mut self, number: u64) -> Option<&mut Socket> {
        let at = (number & ((1 << AT) - 1)) as usize;
        self.epoll.sockets.at(at).filter(|socket| self::number(socket.token) == number)
    }

    /// Lets the ring receive from a socket.
    fn arm(&mut self, token: Token) -> io::Result<()> {
        if let Some(socket) = self.epoll.sockets.get(token)
            && socket.is_reading
            && !socket.is_armed
        {
            self.ring.receive(&socket.stream, number(token))?;
            socket.is_armed = true;
        }
        Ok(())
    }

    /// Lets the ring receive from a socket again.
    fn arm_again(&mut self, token: Token) {
        if self.arm(token).is_err() {
            self.events.push_back(Event::Failed(token));
        }
    }

    /// Hands the gathered replies to the ring.
    fn queue_gathered(&mut self) {
        for token in self.gathered.drain(..) {
            if let Some(socket) = self.epoll.sockets.get(token)
                && let Some(replies) = socket.take_gathered()
            {
                self.ring.send(&socket.stream, number(token), replies);
            }
        }
    }

    /// Sends the gathered replies at once.
    fn flush(&mut self) {
        self.queue_gathered();
        if let Err(error) = self.ring.flush(&mut self.completions) {
            tracing::error!(%error, "cannot send replies");
        }
        self.keep_unsent();
    }

    /// Keeps gathered replies that sockets did not accept, until they accept more.
    fn keep_unsent(&mut self) {
        while let Some(unsent) = self.ring.unsent() {
            let Some(socket) = self.socket(unsent.token) else { continue };
            socket.keep(unsent.bytes, unsent.written);
            let token = socket.token;
            self.events.extend(self.epoll.flush(token));
        }
    }

    /// Reports the completions of the ring. Returns whether epoll has events.
    fn report(&mut self, events: &mut VecDeque<Event>) -> bool {
        events.append(&mut self.events);
        let mut is_epoll_ready = false;
        let mut completions = std::mem::take(&mut self.completions);
        for completion in completions.drain(..) {
            match completion {
                Completion::Received(number, buffer) => match self.socket(number) {
                    Some(socket) => {
                        events.push_back(Event::Received(socket.token, Bytes::Received(buffer)));
                    }
                    None => self.ring.give_back(buffer),
                },
                Completion::Closed(number) => {
                    events.extend(self.disarm(number).map(Event::HungUp));
                }
                Completion::Failed(number) => {
                    events.extend(self.disarm(number).map(Event::Failed));
                }
                Completion::Paused(number) => {
                    let token = self.disarm(number);
                    self.paused.extend(token);
                }
                Completion::Ready => is_epoll_ready = true,
            }
        }
        self.completions = completions;
        is_epoll_ready
    }

    /// Notes that the ring no longer receives from a socket.
    fn disarm(&mut self, number: u64) -> Option<Token> {
        let socket = self.socket(number)?;
        socket.is_armed = false;
        Some(socket.token)
    }
}

impl Driver for Uring {
    fn name(&self) -> &'static str {
        "io_uring"
    }

    fn wait(&mut self, most: Duration, events: &mut VecDeque<Event>) -> io::Result<()> {
        // Their bytes have been handled since, so that the ring has buffers again.
        for token in std::mem::take(&mut self.paused) {
            self.arm_again(token);
        }
        self.queue_gathered();
        let is_any = !self.completions.is_empty() || !self.events.is_empty();
        let is_any = is_any || self.epoll.is_any_ready();
        self.ring.wait(if is_any { Duration::ZERO } else { most }, &mut self.completions)?;
        self.keep_unsent();
        if self.report(events) {
            self.epoll.poll(Duration::ZERO, events)?;
        }
        self.epoll.read_some(events);
        Ok(())
    }

    fn add(&mut self, token: Token, stream: Stream) -> io::Result<()> {
        if matches!(stream, Stream::Tls(_)) {
            return self.epoll.add(token, stream);
        }
        self.epoll.add_by_ring(token, stream);
        self.arm(token)
    }

    fn remove(&mut self, token: Token) {
        if let Some(socket) = self.epoll.sockets.get(token)
            && socket.is_armed
        {
            socket.end();
            // The ring also keeps the socket open, until the cancellation.
            let _ = self.ring.cancel(number(token));
            socket.stream.shut_down();
        }
        self.epoll.remove(token);
    }

    fn set_reading(&mut self, token: Token, on: bool) {
        let Some(socket) = self.epoll.sockets.get(token) else {
            return;
        };
        if !socket.by_ring {
            return self.epoll.set_reading(token, on);
        }
        let was_on = std::mem::replace(&mut socket.is_reading, on);
        if on {
            self.arm_again(token);
        } else if was_on && socket.is_armed {
            // If the queue is full, the ring goes on receiving.
            let _ = self.ring.cancel(number(token));
        }
    }

    fn recycle(&mut self, bytes: Bytes) {
        match bytes {
            Bytes::Received(buffer) => self.ring.give_back(buffer),
            read @ Bytes::Read(..) => self.epoll.recycle(read),
        }
    }

    fn send(&mut self, token: Token, replies: &mut Vec<u8>) -> io::Result<usize> {
        let Some(socket) = self.epoll.sockets.get(token) else {
            replies.clear();
            return Ok(0);
        };
        let is_small = socket.backlog() + replies.len() <= GATHER_MAX;
        if !socket.by_ring || !is_small || socket.waiting() > 0 {
            return self.epoll.send(token, replies);
        }
        if socket.gather(replies, || self.ring.spare()) {
            self.gathered.push(token);
        }
        if self.gathered.len() < GATHERED_MAX {
            return Ok(0);
        }
        self.flush();
        Ok(self.unsent(token).waiting)
    }

    fn unsent(&self, token: Token) -> Unsent {
        self.epoll.sockets.unsent(token)
    }
}
