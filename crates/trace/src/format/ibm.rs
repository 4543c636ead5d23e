//! Object store traces of IBM: a week of 98 tenants of its Cloud Object Storage.
//!
//! ```text
//! milliseconds operation object [size [first last]]
//! 1219008 REST.PUT.OBJECT 8d4fcda3d675bac9 1056
//! 1232437 REST.GET.OBJECT 93faec5b81d2a4ae 4096 0 1023
//! ```
//!
//! Sizes are those of the whole object; a GET may request only the bytes from `first` to `last`. It
//! then counts as a request for the whole object, unless `--block-size` splits it into blocks. HEAD
//! reads, but requests no byte that a cache would hold: it is one request, whatever the size.
//!
//! Eytan, Harnik, Ofer, Friedman, Kat. It's time to revisit LRU vs. FIFO. HotStorage '20.

use super::FormatSpec;
use crate::error::excerpt;
use crate::lines::{spoken, whole_number};
use crate::ops::op;
use crate::ranges::Ranges;
use crate::text::{self, Batch, LineFormat, LineRequest, size};
use base::{Micros, Op};
use std::io::Write;

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "ibm",
    about: "time in milliseconds, REST.GET.OBJECT and the like, object, size, first, last byte",
    units: "times in milliseconds, sizes in bytes",
    extensions: &["ibm"],
    recognises: |head| {
        let line = spoken(head).next().unwrap_or_default();
        parse(line, 1).is_ok_and(|told| told.request.is_some())
    },
    open: |reader, options| {
        let (ranges, unknown) = (Ranges::of(options), options.unknown_size());
        Ok(text::open(reader, options, Ibm { ranges, unknown, key: vec![] }))
    },
    create: None,
    looks_ahead: false,
    loses: &[],
};

struct Ibm {
    ranges: Ranges,
    /// Bytes of an object without a size.
    unknown: u64,
    key: Vec<u8>,
}

/// A parsed line.
struct ParsedLine<'a> {
    object: &'a [u8],
    /// `None` if the line concerns no single object, or does not change the contents of a cache.
    request: Option<LineRequest>,
    /// Offset and length of the requested bytes, if it is not the whole object.
    range: Option<(u64, u64)>,
}

impl LineFormat for Ibm {
    fn read(&mut self, _: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        if line.is_empty() || line[0] == b'#' {
            return Ok(());
        }
        let told = parse(line, self.unknown).map_err(|column| {
            format!(
                "column {column} is missing or wrong in '{}'; a line has the columns {}",
                excerpt(line),
                SPEC.about
            )
        })?;
        let Some(request) = told.request else { return Ok(()) };
        let (offset, bytes) = told.range.unwrap_or((0, request.value_size));
        let blocks = match request.op {
            Op::Get | Op::Set => self.ranges.split(offset, bytes)?,
            Op::Delete => None,
        };
        let Some((blocks, size)) = blocks else {
            batch.push(told.object, request);
            return Ok(());
        };
        for block in blocks {
            self.key.clear();
            self.key.extend_from_slice(told.object);
            // Writing to a Vec does not fail.
            let _ = write!(self.key, ":{block}");
            // The last block of an object may be shorter.
            let value_size = size.min(request.value_size.saturating_sub(block * size)).max(1);
            batch.push(&self.key, LineRequest { value_size, ..request });
        }
        Ok(())
    }

    fn remark(&self) -> Option<&str> {
        self.ranges.remark().map(|_| {
            "a GET of a range counts as a GET of the whole object: --block-size 4kb splits objects \
             into blocks"
        })
    }
}

fn parse(line: &[u8], unknown: u64) -> Result<ParsedLine<'_>, &'static str> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let millis = whole_number(words.next().unwrap_or_default()).ok_or("time")?;
    let verb = words.next().and_then(|word| word.strip_prefix(b"REST."));
    let mut verb = verb.ok_or("operation")?.split(|byte| *byte == b'.');
    let (act, on) = (verb.next().unwrap_or_default(), verb.next().unwrap_or_default());
    let object = words.next().ok_or("object")?;
    let number = |word: Option<&[u8]>, name| word.map(|word| size(word).ok_or(name)).transpose();
    let value_size = number(words.next(), "size")?;
    let (first, last) = (number(words.next(), "first")?, number(words.next(), "last")?);
    let range = first.zip(last).map(|(first, last)| (first, last.saturating_sub(first) + 1));
    let op = op(act).filter(|_| on == b"OBJECT");
    let micros = millis.saturating_mul(1_000);
    let request = op.map(|op| LineRequest {
        op,
        ttl: Micros(0),
        ..LineRequest::get(micros, value_size.unwrap_or(unknown))
    });
    Ok(ParsedLine { object, request, range: range.filter(|_| act == b"GET") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadOptions;
    use std::io::Cursor;

    const TEXT: &str = "1219008 REST.PUT.OBJECT 8d4f 9000\n1221974 REST.HEAD.OBJECT 39d1 528\n\
                        1232437 REST.GET.OBJECT 8d4f 9000 4000 4999\n1232438 REST.GET.BUCKET x\n\
                        1232439 REST.DELETE.OBJECT 8d4f\n";

    fn read(options: &ReadOptions) -> Vec<(u64, String, Op, u64)> {
        let mut source = (SPEC.open)(Box::new(Cursor::new(TEXT)), options).unwrap();
        let mut found = vec![];
        while let Some(access) = source.next() {
            let access = access.unwrap();
            let key = String::from_utf8_lossy(source.key()).into_owned();
            found.push((access.time.0, key, access.op, access.value_size));
        }
        found
    }

    #[test]
    fn objects_are_whole_or_split() {
        assert!((SPEC.recognises)(TEXT.as_bytes()));
        let of =
            |time: u64, key: &str, op, size| ((time - 1_219_008) * 1_000, key.to_owned(), op, size);
        assert_eq!(
            read(&ReadOptions::default()),
            [
                of(1_219_008, "8d4f", Op::Set, 9_000),
                of(1_221_974, "39d1", Op::Get, 528),
                of(1_232_437, "8d4f", Op::Get, 9_000),
                of(1_232_439, "8d4f", Op::Delete, 1),
            ]
        );
        let split = read(&ReadOptions { block_size: Some(4096), ..ReadOptions::default() });
        let keys: Vec<_> =
            split.iter().map(|(_, key, op, size)| (key.as_str(), *op, *size)).collect();
        assert_eq!(
            keys,
            [
                ("8d4f:0", Op::Set, 4096),
                ("8d4f:1", Op::Set, 4096),
                ("8d4f:2", Op::Set, 808),
                ("39d1:0", Op::Get, 528),
                ("8d4f:0", Op::Get, 4096),
                ("8d4f:1", Op::Get, 4096),
                ("8d4f", Op::Delete, 1),
            ]
        );
    }
}
