//! Splits lines into fields, by any separator.

use crate::column::Header;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// Splits lines into fields.
pub(super) struct Splitter {
    separator: u8,
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Splitter {
    pub(super) fn new(separator: u8) -> Self {
        let reader = ReaderBuilder::new().delimiter(separator).build();
        Self { separator, reader, text: vec![], ends: vec![] }
    }

    /// Chooses the separator that the line contains.
    pub(super) fn of(line: &[u8]) -> Self {
        Self::new(*b"\t,;|".iter().find(|byte| line.contains(byte)).unwrap_or(&b' '))
    }

    /// Splits a line into fields. Several blanks count as one separator.
    pub(super) fn split(&mut self, line: &[u8]) {
        self.text.clear();
        self.ends.clear();
        if self.separator == b' ' {
            for field in line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()) {
                self.text.extend_from_slice(field);
                self.ends.push(self.text.len());
            }
            return;
        }
        self.reader.reset();
        self.text.resize(line.len(), 0);
        self.ends.resize(line.len() + 1, 0);
        let (mut read, mut written, mut fields) = (0, 0, 0);
        loop {
            // An empty input ends the line.
            let (result, taken, put, ended) = self.reader.read_record(
                &line[read..],
                &mut self.text[written..],
                &mut self.ends[fields..],
            );
            (read, written, fields) = (read + taken, written + put, fields + ended);
            if matches!(result, ReadRecordResult::Record | ReadRecordResult::End) {
                break;
            }
        }
        self.ends.truncate(fields);
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.text[start..*end].trim_ascii())
    }
}

/// The columns named by a first line, with or without a leading `#`.
pub(super) fn header_of(splitter: &mut Splitter, line: &[u8]) -> Option<Header> {
    let names = line.strip_prefix(b"#").unwrap_or(line);
    splitter.split(names.trim_ascii());
    Header::of(splitter.fields()).filter(|header| names.len() == line.len() || header.is_known())
}
