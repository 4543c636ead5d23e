//! One client's socket and the bytes that wait on either side of it.

use crate::listen::Speaks;
use crate::session::Session;
use crate::tls::TlsStream;
use mio::Interest;
use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use wire::{memcached, resp};

/// A buffer that has grown beyond this is given back when it is empty.
const KEEP_MAX: usize = 16 << 10;

/// A socket of either family, or an encrypted one.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream>),
}

/// Reads without what the C library does about threads that may be cancelled.
fn receive(socket: impl AsFd, into: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::net::recv(socket, into, RecvFlags::empty())?.0)
}

/// Writes in the same way.
fn send(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)?)
}

impl Stream {
    /// As mio registers it.
    pub(crate) fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Tcp(stream) => stream,
            Self::Unix(stream) => stream,
            Self::Tls(stream) => &mut stream.socket,
        }
    }

    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => receive(stream, into),
            Self::Unix(stream) => receive(stream, into),
            Self::Tls(stream) => stream.read(into),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => send(stream, bytes),
            Self::Unix(stream) => send(stream, bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    /// Bytes it has taken and not yet written.
    fn pending(&self) -> usize {
        if let Self::Tls(stream) = self { stream.pending() } else { 0 }
    }

    /// Writes what it has taken.
    fn drain(&mut self) -> io::Result<()> {
        if let Self::Tls(stream) = self { stream.drain() } else { Ok(()) }
    }

    /// Ends it in both directions, whoever else has it open.
    pub(crate) fn shut_down(&self) {
        // Fails where the other side has left already.
        let _ = rustix::net::shutdown(self, Shutdown::Both);
    }

    /// Says that nothing more comes, where that is said.
    fn say_goodbye(&mut self) {
        if let Self::Tls(stream) = self {
            stream.close();
        }
    }

    /// Events it is watched for while no reply waits.
    pub(crate) const fn interest(&self) -> Interest {
        match self {
            Self::Tls(_) => Interest::READABLE.add(Interest::WRITABLE),
            _ => Interest::READABLE,
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
            Self::Tls(stream) => stream.socket.as_fd(),
        }
    }
}

/// How a client's bytes are read.
#[derive(Debug)]
pub(crate) enum Codec {
    Redis(resp::Decoder),
    Memcached(Box<memcached::Decoder>),
}

impl Default for Codec {
    fn default() -> Self {
        Self::Redis(resp::Decoder::default())
    }
}

impl Codec {
    fn of(speaks: Speaks) -> Self {
        match speaks {
            Speaks::Redis => Self::default(),
            Speaks::Memcached => Self::Memcached(Box::default()),
        }
    }

    /// How many bytes the request being read has at least.
    pub(crate) fn wanted(&self) -> usize {
        match self {
            Self::Redis(decoder) => decoder.wanted(),
            Self::Memcached(decoder) => decoder.wanted(),
        }
    }

    fn shrink(&mut self) {
        match self {
            Self::Redis(decoder) => decoder.shrink(),
            Self::Memcached(decoder) => decoder.shrink(),
        }
    }
}

/// A client's connection, owned by one worker.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    pub(crate) session: Session,
    pub(crate) decoder: Codec,
    /// An unfinished command.
    pub(crate) input: Vec<u8>,
    /// Replies that the socket did not take yet; the first `written` bytes it did.
    output: Vec<u8>,
    written: usize,
    /// The output is to be sent with that of other connections, and does not wait.
    pub(crate) is_gathered: bool,
    /// It is told when the socket takes more.
    pub(crate) awaits_room: bool,
    /// Replies kept back while the client backs off.
    pub(crate) held: Vec<u8>,
    /// Bytes of replies to what is carried out in this turn, of those that are written already.
    pub(crate) replied: usize,
    /// The client sends no more; there may be something left to read.
    pub(crate) read_closed: bool,
    /// Since when the output is above the soft limit, in milliseconds of the server's clock.
    pub(crate) over_soft_since_ms: Option<u64>,
}

impl Connection {
    pub(crate) fn new(stream: Stream, session: Session) -> Self {
        Self {
            stream,
            decoder: Codec::of(session.client.speaks),
            session,
            input: vec![],
            output: vec![],
            written: 0,
            is_gathered: false,
            awaits_room: false,
            held: vec![],
            replied: 0,
            read_closed: false,
            over_soft_since_ms: None,
        }
    }

    /// Writes what was gathered, as far as the socket takes it now: the connection is about to be
    /// closed.
    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.is_gathered) {
            // Whoever has left already gets none.
            let _ = self.stream.write(&self.output);
        }
        self.stream.say_goodbye();
    }

    /// Bytes of replies that wait for the socket to take more.
    pub(crate) fn waiting(&self) -> usize {
        if self.is_gathered { 0 } else { self.backlog() }
    }

    /// Bytes of replies that are not sent yet, gathered or waiting.
    pub(crate) fn backlog(&self) -> usize {
        self.output.len() - self.written + self.stream.pending()
    }

    /// Gathers `replies` behind those that are, and leaves `spare` in their place.
    pub(crate) fn gather(&mut self, replies: &mut Vec<u8>, spare: impl FnOnce() -> Vec<u8>) {
        if self.is_gathered {
            self.output.append(replies);
        } else {
            self.is_gathered = true;
            self.output = std::mem::replace(replies, spare());
        }
    }

    /// Takes what was gathered.
    pub(crate) fn take_gathered(&mut self) -> Vec<u8> {
        self.is_gathered = false;
        std::mem::take(&mut self.output)
    }

    /// Of gathered replies the socket took the first `written` bytes alone.
    pub(crate) fn keep_unsent(&mut self, replies: Vec<u8>, written: usize) {
        self.output = replies;
        self.written = written;
    }

    /// Writes `replies`, or keeps what the socket does not take. Returns the bytes written.
    pub(crate) fn send(&mut self, replies: &[u8]) -> io::Result<usize> {
        if self.waiting() > 0 {
            // In order: nothing may pass what waits already.
            self.output.extend_from_slice(replies);
            return Ok(0);
        }
        let mut sent = 0;
        while sent < replies.len() {
            match self.stream.write(&replies[sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.output.extend_from_slice(&replies[sent..]);
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Writes what waits, as much as the socket takes. Returns the bytes written.
    pub(crate) fn flush(&mut self) -> io::Result<usize> {
        let before = self.written;
        while self.waiting() > 0 {
            let rest = &self.output[self.written..];
            let result = if rest.is_empty() {
                self.stream.drain().map(|()| None)
            } else {
                self.stream.write(rest).map(Some)
            };
            match result {
                Ok(Some(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.written += written.unwrap_or(0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(self.written - before);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let sent = self.written - before;
        self.written = 0;
        give_back(&mut self.output);
        Ok(sent)
    }

    /// Gives back memory that is not needed now.
    pub(crate) fn shrink(&mut self) {
        if self.input.is_empty() {
            give_back(&mut self.input);
            self.decoder.shrink();
        }
    }
}

/// Empties a buffer, and gives its memory back if it has grown large.
pub(crate) fn give_back(buffer: &mut Vec<u8>) {
    buffer.clear();
    if buffer.capacity() > KEEP_MAX {
        *buffer = vec![];
    }
}
