//! Commands: decoded, as slices of the buffer that they were read from, and encoded, in the format
//! that a client sends.

/// The position and length of an argument in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    len: u32,
}

impl Span {
    #[inline]
    pub(super) fn new(start: usize, len: usize) -> Self {
        Self { start: start as u32, len: len as u32 }
    }

    #[inline]
    pub(super) fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..][..self.len as usize]
    }
}

/// A command and its length. A command without arguments (an empty line, `*0`) gets no reply.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) spans: &'a [Span],
    /// Bytes to drop from the front of the buffer once the command is done.
    pub consumed: usize,
}

impl<'a> Command<'a> {
    /// A command with its arguments in `bytes` at `spans`.
    #[inline]
    pub(super) const fn new(bytes: &'a [u8], spans: &'a [Span]) -> Self {
        Self { bytes, spans, consumed: 0 }
    }

    /// The number of arguments, including the command's name.
    pub const fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether the command has no arguments, not even a name.
    pub const fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The argument at index `at`; the command's name is at 0.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&'a [u8]> {
        self.spans.get(at).map(|span| span.of(self.bytes))
    }

    /// The arguments from `first` on.
    pub fn iter_from(&self, first: usize) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let bytes = self.bytes;
        self.spans.get(first..).unwrap_or_default().iter().map(move |span| span.of(bytes))
    }
}

/// Appends one command to `out`, its name first.
pub fn encode_command<A: AsRef<[u8]>>(out: &mut Vec<u8>, args: &[A]) {
    let mut digits = itoa::Buffer::new();
    let mut head = |out: &mut Vec<u8>, kind: u8, value: usize| {
        out.push(kind);
        out.extend_from_slice(digits.format(value).as_bytes());
        out.extend_from_slice(b"\r\n");
    };
    head(out, b'*', args.len());
    for arg in args {
        let arg = arg.as_ref();
        head(out, b'$', arg.len());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_an_array_of_bulk_strings() {
        let mut out = vec![];
        encode_command(&mut out, &["SET", "key", ""]);
        assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n");
    }
}
