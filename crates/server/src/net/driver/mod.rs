//! The drivers: the interface between a worker's event loop and the kernel.
//!
//! There are two drivers. *epoll* reports a socket as ready, and the worker then reads and writes
//! it by a system call each. *io_uring* delivers the input of clients by itself and gathers
//! replies, and one call for all connections sends, waits and receives. Neither of them knows any
//! command. The worker is the same over both: it asks for events, hands over replies, and checks
//! [`Driver::pushes`] where the difference matters.

mod epoll;
mod uring;

use crate::server::Server;
use crate::services::stream::Stream;
use mio::Poll;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

/// A connection: its place, and its client's id, which distinguishes it from earlier connections at
/// the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) id: u64,
}

/// An event that a driver reports.
#[derive(Debug)]
pub(super) enum Event {
    /// The mailbox has messages.
    Mail,
    /// The socket at this place is ready; whether it can be written, and whether the client sends
    /// no more.
    Ready(usize, bool, bool),
    /// A client has sent these bytes.
    Received(Token, Bytes),
    /// A client sends no more.
    Closed(Token),
    /// A socket has failed.
    Failed(Token),
    /// Nothing more is received from a client until [`Driver::resume`].
    Paused(Token),
}

impl Event {
    /// The place of the connection that the event is about.
    pub(super) const fn at(&self) -> Option<usize> {
        match self {
            Self::Mail => None,
            Self::Ready(at, ..) => Some(*at),
            Self::Received(place, _)
            | Self::Closed(place)
            | Self::Failed(place)
            | Self::Paused(place) => Some(place.at),
        }
    }
}

/// Bytes that a client has sent, in memory that the driver gets back.
#[derive(Debug)]
pub(super) enum Bytes {
    Read(Box<[u8]>, usize),
    Received(::uring::Buffer),
}

impl Bytes {
    /// Whether the bytes fill their memory, so that there may be more to read.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Read(memory, len) if *len == memory.len())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Read(memory, len) => &memory[..*len],
            Self::Received(buffer) => buffer,
        }
    }
}

/// A way to wait for clients, to receive from them and to reply.
pub(super) trait Driver {
    /// Its name in INFO.
    fn name(&self) -> &'static str;

    /// Sends the gathered replies, and waits for events, at most for `most`.
    fn wait(&mut self, most: Duration, events: &mut VecDeque<Event>) -> io::Result<()>;

    /// Reports events of a connection from here on.
    fn join(&mut self, stream: &mut Stream, place: Token) -> io::Result<()>;

    /// Ends the reports about a connection that is about to be closed.
    fn leave(&mut self, stream: &mut Stream, place: Token);

    /// Switches on or off the report that the socket accepts more bytes.
    fn watch_room(&mut self, stream: &mut Stream, place: Token, wanted: bool) -> io::Result<()>;

    /// Reads from a ready socket.
    fn read(&mut self, stream: &mut Stream) -> io::Result<Bytes>;

    /// Takes back the memory of bytes that a client sent.
    fn give_back(&mut self, bytes: Bytes);

    /// Whether the input of this client arrives by itself, and its replies are gathered.
    fn pushes(&self, stream: &Stream) -> bool;

    /// Receives nothing from a client for a while. [`Event::Paused`] reports when the pause begins.
    fn pause(&mut self, place: Token);

    /// Receives from a client again, if that was paused.
    fn resume(&mut self, stream: &Stream, place: Token) -> io::Result<()>;

    /// Gathers replies. The next [`Self::wait`] or [`Self::flush`] sends them.
    fn gather(&mut self, stream: &Stream, place: Token, replies: Vec<u8>);

    /// Sends the gathered replies at once.
    fn flush(&mut self, events: &mut VecDeque<Event>) -> io::Result<()>;

    /// Gathered replies that a socket did not accept as a whole, and the number of bytes it
    /// accepted. After each [`Self::wait`] and [`Self::flush`] they must be handled before anything
    /// else.
    fn unsent(&mut self) -> Option<(Token, Vec<u8>, usize)>;

    /// An empty buffer for replies.
    fn spare(&mut self) -> Vec<u8>;
}

/// The driver of a worker: io_uring if the kernel and the settings allow it.
pub(super) fn choose(poll: Poll, number: usize, server: &Server) -> Rc<RefCell<dyn Driver>> {
    use crate::settings::config::IoUring;
    let epoll = epoll::Epoll::new(poll);
    let wish = server.view().settings.io_uring;
    if wish == IoUring::No {
        return Rc::new(RefCell::new(epoll));
    }
    match uring::Uring::new(epoll) {
        Ok(uring) => Rc::new(RefCell::new(uring)),
        Err((epoll, error)) => {
            if number == 0 && wish == IoUring::Yes {
                tracing::warn!("io-uring yes: the kernel refuses ({error}); epoll serves instead");
            } else if number == 0 {
                tracing::info!("io_uring is not to be had here ({error}): epoll serves");
            }
            Rc::new(RefCell::new(epoll))
        }
    }
}
