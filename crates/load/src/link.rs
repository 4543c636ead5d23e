//! One connection to a server that speaks RESP: it sends commands and reads replies.

use crate::pipe::{Bounds, Pipe};
use anyhow::{Context, bail};
use base::printable;
use std::net::TcpStream;
use wire::address::Address;
use wire::resp::{Reply, encode_command};

/// A connection that is logged in and has selected its database.
#[derive(Debug)]
pub struct Link(Pipe);

impl Link {
    /// Connects, logs in, and selects database `db`.
    ///
    /// # Errors
    /// No server listens there, or the server refuses the login or the database.
    pub fn connect(to: &Address, db: u32) -> anyhow::Result<Self> {
        Self::within(to, db, Bounds::LOADED)
    }

    /// Connects like [`Self::connect`], with bounds for the server's answers.
    ///
    /// # Errors
    /// No server listens there, or the server refuses the login or the database.
    pub fn within(to: &Address, db: u32, bounds: Bounds) -> anyhow::Result<Self> {
        let mut link = Self(Pipe::connect(to, bounds)?);
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

    /// Sends one command; an error reply becomes an error.
    pub(crate) fn ask(&mut self, args: &[&str]) -> anyhow::Result<()> {
        match self.refusal(args)? {
            // The arguments may hold a password, so the error names the command only.
            Some(text) => bail!("{} refuses {}: {text}", self.0.place(), args[0]),
            None => Ok(()),
        }
    }

    /// Sends one command; returns the text of an error reply, if it is one.
    fn refusal(&mut self, args: &[&str]) -> anyhow::Result<Option<String>> {
        self.put(args);
        self.flush()?;
        self.reply(|reply| match reply {
            Reply::Error(text) => Some(printable(&String::from_utf8_lossy(text)).into_owned()),
            _ => None,
        })
    }

    /// Sends a command after which the server pushes data unasked. Returns the stream with the
    /// bytes that arrived behind the answer, or the text of an error reply.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn listen(mut self, args: &[&str]) -> anyhow::Result<Result<(TcpStream, Vec<u8>), String>> {
        Ok(match self.refusal(args)? {
            Some(text) => Err(text),
            None => Ok(self.0.into_parts()?),
        })
    }

    /// Adds a command to the bytes that [`Self::flush`] sends.
    pub fn put<A: AsRef<[u8]>>(&mut self, args: &[A]) {
        encode_command(&mut self.0.outgoing, args);
    }

    /// Sends all buffered commands.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn flush(&mut self) -> anyhow::Result<()> {
        self.0.flush()
    }

    /// Waits for the next reply and passes it to `see`.
    ///
    /// # Errors
    /// The connection is lost, or the bytes are no reply.
    pub fn reply<T>(&mut self, see: impl FnOnce(&Reply<'_>) -> T) -> anyhow::Result<T> {
        self.0.await_next();
        loop {
            let decoded = Reply::decode(self.0.arrived());
            if let Some((reply, length)) = decoded.with_context(|| self.0.place().to_owned())? {
                let seen = see(&reply);
                self.0.consume(length);
                return Ok(seen);
            }
            self.0.fill()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Duration;

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

    /// Replies arrive in pieces and several at once, and exceed the initial buffer.
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
