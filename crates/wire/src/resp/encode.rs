//! Replies for clients of either protocol version.
//!
//! The caller states the meaning of a reply (a map, a missing value, a number with a fraction), and
//! the encoder writes it in the client's version. Version 2 has only simple strings, errors,
//! integers, bulk strings and arrays.
//!
//! A reply may have a bound. The encoder checks the bound only when the buffer has to grow, so
//! short replies pay nothing. A buffer above its bound does not grow. A reply therefore exceeds its
//! bound by at most one element and the spare capacity. [`Encoder::is_over`] then reports that the
//! reply is incomplete.

use super::{Reply, format_double};

/// The protocol version of a client: 2 until it sends HELLO 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// RESP2.
    #[default]
    Resp2,
    /// RESP3.
    Resp3,
}

/// Appends replies to a buffer.
#[derive(Debug)]
pub struct Encoder<'a> {
    out: &'a mut Vec<u8>,
    protocol: Protocol,
    /// Length of the buffer above which it does not grow.
    bound: usize,
}

impl<'a> Encoder<'a> {
    /// Creates an encoder that appends to `out`.
    #[inline]
    pub const fn new(out: &'a mut Vec<u8>, protocol: Protocol) -> Self {
        Self { out, protocol, bound: usize::MAX }
    }

    /// Bounds the buffer to `bound` bytes, exceeded by at most one element.
    #[inline]
    #[must_use]
    pub const fn bounded(mut self, bound: usize) -> Self {
        self.bound = bound;
        self
    }

    /// Whether the buffer is longer than its bound: then it does not hold the whole reply.
    #[inline]
    pub const fn is_over(&self) -> bool {
        self.out.len() > self.bound
    }

    /// Bytes that still fit within the bound.
    pub const fn left(&self) -> usize {
        self.bound.saturating_sub(self.out.len())
    }

    /// Borrows the encoder for a while, such as for a command within a command.
    pub const fn reborrow(&mut self) -> Encoder<'_> {
        Encoder { out: self.out, protocol: self.protocol, bound: self.bound }
    }

    /// Takes the buffer out, to be returned by [`Encoder::put_back`].
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(self.out)
    }

    /// An encoder with the same settings for a buffer that [`Self::take`] returned.
    pub const fn like<'b>(&self, out: &'b mut Vec<u8>) -> Encoder<'b> {
        Encoder { out, protocol: self.protocol, bound: self.bound }
    }

    /// Returns the buffer that was taken out.
    pub fn put_back(&mut self, out: Vec<u8>) {
        *self.out = out;
    }

    /// The protocol version of the client.
    pub const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Sets the protocol version of all further replies.
    pub const fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// The length of the buffer: a mark for [`Self::rewind`].
    pub const fn mark(&self) -> usize {
        self.out.len()
    }

    /// Removes everything that was written after `mark`.
    pub fn rewind(&mut self, mark: usize) {
        self.out.truncate(mark);
    }

    /// Turns all replies written after `mark` into one array, however many there are.
    pub fn collect(&mut self, mark: usize) {
        let (mut len, mut at) = (0, mark);
        while let Ok(Some((_, size))) = Reply::decode(&self.out[at..]) {
            at += size;
            len += 1;
        }
        self.before(mark, |out| out.array(len));
    }

    /// Inserts the output of `write` before everything written after `mark`. This writes the start
    /// of an array or a map whose length is known only after its elements.
    pub fn before(&mut self, mark: usize, write: impl FnOnce(&mut Self)) {
        let end = self.out.len();
        write(self);
        let len = self.out.len() - end;
        self.out[mark..].rotate_right(len);
    }

    /// Bytes that are already an encoded reply.
    #[inline]
    pub fn raw(&mut self, reply: &[u8]) {
        if self.makes_room(reply.len()) {
            self.out.extend_from_slice(reply);
        }
    }

    /// A status, such as `OK`. The text must not contain a line end.
    #[inline]
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error. The first word is a code in capitals, such as `ERR`; line ends become blanks.
    pub fn error(&mut self, text: &[u8]) {
        if !self.makes_room(text.len() + 3) {
            return;
        }
        self.out.push(b'-');
        let end = text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
        let text = &text[..end.map_or(0, |last| last + 1)];
        self.out.extend(text.iter().map(|&byte| if byte < b' ' { b' ' } else { byte }));
        self.out.extend_from_slice(b"\r\n");
    }

    /// A whole number.
    #[inline]
    pub fn integer(&mut self, value: i64) {
        self.head(b':', value);
    }

    /// A string of any bytes.
    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        if !self.makes_room(bytes.len() + 32) {
            return;
        }
        self.head(b'$', bytes.len() as i64);
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// A string for people to read; a bulk string in version 2.
    pub fn verbatim(&mut self, text: &str) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(text.as_bytes()),
            Protocol::Resp3 => {
                if self.makes_room(text.len() + 32) {
                    self.head(b'=', text.len() as i64 + 4);
                    self.out.extend_from_slice(b"txt:");
                    self.out.extend_from_slice(text.as_bytes());
                    self.out.extend_from_slice(b"\r\n");
                }
            }
        }
    }

    /// A missing value.
    #[inline]
    pub fn null(&mut self) {
        self.raw(match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// A missing array.
    pub fn null_array(&mut self) {
        self.raw(match self.protocol {
            Protocol::Resp2 => b"*-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// The start of an array: `len` replies follow.
    #[inline]
    pub fn array(&mut self, len: usize) {
        self.head(b'*', len as i64);
    }

    /// The start of a map: `len` pairs of replies follow. A flat array in version 2.
    pub fn map(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.head(b'*', len as i64 * 2),
            Protocol::Resp3 => self.head(b'%', len as i64),
        }
    }

    /// The start of a set: `len` replies follow. An array in version 2.
    pub fn set(&mut self, len: usize) {
        self.head(if self.protocol == Protocol::Resp3 { b'~' } else { b'*' }, len as i64);
    }

    /// The start of a message that is not the reply to a command: `len` replies follow. An array in
    /// version 2.
    pub fn push(&mut self, len: usize) {
        self.head(if self.protocol == Protocol::Resp3 { b'>' } else { b'*' }, len as i64);
    }

    /// A number with a fraction. A bulk string in version 2.
    pub fn double(&mut self, value: f64) {
        let text = format_double(value);
        match self.protocol {
            Protocol::Resp2 => self.bulk(text.as_bytes()),
            Protocol::Resp3 => self.line(b',', text.as_bytes()),
        }
    }

    /// A boolean. 1 or 0 in version 2.
    pub fn boolean(&mut self, value: bool) {
        match self.protocol {
            Protocol::Resp2 => self.integer(i64::from(value)),
            Protocol::Resp3 => self.line(b'#', if value { b"t" } else { b"f" }),
        }
    }

    #[inline]
    fn line(&mut self, kind: u8, text: &[u8]) {
        if !self.makes_room(text.len() + 3) {
            return;
        }
        self.out.push(kind);
        self.out.extend_from_slice(text);
        self.out.extend_from_slice(b"\r\n");
    }

    #[inline]
    fn head(&mut self, kind: u8, value: i64) {
        if let 0..10 = value {
            self.raw(&[kind, b'0' + value as u8, b'\r', b'\n']);
            return;
        }
        let mut digits = itoa::Buffer::new();
        self.line(kind, digits.format(value).as_bytes());
    }

    /// Whether `len` more bytes fit, if need be after growing the buffer.
    #[inline]
    fn makes_room(&mut self, len: usize) -> bool {
        self.out.capacity() - self.out.len() >= len || self.grow(len)
    }

    /// Grows the buffer, unless it is above its bound. The capacity doubles, but not beyond the
    /// bound.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, len: usize) -> bool {
        if self.is_over() {
            return false;
        }
        let doubled = self.out.capacity().min(self.left().saturating_add(1));
        self.out.reserve_exact(doubled.max(len));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(protocol: Protocol, write: impl Fn(&mut Encoder<'_>)) -> String {
        let mut out = vec![];
        write(&mut Encoder::new(&mut out, protocol));
        String::from_utf8(out).unwrap()
    }

    /// Every kind of reply, in version 2 and in version 3.
    #[test]
    fn both_versions() {
        type Write = fn(&mut Encoder<'_>);
        let cases: &[(Write, &str, &str)] = &[
            (|out| out.simple("OK"), "+OK\r\n", "+OK\r\n"),
            (|out| out.error(b"ERR no\r\nway\r\n"), "-ERR no  way\r\n", "-ERR no  way\r\n"),
            (|out| out.integer(-42), ":-42\r\n", ":-42\r\n"),
            (|out| out.integer(7), ":7\r\n", ":7\r\n"),
            (|out| out.bulk(b"a\r\nb"), "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"),
            (|out| out.bulk(b""), "$0\r\n\r\n", "$0\r\n\r\n"),
            (|out| out.verbatim("hi"), "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"),
            (|out| out.null(), "$-1\r\n", "_\r\n"),
            (|out| out.null_array(), "*-1\r\n", "_\r\n"),
            (|out| out.array(2), "*2\r\n", "*2\r\n"),
            (|out| out.map(2), "*4\r\n", "%2\r\n"),
            (|out| out.set(12), "*12\r\n", "~12\r\n"),
            (|out| out.push(3), "*3\r\n", ">3\r\n"),
            (|out| out.double(1.5), "$3\r\n1.5\r\n", ",1.5\r\n"),
            (|out| out.double(f64::NEG_INFINITY), "$4\r\n-inf\r\n", ",-inf\r\n"),
            (|out| out.boolean(true), ":1\r\n", "#t\r\n"),
        ];
        for (write, two, three) in cases {
            assert_eq!(written(Protocol::Resp2, write), *two);
            assert_eq!(written(Protocol::Resp3, write), *three);
        }
    }

    #[test]
    fn replies_are_counted_when_all_are_written() {
        let text = written(Protocol::Resp3, |out| {
            out.integer(1);
            let mark = out.mark();
            out.push(2);
            out.bulk(b"a");
            out.array(0);
            out.null();
            out.collect(mark);
            let mark = out.mark();
            out.collect(mark);
        });
        assert_eq!(text, ":1\r\n*2\r\n>2\r\n$1\r\na\r\n*0\r\n_\r\n*0\r\n");
    }

    /// The buffer exceeds its bound by one element, and does not grow any further.
    #[test]
    fn a_reply_ends_at_its_bound() {
        let mut out = b"before".to_vec();
        let mut encoder = Encoder::new(&mut out, Protocol::Resp3).bounded(1_000);
        for at in 0..100_000 {
            let was_over = encoder.is_over();
            match at % 5 {
                0 => encoder.bulk(&[b'x'; 300]),
                1 => encoder.integer(at),
                2 => encoder.verbatim(&"x".repeat(300)),
                3 => encoder.raw(&[b'x'; 300]),
                _ => encoder.error(&[b'x'; 300]),
            }
            assert!(was_over || encoder.mark() <= 1_000 + 332);
        }
        assert!(encoder.is_over());
        assert_eq!(encoder.left(), 0);
        assert!(out.capacity() <= 1_000 + 332, "{}", out.capacity());
        // After a rewind the encoder writes again.
        let mut encoder = Encoder::new(&mut out, Protocol::Resp3).bounded(1_000);
        encoder.rewind(6);
        encoder.integer(12);
        assert_eq!(out, b"before:12\r\n");
    }

    /// A taken buffer can be filled elsewhere, and the number of its elements inserted before them.
    #[test]
    fn elements_are_counted_once_they_are_written() {
        let text = written(Protocol::Resp3, |out| {
            out.integer(1);
            let mark = out.mark();
            let mut taken = out.take();
            let mut other = out.like(&mut taken);
            (0..12).for_each(|_| other.null());
            out.put_back(taken);
            out.before(mark, |out| out.map(6));
        });
        assert_eq!(text, format!(":1\r\n%6\r\n{}", "_\r\n".repeat(12)));
    }

    #[test]
    fn a_reply_can_be_taken_back() {
        let text = written(Protocol::Resp2, |out| {
            out.integer(1);
            let mark = out.mark();
            out.array(2);
            out.rewind(mark);
            out.error(b"ERR no");
        });
        assert_eq!(text, ":1\r\n-ERR no\r\n");
    }
}
