//! Any text with a request a line and columns: the user names them.
//!
//! ```text
//! --columns time,key,-,size --separator tab
//! ```
//!
//! Names are `time` (seconds, with or without a fraction; also `time_ms`, `time_us`, `time_ns`),
//! `key`, `size`, `key_size`, `op`, `tenant`, `ttl` (seconds), `penalty` (microseconds), `next`,
//! and `-` for a column that means nothing. Other programs' names for them are known too: see
//! [`NAMES`]. Without `--columns` the first line must name them. Without `--separator` it is
//! whichever of tab, comma, semicolon, bar and blank the first line has. A field may stand in
//! double quotes.
//!
//! Only `key` is needed. Without a time requests are a millisecond apart; without a size a value
//! has the bytes that `--value-size` says, or one; without an operation requests read.

use super::{Spec, op};
use crate::error::excerpt;
use crate::lines::whole_number;
use crate::object::next_request;
use crate::text::{self, Batch, LineFormat, MADE_GAP_US, Request, scaled, size};
use crate::{Error, Micros, tenant};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "columns",
    about: "text in columns, named by --columns or in the first line",
    extensions: &["tsv", "psv"],
    recognises: |head| {
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = line.trim_ascii_end();
        let columns = named(line, separator_of(line));
        columns.is_some_and(|columns| columns.len() > 1)
    },
    open: |reader, options| {
        let wrong = |name: &str| Error::Unusable(unknown(name));
        let columns = match &options.columns {
            None => None,
            Some(names) => {
                let parsed: Result<Vec<_>, _> =
                    names.split(',').map(|n| find(n.trim()).ok_or_else(|| wrong(n))).collect();
                Some(parsed?)
            }
        };
        if columns.as_ref().is_some_and(|columns| !columns.contains(&Column::Key)) {
            return Err(Error::Unusable("--columns must name one column key".into()));
        }
        let format = Columns {
            named: columns,
            separator: options.separator,
            unknown_size: options.unknown_size(),
            requests: 0,
            key: vec![],
        };
        Ok(text::open(reader, options, format))
    },
    create: None,
    looks_ahead: false,
};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Nothing of use.
    Ignored,
    /// Time, in units of which a second has so many.
    Time(u64),
    /// The key.
    Key,
    /// Bytes of the value.
    Size,
    /// Bytes of the key.
    KeySize,
    /// get, set or delete.
    Op,
    /// Number of the tenant.
    Tenant,
    /// Seconds to live.
    Ttl,
    /// Microseconds a miss costs.
    Penalty,
    /// Number of the request that asks for the object next.
    Next,
}

/// The names of columns, in any case.
pub const NAMES: &[(&str, Column)] = &[
    ("-", Column::Ignored),
    ("_", Column::Ignored),
    ("time", Column::Time(1)),
    ("time_s", Column::Time(1)),
    ("timestamp", Column::Time(1)),
    ("clock_time", Column::Time(1)),
    ("time_ms", Column::Time(1_000)),
    ("time_us", Column::Time(1_000_000)),
    ("time_ns", Column::Time(1_000_000_000)),
    ("key", Column::Key),
    ("obj_id", Column::Key),
    ("object", Column::Key),
    ("id", Column::Key),
    ("size", Column::Size),
    ("value_size", Column::Size),
    ("obj_size", Column::Size),
    ("key_size", Column::KeySize),
    ("op", Column::Op),
    ("operation", Column::Op),
    ("tenant", Column::Tenant),
    ("client", Column::Tenant),
    ("client_id", Column::Tenant),
    ("ttl", Column::Ttl),
    ("penalty", Column::Penalty),
    ("penalty_us", Column::Penalty),
    ("next", Column::Next),
    ("next_access_vtime", Column::Next),
];

fn find(name: &str) -> Option<Column> {
    NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, column)| *column)
}

fn unknown(name: &str) -> String {
    let known: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
    format!("unknown column '{name}': choose of {}", known.join(", "))
}

/// The columns that a first line names; unknown ones are ignored. `None` where it names no key.
fn named(line: &[u8], separator: u8) -> Option<Vec<Column>> {
    let columns: Vec<_> = fields(line, separator)
        .map(|field| {
            let name = std::str::from_utf8(field).ok();
            name.and_then(|name| find(name.trim())).unwrap_or(Column::Ignored)
        })
        .collect();
    columns.contains(&Column::Key).then_some(columns)
}

fn separator_of(line: &[u8]) -> u8 {
    *b"\t,;|".iter().find(|byte| line.contains(byte)).unwrap_or(&b' ')
}

/// The fields of a line. Several blanks separate as one does.
fn fields(line: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    line.split(move |byte| *byte == separator)
        .filter(move |field| separator != b' ' || !field.is_empty())
        .map(|field| {
            let field = field.trim_ascii();
            field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\"")).unwrap_or(field)
        })
}

struct Columns {
    named: Option<Vec<Column>>,
    separator: Option<u8>,
    unknown_size: u32,
    requests: u64,
    key: Vec<u8>,
}

impl LineFormat for Columns {
    fn read(&mut self, at: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        if line.is_empty() || line[0] == b'#' {
            return Ok(());
        }
        let separator = *self.separator.get_or_insert_with(|| separator_of(line));
        let Some(columns) = &self.named else {
            let columns = named(line, separator).ok_or_else(|| {
                format!(
                    "expected the names of the columns, one of them key, and found '{}': name them \
                     with --columns time,key,size",
                    excerpt(line)
                )
            })?;
            self.named = Some(columns);
            return Ok(());
        };
        let mut request = Request::get(self.requests * MADE_GAP_US, self.unknown_size);
        match parse(columns, fields(line, separator), &mut request, &mut self.key) {
            Ok(()) => {
                self.requests += 1;
                batch.push(&self.key, request);
                Ok(())
            }
            // The names, above columns that the user has named.
            Err(_) if at == 1 && named(line, separator).is_some() => Ok(()),
            Err(column) => {
                let found = excerpt(line);
                Err(format!("column {column} is missing or wrong in '{found}'"))
            }
        }
    }
}

fn parse<'a>(
    columns: &[Column],
    mut fields: impl Iterator<Item = &'a [u8]>,
    request: &mut Request,
    key: &mut Vec<u8>,
) -> Result<(), &'static str> {
    key.clear();
    for column in columns {
        // Columns at the end that mean nothing may be missing.
        let Some(field) = fields.next() else {
            if *column == Column::Ignored {
                continue;
            }
            return Err(name_of(*column));
        };
        let number = || whole_number(field);
        let read = match column {
            Column::Ignored => Some(()),
            Column::Time(unit) => micros(field, *unit).map(|micros| request.micros = micros),
            Column::Key => {
                key.extend_from_slice(field);
                Some(())
            }
            Column::Size => size(field).map(|size| request.value_size = size),
            Column::KeySize => size(field).map(|size| request.key_size = Some(size)),
            Column::Op => op(field).map(|op| request.op = op),
            Column::Tenant => number().map(|client| request.tenant = tenant(client)),
            Column::Ttl => scaled(field, 1_000_000).map(|us| request.ttl = Micros(us)),
            Column::Penalty => scaled(field, 1).map(|us| request.penalty = Micros(us)),
            Column::Next => std::str::from_utf8(field)
                .ok()
                .and_then(|text| text.parse().ok())
                .map(|next| request.next = next_request(next)),
        };
        read.ok_or(name_of(*column))?;
    }
    if key.is_empty() { Err("key") } else { Ok(()) }
}

/// A time in units of which a second has `unit`, in microseconds.
fn micros(field: &[u8], unit: u64) -> Option<u64> {
    match MICROS_A_SECOND.checked_div(unit) {
        Some(0) | None => scaled(field, 1).map(|time| time / (unit / MICROS_A_SECOND)),
        Some(scale) => scaled(field, scale),
    }
}

const MICROS_A_SECOND: u64 = 1_000_000;

fn name_of(column: Column) -> &'static str {
    NAMES.iter().find(|(_, known)| *known == column).map_or("-", |(name, _)| *name)
}
