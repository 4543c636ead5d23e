//! The mailbox of a worker: messages from others.

use super::driver::MAIL;
use crate::clients::Peer;
use crate::connection::Stream;
use crate::pubsub::Publication;
use mio::{Registry, Waker};
use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};

/// A message to a worker.
#[derive(Debug)]
pub(crate) enum Message {
    /// A new connection.
    Connect(Stream, Peer),
    /// Close the client with this id at this place.
    Kill(usize, u64),
    /// A key is ready that the client with this id at this place waits for.
    Ready(usize, u64),
    /// The client with this id at this place waits no longer; whether that is an error.
    Unblock(usize, u64, bool),
    /// For the client with this id at this place.
    Publish(usize, u64, Publication),
    /// Users have changed: some may not stay, or listen where they do.
    Users,
    /// A line that the client with this id at this place watches for.
    Line(usize, u64, Vec<u8>),
    /// What the client with this id at this place is told of keys that it tracks.
    Told(usize, u64, Vec<u8>),
}

impl Message {
    /// Where the connection is that it is about.
    pub(super) const fn at(&self) -> Option<usize> {
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

/// Where a worker is told things.
#[derive(Debug)]
pub(crate) struct Mailbox {
    messages: Mutex<VecDeque<Message>>,
    waker: Waker,
}

impl Mailbox {
    pub(crate) fn new(registry: &Registry) -> io::Result<Self> {
        Ok(Self { messages: Mutex::default(), waker: Waker::new(registry, MAIL)? })
    }

    /// Tells the worker.
    pub(crate) fn send(&self, message: Message) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let first = messages.is_empty();
        messages.push_back(message);
        drop(messages);
        if first {
            self.wake();
        }
    }

    /// Makes the worker look.
    pub(crate) fn wake(&self) {
        // Fails only if the worker's poll is gone, and then nobody reads the mail.
        let _ = self.waker.wake();
    }

    /// Messages that wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(super) fn take(&self) -> VecDeque<Message> {
        std::mem::take(&mut self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
