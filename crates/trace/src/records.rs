//! Binary records, read without a copy for each.

use crate::{Error, Unit};
use std::io::{self, BufRead, Read};

/// Bytes requested from the reader at a time; more than the buffers of readers, so that they pass
/// the bytes through.
const CHUNK: usize = (1 << 18) + (1 << 12);

/// The records of a reader.
pub(crate) struct Records {
    reader: Box<dyn BufRead + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    at: u64,
    ended: bool,
}

impl Records {
    pub(crate) fn new(reader: Box<dyn BufRead + Send>) -> Self {
        Self { reader, buffer: vec![0; CHUNK], start: 0, end: 0, at: 0, ended: false }
    }

    /// Takes the next `N` bytes; `None` at the end. A shorter rest is an error, once.
    #[inline]
    pub(crate) fn take<const N: usize>(&mut self) -> Result<Option<[u8; N]>, Error> {
        if self.end - self.start < N && !self.fill(N)? {
            return Ok(None);
        }
        let mut record = [0; N];
        record.copy_from_slice(&self.buffer[self.start..self.start + N]);
        self.start += N;
        self.at += 1;
        Ok(Some(record))
    }

    /// Takes the next `len` bytes, without counting a record.
    pub(crate) fn take_some(&mut self, len: usize) -> Result<Option<&[u8]>, Error> {
        if len > self.buffer.len() {
            self.buffer.resize(len, 0);
        }
        if self.end - self.start < len && !self.fill(len)? {
            return Ok(None);
        }
        self.start += len;
        Ok(Some(&self.buffer[self.start - len..self.start]))
    }

    /// The next bytes without taking them: up to `len`, or fewer at the end.
    pub(crate) fn peek(&mut self, len: usize) -> Result<&[u8], Error> {
        while self.end - self.start < len && !self.ended {
            self.ended = self.read_some()? == 0;
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + len)])
    }

    /// The number of the last record taken, from 1.
    pub(crate) const fn at(&self) -> u64 {
        self.at
    }

    #[cold]
    fn fill(&mut self, wanted: usize) -> Result<bool, Error> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted {
            if !self.ended && self.read_some()? > 0 {
                continue;
            }
            self.ended = true;
            let len = std::mem::take(&mut self.end);
            if len == 0 {
                return Ok(false);
            }
            let problem =
                format!("the trace is truncated: the record has {len} of its {wanted} bytes");
            return Err(Error::record(self.at + 1, problem));
        }
        Ok(true)
    }

    /// Reads behind the bytes in the buffer; returns the number of bytes read.
    fn read_some(&mut self) -> Result<usize, Error> {
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(len) => {
                    self.end += len;
                    return Ok(len);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    (self.ended, self.start, self.end) = (true, 0, 0);
                    return Err(Error::Io { unit: Unit::Record, at: self.at, source });
                }
            }
        }
    }
}

/// Reads little-endian fields from a record, from left to right.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    #[inline]
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, tail) = self.0.split_at(N);
        self.0 = tail;
        let mut bytes = [0; N];
        bytes.copy_from_slice(head);
        bytes
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    #[inline]
    pub(crate) fn i64(&mut self) -> i64 {
        i64::from_le_bytes(self.take())
    }
}
