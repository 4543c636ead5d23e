//! A client's socket, plain or encrypted.

use super::tls_stream::TlsStream;
use mio::Interest;
use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// A TCP or Unix socket, or an encrypted TCP socket.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream>),
}

/// Reads by a system call, without the C library's handling of thread cancellation.
fn receive(socket: impl AsFd, into: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::net::recv(socket, into, RecvFlags::empty())?.0)
}

/// Writes in the same way.
fn send(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)?)
}

impl Stream {
    /// The socket in the form that mio registers.
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

    /// The number of bytes that TLS has accepted and not sent yet.
    pub(crate) fn pending(&self) -> usize {
        if let Self::Tls(stream) = self { stream.pending() } else { 0 }
    }

    /// Sends the bytes that TLS has accepted.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        if let Self::Tls(stream) = self { stream.drain() } else { Ok(()) }
    }

    /// Closes the connection in both directions, even if other owners have the socket open.
    pub(crate) fn shut_down(&self) {
        // This fails if the other side has closed already.
        let _ = rustix::net::shutdown(self, Shutdown::Both);
    }

    /// Announces the end of the stream, if the protocol does that (TLS).
    pub(crate) fn say_goodbye(&mut self) {
        if let Self::Tls(stream) = self {
            stream.close();
        }
    }

    /// The events to watch for while no reply waits.
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
