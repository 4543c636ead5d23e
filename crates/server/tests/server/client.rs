//! A plain client for the tests.

use server::{Handle, Settings};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use wire::resp::{Reply, encode_command, split_line};

/// A server with these directives, as on the command line.
pub(crate) fn serve(arguments: &str) -> Handle {
    let mut settings = Settings { io_threads: 2, ..Settings::loopback() };
    let words = split_line(arguments.as_bytes()).unwrap();
    let words: Vec<String> = words.into_iter().map(|w| String::from_utf8(w).unwrap()).collect();
    settings.read_arguments(&words).unwrap();
    server::start(settings).unwrap()
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// A connection that waits for replies.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    bytes: Vec<u8>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { stream, bytes: vec![] }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The bytes of the next reply; empty once the server has closed.
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

    /// Sends a line as a command; the bytes of its reply, as text.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        let mut bytes = vec![];
        encode_command(&mut bytes, &split_line(line.as_bytes()).unwrap());
        self.send(&bytes);
        String::from_utf8_lossy(&self.reply()).into_owned()
    }

    /// Asks, and takes the string or number out of the reply.
    pub(crate) fn value(&mut self, line: &str) -> String {
        let reply = self.ask(line);
        match Reply::decode(reply.as_bytes()).unwrap().expect("an open connection").0 {
            Reply::Integer(value) => value.to_string(),
            Reply::Null => "(null)".into(),
            Reply::Error(text) => String::from_utf8_lossy(text).into_owned(),
            other => String::from_utf8_lossy(other.as_bytes().expect("a string")).into_owned(),
        }
    }

    /// The value of a field of INFO.
    pub(crate) fn info(&mut self, field: &str) -> String {
        let text = self.value("INFO everything");
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("INFO has no {field}")).to_owned()
    }
}
