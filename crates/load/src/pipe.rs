//! The bytes of one connection, whatever is spoken on it: out and in through buffers of its own.
//!
//! A server that cannot write its replies stops to read: memcached does so after a few hundred
//! kilobytes. A client that sends many requests at once, and reads only when all are sent, would
//! then wait for a server that waits for the client. So a write that does not get on takes in what
//! has arrived meanwhile.

use crate::address::Address;
use anyhow::{Context, bail};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A server that says nothing for so long, or takes nothing, is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// A write that does not get on for so long looks for replies.
const STALL: Duration = Duration::from_millis(10);

/// A connection and its buffers.
#[derive(Debug)]
pub(crate) struct Pipe {
    stream: TcpStream,
    place: String,
    /// What [`Self::flush`] sends.
    pub(crate) outgoing: Vec<u8>,
    /// Bytes that arrived are those from `read` to `filled`.
    incoming: Vec<u8>,
    read: usize,
    filled: usize,
}

impl Pipe {
    pub(crate) fn connect(to: &Address) -> anyhow::Result<Self> {
        let place = format!("{}:{}", to.host, to.port);
        let stream = TcpStream::connect((to.host.as_str(), to.port))
            .with_context(|| format!("cannot connect to {place}: is a server running there?"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        stream.set_write_timeout(Some(STALL))?;
        let (outgoing, incoming) = (vec![], vec![0; 1 << 14]);
        Ok(Self { stream, place, outgoing, incoming, read: 0, filled: 0 })
    }

    /// Host and port, for what is said of it.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// What has arrived and was not consumed.
    pub(crate) fn arrived(&self) -> &[u8] {
        &self.incoming[self.read..self.filled]
    }

    /// Drops the first bytes of what has arrived.
    pub(crate) const fn consume(&mut self, length: usize) {
        self.read += length;
    }

    /// The connection, and what has arrived on it.
    pub(crate) fn into_parts(self) -> anyhow::Result<(TcpStream, Vec<u8>)> {
        let arrived = self.arrived().to_vec();
        self.stream.set_write_timeout(None)?;
        Ok((self.stream, arrived))
    }

    /// Sends what was put.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        let (mut sent, mut moved) = (0, Instant::now());
        while sent < self.outgoing.len() {
            match self.stream.write(&self.outgoing[sent..]) {
                Ok(0) => bail!("{} closed the connection", self.place),
                Ok(written) => (sent, moved) = (sent + written, Instant::now()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_stall(&error) && moved.elapsed() < SILENCE_MAX => {
                    self.stream.set_nonblocking(true)?;
                    let taken = self.take_in();
                    self.stream.set_nonblocking(false)?;
                    taken?;
                }
                Err(error) => return Err(error).with_context(|| self.lost()),
            }
        }
        self.outgoing.clear();
        Ok(())
    }

    /// Takes what is there, on a connection that does not wait.
    fn take_in(&mut self) -> anyhow::Result<()> {
        loop {
            self.make_room();
            match self.stream.read(&mut self.incoming[self.filled..]) {
                Ok(0) => bail!("{} closed the connection", self.place),
                Ok(got) => self.filled += got,
                Err(error) if is_stall(&error) => return Ok(()),
                Err(error) => return Err(error).with_context(|| self.lost()),
            }
        }
    }

    /// Waits until more has arrived.
    pub(crate) fn fill(&mut self) -> anyhow::Result<()> {
        self.make_room();
        let got = self.stream.read(&mut self.incoming[self.filled..]);
        match got.with_context(|| self.lost())? {
            0 => bail!("{} closed the connection", self.place),
            got => self.filled += got,
        }
        Ok(())
    }

    fn make_room(&mut self) {
        if self.read > 0 {
            self.incoming.copy_within(self.read..self.filled, 0);
            self.filled -= self.read;
            self.read = 0;
        }
        if self.filled == self.incoming.len() {
            self.incoming.resize(2 * self.filled, 0);
        }
    }

    fn lost(&self) -> String {
        format!("connection to {} lost", self.place)
    }
}

fn is_stall(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// The server reads nothing while the client does not take its replies.
    #[test]
    fn a_server_that_waits_for_its_reader_is_read() {
        const MUCH: usize = 32 << 20;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = Address::loopback(listener.local_addr().unwrap().port());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(&vec![b'r'; MUCH]).unwrap();
            let mut asked = vec![0; MUCH];
            stream.read_exact(&mut asked).unwrap();
        });
        let mut pipe = Pipe::connect(&to).unwrap();
        pipe.outgoing.resize(MUCH, b'q');
        pipe.flush().unwrap();
        while pipe.arrived().len() < MUCH {
            pipe.fill().unwrap();
        }
        assert!(pipe.arrived().iter().all(|byte| *byte == b'r'));
        server.join().unwrap();
    }
}
