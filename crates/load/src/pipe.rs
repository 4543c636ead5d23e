//! The bytes of one connection, whatever the protocol, with buffers for both directions.
//!
//! A server that cannot write its replies stops reading; memcached does so after a few hundred
//! kilobytes. A client that sends many requests before it reads would then wait for a server that
//! waits for the client. So a stalled write reads the replies that have arrived meanwhile.
//!
//! A server named on a command line may be anything. [`Bounds`] limit what the client accepts: the
//! bytes of one answer, and the time for one, however slowly the bytes arrive.

use anyhow::{Context, bail, ensure};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use wire::address::Address;

/// A server that sends nothing, or accepts nothing, for this time counts as dead.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// A write that makes no progress for this time reads replies.
const STALL: Duration = Duration::from_millis(10);

/// Limits on the answers of a server.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of one answer.
    pub bytes: usize,
    /// Time for one answer, from the end of the request on, and for connecting.
    pub time: Duration,
}

impl Bounds {
    /// For a server that the user loads, which is slow because of the load.
    pub const LOADED: Self = Self { bytes: usize::MAX, time: Duration::MAX };
    /// For any other server.
    pub const STRANGER: Self = Self { bytes: 64 << 20, time: Duration::from_secs(10) };
}

/// A connection and its buffers.
#[derive(Debug)]
pub struct Pipe {
    stream: TcpStream,
    place: String,
    /// The bytes that [`Self::flush`] sends.
    pub outgoing: Vec<u8>,
    /// The bytes from `read` to `filled` have arrived and wait.
    incoming: Vec<u8>,
    read: usize,
    filled: usize,
    bounds: Bounds,
    /// When the wait for the current answer began.
    asked: Instant,
}

impl Pipe {
    /// Connects.
    pub fn connect(to: &Address, bounds: Bounds) -> anyhow::Result<Self> {
        let place = format!("{}:{}", to.host, to.port);
        let stream = reach(to, bounds.time).with_context(|| {
            format!(
                "cannot connect to {place}: check that a server is running there, or name the \
                 address of another one"
            )
        })?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        stream.set_write_timeout(Some(STALL))?;
        let (outgoing, incoming) = (vec![], vec![0; 1 << 14]);
        let asked = Instant::now();
        Ok(Self { stream, place, outgoing, incoming, read: 0, filled: 0, bounds, asked })
    }

    /// Host and port, for messages.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The bytes that have arrived and were not consumed.
    pub fn arrived(&self) -> &[u8] {
        &self.incoming[self.read..self.filled]
    }

    /// Drops the first `length` bytes that have arrived.
    pub const fn consume(&mut self, length: usize) {
        self.read += length;
    }

    /// The stream, and the bytes that have arrived on it.
    pub fn into_parts(self) -> anyhow::Result<(TcpStream, Vec<u8>)> {
        let arrived = self.arrived().to_vec();
        self.stream.set_write_timeout(None)?;
        Ok((self.stream, arrived))
    }

    /// Starts the time limit for the next answer.
    pub fn await_next(&mut self) {
        self.asked = Instant::now();
    }

    /// Sends all buffered bytes.
    pub fn flush(&mut self) -> anyhow::Result<()> {
        let (mut sent, mut moved) = (0, Instant::now());
        while sent < self.outgoing.len() {
            match self.stream.write(&self.outgoing[sent..]) {
                Ok(0) => bail!("{} closed the connection", self.place),
                Ok(written) => (sent, moved) = (sent + written, Instant::now()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_stall(&error) && moved.elapsed() < self.patience() => {
                    self.stream.set_nonblocking(true)?;
                    let taken = self.take_in();
                    self.stream.set_nonblocking(false)?;
                    taken?;
                }
                Err(error) => return Err(error).with_context(|| self.lost()),
            }
        }
        self.outgoing.clear();
        self.await_next();
        Ok(())
    }

    /// Reads the bytes that are there, on a non-blocking stream.
    fn take_in(&mut self) -> anyhow::Result<()> {
        loop {
            self.make_room()?;
            match self.stream.read(&mut self.incoming[self.filled..]) {
                Ok(0) => bail!("{} closed the connection", self.place),
                Ok(got) => self.filled += got,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_stall(&error) => return Ok(()),
                Err(error) => return Err(error).with_context(|| self.lost()),
            }
        }
    }

    /// Waits until more bytes arrive.
    pub fn fill(&mut self) -> anyhow::Result<()> {
        self.make_room()?;
        let Bounds { time, .. } = self.bounds;
        let got = loop {
            if time < Duration::MAX {
                let left = time.saturating_sub(self.asked.elapsed());
                ensure!(left > Duration::ZERO, self.silent(time));
                self.stream.set_read_timeout(Some(left.min(SILENCE_MAX)))?;
            }
            match self.stream.read(&mut self.incoming[self.filled..]) {
                Ok(0) => bail!("{} closed the connection", self.place),
                Ok(got) => break got,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_stall(&error) => bail!(self.silent(self.patience())),
                Err(error) => return Err(error).with_context(|| self.lost()),
            }
        };
        self.filled += got;
        Ok(())
    }

    fn patience(&self) -> Duration {
        self.bounds.time.min(SILENCE_MAX)
    }

    fn make_room(&mut self) -> anyhow::Result<()> {
        let (held, most) = (self.filled - self.read, self.bounds.bytes);
        ensure!(held < most, "the answer of {} is longer than {} MiB", self.place, most >> 20);
        if self.read > 0 {
            self.incoming.copy_within(self.read..self.filled, 0);
            self.filled -= self.read;
            self.read = 0;
        }
        if self.filled == self.incoming.len() {
            self.incoming.resize(2 * self.filled, 0);
        }
        Ok(())
    }

    fn silent(&self, time: Duration) -> String {
        format!("{} did not answer within {} s", self.place, time.as_secs_f64())
    }

    fn lost(&self) -> String {
        format!("connection to {} lost", self.place)
    }
}

/// Connects to the first address of a host that answers in time.
fn reach(to: &Address, time: Duration) -> std::io::Result<TcpStream> {
    if time == Duration::MAX {
        return TcpStream::connect((to.host.as_str(), to.port));
    }
    let mut last = std::io::Error::other("the host has no address");
    for address in (to.host.as_str(), to.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, time) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn is_stall(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// The server reads nothing until the client takes its replies.
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
        let mut pipe = Pipe::connect(&to, Bounds::LOADED).unwrap();
        pipe.outgoing.resize(MUCH, b'q');
        pipe.flush().unwrap();
        while pipe.arrived().len() < MUCH {
            pipe.fill().unwrap();
        }
        assert!(pipe.arrived().iter().all(|byte| *byte == b'r'));
        server.join().unwrap();
    }

    /// An answer without end, and an answer whose bytes arrive too slowly to end in time.
    #[test]
    fn a_server_without_bounds_is_left() {
        let server = |piece: &'static [u8], pause: Duration| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let to = Address::loopback(listener.local_addr().unwrap().port());
            std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                while stream.write_all(piece).is_ok() {
                    std::thread::sleep(pause);
                }
            });
            to
        };
        for (piece, pause, why) in [
            (&[b'r'; 1 << 13][..], Duration::ZERO, "longer than 1 MiB"),
            (b"r", Duration::from_millis(5), "within 0.2 s"),
        ] {
            let bounds = Bounds { bytes: 1 << 20, time: Duration::from_millis(200) };
            let bounds = if pause.is_zero() {
                Bounds { time: Duration::from_secs(30), ..bounds }
            } else {
                bounds
            };
            let mut pipe = Pipe::connect(&server(piece, pause), bounds).unwrap();
            let error = loop {
                if let Err(error) = pipe.fill() {
                    break error.to_string();
                }
            };
            assert!(error.contains(why), "{error}");
        }
    }
}
