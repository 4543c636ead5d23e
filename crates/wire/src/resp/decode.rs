//! Decodes commands from the front of a buffer.
//!
//! The arguments of a command are slices of the buffer: nothing is copied. Nothing is allocated
//! either, once the list of spans has grown to the longest command of a connection. (A line typed
//! by hand is the exception: its words may be quoted, so they are unescaped into a buffer of the
//! decoder.)
//!
//! An incomplete command is not consumed. The decoder remembers its position, so that a command of
//! a million arguments in a thousand pieces is still read once. This is the contract: after
//! `Ok(None)`, call again with the same bytes at the front and more bytes behind them.

use super::command::{Command, Span};
use super::inline;
use super::number::parse_integer;
use std::fmt;

/// Longest line: a count, a length, or a command typed by hand.
const LINE_MAX: usize = 64 << 10;
/// Limits for a client that has not authenticated: arguments, and bytes in one argument.
const STRANGER_ARGS_MAX: i64 = 10;
const STRANGER_BULK_MAX: i64 = 16 << 10;

/// Limits on the commands of a client.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes in one argument (`proto-max-bulk-len`).
    pub bulk_max: u64,
    /// Whether the client still has to authenticate. If so, only a few short arguments are
    /// accepted.
    pub stranger: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bulk_max: 512 << 20, stranger: false }
    }
}

/// Bytes that are not a command. The connection cannot be read any further, because the start of
/// the next command is unknown. The messages are those of Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The line with the number of arguments has no end.
    CountTooLong,
    /// The number of arguments is not a number, or too large.
    Count,
    /// More arguments than a client that has not authenticated may send.
    StrangerCount,
    /// The line with the length of an argument has no end.
    LengthTooLong,
    /// An argument does not begin with `$`, but with this byte.
    NoLength(u8),
    /// The length of an argument is not a number, or above the limit.
    Length,
    /// A longer argument than a client that has not authenticated may send.
    StrangerLength,
    /// A line typed by hand has no end.
    LineTooLong,
    /// A line typed by hand leaves a quote open.
    Quotes,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protocol error: ")?;
        f.write_str(match self {
            Self::CountTooLong => "too big mbulk count string",
            Self::Count => "invalid multibulk length",
            Self::StrangerCount => "unauthenticated multibulk length",
            Self::LengthTooLong => "too big bulk count string",
            Self::NoLength(got) => return write!(f, "expected '$', got '{}'", char::from(*got)),
            Self::Length => "invalid bulk length",
            Self::StrangerLength => "unauthenticated bulk length",
            Self::LineTooLong => "too big inline request",
            Self::Quotes => "unbalanced quotes in request",
        })
    }
}

impl std::error::Error for Malformed {}

/// Decodes commands from the front of a buffer.
#[derive(Debug, Default)]
pub struct Decoder {
    spans: Vec<Span>,
    /// Words of a line typed by hand.
    words: Vec<u8>,
    /// The position from which reading continues.
    at: usize,
    /// Arguments announced and not yet read, while a command is incomplete.
    missing: Option<u32>,
    /// Length of the next argument, once its line has been read.
    bulk: Option<usize>,
}

/// A number on a line of its own.
enum Line {
    Number(i64),
    NoNumber,
    Endless,
    Unfinished,
}

impl Decoder {
    /// Decodes one command from the front of `bytes`. `Ok(None)` means that more bytes are needed,
    /// and none are consumed.
    ///
    /// # Errors
    /// If the bytes are not a command. The caller reports the error and closes the connection.
    #[allow(clippy::inline_always, reason = "of a GET the call alone would be a twentieth")]
    #[inline(always)]
    pub fn decode<'a>(
        &'a mut self,
        bytes: &'a [u8],
        limits: &Limits,
    ) -> Result<Option<Command<'a>>, Malformed> {
        if self.missing.is_none() {
            self.spans.clear();
            self.at = 0;
            match bytes.first() {
                None => return Ok(None),
                Some(b'*') => self.missing = self.count(bytes, limits)?,
                Some(_) => return self.decode_line(bytes),
            }
        }
        let Some(mut missing) = self.missing else { return Ok(None) };
        while missing > 0 {
            if self.bulk.is_none() {
                self.bulk = self.length(bytes, limits)?;
            }
            match self.bulk {
                Some(len) if bytes.len() >= self.at + len + 2 => {
                    self.spans.push(Span::new(self.at, len));
                    self.at += len + 2;
                    self.bulk = None;
                    missing -= 1;
                }
                _ => {
                    self.missing = Some(missing);
                    return Ok(None);
                }
            }
        }
        self.missing = None;
        Ok(Some(Command { bytes, spans: &self.spans, consumed: self.at }))
    }

    /// The number of arguments, once its line has arrived.
    #[inline]
    fn count(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<u32>, Malformed> {
        match self.line(bytes) {
            Line::Unfinished => Ok(None),
            Line::Endless => Err(Malformed::CountTooLong),
            Line::Number(n) if n > STRANGER_ARGS_MAX && limits.stranger => {
                Err(Malformed::StrangerCount)
            }
            Line::Number(n) if n <= i64::from(i32::MAX) => Ok(Some(n.max(0) as u32)),
            Line::Number(_) | Line::NoNumber => Err(Malformed::Count),
        }
    }

    /// The length of the next argument, once its line has arrived.
    #[inline]
    fn length(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, Malformed> {
        // As in Redis, the first byte is checked only once the line is complete: the error must not
        // depend on the pieces in which bytes arrive.
        let first = bytes.get(self.at).copied().unwrap_or(b'$');
        match self.line(bytes) {
            Line::Unfinished => Ok(None),
            Line::Endless => Err(Malformed::LengthTooLong),
            _ if first != b'$' => Err(Malformed::NoLength(first)),
            Line::Number(n) if n > STRANGER_BULK_MAX && limits.stranger => {
                Err(Malformed::StrangerLength)
            }
            Line::Number(n) if n >= 0 && n as u64 <= limits.bulk_max => Ok(Some(n as usize)),
            Line::Number(_) | Line::NoNumber => Err(Malformed::Length),
        }
    }

    /// The least length of the command that is being read, from its first byte: space to reserve.
    pub fn wanted(&self) -> usize {
        match (self.missing, self.bulk) {
            (Some(_), Some(len)) => self.at + len + 2,
            _ => 0,
        }
    }

    /// Whether a command has begun and is not complete.
    pub const fn is_midway(&self) -> bool {
        self.missing.is_some()
    }

    /// Frees memory that an unusually long command needed.
    pub fn shrink(&mut self) {
        if self.missing.is_none() {
            self.spans.clear();
            self.spans.shrink_to(16);
            self.words.clear();
            self.words.shrink_to(0);
        }
    }

    /// Reads the number that follows the byte at `self.at`, and moves to the next line.
    #[inline]
    fn line(&mut self, bytes: &[u8]) -> Line {
        let text = &bytes[self.at.min(bytes.len())..];
        // Nearly every number has one to three digits, so they are read while searching for the
        // end.
        let mut value = 0i64;
        for (at, &byte) in text.iter().enumerate().skip(1).take(9) {
            match byte {
                // A leading zero, or no digit at all, is left to the slow path.
                b'0'..=b'9' if at == 1 || value > 0 => value = value * 10 + i64::from(byte - b'0'),
                b'\r' if at > 1 && at + 1 < text.len() => {
                    self.at += at + 2;
                    return Line::Number(value);
                }
                _ => break,
            }
        }
        let Some(end) = memchr::memchr(b'\r', text) else {
            return if text.len() > LINE_MAX { Line::Endless } else { Line::Unfinished };
        };
        if end + 1 >= text.len() {
            return Line::Unfinished;
        }
        self.at += end + 2;
        text.get(1..end).and_then(parse_integer).map_or(Line::NoNumber, Line::Number)
    }

    fn decode_line<'a>(&'a mut self, bytes: &[u8]) -> Result<Option<Command<'a>>, Malformed> {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            return if bytes.len() > LINE_MAX { Err(Malformed::LineTooLong) } else { Ok(None) };
        };
        let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
        self.words.clear();
        if !inline::split(line, &mut self.words, &mut self.spans) {
            return Err(Malformed::Quotes);
        }
        Ok(Some(Command { bytes: &self.words, spans: &self.spans, consumed: end + 1 }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode_command;
    use super::*;
    use proptest::prelude::*;

    type Words = Vec<Vec<u8>>;

    /// Feeds `bytes` in pieces that end at `cuts`. Returns every command, and the error if any.
    fn commands(bytes: &[u8], cuts: &[usize], limits: &Limits) -> (Vec<Words>, Option<Malformed>) {
        let (mut decoder, mut buffer, mut out) = (Decoder::default(), vec![], vec![]);
        let mut fed = 0;
        for &cut in cuts.iter().chain([&bytes.len()]) {
            if cut < fed {
                continue;
            }
            buffer.extend_from_slice(&bytes[fed..cut]);
            fed = cut;
            loop {
                match decoder.decode(&buffer, limits) {
                    Ok(None) => break,
                    Ok(Some(command)) => {
                        if !command.is_empty() {
                            out.push(command.iter_from(0).map(<[u8]>::to_vec).collect());
                        }
                        let consumed = command.consumed;
                        buffer.drain(..consumed);
                    }
                    Err(error) => return (out, Some(error)),
                }
            }
        }
        (out, None)
    }

    proptest! {
        #[test]
        fn reads_what_was_written_however_it_is_cut(
            sent in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6), 1..6),
            mut cuts in prop::collection::vec(0usize..600, 0..12),
        ) {
            let mut bytes = vec![];
            for command in &sent {
                encode_command(&mut bytes, command);
            }
            cuts.retain(|&cut| cut <= bytes.len());
            cuts.sort_unstable();
            let (read, error) = commands(&bytes, &cuts, &Limits::default());
            prop_assert_eq!(error, None);
            prop_assert_eq!(read, sent);
        }

        /// No input may panic, and cutting it anywhere changes nothing.
        #[test]
        fn rubbish_is_refused_the_same_way_however_it_is_cut(
            bytes in "[*$0-9\\r\\n\"' a-]{0,40}", cut in 0usize..40,
        ) {
            let bytes = bytes.as_bytes();
            let whole = commands(bytes, &[], &Limits::default());
            prop_assert_eq!(commands(bytes, &[cut.min(bytes.len())], &Limits::default()), whole);
        }
    }

    /// Every input gives the same result whole, split at every byte, and fed byte by byte.
    #[test]
    fn split_at_every_byte() {
        let inputs: &[&[u8]] = &[
            b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n*1\r\n$4\r\nPING\r\n",
            b"PING\r\nset a \"b c\"\n\r\n*0\r\n*-1\r\n*3\r\n$3\r\nSET\r\n$0\r\n\r\n$2\r\n\r\n\r\n",
            b"*1\r\n$4\r\nPING\r\n*1\r\n:4\r\nPING\r\n",
            b"get 'open\r\n",
        ];
        for bytes in inputs {
            let whole = commands(bytes, &[], &Limits::default());
            assert!(!whole.0.is_empty() || whole.1.is_some());
            for cut in 0..=bytes.len() {
                assert_eq!(commands(bytes, &[cut], &Limits::default()), whole, "{cut}");
            }
            let each: Vec<_> = (0..bytes.len()).collect();
            assert_eq!(commands(bytes, &each, &Limits::default()), whole);
        }
    }

    #[test]
    fn limits_are_told_in_the_words_of_redis() {
        let stranger = Limits { stranger: true, ..Limits::default() };
        let small = Limits { bulk_max: 100, ..Limits::default() };
        let known = Limits::default();
        let long = |first: &str| [first.as_bytes(), &vec![b'1'; LINE_MAX + 1]].concat();
        let cases: &[(&[u8], &Limits, &str)] = &[
            (b"*abc\r\n", &known, "invalid multibulk length"),
            (b"*\r\n", &known, "invalid multibulk length"),
            (b"*03\r\n", &known, "invalid multibulk length"),
            (b"*2147483648\r\n", &known, "invalid multibulk length"),
            (b"*11\r\n", &stranger, "unauthenticated multibulk length"),
            (b"*1\r\nPING\r\n", &known, "expected '$', got 'P'"),
            (b"*1\r\n$-1\r\n", &known, "invalid bulk length"),
            (b"*1\r\n$x\r\n", &known, "invalid bulk length"),
            (b"*1\r\n$101\r\n", &small, "invalid bulk length"),
            (b"*1\r\n$16385\r\n", &stranger, "unauthenticated bulk length"),
            (b"a \"b\r\n", &known, "unbalanced quotes in request"),
            (&long("*"), &known, "too big mbulk count string"),
            (&long("*1\r\n$"), &known, "too big bulk count string"),
            (&long("x"), &known, "too big inline request"),
        ];
        for (bytes, limits, text) in cases {
            let (_, error) = commands(bytes, &[], limits);
            let error = error.expect("must be refused").to_string();
            assert_eq!(error, format!("Protocol error: {text}"));
        }
    }

    /// A value that arrives in a thousand reads needs one allocation, not growth with every read.
    #[test]
    fn says_how_much_is_to_come() {
        let mut decoder = Decoder::default();
        let bytes = b"*2\r\n$3\r\nGET\r\n$1000000\r\nabc";
        assert!(decoder.decode(bytes, &Limits::default()).unwrap().is_none());
        assert!(decoder.is_midway());
        assert_eq!(decoder.wanted(), bytes.len() - 3 + 1_000_000 + 2);
    }
}
