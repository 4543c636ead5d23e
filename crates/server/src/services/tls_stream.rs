//! An encrypted stream.
//!
//! To a worker the stream behaves like a socket. A read returns the bytes that have arrived or
//! would block, and a write accepts as much as it can. Encrypted bytes that the socket has not
//! accepted yet wait in the stream, and count as waiting replies. The socket is always watched for
//! writing, because a handshake must write as well. Events are edge-triggered, so this costs
//! nothing.

use crate::text::buffers::give_back;
use mio::net::TcpStream;
use rustls::{ServerConfig, ServerConnection};
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

/// The number of bytes that are encrypted at once.
const CHUNK: usize = 64 << 10;

/// An encrypted connection of a client.
#[derive(Debug)]
pub(crate) struct TlsStream {
    pub(crate) socket: TcpStream,
    tls: ServerConnection,
    /// Encrypted bytes. The socket has accepted the first `written` of them.
    out: Vec<u8>,
    written: usize,
}

impl TlsStream {
    pub(crate) fn new(socket: TcpStream, config: Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        let mut tls = ServerConnection::new(config)?;
        // `CHUNK` and the waiting bytes bound what is accepted.
        tls.set_buffer_limit(None);
        Ok(Self { socket, tls, out: vec![], written: 0 })
    }

    /// The number of bytes that the socket has not accepted yet.
    pub(crate) fn pending(&self) -> usize {
        self.out.len() - self.written
    }

    /// Moves the bytes that rustls wants to send to the buffer for the socket.
    fn encrypt(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.out)?;
        }
        Ok(())
    }

    /// Writes the waiting bytes.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        while self.pending() > 0 {
            match self.socket.write(&self.out[self.written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => self.written += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.written = 0;
        give_back(&mut self.out);
        Ok(())
    }

    /// Encrypts, and writes as much as the socket accepts now.
    fn send(&mut self) -> io::Result<()> {
        self.encrypt()?;
        match self.drain() {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Fills `into` with decrypted bytes, as far as they have arrived.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            match self.tls.reader().read(&mut into[filled..]) {
                Ok(0) => return Ok(filled),
                Ok(n) => {
                    filled += n;
                    if filled == into.len() {
                        return Ok(filled);
                    }
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The client closed the connection without a notice.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(filled),
                Err(error) => return Err(error),
            }
            match self.tls.read_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock && filled > 0 => {
                    return Ok(filled);
                }
                Err(error) => return Err(error),
            }
            let processed = self.tls.process_new_packets();
            // An alert tells the client the error.
            self.send()?;
            if let Err(error) = processed {
                tracing::debug!(%error, "closed a client's TLS connection");
                return Err(ErrorKind::InvalidData.into());
            }
        }
    }

    /// Accepts bytes to send. Returns how many it accepted.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.drain()?;
        let taken = self.tls.writer().write(&bytes[..bytes.len().min(CHUNK)])?;
        self.send()?;
        Ok(taken)
    }

    /// Announces the end of the stream.
    pub(crate) fn close(&mut self) {
        self.tls.send_close_notify();
        // A client that has disconnected gets no notice.
        let _ = self.send();
    }
}
