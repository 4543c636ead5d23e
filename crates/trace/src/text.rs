//! The common part of text formats: lines in, accesses out.
//!
//! A format defines the meaning of a line. A line may contain no request, one, or several; the
//! requests wait in a [`Batch`] until they are read.

use crate::lines::Lines;
use crate::timeline::Timeline;
use crate::{Charge, Error, ReadOptions, Source};
use base::{Access, Micros, Op, TenantId, Tick, hash};
use std::io::BufRead;
use std::ops::Range;

/// Microseconds between requests in a trace without times: a thousand requests a second.
pub(crate) const MADE_GAP_US: u64 = 1_000;

/// The most requests that a line may stand for; a line with more is malformed, because it would run
/// for hours.
pub(crate) const REQUESTS_A_LINE_MAX: u64 = 1 << 24;

/// The meaning of the lines of a format.
pub(crate) trait LineFormat: Send {
    /// Reads line number `at`. A line without a request adds nothing and is no error.
    fn read(&mut self, at: u64, line: &[u8], batch: &mut Batch) -> Result<(), String>;

    /// Goes on with a line that stands for many requests: adds the next of them and returns true,
    /// or returns false if there is none.
    fn resume(&mut self, _batch: &mut Batch) -> bool {
        false
    }

    /// Adds requests that were held until the end of the trace.
    fn end(&mut self, _batch: &mut Batch) {}

    /// Number of requests that the trace is known to lack.
    fn lost(&self) -> u64 {
        0
    }

    /// How the trace is interpreted, where the format leaves it open.
    fn remark(&self) -> Option<&str> {
        None
    }

    /// The word by which the trace names a tenant.
    fn tenant_name(&self, _tenant: TenantId) -> Option<&str> {
        None
    }
}

/// One request of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineRequest {
    /// Time on the trace's own clock.
    pub(crate) micros: u64,
    pub(crate) op: Op,
    pub(crate) tenant: TenantId,
    /// Bytes of the key; `None` means the length of its text.
    pub(crate) key_size: Option<u32>,
    pub(crate) value_size: u64,
    pub(crate) ttl: Micros,
    pub(crate) penalty: Micros,
    pub(crate) next: Tick,
}

impl LineRequest {
    /// Makes a read of a value of that size.
    pub(crate) const fn get(micros: u64, value_size: u64) -> Self {
        Self {
            micros,
            op: Op::Get,
            tenant: 0,
            key_size: None,
            value_size,
            ttl: Micros(0),
            penalty: Micros(0),
            next: Tick::NEVER,
        }
    }
}

/// Accesses that wait to be read.
pub(crate) struct Batch {
    accesses: Vec<(Access, Range<usize>)>,
    text: Vec<u8>,
    taken: usize,
    charge: Charge,
    timeline: Timeline,
}

impl Batch {
    /// Adds a request for `key`.
    pub(crate) fn push(&mut self, key: &[u8], request: LineRequest) {
        let start = self.text.len();
        self.text.extend_from_slice(key);
        let key_size = request.key_size.unwrap_or(key.len() as u32);
        let access = Access {
            time: self.timeline.at(request.micros),
            key: hash::bytes(0, key),
            op: request.op,
            tenant: request.tenant,
            key_size,
            value_size: request.value_size,
            size: self.charge.size(key_size, request.value_size),
            ttl: request.ttl,
            penalty: request.penalty,
            next: request.next,
        };
        self.accesses.push((access, start..self.text.len()));
    }

    fn take(&mut self) -> Option<Access> {
        let (access, _) = self.accesses.get(self.taken)?;
        self.taken += 1;
        Some(*access)
    }

    fn key(&self) -> &[u8] {
        let last = self.taken.checked_sub(1).and_then(|last| self.accesses.get(last));
        last.map_or(&[], |(_, range)| &self.text[range.clone()])
    }

    fn clear(&mut self) {
        self.accesses.clear();
        self.text.clear();
        self.taken = 0;
    }
}

/// A trace of lines.
pub(crate) struct Text<F> {
    lines: Lines,
    format: F,
    batch: Batch,
    ended: bool,
}

/// Reads `format` from `reader`.
pub(crate) fn open<F: LineFormat + 'static>(
    reader: Box<dyn BufRead + Send>,
    options: &ReadOptions,
    format: F,
) -> Box<dyn Source> {
    open_lines(Lines::new(reader), options, format)
}

/// Reads `format` from lines whose beginning the format may have seen already.
pub(crate) fn open_lines<F: LineFormat + 'static>(
    lines: Lines,
    options: &ReadOptions,
    format: F,
) -> Box<dyn Source> {
    let batch = Batch {
        accesses: vec![],
        text: vec![],
        taken: 0,
        charge: options.charge,
        timeline: Timeline::default(),
    };
    Box::new(Text { lines, format, batch, ended: false })
}

impl<F: LineFormat> Source for Text<F> {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        loop {
            if let Some(access) = self.batch.take() {
                return Some(Ok(access));
            }
            if self.ended {
                return None;
            }
            self.batch.clear();
            if self.format.resume(&mut self.batch) {
                continue;
            }
            match self.lines.advance() {
                Ok(true) => {}
                Ok(false) => {
                    self.ended = true;
                    self.format.end(&mut self.batch);
                    continue;
                }
                Err(error) => {
                    self.ended = !error.is_malformed();
                    return Some(Err(error));
                }
            }
            let (at, line) = (self.lines.at(), self.lines.line());
            if let Err(problem) = self.format.read(at, line, &mut self.batch) {
                self.batch.clear();
                return Some(Err(Error::line(at, problem)));
            }
        }
    }

    fn key(&self) -> &[u8] {
        self.batch.key()
    }

    fn lost(&self) -> u64 {
        self.format.lost()
    }

    fn remark(&self) -> Option<&str> {
        self.format.remark()
    }

    fn tenant_name(&self, tenant: TenantId) -> Option<&str> {
        self.format.tenant_name(tenant)
    }
}

/// Parses a decimal number with a fraction, times `scale`, rounded down: `"1.5"` seconds are 1 500
/// 000 microseconds with a scale of a million.
pub(crate) fn scaled(text: &[u8], scale: u64) -> Option<u64> {
    let mut rest = text;
    let whole = crate::lines::number(&mut rest)?.checked_mul(scale)?;
    let digits = match rest.split_first() {
        None => return Some(whole),
        Some((b'.', digits)) => digits,
        Some(_) => return None,
    };
    let (mut fraction, mut unit) = (0, scale);
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        unit /= 10;
        fraction += unit * u64::from(digit - b'0');
    }
    whole.checked_add(fraction)
}

/// Parses the size of a value; tools that count in floating point write `10.0`.
pub(crate) fn size(text: &[u8]) -> Option<u64> {
    let whole = match memchr::memchr(b'.', text) {
        Some(point) if text[point + 1..].iter().all(|digit| *digit == b'0') => &text[..point],
        _ => text,
    };
    crate::lines::whole_number(whole).filter(|size| *size <= SIZE_MAX)
}

/// Parses the size of a key: below 4 GiB.
pub(crate) fn key_size(text: &[u8]) -> Option<u32> {
    size(text).and_then(|size| u32::try_from(size).ok())
}

/// The most bytes of a value, one tebibyte, so that sums over a whole trace fit 64 bits.
pub(crate) const SIZE_MAX: u64 = 1 << 40;

/// Reads a text quoted as by Redis (`"a\x00\"b"`) from the front of `rest`, and appends it to `to`.
/// `None` if the quotes are not closed.
pub(crate) fn unquote(rest: &mut &[u8], to: &mut Vec<u8>) -> Option<()> {
    let mut bytes = rest.strip_prefix(b"\"")?;
    loop {
        let plain = memchr::memchr2(b'"', b'\\', bytes)?;
        to.extend_from_slice(&bytes[..plain]);
        let quote = bytes[plain] == b'"';
        bytes = &bytes[plain + 1..];
        if quote {
            *rest = bytes;
            return Some(());
        }
        let (&escaped, behind) = bytes.split_first()?;
        bytes = behind;
        to.push(match escaped {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'a' => 7,
            b'b' => 8,
            b'x' => {
                let byte = hex_pair(bytes)?;
                bytes = &bytes[2..];
                byte
            }
            other => other,
        });
    }
}

/// The byte that two hexadecimal digits stand for.
pub(crate) fn hex_pair(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| text.get(at).and_then(|d| char::from(*d).to_digit(16));
    Some((digit(0)? * 16 + digit(1)?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_scaled() {
        assert_eq!(scaled(b"1339518083.107412", 1_000_000), Some(1_339_518_083_107_412));
        assert_eq!(scaled(b"7", 1_000), Some(7_000));
        assert_eq!(scaled(b"0.9999999999", 1_000_000), Some(999_999));
        for wrong in [&b""[..], b".5", b"1.2.3", b"1e3", b"-1", b"18446744073709551615"] {
            assert_eq!(scaled(wrong, 1_000_000), None);
        }
    }

    #[test]
    fn a_size_may_have_a_fraction_of_nothing() {
        for (text, bytes) in [("10", 10), ("10.0", 10), ("10.", 10), ("0.00", 0)] {
            assert_eq!(size(text.as_bytes()), Some(bytes), "{text}");
        }
        for wrong in ["10.5", ".0", "", "1.0.0", "-1", "2000000000000"] {
            assert_eq!(size(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn quotes_are_undone() {
        let mut text = Vec::new();
        let mut rest = &br#""a\x00\"\\\n" "b""#[..];
        assert_eq!(unquote(&mut rest, &mut text), Some(()));
        assert_eq!((text.as_slice(), rest), (&b"a\0\"\\\n"[..], &b" \"b\""[..]));
        for open in [&b"\"a"[..], b"\"a\\", b"\"\\x0", b"a"] {
            assert_eq!(unquote(&mut &*open, &mut vec![]), None);
        }
    }
}
