//! Puts lines together from the pieces in which they arrive.

/// The line that has begun.
#[derive(Debug, Default)]
pub(super) struct Line {
    text: Vec<u8>,
    /// It is too long, and is passed over.
    skips: bool,
    /// Lines that were too long.
    pub(super) too_long: u64,
}

/// A longer line is passed over: none that is told has a value in it.
const LINE_BYTES_MAX: usize = 1 << 16;

impl Line {
    /// Shows the lines that end in these bytes, without their ends.
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
            let (mut line, mut found) = (Line::default(), vec![]);
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
