//! The common format: one request a line, seven columns, no header, in the order of time.
//!
//! ```text
//! time_us,key,key_size,value_size,client_id,op,ttl
//! 1000,user:17,7,512,3,get,0
//! ```
//!
//! The columns are those of the traces that Twitter published [1], but the time is in microseconds
//! and the operations are get, set and delete. `client_id` is the tenant, a number or a word; `ttl`
//! is in seconds, 0 for none. The key has no comma. Empty lines and lines that begin with `#` are
//! skipped, and so is a first line with the names of these columns. A first line with other names
//! is an error, because the columns would be misread.
//!
//! The line is parsed from left to right, and each number is read in place. No field is copied, and
//! none is searched for twice.
//!
//! [1] Yang, Yue, Rashmi. A large scale analysis of hundreds of in-memory cache clusters at
//! Twitter. OSDI '20.

use super::{FormatSpec, Loss};
use crate::column::{Column, Header, known};
use crate::error::excerpt;
use crate::lines::{Lines, number, spoken};
use crate::ops::{op, word};
use crate::tenants::Tenants;
use crate::text::SIZE_MAX;
use crate::{Charge, Error, Sink, Source, Unit};
use base::{Access, Micros, TenantId, Tick, hash};
use std::io::{BufWriter, Write};
use std::ops::Range;

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "csv",
    about: "time_us,key,key_size,value_size,client_id,op,ttl",
    units: "times in microseconds, times to live in seconds (for seconds: --format twitter)",
    extensions: &["csv"],
    recognises: |head| {
        let line = spoken(head).next().unwrap_or_default();
        parse(line, Charge::Value, &mut Tenants::default()).is_ok() || is_header(line)
    },
    open: |reader, options| {
        let mut lines = Lines::new(reader);
        while lines.advance()? {
            let line = lines.line();
            if is_header(line) {
                break;
            }
            if !line.is_empty() && line[0] != b'#' {
                refuse_header(line).map_err(Error::Unusable)?;
                lines.back();
                break;
            }
        }
        let tenants = Tenants::default();
        Ok(Box::new(Csv { lines, charge: options.charge, key: 0..0, tenants }))
    },
    create: Some(|writer, _| {
        let writer = BufWriter::with_capacity(1 << 16, writer);
        Ok(Box::new(CsvWriter { out: writer, line: vec![], written: 0 }))
    }),
    looks_ahead: false,
    loses: &[Loss::Penalties],
};

struct Csv {
    lines: Lines,
    charge: Charge,
    key: Range<usize>,
    tenants: Tenants,
}

impl Source for Csv {
    #[inline]
    fn next(&mut self) -> Option<Result<Access, Error>> {
        loop {
            match self.lines.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
            let line = self.lines.line();
            return match parse(line, self.charge, &mut self.tenants) {
                Ok((access, key)) => {
                    self.key = key;
                    Some(Ok(access))
                }
                Err(_) if line.is_empty() || line[0] == b'#' => continue,
                Err(problem) => {
                    self.key = 0..0;
                    Some(Err(Error::line(self.lines.at(), explain(problem, line))))
                }
            };
        }
    }

    fn key(&self) -> &[u8] {
        &self.lines.line()[self.key.clone()]
    }

    fn tenant_name(&self, tenant: TenantId) -> Option<&str> {
        self.tenants.name_of(tenant)
    }
}

/// The columns, from left to right.
const COLUMNS: [Column; 7] = [
    Column::Time(1_000_000),
    Column::Key,
    Column::KeySize,
    Column::Size,
    Column::Tenant,
    Column::Op,
    Column::Ttl,
];

/// Whether a line names the columns.
fn is_header(line: &[u8]) -> bool {
    let header = Header::of(line.split(|byte| *byte == b','));
    header.is_some_and(|header| header.columns == COLUMNS)
}

/// Refuses a first line that names other columns, or these in another order.
fn refuse_header(line: &[u8]) -> Result<(), String> {
    let separator = b",;\t|".iter().find(|byte| line.contains(byte));
    let header = separator.and_then(|separator| Header::of(line.split(|byte| byte == separator)));
    if header.is_none() {
        return Ok(());
    }
    Err(format!(
        "the first line names the columns {}, but the format has {}: name the columns with \
         --columns, as in --columns time,key,size, with - for a column to skip, from {}",
        excerpt(line),
        SPEC.about,
        known()
    ))
}

/// The name of a wrong column.
type Problem = &'static str;

#[inline]
fn parse(
    line: &[u8],
    charge: Charge,
    tenants: &mut Tenants,
) -> Result<(Access, Range<usize>), Problem> {
    let mut rest = line;
    let time = column(&mut rest, "time_us (a whole number of microseconds)")?;
    let start = line.len() - rest.len();
    let len = memchr::memchr(b',', rest).ok_or("key (text without commas)")?;
    let key = start..start + len;
    if key.is_empty() {
        return Err("key (at least one character)");
    }
    rest = &rest[len + 1..];
    let key_size = column(&mut rest, "key_size (a number of bytes)")?;
    let value_size = column(&mut rest, "value_size (a number of bytes)")?;
    let before = rest;
    let number_of = column(&mut rest, "client_id (a number)").ok();
    if number_of.is_none() {
        let len = memchr::memchr(b',', before).filter(|len| *len > 0);
        rest = &before[len.ok_or("client_id (a number or a word)")? + 1..];
    }
    let client = &before[..before.len() - rest.len() - 1];
    let len = memchr::memchr(b',', rest).ok_or("op (get, set or delete, then a comma and ttl)")?;
    let op = op(&rest[..len]).ok_or("op (get, set or delete)")?;
    rest = &rest[len + 1..];
    let ttl = number(&mut rest).filter(|_| rest.is_empty());
    let ttl = ttl.ok_or("ttl (a whole number of seconds, 0 for none, and nothing after it)")?;
    let key_size = u32::try_from(key_size).map_err(|_| "key_size (below 4 GiB)")?;
    if value_size > SIZE_MAX {
        return Err("value_size (at most 1 TiB)");
    }
    let tenant = match number_of {
        Some(number) if !tenants.has_words() => tenants.number(number),
        _ => tenants.of(client),
    };
    let access = Access {
        time: Micros(time),
        key: hash::bytes(0, &line[key.clone()]),
        op,
        tenant,
        key_size,
        value_size,
        size: charge.size(key_size, value_size),
        ttl: Micros(ttl.saturating_mul(1_000_000)),
        penalty: Micros(0),
        next: Tick::NEVER,
    };
    Ok((access, key))
}

/// Reads a number and the comma after it.
#[inline]
fn column(rest: &mut &[u8], name: Problem) -> Result<u64, Problem> {
    let value = number(rest).ok_or(name)?;
    match rest.split_first() {
        Some((b',', behind)) => {
            *rest = behind;
            Ok(value)
        }
        _ => Err(name),
    }
}

#[cold]
fn explain(problem: Problem, line: &[u8]) -> String {
    format!(
        "column {problem} is missing or wrong in '{}'; a line has the columns {}; for other \
         columns use --format columns --columns",
        excerpt(line),
        SPEC.about
    )
}

/// Writes the key and a comma. Characters that a column cannot hold are written as in a URL: `%2C`
/// for a comma, and likewise a quote, because a column may begin with one. An empty key is written
/// as `%`.
pub(super) fn write_key(line: &mut Vec<u8>, key: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in key {
        if byte > b' ' && !matches!(byte, b',' | b'"' | 0x7f) {
            line.push(byte);
        } else {
            line.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
    if key.is_empty() {
        line.push(b'%');
    }
    line.push(b',');
}

struct CsvWriter<W: Write> {
    out: BufWriter<W>,
    line: Vec<u8>,
    written: u64,
}

impl<W: Write + Send> Sink for CsvWriter<W> {
    fn put(&mut self, access: &Access, key: &[u8]) -> Result<(), Error> {
        let mut digits = itoa::Buffer::new();
        self.line.clear();
        let mut column = |line: &mut Vec<u8>, value: u64| {
            line.extend_from_slice(digits.format(value).as_bytes());
            line.push(b',');
        };
        column(&mut self.line, access.time.0);
        write_key(&mut self.line, key);
        column(&mut self.line, u64::from(access.key_size));
        column(&mut self.line, access.value_size);
        column(&mut self.line, u64::from(access.tenant));
        self.line.extend_from_slice(word(access.op).as_bytes());
        self.line.push(b',');
        column(&mut self.line, access.ttl.0.div_ceil(1_000_000));
        self.line.pop();
        self.line.push(b'\n');
        self.written += 1;
        self.out.write_all(&self.line).map_err(|source| self.io(source))
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.out.flush().map_err(|source| self.io(source))
    }
}

impl<W: Write> CsvWriter<W> {
    fn io(&self, source: std::io::Error) -> Error {
        Error::Io { unit: Unit::Line, at: self.written, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Op, ReadOptions, SkipBad};
    use std::io::Cursor;

    fn open(text: &str) -> Box<dyn Source> {
        (SPEC.open)(Box::new(Cursor::new(text.to_owned())), &ReadOptions::default()).unwrap()
    }

    #[test]
    fn seven_columns_become_an_access() {
        let mut source = open("# a comment\n\n1000,user:17,7,512,3,set,60\r\n");
        let access = source.next().unwrap().unwrap();
        assert_eq!(source.key(), b"user:17");
        let expected = Access {
            time: Micros(1000),
            key: hash::bytes(0, b"user:17"),
            op: Op::Set,
            tenant: 3,
            key_size: 7,
            ttl: Micros::from_secs(60),
            ..Access::get(0, 512)
        };
        assert_eq!(access, expected);
        assert!(source.next().is_none());
    }

    /// The error for a broken file names the line and the column, not a byte offset.
    #[test]
    fn an_error_names_the_line_and_the_column() {
        for (line, column) in [
            ("1000", "time_us"),
            ("x,k,1,1,0,get,0", "time_us"),
            ("1,,1,1,0,get,0", "key"),
            ("1,k,1,-1,0,get,0", "value_size"),
            ("1,k,1,1099511627777,0,get,0", "value_size"),
            ("1,k,4294967296,1,0,get,0", "key_size"),
            ("1,k,1,1,0,got,0", "op"),
            ("1,k,1,1,0,get", "op"),
            ("1,k,1,1,0,get,0,9", "ttl"),
        ] {
            let mut source = open(&format!("0,k,1,1,0,get,0\n{line}\n5,k,1,1,0,get,0"));
            assert!(source.next().unwrap().is_ok());
            let error = source.next().unwrap().unwrap_err().to_string();
            assert!(error.starts_with("line 2: "), "{error}");
            assert!(error.contains(&format!("column {column} ")), "{line}: {error}");
            assert!(source.next().unwrap().is_ok(), "the stream goes on");
        }
    }

    #[test]
    fn bad_lines_are_counted_when_asked() {
        let mut source = SkipBad::new(open("0,k,1,1,0,get,0\nbad\n\u{fffd}\n2,j,1,1,0,get,0\n"));
        let times: Vec<_> =
            std::iter::from_fn(|| source.next()).map(|access| access.unwrap().time.0).collect();
        assert_eq!((times, source.skipped()), (vec![0, 2], 2));
    }

    #[test]
    fn a_client_may_be_a_word() {
        let mut source = open("0,k,1,1,4,get,0\n0,k,1,1,web,get,0\n1,k,1,1,4,get,0\n");
        let tenants: Vec<_> =
            std::iter::from_fn(|| source.next()).map(|access| access.unwrap().tenant).collect();
        assert_eq!(tenants, [4, 5, 4]);
        assert_eq!((source.tenant_name(5), source.tenant_name(4)), (Some("web"), None));
    }

    /// A first line with other names must not be skipped, because the columns would be misread.
    #[test]
    fn a_first_line_names_these_columns_or_is_refused() {
        let names = "time_us,key,key_size,value_size,client_id,op,ttl";
        assert!((SPEC.recognises)(names.as_bytes()));
        let mut source = open(&format!("{names}\n0,k,1,1,0,get,0\n"));
        assert!(source.next().unwrap().is_ok() && source.next().is_none());
        let commented = format!("# made by hand\n\n{names}\n0,k,1,1,0,get,0\n");
        assert!((SPEC.recognises)(commented.as_bytes()));
        let mut source = open(&commented);
        assert!(source.next().unwrap().is_ok() && source.next().is_none());
        for names in
            ["time,key,value_size,key_size,client_id,op,ttl", "url;len", "time_us,a,b,c,d,e,f"]
        {
            let text = format!("{names}\n0,k,1,1,0,get,0\n");
            let opened = (SPEC.open)(Box::new(Cursor::new(text)), &ReadOptions::default());
            let error = opened.err().unwrap();
            assert!(!error.is_malformed(), "it cannot be passed over");
            let error = error.to_string();
            assert!(error.contains(names) && error.contains("--columns time,key"), "{error}");
        }
    }

    #[test]
    fn a_client_beyond_the_last_tenant_is_the_last_tenant() {
        let mut source = open("0,k,1,1,70000,get,0");
        assert_eq!(source.next().unwrap().unwrap().tenant, u16::MAX);
    }
}
