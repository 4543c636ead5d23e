//! A plain client for the tests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use wire::resp::{Reply, encode_command, split_line};

/// A connection that reads one reply at a time.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    bytes: Vec<u8>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { stream, bytes: vec![] }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The bytes of the next reply; empty once the server has closed the connection.
    pub(crate) fn reply(&mut self) -> Vec<u8> {
        let mut chunk = [0; 16 << 10];
        loop {
            if let Some((_, len)) = Reply::decode(&self.bytes).expect("a reply") {
                return self.bytes.drain(..len).collect();
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return vec![],
                Ok(n) => self.bytes.extend_from_slice(&chunk[..n]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return vec![],
                Err(error) => panic!("no reply: {error}"),
            }
        }
    }

    /// Sends a line as a command; returns the bytes of its reply as text.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        let mut bytes = vec![];
        encode_command(&mut bytes, &split_line(line.as_bytes()).unwrap());
        self.send(&bytes);
        String::from_utf8_lossy(&self.reply()).into_owned()
    }

    /// Sends a line, and returns the string or number in the reply.
    pub(crate) fn value(&mut self, line: &str) -> String {
        let reply = self.ask(line);
        match Reply::decode(reply.as_bytes()).unwrap().expect("an open connection").0 {
            Reply::Integer(value) => value.to_string(),
            Reply::Null => "(null)".into(),
            Reply::Error(text) => String::from_utf8_lossy(text).into_owned(),
            other => String::from_utf8_lossy(other.as_bytes().expect("a string")).into_owned(),
        }
    }

    /// Sends all lines at once; returns the text of each reply, `None` for a null.
    pub(crate) fn ask_all(&mut self, lines: impl Iterator<Item = String>) -> Vec<Option<String>> {
        let lines: Vec<_> = lines.collect();
        let mut texts = vec![];
        for lines in lines.chunks(500) {
            self.send((lines.join("\r\n") + "\r\n").as_bytes());
            for _ in lines {
                let reply = self.reply();
                let (reply, _) = Reply::decode(&reply).unwrap().expect("an open connection");
                texts.push(reply.as_bytes().map(|bytes| String::from_utf8_lossy(bytes).into()));
            }
        }
        texts
    }

    /// The entry of a tenant in LARDER TENANTS JSON, by its number.
    pub(crate) fn tenant(&mut self, number: usize) -> serde_json::Value {
        let all = self.value("LARDER TENANTS JSON");
        serde_json::from_str::<serde_json::Value>(&all).unwrap()[number].clone()
    }

    /// The value of a field of INFO.
    pub(crate) fn info(&mut self, field: &str) -> String {
        let text = self.value("INFO everything");
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("INFO has no {field}")).to_owned()
    }
}
