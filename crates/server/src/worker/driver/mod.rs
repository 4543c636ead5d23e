//! What a worker waits with: the seam between its event loop and the kernel.
//!
//! There are two drivers. By *epoll* a socket is reported as ready; it is then read, and written
//! to, by a system call each. By *io_uring* what clients send arrives by itself, replies are
//! gathered, and one call for all connections sends, waits and receives. Neither knows a command.
//! The worker is the same over both: it asks for events, hands over replies, and asks
//! [`Driver::pushes`] where it matters who reads.

mod epoll;
mod uring;

use crate::connection::Stream;
use crate::shared::Shared;
use mio::{Poll, Token};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

/// The token of the mailbox.
pub(super) const MAIL: Token = Token(usize::MAX);

/// A connection: where it is, and the number of its client, which tells it from those that were at
/// the same place before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: usize,
    pub(super) id: u64,
}

/// What has happened.
#[derive(Debug)]
pub(super) enum Event {
    /// There is mail.
    Mail,
    /// A socket can be read or written to; whether written to, and whether the client sends no
    /// more.
    Ready(usize, bool, bool),
    /// A client has sent this.
    Received(Place, Bytes),
    /// A client sends no more.
    Closed(Place),
    /// A socket has failed.
    Failed(Place),
    /// Nothing is received from a client until [`Driver::resume`].
    Paused(Place),
}

impl Event {
    /// Where the connection is that it is about.
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

/// Bytes that a client has sent, and the memory they lie in, which the driver wants back.
#[derive(Debug)]
pub(super) enum Bytes {
    Read(Box<[u8]>, usize),
    Received(::uring::Buffer),
}

impl Bytes {
    /// Whether all its memory was filled, so that there may be more to read.
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

/// A way to wait for clients, to hear them and to answer.
pub(super) trait Driver {
    /// Its name in INFO.
    fn name(&self) -> &'static str;

    /// Sends what is gathered, and waits for events, no longer than `most`.
    fn wait(&mut self, most: Duration, events: &mut VecDeque<Event>) -> io::Result<()>;

    /// Tells of a connection from here on.
    fn join(&mut self, stream: &mut Stream, place: Place) -> io::Result<()>;

    /// Tells nothing of a connection any more, which is about to be closed.
    fn leave(&mut self, stream: &mut Stream, place: Place);

    /// Tells when the socket takes more, or no longer.
    fn watch_room(&mut self, stream: &mut Stream, place: Place, wanted: bool) -> io::Result<()>;

    /// Reads what a ready socket holds.
    fn read(&mut self, stream: &mut Stream) -> io::Result<Bytes>;

    /// Takes the memory of what a client has sent.
    fn give_back(&mut self, bytes: Bytes);

    /// Whether what this client sends arrives by itself, and its replies are gathered.
    fn pushes(&self, stream: &Stream) -> bool;

    /// Receives nothing from a client for a while: [`Event::Paused`] says from when on.
    fn pause(&mut self, place: Place);

    /// Receives from a client again, if that was paused.
    fn resume(&mut self, stream: &Stream, place: Place) -> io::Result<()>;

    /// Gathers replies, which the next [`Self::wait`] or [`Self::flush`] sends.
    fn gather(&mut self, stream: &Stream, place: Place, replies: Vec<u8>);

    /// Sends what is gathered at once.
    fn flush(&mut self, events: &mut VecDeque<Event>) -> io::Result<()>;

    /// Gathered replies that a socket did not take whole, and how much of them it took. After each
    /// [`Self::wait`] and [`Self::flush`] they come before anything else.
    fn unsent(&mut self) -> Option<(Place, Vec<u8>, usize)>;

    /// Empty memory for replies.
    fn spare(&mut self) -> Vec<u8>;
}

/// The driver of a worker: io_uring where it is allowed, by the kernel and by the settings.
pub(super) fn choose(poll: Poll, number: usize, shared: &Shared) -> Rc<RefCell<dyn Driver>> {
    use crate::config::IoUring;
    let epoll = epoll::Epoll::new(poll);
    let wish = shared.view().settings.io_uring;
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
