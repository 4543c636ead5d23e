//! The interface between a worker's event loop and the kernel.

use crate::services::stream::Stream;
use std::collections::VecDeque;
use std::io;
use std::ops::Deref;
use std::time::Duration;

/// A connection: its place, and its client's id, which distinguishes it from earlier connections at
/// the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::net) struct Token {
    pub(in crate::net) at: usize,
    pub(in crate::net) id: u64,
}

/// An event that a driver reports.
#[derive(Debug)]
pub(in crate::net) enum Event {
    /// The mailbox has messages.
    Mail,
    /// The acceptor has connections.
    Connections,
    /// A client has sent these bytes.
    Received(Token, Bytes),
    /// The client's socket has accepted replies that waited, or it has not accepted all gathered
    /// ones: [`Driver::unsent`] tells how many bytes wait now.
    Sent(Token),
    /// A client sends no more, and all of its bytes are reported. [`Driver::set_reading`] lets the
    /// driver report it again.
    HungUp(Token),
    /// A socket has failed.
    Failed(Token),
}

impl Event {
    /// The place of the connection that the event is about.
    pub(in crate::net) const fn at(&self) -> Option<usize> {
        match self {
            Self::Mail | Self::Connections => None,
            Self::Received(token, _)
            | Self::Sent(token)
            | Self::HungUp(token)
            | Self::Failed(token) => Some(token.at),
        }
    }
}

/// Bytes that a client has sent, in memory that the driver gets back.
#[derive(Debug)]
pub(in crate::net) enum Bytes {
    Read(Box<[u8]>, usize),
    Received(::uring::Buffer),
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

/// Numbers of bytes of replies that are not sent yet.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::net) struct Unsent {
    /// They wait until the socket accepts them.
    pub(in crate::net) waiting: usize,
    /// The next [`Driver::wait`] sends them.
    pub(in crate::net) gathered: usize,
}

/// A way to wait for clients, to receive from them and to reply.
pub(in crate::net) trait Driver {
    /// Its name in INFO.
    fn name(&self) -> &'static str;

    /// Sends the gathered replies, and waits for events, at most for `most`.
    fn wait(&mut self, most: Duration, events: &mut VecDeque<Event>) -> io::Result<()>;

    /// Takes a connection over, and reports its events from here on.
    fn add(&mut self, token: Token, stream: Stream) -> io::Result<()>;

    /// Closes a connection. Gathered replies are sent first, as far as the socket accepts them now.
    fn remove(&mut self, token: Token);

    /// Switches the input from a client on or off. After it is switched off, bytes that were
    /// already read may still be reported.
    fn set_reading(&mut self, token: Token, on: bool);

    /// Takes back the memory of bytes that a client sent.
    fn recycle(&mut self, bytes: Bytes);

    /// Sends replies to a client, now or together with those to other clients, at the latest in the
    /// next [`Self::wait`]. Empties `replies`. Returns the number of bytes that wait until the
    /// socket accepts them; gathered bytes do not count.
    fn send(&mut self, token: Token, replies: &mut Vec<u8>) -> io::Result<usize>;

    /// The bytes of replies to a client that are not sent yet.
    fn unsent(&self, token: Token) -> Unsent;
}
