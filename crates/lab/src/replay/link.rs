//! One connection to a server: commands out, replies in, both through buffers of its own.

use super::address::Address;
use anyhow::{Context, bail};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use wire::resp::{Reply, encode_command};

/// A server that says nothing for so long is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A connection that is logged in and has its database selected.
#[derive(Debug)]
pub struct Link {
    stream: TcpStream,
    place: String,
    outgoing: Vec<u8>,
    /// Bytes that arrived are those from `read` to `filled`.
    incoming: Vec<u8>,
    read: usize,
    filled: usize,
}

impl Link {
    /// Connects, logs in, and selects database `db`.
    ///
    /// # Errors
    /// Nobody listens there, or the server refuses.
    pub fn connect(to: &Address, db: u32) -> anyhow::Result<Self> {
        let place = format!("{}:{}", to.host, to.port);
        let stream = TcpStream::connect((to.host.as_str(), to.port))
            .with_context(|| format!("cannot connect to {place}: is a server running there?"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        let (outgoing, incoming) = (vec![], vec![0; 1 << 14]);
        let mut link = Self { stream, place, outgoing, incoming, read: 0, filled: 0 };
        match &to.login {
            Some((user, password)) if user.is_empty() => link.ask(&["AUTH", password])?,
            Some((user, password)) => link.ask(&["AUTH", user, password])?,
            None => {}
        }
        if db > 0 {
            link.ask(&["SELECT", &db.to_string()])?;
        }
        Ok(link)
    }

    /// Sends one command whose reply must not be an error.
    fn ask(&mut self, args: &[&str]) -> anyhow::Result<()> {
        self.put(args);
        self.flush()?;
        let refused = self.reply(|reply| match reply {
            Reply::Error(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        })?;
        match refused {
            // The arguments may hold a password: only the command is named.
            Some(text) => bail!("{} refuses {}: {text}", self.place, args[0]),
            None => Ok(()),
        }
    }

    /// Sends a command after which the server speaks unasked, and gives the connection away with
    /// what has arrived behind the answer; or tells the refusal.
    ///
    /// # Errors
    /// The connection is gone.
    pub(crate) fn listen(
        mut self,
        args: &[&str],
    ) -> anyhow::Result<Result<(TcpStream, Vec<u8>), String>> {
        self.put(args);
        self.flush()?;
        let refused = self.reply(|reply| match reply {
            Reply::Error(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        })?;
        let arrived = self.incoming[self.read..self.filled].to_vec();
        Ok(refused.map_or(Ok((self.stream, arrived)), Err))
    }

    /// Adds a command to what [`Self::flush`] sends.
    pub fn put<A: AsRef<[u8]>>(&mut self, args: &[A]) {
        encode_command(&mut self.outgoing, args);
    }

    /// Sends what was put.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn flush(&mut self) -> anyhow::Result<()> {
        let sent = self.stream.write_all(&self.outgoing);
        self.outgoing.clear();
        sent.with_context(|| format!("connection to {} lost", self.place))
    }

    /// Waits for the next reply and shows it.
    ///
    /// # Errors
    /// The connection is gone, or what came is no reply.
    pub fn reply<T>(&mut self, see: impl FnOnce(&Reply<'_>) -> T) -> anyhow::Result<T> {
        loop {
            let arrived = &self.incoming[self.read..self.filled];
            let decoded = Reply::decode(arrived);
            if let Some((reply, length)) = decoded.with_context(|| self.place.clone())? {
                let seen = see(&reply);
                self.read += length;
                return Ok(seen);
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> anyhow::Result<()> {
        if self.read > 0 {
            self.incoming.copy_within(self.read..self.filled, 0);
            self.filled -= self.read;
            self.read = 0;
        }
        if self.filled == self.incoming.len() {
            self.incoming.resize(2 * self.filled, 0);
        }
        let got = self.stream.read(&mut self.incoming[self.filled..]);
        match got.with_context(|| format!("connection to {} lost", self.place))? {
            0 => bail!("{} closed the connection", self.place),
            got => self.filled += got,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn server(replies: &'static [&'static [u8]]) -> Address {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for reply in replies {
                stream.write_all(reply).unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Address::loopback(port)
    }

    /// Replies come in pieces and several at once, and are longer than the buffer at its start.
    #[test]
    fn replies_are_put_together() {
        const LONG: usize = 100_000;
        static MANY: [u8; LONG] = [b'x'; LONG];
        static REPLIES: [&[u8]; 4] = [b":1\r\n$3\r\na", b"bc\r\n$100000\r\n", &MANY, b"\r\n-E\r\n"];
        let mut link = Link::connect(&server(&REPLIES), 0).unwrap();
        assert!(link.reply(|reply| *reply == Reply::Integer(1)).unwrap());
        assert!(link.reply(|reply| *reply == Reply::Bulk(b"abc")).unwrap());
        assert_eq!(link.reply(|reply| reply.as_bytes().map(<[u8]>::len)).unwrap(), Some(LONG));
        assert!(link.reply(|reply| *reply == Reply::Error(b"E")).unwrap());
        assert!(link.reply(|_| ()).unwrap_err().to_string().contains("closed the connection"));
    }

    #[test]
    fn a_refusal_is_told_without_the_password() {
        let mut to = server(&[b"-WRONGPASS no\r\n"]);
        to.login = Some((String::new(), "secret".into()));
        let text = Link::connect(&to, 0).unwrap_err().to_string();
        assert!(text.contains("refuses AUTH: WRONGPASS") && !text.contains("secret"), "{text}");
    }
}
