//! Replies, decoded by a client.
//!
//! Strings are slices of the buffer; only arrays, maps, sets and pushes allocate. An incomplete
//! reply is read from its start again when more bytes have arrived. That is cheap: replies of a
//! cache are small, or one string whose length is in its first line.

use super::number::parse_integer;
use std::fmt;

/// Most levels of nested replies. No command of a cache nests deeper than five.
const DEPTH_MAX: usize = 32;

/// A reply of either version.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply<'a> {
    /// A status, such as `OK`.
    Simple(&'a [u8]),
    /// An error, with its code first.
    Error(&'a [u8]),
    /// A whole number.
    Integer(i64),
    /// A string of any bytes, or a number too large for 64 bits.
    Bulk(&'a [u8]),
    /// Nothing: the null of version 3, and the null string and null array of version 2.
    Null,
    /// A number with a fraction.
    Double(f64),
    /// A boolean.
    Boolean(bool),
    /// Text for people to read, without the three letters of its format.
    Verbatim(&'a [u8]),
    /// Replies in order.
    Array(Vec<Self>),
    /// Replies in pairs of key and value.
    Map(Vec<(Self, Self)>),
    /// Replies without order.
    Set(Vec<Self>),
    /// A message that is not the reply to a command.
    Push(Vec<Self>),
}

/// The error for bytes that are not a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadReply {
    /// Offset of the invalid byte, from the first byte of the reply.
    pub at: usize,
}

impl fmt::Display for BadReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at;
        write!(f, "byte {at} of the reply is not RESP: is the other side a Redis-like server?")
    }
}

impl std::error::Error for BadReply {}

/// Why decoding stops early.
enum Stop {
    Unfinished,
    Bad(usize),
}

struct ReplyReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reply<'a> {
    /// Decodes one reply from the front of `bytes`, and returns it with its length. `Ok(None)`
    /// means that more bytes are needed.
    ///
    /// # Errors
    /// If the bytes are not a reply.
    pub fn decode(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, BadReply> {
        let mut reader = ReplyReader { bytes, at: 0 };
        match reader.reply(0) {
            Ok(reply) => Ok(Some((reply, reader.at))),
            Err(Stop::Unfinished) => Ok(None),
            Err(Stop::Bad(at)) => Err(BadReply { at }),
        }
    }

    /// The head of a reply that holds other replies: its first byte, the number of its elements
    /// (pairs for a map), and the offset of the first one. It serves callers that decode elements
    /// one by one. `None` for any other reply.
    pub fn holds(bytes: &[u8]) -> Option<(u8, usize, usize)> {
        let mut reader = ReplyReader { bytes, at: 0 };
        let (kind @ (b'*' | b'~' | b'>' | b'%'), text) = reader.line().ok()? else { return None };
        Some((kind, length(text)?, reader.at))
    }

    /// The bytes of a simple, bulk or verbatim string.
    pub const fn as_bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Simple(bytes) | Self::Bulk(bytes) | Self::Verbatim(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl<'a> ReplyReader<'a> {
    fn reply(&mut self, depth: usize) -> Result<Reply<'a>, Stop> {
        let start = self.at;
        let bad = || Stop::Bad(start);
        let (kind, text) = self.line()?;
        Ok(match kind {
            b'+' => Reply::Simple(text),
            b'-' => Reply::Error(text),
            b':' => Reply::Integer(parse_integer(text).ok_or_else(bad)?),
            b'(' => Reply::Bulk(text),
            b'_' => Reply::Null,
            b'#' => Reply::Boolean(text == b"t"),
            b',' => Reply::Double(double(text).ok_or_else(bad)?),
            b'$' | b'*' if text == b"-1" => Reply::Null,
            b'$' => Reply::Bulk(self.bulk(length(text).ok_or_else(bad)?)?),
            b'!' => Reply::Error(self.bulk(length(text).ok_or_else(bad)?)?),
            b'=' => {
                let bytes = self.bulk(length(text).ok_or_else(bad)?)?;
                Reply::Verbatim(bytes.get(4..).ok_or_else(bad)?)
            }
            b'*' | b'~' | b'>' | b'%' | b'|' if depth < DEPTH_MAX => {
                let len = length(text).ok_or_else(bad)?;
                match kind {
                    b'*' => Reply::Array(self.many(len, depth)?),
                    b'~' => Reply::Set(self.many(len, depth)?),
                    b'>' => Reply::Push(self.many(len, depth)?),
                    b'%' => Reply::Map(self.pairs(len, depth)?),
                    _ => {
                        // An attribute describes the reply that follows it, and is dropped.
                        self.pairs(len, depth)?;
                        return self.reply(depth + 1);
                    }
                }
            }
            _ => return Err(bad()),
        })
    }

    fn line(&mut self) -> Result<(u8, &'a [u8]), Stop> {
        let text = &self.bytes[self.at..];
        let end = memchr::memchr(b'\r', text).ok_or(Stop::Unfinished)?;
        if end + 1 >= text.len() {
            return Err(Stop::Unfinished);
        }
        if end == 0 || text[end + 1] != b'\n' {
            return Err(Stop::Bad(self.at));
        }
        self.at += end + 2;
        Ok((text[0], &text[1..end]))
    }

    fn bulk(&mut self, len: usize) -> Result<&'a [u8], Stop> {
        let end = self.at.checked_add(len).ok_or(Stop::Bad(self.at))?;
        if self.bytes.len() < end.saturating_add(2) {
            return Err(Stop::Unfinished);
        }
        if &self.bytes[end..end + 2] != b"\r\n" {
            return Err(Stop::Bad(end));
        }
        let bytes = &self.bytes[self.at..end];
        self.at = end + 2;
        Ok(bytes)
    }

    fn many(&mut self, len: usize, depth: usize) -> Result<Vec<Reply<'a>>, Stop> {
        // The capacity depends on the bytes that have arrived, not on the announced length.
        let mut all = Vec::with_capacity(len.min(self.bytes.len() / 3));
        for _ in 0..len {
            all.push(self.reply(depth + 1)?);
        }
        Ok(all)
    }

    fn pairs(&mut self, len: usize, depth: usize) -> Result<Vec<(Reply<'a>, Reply<'a>)>, Stop> {
        let mut all = Vec::with_capacity(len.min(self.bytes.len() / 6));
        for _ in 0..len {
            all.push((self.reply(depth + 1)?, self.reply(depth + 1)?));
        }
        Ok(all)
    }
}

fn length(text: &[u8]) -> Option<usize> {
    parse_integer(text).and_then(|len| usize::try_from(len).ok())
}

fn double(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::{Encoder, Protocol};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_holds_others_says_how_many() {
        assert_eq!(Reply::holds(b"*12\r\n:1"), Some((b'*', 12, 5)));
        assert_eq!(Reply::holds(b"%1\r\n"), Some((b'%', 1, 4)));
        for other in [&b"*-1\r\n"[..], b"*1", b"+OK\r\n", b"$3\r\nabc\r\n", b""] {
            assert_eq!(Reply::holds(other), None);
        }
    }

    #[test]
    fn every_kind_split_at_every_byte() {
        let bytes: &[u8] = b"*9\r\n+OK\r\n-ERR no\r\n:-7\r\n$2\r\n\r\n\r\n_\r\n,1.5\r\n#t\r\n\
            =6\r\ntxt:hi\r\n%1\r\n$1\r\na\r\n~2\r\n$-1\r\n*-1\r\n";
        let expected = Reply::Array(vec![
            Reply::Simple(b"OK"),
            Reply::Error(b"ERR no"),
            Reply::Integer(-7),
            Reply::Bulk(b"\r\n"),
            Reply::Null,
            Reply::Double(1.5),
            Reply::Boolean(true),
            Reply::Verbatim(b"hi"),
            Reply::Map(vec![(Reply::Bulk(b"a"), Reply::Set(vec![Reply::Null, Reply::Null]))]),
        ]);
        for cut in 0..bytes.len() {
            assert_eq!(Reply::decode(&bytes[..cut]), Ok(None), "{cut}");
        }
        assert_eq!(Reply::decode(bytes), Ok(Some((expected, bytes.len()))));
    }

    #[test]
    fn what_is_no_reply_is_told_apart_from_what_is_unfinished() {
        for bytes in [&b"HTTP/1.1 400\r\n"[..], b":x\r\n", b"$1\r\nabc", b"\r\n", b"$-2\r\n"] {
            assert!(Reply::decode(bytes).is_err(), "{bytes:?}");
        }
        let deep = b"*1\r\n".repeat(10_000);
        assert!(Reply::decode(&deep).is_err(), "nesting must not exhaust the stack");
        assert_eq!(Reply::decode(b"*1000000000\r\n:1\r\n"), Ok(None));
    }

    proptest! {
        #[test]
        fn never_panics(bytes in "[*$:+_,#=%~>|0-9\\r\\nt-]{0,60}") {
            let _ = Reply::decode(bytes.as_bytes());
        }

        #[test]
        fn reads_what_the_encoder_wrote(value: Vec<u8>, number: i64, fraction: f64) {
            prop_assume!(!fraction.is_nan());
            for protocol in [Protocol::Resp2, Protocol::Resp3] {
                let mut bytes = vec![];
                let mut out = Encoder::new(&mut bytes, protocol);
                out.array(3);
                out.bulk(&value);
                out.integer(number);
                out.double(fraction);
                let text = crate::resp::format_double(fraction);
                let last = match protocol {
                    Protocol::Resp2 => Reply::Bulk(text.as_bytes()),
                    Protocol::Resp3 => Reply::Double(fraction),
                };
                let expected =
                    Reply::Array(vec![Reply::Bulk(&value), Reply::Integer(number), last]);
                prop_assert_eq!(Reply::decode(&bytes), Ok(Some((expected, bytes.len()))));
            }
        }
    }
}
