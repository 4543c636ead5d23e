//! Puts lines together from the pieces in which they arrive.

/// An unfinished line.
#[derive(Debug, Default)]
pub(super) struct PartialLine {
    text: Vec<u8>,
    /// Whether the line is too long, and is skipped.
    skips: bool,
    /// Number of lines that were too long.
    pub(super) too_long: u64,
}

/// The most bytes of a line; no line that the server reports contains a value.
const LINE_BYTES_MAX: usize = 1 << 16;

impl PartialLine {
    /// Passes the lines that end in these bytes to `see`, without their line ends.
    pub(super) fn feed(&mut self, mut bytes: &[u8], mut see: impl FnMut(&[u8])) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.skips {
                self.skips = false;
            } else if self.text.is_empty() {
                see(line.trim_ascii_end());
            } else if self.text.len() + line.len() > LINE_BYTES_MAX {
                self.too_long += 1;
            } else {
                self.text.extend_from_slice(line);
                see(self.text.trim_ascii_end());
            }
            self.text.clear();
            bytes = rest;
        }
        if self.skips {
            return;
        }
        if self.text.len() + bytes.len() > LINE_BYTES_MAX {
            (self.skips, self.too_long) = (true, self.too_long + 1);
            self.text.clear();
        } else {
            self.text.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_do_not_depend_on_the_pieces() {
        let long = vec![b'x'; LINE_BYTES_MAX + 7];
        let text = [&b"a\r\n\nbcd\n"[..], &long, b"\ne\nf"].concat();
        for piece in [1, 2, 3, 1_000, text.len()] {
            let (mut line, mut found) = (PartialLine::default(), vec![]);
            for bytes in text.chunks(piece) {
                line.feed(bytes, |line| {
                    if line.len() < 100 {
                        found.push(String::from_utf8(line.to_vec()).unwrap());
                    }
                });
            }
            assert_eq!(found, ["a", "", "bcd", "e"], "pieces of {piece}");
        }
    }
}
