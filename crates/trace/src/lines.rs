//! Lines of text, without a copy for each.
//!
//! The reader fills one buffer and returns ranges of it. Only the rest of a line at the end of the
//! buffer is moved, once per filling, so a line costs one search for its end.

use crate::{Error, Unit};
use std::io::{self, BufRead, Read};
use std::ops::Range;

/// Bytes requested from the reader at a time.
const CHUNK: usize = 1 << 18;

/// The most bytes of a line; a longer one is malformed. A binary file may have no end of line at
/// all, and must not fill the memory.
pub(crate) const LINE_BYTES_MAX: usize = 16 << 20;

/// The lines of a reader.
pub(crate) struct Lines {
    reader: Box<dyn BufRead + Send>,
    buffer: Vec<u8>,
    /// The bytes in the buffer that have not been returned yet.
    rest: Range<usize>,
    line: Range<usize>,
    at: u64,
    ended: bool,
}

impl Lines {
    pub(crate) fn new(reader: Box<dyn BufRead + Send>) -> Self {
        Self { reader, buffer: vec![0; CHUNK], rest: 0..0, line: 0..0, at: 0, ended: false }
    }

    /// Moves to the next line; `false` at the end. After an error the next call goes on after the
    /// line that was too long, or reports the end.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        if let Some(n) = memchr::memchr(b'\n', &self.buffer[self.rest.clone()]) {
            self.take(n, 1);
            return Ok(true);
        }
        self.advance_by_filling()
    }

    /// Steps back before the current line, once; the next step finds it again.
    pub(crate) fn back(&mut self) {
        self.rest.start = self.line.start;
        self.line = self.rest.start..self.rest.start;
        self.at -= 1;
    }

    /// The current line, without its end.
    #[inline]
    pub(crate) fn line(&self) -> &[u8] {
        &self.buffer[self.line.clone()]
    }

    /// The number of the current line, from 1.
    #[inline]
    pub(crate) const fn at(&self) -> u64 {
        self.at
    }

    #[inline]
    fn take(&mut self, len: usize, end: usize) {
        self.at += 1;
        let start = self.rest.start;
        self.rest.start += len + end;
        let carriage = usize::from(len > 0 && self.buffer[start + len - 1] == b'\r');
        self.line = start..start + len - carriage;
    }

    fn advance_by_filling(&mut self) -> Result<bool, Error> {
        let mut searched = self.rest.len();
        loop {
            if self.ended {
                let len = self.rest.len();
                if len == 0 {
                    self.line = 0..0;
                    return Ok(false);
                }
                self.take(len, 0);
                return Ok(true);
            }
            if searched >= LINE_BYTES_MAX {
                return self.pass_over();
            }
            self.fill()?;
            let unsearched = self.rest.start + searched..self.rest.end;
            if let Some(n) = memchr::memchr(b'\n', &self.buffer[unsearched]) {
                self.take(searched + n, 1);
                return Ok(true);
            }
            searched = self.rest.len();
        }
    }

    /// Moves the unreturned bytes to the front of the buffer, and reads more behind them.
    fn fill(&mut self) -> Result<(), Error> {
        self.buffer.copy_within(self.rest.clone(), 0);
        self.rest = 0..self.rest.len();
        if self.buffer.len() - self.rest.end < CHUNK / 2 {
            let len = (self.buffer.len() * 2).min(LINE_BYTES_MAX.max(self.rest.end) + CHUNK);
            self.buffer.resize(len, 0);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.rest.end..]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.rest.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => {
                    self.ended = true;
                    self.rest = 0..0;
                    return Err(Error::Io { unit: Unit::Line, at: self.at, source });
                }
            }
            return Ok(());
        }
    }

    /// Drops the rest of a line that is too long.
    fn pass_over(&mut self) -> Result<bool, Error> {
        self.at += 1;
        self.line = 0..0;
        loop {
            self.rest = 0..0;
            self.fill()?;
            if let Some(n) = memchr::memchr(b'\n', &self.buffer[self.rest.clone()]) {
                self.rest.start += n + 1;
            } else if !self.ended {
                continue;
            }
            let problem =
                format!("longer than {LINE_BYTES_MAX} bytes: check that the trace is text");
            return Err(Error::line(self.at, problem));
        }
    }
}

/// Reads a decimal number from the front of `text`. `None` if there is no digit, or if it exceeds
/// 64 bits.
#[inline]
pub(crate) fn number(text: &mut &[u8]) -> Option<u64> {
    let mut value: u64 = 0;
    let mut digits = 0;
    for &byte in *text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        // Nineteen digits cannot overflow.
        value = if digits < 19 {
            value * 10 + u64::from(digit)
        } else {
            value.checked_mul(10)?.checked_add(u64::from(digit))?
        };
        digits += 1;
    }
    *text = &text[digits..];
    (digits > 0).then_some(value)
}

/// The whole of `text` as a decimal number.
#[inline]
pub(crate) fn whole_number(mut text: &[u8]) -> Option<u64> {
    number(&mut text).filter(|_| text.is_empty())
}

/// The lines that a reader of text does not skip: neither empty nor a comment.
pub(crate) fn spoken(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    lines.filter(|line| !line.is_empty() && line[0] != b'#')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns its bytes in pieces of the given sizes, as a pipe does.
    struct Pieces {
        bytes: Vec<u8>,
        at: usize,
        sizes: Vec<usize>,
        turn: usize,
    }

    impl Read for Pieces {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let size = self.sizes[self.turn % self.sizes.len()];
            self.turn += 1;
            let n = size.min(to.len()).min(self.bytes.len() - self.at);
            to[..n].copy_from_slice(&self.bytes[self.at..self.at + n]);
            self.at += n;
            Ok(n)
        }
    }

    fn all(reader: impl Read + Send + 'static) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(Box::new(io::BufReader::with_capacity(1, reader)));
        let mut all = vec![];
        while lines.advance().unwrap() {
            all.push(lines.line().to_vec());
            assert_eq!(lines.at(), all.len() as u64);
        }
        assert!(!lines.advance().unwrap(), "the end stays the end");
        all
    }

    proptest! {
        /// However the bytes arrive, the lines are those of the text.
        #[test]
        fn lines_do_not_depend_on_the_pieces(
            text in "[a\r\n]{0,200}",
            sizes in prop::collection::vec(1usize..9, 1..5),
        ) {
            let bytes = text.clone().into_bytes();
            let expected: Vec<_> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
            let mut found = all(Pieces { bytes, at: 0, sizes, turn: 0 });
            // `str::lines` keeps a carriage return at the end of the text.
            if let (Some(last), true) = (found.last_mut(), text.ends_with('\r')) {
                last.push(b'\r');
            }
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_line_longer_than_the_buffer_is_whole() {
        let long = vec![b'x'; 3 * CHUNK + 17];
        let text = [&b"a\n"[..], &long, b"\nb"].concat();
        assert_eq!(all(io::Cursor::new(text)), [b"a".to_vec(), long, b"b".to_vec()]);
    }

    #[test]
    fn a_line_can_be_put_back() {
        let mut lines = Lines::new(Box::new(io::Cursor::new("a\r\nb")));
        for expected in ["a", "b"] {
            for _ in 0..2 {
                assert!(lines.advance().unwrap());
                assert_eq!(lines.line(), expected.as_bytes());
                lines.back();
            }
            assert!(lines.advance().unwrap());
        }
        assert_eq!(lines.at(), 2);
        assert!(!lines.advance().unwrap());
    }

    #[test]
    fn an_endless_line_is_an_error_and_the_next_line_is_read() {
        let mut text = vec![b'x'; LINE_BYTES_MAX + 3 * CHUNK];
        text.extend_from_slice(b"\nnext\n");
        let mut lines = Lines::new(Box::new(io::Cursor::new(text)));
        assert!(lines.advance().unwrap_err().to_string().contains("line 1"));
        assert!(lines.advance().unwrap());
        assert_eq!((lines.line(), lines.at()), (&b"next"[..], 2));
    }

    #[test]
    fn numbers_end_where_their_digits_do() {
        let mut text = &b"18446744073709551615,x"[..];
        assert_eq!((number(&mut text), text), (Some(u64::MAX), &b",x"[..]));
        assert_eq!(whole_number(b"18446744073709551616"), None);
        assert_eq!(whole_number(b"00000000000000000000000001"), Some(1));
        assert_eq!(whole_number(b""), None);
        assert_eq!(whole_number(b"-1"), None);
    }
}
