//! Decodes requests from the front of a buffer.
//!
//! Words and data are slices of the buffer: nothing is copied. An incomplete request is not
//! consumed. The decoder remembers how far it has searched for the end of the line, so a line that
//! arrives byte by byte is still searched once.
//!
//! A block of data above the limit is refused as soon as its line has arrived. Its bytes are
//! dropped as they arrive, and the connection continues with the next request. A length that
//! memcached would not skip is not accepted as a length. For a client that has not authenticated,
//! nothing is skipped.

use super::number::parse_unsigned;
use std::fmt;

/// Longest line. One `get` may name thousands of keys.
const LINE_MAX: usize = 4 << 20;
/// Longest line of a client that has not authenticated, and its longest block of data.
const STRANGER_LINE_MAX: usize = 2048;
const STRANGER_DATA_MAX: u64 = 2048;
/// Longest block of data that is skipped, as in memcached.
const SKIP_MAX: u64 = i32::MAX as u64 - 2;
/// The first byte of every request in the binary protocol, the length of its header, and the
/// position of the client's opaque value in the header.
const BINARY: u8 = 0x80;
const BINARY_HEAD: usize = 24;
const BINARY_OPAQUE: usize = 12;

/// Limits on the requests of a client.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes in a block of data.
    pub data_max: u64,
    /// Whether the client still has to authenticate. If so, only short requests are accepted.
    pub stranger: bool,
}

/// The block of data behind a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data<'a> {
    /// The line has none.
    None,
    /// The data.
    Block(&'a [u8]),
    /// The line announces a length that is not a number, or too long to skip. Nothing was skipped.
    NoLength,
    /// The block does not end where the line says.
    Unterminated,
    /// The block is above the limit. The decoder skips it, unless the client has not authenticated:
    /// then the caller closes the connection.
    TooLarge,
}

/// Bytes that are not a request. The caller closes the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// No line end within the longest line.
    LineTooLong,
    /// The binary protocol: the parts of a request's header that an answer repeats.
    Binary {
        /// The operation that the request names.
        opcode: u8,
        /// The client's opaque value.
        opaque: [u8; 4],
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LineTooLong => "line too long",
            Self::Binary { .. } => "the binary protocol is not spoken here: use the text protocol",
        })
    }
}

impl std::error::Error for Malformed {}

/// A request and its length. A request without a line only skips bytes and gets no reply.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    line: &'a [u8],
    words: &'a [(u32, u32)],
    /// The block of data that follows the line.
    pub data: Data<'a>,
    /// Bytes to drop from the front of the buffer once the request is done.
    pub consumed: usize,
}

impl<'a> Request<'a> {
    /// The number of words, including the command.
    pub const fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether the request only skips bytes.
    pub const fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// The word at index `at`; the command is at 0.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&'a [u8]> {
        let line = self.line;
        self.words.get(at).map(|&(start, end)| &line[start as usize..end as usize])
    }

    /// The words from `first` on.
    pub fn iter_from(&self, first: usize) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let line = self.line;
        let words = self.words.get(first..).unwrap_or_default();
        words.iter().map(move |&(start, end)| &line[start as usize..end as usize])
    }
}

/// Decodes requests from the front of a buffer.
#[derive(Debug, Default)]
pub struct Decoder {
    words: Vec<(u32, u32)>,
    /// Bytes of the line already searched for its end.
    searched: usize,
    /// The end of the line and the length of its data, while the data has not fully arrived.
    line: Option<(usize, usize)>,
    /// Bytes of a refused block that have not arrived yet.
    skip: usize,
}

impl Decoder {
    /// Decodes one request from the front of `bytes`. `Ok(None)` means that more bytes are needed,
    /// and none are consumed.
    ///
    /// # Errors
    /// If the bytes are not a request. The caller reports the error and closes the connection.
    pub fn decode<'a>(
        &'a mut self,
        bytes: &'a [u8],
        limits: &Limits,
    ) -> Result<Option<Request<'a>>, Malformed> {
        if bytes.is_empty() {
            return Ok(None);
        }
        if self.skip > 0 {
            let consumed = self.skip.min(bytes.len());
            self.skip -= consumed;
            return Ok(Some(Request { line: b"", words: &[], data: Data::None, consumed }));
        }
        if bytes[0] == BINARY {
            return match bytes.get(..BINARY_HEAD) {
                Some(head) => Err(Malformed::Binary {
                    opcode: head[1],
                    opaque: [0, 1, 2, 3].map(|at| head[BINARY_OPAQUE + at]),
                }),
                None => Ok(None),
            };
        }
        let (end, len) = if let Some(line) = self.line {
            line
        } else {
            let Some(end) = self.read_line(bytes, limits)? else { return Ok(None) };
            match self.data_len(bytes, limits) {
                Ok(Some(len)) => {
                    self.line = Some((end, len));
                    (end, len)
                }
                Ok(None) => return Ok(Some(self.request(bytes, end, Data::None, end))),
                Err(refused) => return Ok(Some(self.request(bytes, end, refused, end))),
            }
        };
        let Some(block) = bytes.get(end..end + len + 2) else { return Ok(None) };
        self.line = None;
        let data = match block {
            [data @ .., b'\r', b'\n'] => Data::Block(data),
            _ => Data::Unterminated,
        };
        Ok(Some(self.request(bytes, end, data, end + len + 2)))
    }

    fn request<'a>(
        &'a self,
        bytes: &'a [u8],
        end: usize,
        data: Data<'a>,
        consumed: usize,
    ) -> Request<'a> {
        Request { line: &bytes[..end], words: &self.words, data, consumed }
    }

    /// Splits the first line into words. Returns the end of the line, once it has arrived.
    fn read_line(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, Malformed> {
        let max = if limits.stranger { STRANGER_LINE_MAX } else { LINE_MAX };
        let Some(found) = memchr::memchr(b'\n', &bytes[self.searched..]) else {
            self.searched = bytes.len();
            return if bytes.len() > max { Err(Malformed::LineTooLong) } else { Ok(None) };
        };
        let end = self.searched + found;
        self.searched = 0;
        if end > max {
            return Err(Malformed::LineTooLong);
        }
        let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
        self.words.clear();
        let mut start = 0;
        for blank in memchr::memchr_iter(b' ', line).chain([line.len()]) {
            if blank > start {
                self.words.push((start as u32, blank as u32));
            }
            start = blank + 1;
        }
        Ok(Some(end + 1))
    }

    /// The length of the data behind the line in `self.words`, if it announces one.
    fn data_len(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, Data<'static>> {
        let word = |at: usize| {
            self.words.get(at).map(|&(start, end)| &bytes[start as usize..end as usize])
        };
        let len = match word(0) {
            Some(b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas") => match word(4) {
                None => return Ok(None),
                len => len,
            },
            Some(b"ms") if word(2).is_some() => word(2),
            _ => return Ok(None),
        };
        let len = len.and_then(parse_unsigned);
        let Some(len) = len.filter(|&len| len <= SKIP_MAX.max(limits.data_max)) else {
            return Err(Data::NoLength);
        };
        if limits.stranger && len > STRANGER_DATA_MAX {
            return Err(Data::TooLarge);
        }
        if len > limits.data_max {
            self.skip = len as usize + 2;
            return Err(Data::TooLarge);
        }
        Ok(Some(len as usize))
    }

    /// The least length of the request that is being read, from its first byte: space to reserve.
    pub fn wanted(&self) -> usize {
        self.line.map_or(0, |(end, len)| end + len + 2)
    }

    /// Frees memory that an unusually long line needed.
    pub fn shrink(&mut self) {
        if self.line.is_none() {
            self.words.clear();
            self.words.shrink_to(16);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KNOWN: Limits = Limits { data_max: 1_000, stranger: false };

    /// Feeds `bytes` in pieces that end at `cuts`. Returns every request as text, and the error if
    /// any.
    fn requests(bytes: &[u8], cuts: &[usize], limits: &Limits) -> (Vec<String>, Option<Malformed>) {
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
                    Ok(Some(request)) => {
                        if !request.is_empty() {
                            let words: Vec<_> =
                                request.iter_from(0).map(String::from_utf8_lossy).collect();
                            out.push(format!("{words:?} {:?}", request.data));
                        }
                        let consumed = request.consumed;
                        buffer.drain(..consumed);
                    }
                    Err(error) => return (out, Some(error)),
                }
            }
        }
        (out, None)
    }

    #[test]
    fn lines_and_data() {
        let bytes = b"get a  b\r\nset k 1 2 3\r\nx\r\r\n\nms k 2 T5\r\nhi\r\nms k\r\nmn\r\n\r\n";
        let (read, error) = requests(bytes, &[], &KNOWN);
        let expected = [
            r#"["get", "a", "b"] None"#,
            r#"["set", "k", "1", "2", "3"] Unterminated"#,
            r#"["ms", "k", "2", "T5"] Block([104, 105])"#,
            r#"["ms", "k"] None"#,
            r#"["mn"] None"#,
            "[] None",
        ];
        assert_eq!((read.as_slice(), error), (&expected.map(str::to_owned)[..], None));
    }

    /// A block that is too large must be skipped, or its bytes would be read as commands.
    #[test]
    fn large_blocks_are_skipped_and_the_next_request_is_read() {
        let mut bytes = b"set k 0 0 1001\r\n".to_vec();
        bytes.extend(b"flush_all\r\n".repeat(91));
        bytes.extend(b"\r\nmn\r\nset k 0 0 x\r\nset k 0 0 -1\r\n");
        let (read, _) = requests(&bytes, &[], &KNOWN);
        assert_eq!(read[0], r#"["set", "k", "0", "0", "1001"] TooLarge"#);
        assert_eq!(read[1], r#"["mn"] None"#);
        assert!(read[2].ends_with("NoLength") && read[3].ends_with("NoLength"), "{read:?}");
        assert_eq!(read.len(), 4);
    }

    #[test]
    fn strangers_and_the_binary_protocol() {
        let stranger = Limits { stranger: true, ..KNOWN };
        assert_eq!(requests(&[b'x'; 3000], &[], &stranger).1, Some(Malformed::LineTooLong));
        assert_eq!(requests(&[b'x'; 3000], &[], &KNOWN), (vec![], None));
        let mut head = [0; 30];
        (head[0], head[1], head[15]) = (0x80, 0x0b, 7);
        let binary = Malformed::Binary { opcode: 0x0b, opaque: [0, 0, 0, 7] };
        assert_eq!(requests(&head, &[], &KNOWN).1, Some(binary));
        assert_eq!(requests(&head[..23], &[], &KNOWN), (vec![], None), "it has not arrived");
    }

    /// Otherwise a single line would make the server drop all further requests, for hours.
    #[test]
    fn lengths_beyond_any_block_skip_nothing() {
        for len in ["2147483646", "2147483647", "99999999999", "18446744073709551616", "-1"] {
            for line in [format!("set k 0 0 {len}"), format!("ms k {len}")] {
                let (read, _) = requests(format!("{line}\r\nmn\r\n").as_bytes(), &[], &KNOWN);
                assert!(read[0].ends_with("NoLength"), "{read:?}");
                assert_eq!(read[1], r#"["mn"] None"#);
            }
        }
        let stranger = Limits { stranger: true, ..KNOWN };
        let (read, _) = requests(b"set k 0 0 100000\r\nmn\r\n", &[], &stranger);
        assert!(read[0].ends_with("TooLarge") && read[1] == r#"["mn"] None"#, "{read:?}");
    }

    proptest! {
        /// No input may panic, and cutting it anywhere changes nothing.
        #[test]
        fn cuts_change_nothing(
            bytes in "(set k 0 0 [0-9]{1,2}|ms k [0-9]|get|mg|[ a-z0-9]{0,9}|\r\n|\n|\r){0,12}",
            cut in 0usize..60,
        ) {
            let bytes = bytes.as_bytes();
            let whole = requests(bytes, &[], &KNOWN);
            prop_assert_eq!(&requests(bytes, &[cut.min(bytes.len())], &KNOWN), &whole);
            let each: Vec<_> = (0..bytes.len()).collect();
            prop_assert_eq!(requests(bytes, &each, &KNOWN), whole);
        }

        #[test]
        fn any_bytes_at_all(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = requests(&bytes, &[], &KNOWN);
        }
    }
}
