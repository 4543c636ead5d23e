//! The mailbox of a worker: messages from other threads.

use super::clients::{ClientTable, Peer};
use super::pubsub::Publication;
use super::stream::Stream;
use mio::{Registry, Token, Waker};
use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};

/// The token of a mailbox among the events of a poll.
pub(crate) const MAIL: Token = Token(usize::MAX);
/// The token of an acceptor among the events of the only worker's poll.
pub(crate) const CONNECTIONS: Token = Token(usize::MAX - 1);

/// A message to a worker.
#[derive(Debug)]
pub(crate) enum Message {
    /// A new connection.
    Connect(Stream, Peer),
    /// Close the client with this id at this place.
    Kill(usize, u64),
    /// A key is ready for which the client with this id at this place waits.
    Ready(usize, u64),
    /// The wait of the client with this id at this place ends; whether with an error.
    Unblock(usize, u64, bool),
    /// A published message for the client with this id at this place.
    Publish(usize, u64, Publication),
    /// Users have changed: some clients may have to go, or lose subscriptions.
    Users,
    /// A monitor line for the client with this id at this place.
    Line(usize, u64, Vec<u8>),
    /// An invalidation for the client with this id at this place, already encoded.
    Told(usize, u64, Vec<u8>),
}

impl Message {
    /// The place of the connection that the message is about.
    pub(crate) const fn at(&self) -> Option<usize> {
        match self {
            Self::Connect(..) | Self::Users => None,
            Self::Kill(at, _)
            | Self::Ready(at, _)
            | Self::Unblock(at, ..)
            | Self::Publish(at, ..)
            | Self::Line(at, ..)
            | Self::Told(at, ..) => Some(*at),
        }
    }
}

/// The messages for a worker, and the means to wake it.
#[derive(Debug)]
pub(crate) struct Mailbox {
    messages: Mutex<VecDeque<Message>>,
    waker: Waker,
}

impl Mailbox {
    pub(crate) fn new(registry: &Registry) -> io::Result<Self> {
        Ok(Self { messages: Mutex::default(), waker: Waker::new(registry, MAIL)? })
    }

    /// Adds a message, and wakes the worker if needed.
    pub(crate) fn send(&self, message: Message) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let first = messages.is_empty();
        messages.push_back(message);
        drop(messages);
        if first {
            self.wake();
        }
    }

    /// Adds a message from the worker itself, which takes it next.
    pub(crate) fn leave(&self, message: Message) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push_back(message);
    }

    /// Wakes the worker.
    pub(crate) fn wake(&self) {
        // This fails only if the worker's poll is gone, and then no thread reads the mail.
        let _ = self.waker.wake();
    }

    /// The number of waiting messages.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(crate) fn take(&self) -> VecDeque<Message> {
        std::mem::take(&mut self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The means to send a message to a client: who is connected, and the mailboxes of the workers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mail<'a> {
    pub(crate) clients: &'a ClientTable,
    pub(crate) mailboxes: &'a [Mailbox],
}
