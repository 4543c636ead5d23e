//! Any text with a request a line and columns: the first line names them, or the user does.
//!
//! ```text
//! --columns time,key,-,size --separator tab
//! ```
//!
//! Names are `time` (seconds, with or without a fraction; also `time_ms`, `time_us`, `time_ns`),
//! `key`, `size`, `key_size`, `op`, `tenant` (a number or a word), `ttl` (seconds), `penalty`
//! (microseconds; also `penalty_s` and so on), `next`, and `-` for a column that means nothing.
//! Names of other programs are known too: see [`column::NAMES`](crate::column::NAMES). The first
//! line may begin with a `#`, as libCacheSim prints it. The default separator is the first of tab,
//! comma, semicolon, bar and blank that the line contains. A field may be in double quotes.
//!
//! A first line must name the key and the size; `--value-size` or `--ignore-size` may replace the
//! size. Where the user names the columns, only the key is required. Without a time, requests are a
//! millisecond apart. Without a size, a value has the bytes of `--value-size`, or one. Without an
//! operation, requests read.
//!
//! Written traces have every part of a request except the next access of the key, and have tenants
//! by name:
//!
//! ```text
//! time_us,key,key_size,value_size,tenant,op,ttl,penalty_us
//! ```

use super::csv::write_key;
use super::{Spec, word};
use crate::column::{Column, Header, known};
use crate::error::excerpt;
use crate::lines::{Lines, whole_number};
use crate::object::next_request;
use crate::ops::{FIX as OPS_FIX, Ops};
use crate::tenants::Tenants;
use crate::text::{self, Batch, LineFormat, MADE_GAP_US, Request, key_size, scaled, size};
use crate::{Access, Error, Micros, Options, Sink, TenantId, Unit};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "columns",
    about: "text in columns, named in the first line or by --columns",
    units: "",
    extensions: &["tsv", "psv"],
    recognises: |head| {
        // The names may follow a hash, and comment lines.
        let lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        for line in lines.filter(|line| !line.is_empty()) {
            let header = header_of(&mut Splitter::of(line), line);
            if header.is_some_and(|header| header.is_known()) {
                return true;
            }
            if line[0] != b'#' {
                return false;
            }
        }
        false
    },
    open: |reader, options| {
        let mut lines = Lines::new(reader);
        let format = Columns::begin(&mut lines, options)?;
        Ok(text::open_lines(lines, options, format))
    },
    create: Some(|writer, _| {
        let mut out = BufWriter::with_capacity(1 << 16, writer);
        writeln!(out, "{WRITTEN}").map_err(|source| Error::Io {
            unit: Unit::Line,
            at: 0,
            source,
        })?;
        Ok(Box::new(Writer { out, line: vec![], names: BTreeMap::new(), written: 1 }))
    }),
    looks_ahead: false,
    loses: &[],
};

/// The columns of a written trace.
const WRITTEN: &str = "time_us,key,key_size,value_size,tenant,op,ttl,penalty_us";

/// Splits lines into fields.
struct Splitter {
    separator: u8,
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Splitter {
    fn new(separator: u8) -> Self {
        let reader = ReaderBuilder::new().delimiter(separator).build();
        Self { separator, reader, text: vec![], ends: vec![] }
    }

    /// Chooses the separator that the line contains.
    fn of(line: &[u8]) -> Self {
        Self::new(*b"\t,;|".iter().find(|byte| line.contains(byte)).unwrap_or(&b' '))
    }

    /// Splits a line into fields. Several blanks count as one separator.
    fn split(&mut self, line: &[u8]) {
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

    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.text[start..*end].trim_ascii())
    }
}

/// The columns named by a first line, with or without a leading `#`.
fn header_of(splitter: &mut Splitter, line: &[u8]) -> Option<Header> {
    let names = line.strip_prefix(b"#").unwrap_or(line);
    splitter.split(names.trim_ascii());
    Header::of(splitter.fields()).filter(|header| names.len() == line.len() || header.is_known())
}

struct Columns {
    named: Vec<Column>,
    splitter: Splitter,
    unknown_size: u64,
    requests: u64,
    key: Vec<u8>,
    tenants: Tenants,
    remark: Option<String>,
    /// The meanings of words and numbers for operations.
    ops: Ops,
}

impl Columns {
    /// Reads the lines before the first request.
    fn begin(lines: &mut Lines, options: &Options) -> Result<Self, Error> {
        let asked = options.columns.as_deref().map(Header::asked).transpose();
        let asked = asked.map_err(Error::Unusable)?;
        let mut format = Self {
            named: vec![],
            splitter: Splitter::new(options.separator.unwrap_or(b',')),
            unknown_size: options.unknown_size(),
            requests: 0,
            key: vec![],
            tenants: Tenants::default(),
            remark: None,
            ops: Ops::of(options).map_err(Error::Unusable)?,
        };
        while lines.advance()? {
            let line = lines.line().trim_ascii();
            if options.separator.is_none() {
                format.splitter = Splitter::of(line);
            }
            let header = header_of(&mut format.splitter, line);
            if line.is_empty() || (line[0] == b'#' && header.is_none()) {
                continue;
            }
            let header = match (&asked, header) {
                (Some(asked), header) => {
                    format.named.clone_from(&asked.columns);
                    format.splitter.split(line);
                    let fields = format.splitter.fields().count();
                    // A line of names above columns that the user has named.
                    let is_request = line[0] != b'#' && format.parse(line).is_ok();
                    if is_request || header.is_none() {
                        lines.back();
                    }
                    let more = fields.saturating_sub(asked.columns.len());
                    format.remark = Some(asked.remark(options, more));
                    return Ok(format);
                }
                (None, Some(header)) => header,
                (None, None) => {
                    return Err(Error::Unusable(format!(
                        "expected the names of the columns in the first line, and found '{}': name \
                         them with --columns, as in --columns time,key,size, - for what means \
                         nothing, of {}",
                        excerpt(line),
                        known()
                    )));
                }
            };
            header.check(options).map_err(Error::Unusable)?;
            format.remark = Some(header.remark(options, 0));
            format.named = header.columns;
            return Ok(format);
        }
        Ok(format)
    }

    /// Parses the request of a line and puts its key into `key`; the error names the wrong column.
    fn parse(&mut self, line: &[u8]) -> Result<Request, String> {
        let mut request = Request::get(self.requests * MADE_GAP_US, self.unknown_size);
        self.key.clear();
        self.splitter.split(line);
        let mut fields = self.splitter.fields();
        for column in &self.named {
            // Ignored columns at the end may be missing.
            let Some(field) = fields.next() else {
                if *column == Column::Ignored {
                    continue;
                }
                return Err(column.about());
            };
            let tenants = &mut self.tenants;
            let read = match column {
                Column::Ignored => Some(()),
                Column::Time(unit) => micros(field, *unit).map(|micros| request.micros = micros),
                Column::Key => {
                    self.key.extend_from_slice(field);
                    Some(())
                }
                Column::Size => size(field).map(|size| request.value_size = size),
                Column::KeySize => key_size(field).map(|size| request.key_size = Some(size)),
                Column::Op => self.ops.get(field).map(|op| request.op = op),
                Column::Tenant => (!field.is_empty()).then(|| request.tenant = tenants.of(field)),
                Column::Ttl => scaled(field, 1_000_000).map(|us| request.ttl = Micros(us)),
                Column::Penalty(unit) => {
                    micros(field, *unit).map(|us| request.penalty = Micros(us))
                }
                Column::Next => std::str::from_utf8(field)
                    .ok()
                    .and_then(|text| text.parse().ok())
                    .map(|next| request.next = next_request(next)),
            };
            if read.is_none() && *column == Column::Op && whole_number(field).is_some() {
                return Err(format!("operation: a number, {OPS_FIX}"));
            }
            read.ok_or_else(|| column.about())?;
        }
        if self.key.is_empty() { Err(Column::Key.about()) } else { Ok(request) }
    }
}

impl LineFormat for Columns {
    fn read(&mut self, _: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        if line.is_empty() || line[0] == b'#' {
            return Ok(());
        }
        let request = self.parse(line).map_err(|column| {
            format!("the column of the {column} is missing or wrong in '{}'", excerpt(line))
        })?;
        self.requests += 1;
        batch.push(&self.key, request);
        Ok(())
    }

    fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    fn tenant_name(&self, tenant: TenantId) -> Option<&str> {
        self.tenants.name_of(tenant)
    }
}

struct Writer<W: Write> {
    out: BufWriter<W>,
    line: Vec<u8>,
    names: BTreeMap<TenantId, String>,
    written: u64,
}

impl<W: Write + Send> Sink for Writer<W> {
    fn put(&mut self, access: &Access, key: &[u8]) -> Result<(), Error> {
        self.line.clear();
        let line = &mut self.line;
        let mut write = || {
            write!(line, "{},", access.time.0)?;
            write_key(line, key);
            write!(line, "{},{},", access.key_size, access.value_size)?;
            match self.names.get(&access.tenant) {
                Some(name) => write_key(line, name.as_bytes()),
                None => write!(line, "{},", access.tenant)?,
            }
            write!(line, "{},{}", word(access.op), access.ttl.0 / MICROS_A_SECOND)?;
            let fraction = access.ttl.0 % MICROS_A_SECOND;
            if fraction > 0 {
                write!(line, ".{fraction:06}")?;
            }
            writeln!(line, ",{}", access.penalty.0)?;
            self.out.write_all(line)
        };
        let at = self.written;
        write().map_err(|source| Error::Io { unit: Unit::Line, at, source })?;
        self.written += 1;
        Ok(())
    }

    fn name_tenant(&mut self, tenant: TenantId, name: &str) -> bool {
        self.names.insert(tenant, name.to_owned());
        true
    }

    fn finish(&mut self) -> Result<(), Error> {
        let at = self.written;
        self.out.flush().map_err(|source| Error::Io { unit: Unit::Line, at, source })
    }
}

/// Converts a time in units of `unit` per second into microseconds.
fn micros(field: &[u8], unit: u64) -> Option<u64> {
    match MICROS_A_SECOND.checked_div(unit) {
        Some(0) | None => scaled(field, 1).map(|time| time / (unit / MICROS_A_SECOND)),
        Some(scale) => scaled(field, scale),
    }
}

const MICROS_A_SECOND: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Charge, Source};
    use std::io::Cursor;

    fn open(text: &str, options: &Options) -> Result<Box<dyn Source>, String> {
        let reader = Box::new(Cursor::new(text.to_owned()));
        (SPEC.open)(reader, options).map_err(|error| error.to_string())
    }

    fn with_columns(names: &str) -> Options {
        Options { columns: Some(names.into()), ..Options::default() }
    }

    fn accesses(source: &mut dyn Source) -> Vec<(String, Access)> {
        let mut found = vec![];
        while let Some(access) = source.next() {
            found.push((String::from_utf8_lossy(source.key()).into_owned(), access.unwrap()));
        }
        found
    }

    /// Sizes become 1 and tenants one if a header with other words is misread.
    #[test]
    fn a_header_is_understood_and_said() {
        let text = "object;bytes;service;colour\n\"a;\"\"b\";512;web;red\nc;7;cart;red\n";
        assert!((SPEC.recognises)(text.as_bytes()));
        let mut source = open(text, &Options::default()).unwrap();
        let remark = source.remark().unwrap().to_owned();
        for part in [
            "object is the key, bytes is the size in bytes, service is the tenant",
            "ignored: colour",
            "missing: time (requests are a millisecond apart), operation (all read)",
        ] {
            assert!(remark.contains(part), "{remark}");
        }
        let found = accesses(&mut *source);
        let all: Vec<_> =
            found.iter().map(|(key, a)| (key.as_str(), a.value_size, a.tenant)).collect();
        assert_eq!(all, [("a;\"b", 512, 0), ("c", 7, 1)]);
        assert_eq!((source.tenant_name(0), source.tenant_name(1)), (Some("web"), Some("cart")));
    }

    /// The error lists the names of the header, the meaning of each, and the fix.
    #[test]
    fn a_header_without_key_or_size_is_an_error() {
        for (text, parts) in [
            ("time,url,bytes\n0,a,5\n", ["the key", "url (not known)"]),
            ("key,length\na,5\n", ["the size", "length (not known)"]),
            ("a,b\n", ["the key", "a (not known)"]),
            ("0,1\n", ["first line", "--columns time,key,size"]),
        ] {
            let error = open(text, &Options::default()).err().unwrap();
            for part in parts.into_iter().chain(["--columns", "penalty_ms"]) {
                assert!(error.contains(part), "{text}: {error}");
            }
        }
        for options in [
            Options { value_size: Some(9), ..Options::default() },
            Options { charge: Charge::One, ..Options::default() },
        ] {
            let mut source = open("key,length\na,5\n", &options).unwrap();
            assert!(source.remark().unwrap().contains("ignored: length"));
            assert_eq!(accesses(&mut *source).len(), 1);
        }
    }

    /// The form of libCacheSim: the names follow a `#`.
    #[test]
    fn a_header_may_stand_behind_a_hash() {
        let text = "# time,object,size,next_access_vtime\n5,17,100,3\n6,4,7,-1\n";
        assert!((SPEC.recognises)(text.as_bytes()));
        assert!(!(SPEC.recognises)(b"# made by hand, twice\n0,17,2,100,0,get,0\n"));
        let found = accesses(&mut *open(text, &Options::default()).unwrap());
        let all: Vec<_> = found.iter().map(|(k, a)| (k.as_str(), a.time.0, a.next.0)).collect();
        assert_eq!(all, [("17", 0, 3), ("4", 1_000_000, u64::MAX)]);
    }

    #[test]
    fn named_columns_are_said_and_checked() {
        let options = with_columns("key,-,penalty_ms");
        let mut source = open("url,app,wait,more\na,x,1.5,9\nb,y,2,9\n", &options).unwrap();
        let remark = source.remark().unwrap().to_owned();
        for part in ["penalty_ms is the penalty of a miss in milliseconds", "1 more", "has 1)"] {
            assert!(remark.contains(part), "{remark}");
        }
        let found = accesses(&mut *source);
        let all: Vec<_> = found.iter().map(|(key, a)| (key.as_str(), a.penalty.0)).collect();
        assert_eq!(all, [("a", 1_500), ("b", 2_000)], "the names are no request");
        for (names, part) in [
            ("key,colour", "unknown column 'colour'"),
            ("key,id", "second for the key"),
            ("time,size", "one column key"),
        ] {
            let error = open("a,1\n", &with_columns(names)).err().unwrap();
            assert!(error.contains(part), "{names}: {error}");
        }
    }

    #[test]
    fn of_two_columns_for_one_thing_the_plainer_name_counts() {
        let text = "id,key,size,object_size\n1,a,5,6\n";
        let mut source = open(text, &Options::default()).unwrap();
        assert!(source.remark().unwrap().contains("ignored: id, object_size"));
        let found = accesses(&mut *source);
        assert_eq!((found[0].0.as_str(), found[0].1.value_size), ("a", 5));
    }
}
