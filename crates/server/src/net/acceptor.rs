//! The acceptor: hands new connections to the workers in turn.
//!
//! There is one acceptor, not a listener for each worker. With few clients the kernel's choice
//! among several listeners leaves workers idle beside busy ones. It has a thread of its own where
//! there are several workers. A single worker accepts for itself, because waking another thread
//! would cost a third of a connection that lives for one request.

use super::listener::{Listener, hand_down};
use crate::facts::Speaks;
use crate::server::Server;
use crate::services::clients::Peer;
use crate::services::mail::{CONNECTIONS, Message};
use crate::services::stream::Stream;
use crate::services::tls_stream::TlsStream;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token};
use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

/// The token of the acceptor's mailbox.
const MAIL: Token = Token(usize::MAX);
/// The pause after the system refused a connection because file descriptors are scarce.
const PAUSE: Duration = Duration::from_millis(20);

/// The listeners, and the turn of the workers.
#[derive(Debug)]
pub(crate) struct Acceptor {
    poll: Poll,
    events: Events,
    listeners: Vec<Listener>,
    server: Arc<Server>,
    next: usize,
    /// Listeners with more connections than could be accepted at that moment.
    again: Vec<usize>,
    /// Whether the only worker accepts, which then reads its mail.
    is_joined: bool,
    /// The keepalive that connections inherit, in seconds.
    keepalive: u64,
}

/// Wakes an [`Acceptor`], so that it notices the end of the server.
pub(crate) type Bell = mio::Waker;

impl Acceptor {
    pub(crate) fn new(
        mut listeners: Vec<Listener>,
        server: Arc<Server>,
    ) -> io::Result<(Self, Bell)> {
        let poll = Poll::new()?;
        let bell = mio::Waker::new(poll.registry(), MAIL)?;
        for (at, listener) in listeners.iter_mut().enumerate() {
            match listener {
                Listener::Tcp(source, ..) => {
                    poll.registry().register(source, Token(at), Interest::READABLE)?;
                }
                Listener::Unix(source, ..) => {
                    poll.registry().register(source, Token(at), Interest::READABLE)?;
                }
            }
        }
        let keepalive = server.view.now().settings.tcp_keepalive;
        let (again, is_joined, events) = (vec![], false, Events::with_capacity(64));
        Ok((Self { poll, events, listeners, server, next: 0, again, is_joined, keepalive }, bell))
    }

    /// Lets the poll of the only worker report new connections.
    pub(crate) fn join(&mut self, registry: &Registry) -> io::Result<()> {
        self.is_joined = true;
        registry.register(&mut SourceFd(&self.poll.as_raw_fd()), CONNECTIONS, Interest::READABLE)
    }

    /// Accepts connections until the server ends.
    pub(crate) fn run(mut self) {
        while !self.server.process.is_stopping() && self.accept(None).is_ok() {}
    }

    /// The time after which refused connections are due again, if there are any.
    pub(super) const fn pause(&self) -> Option<Duration> {
        if self.again.is_empty() { None } else { Some(PAUSE) }
    }

    /// Waits for connections, for at most `most`, and hands all of them over.
    pub(super) fn accept(&mut self, most: Option<Duration>) -> io::Result<()> {
        let most = most.or(self.pause());
        if let Err(error) = self.poll.poll(&mut self.events, most)
            && error.kind() != io::ErrorKind::Interrupted
        {
            tracing::error!(%error, "cannot wait for connections; the server accepts no more \
                                     of them");
            return Err(error);
        }
        let mut ready = std::mem::take(&mut self.again);
        ready.extend(self.events.iter().map(|event| event.token().0));
        ready.sort_unstable();
        ready.dedup();
        for at in ready {
            if at < self.listeners.len() && !self.accept_all(at) {
                self.again.push(at);
            }
        }
        Ok(())
    }

    /// Accepts all waiting connections of a listener. Returns false if the system refused one.
    fn accept_all(&mut self, at: usize) -> bool {
        let keepalive = self.server.view.now().settings.tcp_keepalive;
        if self.keepalive != keepalive {
            self.keepalive = keepalive;
            for listener in &self.listeners {
                if let Listener::Tcp(listener, ..) = listener {
                    hand_down(listener, keepalive);
                }
            }
        }
        loop {
            match self.listeners[at].accept() {
                Ok((stream, peer, ip)) => self.hand_over(stream, peer, ip),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                // The client disconnected before it was accepted.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                    ) => {}
                Err(error) => {
                    let now_ms = self.server.clock.micros().0 / 1_000;
                    self.server.clients.note_unaccepted(&error, now_ms);
                    return false;
                }
            }
        }
    }

    fn hand_over(&mut self, mut stream: Stream, peer: Peer, ip: Option<IpAddr>) {
        let view = self.server.view.now();
        let settings = &view.settings;
        let stranger = ip.is_some_and(|ip| !ip.to_canonical().is_loopback());
        let needs_token = peer.speaks == Speaks::Memcached && !view.tokens.is_empty();
        if settings.protected_mode && settings.is_open() && !needs_token && stranger {
            // The client learns which setting to change, but nothing about the server.
            let _ = stream.write(match peer.speaks {
                Speaks::Redis => b"-DENIED Larder runs in protected mode: no password is set, so \
                  only clients of the same machine are served. Set requirepass, or protected-mode \
                  no.\r\n"
                    .as_slice(),
                Speaks::Memcached => {
                    b"SERVER_ERROR protected mode: set memcached-auth-file, or \
                  protected-mode no\r\n"
                }
            });
            return;
        }
        if peer.tls {
            let Some(config) = &view.tls else { return };
            let Stream::Tcp(socket) = stream else { return };
            match TlsStream::new(socket, config.clone()) {
                Ok(encrypted) => stream = Stream::Tls(Box::new(encrypted)),
                Err(error) => {
                    tracing::warn!(%error, "cannot set up a TLS connection");
                    return;
                }
            }
        }
        self.next = (self.next + 1) % self.server.clients.mailboxes().len();
        let message = Message::Connect(stream, peer);
        if self.is_joined {
            self.server.clients.mailboxes()[self.next].leave(message);
        } else {
            self.server.clients.send(self.next, message);
        }
    }
}
