//! A connection to a stock server.

use crate::process::Process;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A connection.
pub(crate) struct Client(BufReader<TcpStream>);

impl Client {
    pub(crate) fn connect(server: &Process) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", server.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Sends bytes that have no reply.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.0.get_mut().write_all(bytes)?)
    }

    /// Sends commands at once; returns the texts of their replies.
    pub(crate) fn ask(&mut self, commands: &[Vec<String>]) -> Result<Vec<String>> {
        let mut bytes = vec![];
        for words in commands {
            write!(bytes, "*{}\r\n", words.len())?;
            for word in words {
                write!(bytes, "${}\r\n{word}\r\n", word.len())?;
            }
        }
        self.0.get_mut().write_all(&bytes)?;
        commands.iter().map(|_| self.reply()).collect()
    }

    fn reply(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.0.read_line(&mut line)? > 0, "the server closed the connection");
        let rest = line.trim_end().get(1..).context("an empty reply")?;
        match (&line[..1], rest.parse::<i64>()) {
            ("$", Ok(length @ 0..)) => {
                let mut bulk = vec![0; length as usize + 2];
                self.0.read_exact(&mut bulk)?;
                Ok(String::from_utf8_lossy(&bulk).into_owned())
            }
            ("*", Ok(length)) => {
                let all: Result<Vec<_>> = (0..length).map(|_| self.reply()).collect();
                Ok(all?.join("\n"))
            }
            _ => Ok(rest.to_owned()),
        }
    }
}

/// A command of words without blanks.
pub(crate) fn words(line: &str) -> [Vec<String>; 1] {
    [line.split(' ').map(str::to_owned).collect()]
}
