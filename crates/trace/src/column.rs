//! Columns of text, by their names in a first line or in `--columns`.
//!
//! A header that is misread gives wrong figures silently. So the program reports which columns it
//! uses and which it ignores, and its substitute for each missing column. A header without a key or
//! without sizes is an error that lists its names.

use crate::{Charge, ReadOptions};

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Nothing that the reader uses.
    Ignored,
    /// Time; the number is the units per second.
    Time(u64),
    /// The key.
    Key,
    /// Bytes of the value.
    Size,
    /// Bytes of the key.
    KeySize,
    /// get, set or delete.
    Op,
    /// The tenant: a number or a word.
    Tenant,
    /// Seconds to live.
    Ttl,
    /// The cost of a miss; the number is the units per second.
    Penalty(u64),
    /// Index of the next request for the same object.
    Next,
}

/// The names of columns, in upper or lower case. If several columns have the same meaning, the one
/// whose name comes first in this list is used.
pub const NAMES: &[(&str, Column)] = &[
    ("-", Column::Ignored),
    ("_", Column::Ignored),
    ("time", Column::Time(1)),
    ("time_s", Column::Time(1)),
    ("time_ms", Column::Time(1_000)),
    ("time_us", Column::Time(1_000_000)),
    ("time_ns", Column::Time(1_000_000_000)),
    ("timestamp", Column::Time(1)),
    ("timestamp_ms", Column::Time(1_000)),
    ("timestamp_us", Column::Time(1_000_000)),
    ("timestamp_ns", Column::Time(1_000_000_000)),
    ("clock_time", Column::Time(1)),
    ("key", Column::Key),
    ("obj_id", Column::Key),
    ("object_id", Column::Key),
    ("object", Column::Key),
    ("id", Column::Key),
    ("value_size", Column::Size),
    ("size", Column::Size),
    ("obj_size", Column::Size),
    ("object_size", Column::Size),
    ("bytes", Column::Size),
    ("key_size", Column::KeySize),
    ("op", Column::Op),
    ("operation", Column::Op),
    ("tenant", Column::Tenant),
    ("client", Column::Tenant),
    ("client_id", Column::Tenant),
    ("service", Column::Tenant),
    ("usecase", Column::Tenant),
    ("ttl", Column::Ttl),
    ("penalty", Column::Penalty(1_000_000)),
    ("penalty_us", Column::Penalty(1_000_000)),
    ("penalty_ms", Column::Penalty(1_000)),
    ("penalty_s", Column::Penalty(1)),
    ("penalty_ns", Column::Penalty(1_000_000_000)),
    ("next", Column::Next),
    ("next_access_vtime", Column::Next),
];

/// All names, for help and errors.
pub fn known() -> String {
    let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

/// The index of a name in [`NAMES`].
fn rank(name: &str) -> Option<usize> {
    NAMES.iter().position(|(known, _)| known.eq_ignore_ascii_case(name.trim()))
}

impl Column {
    /// The column with that name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        rank(name).map(|at| NAMES[at].1)
    }

    fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// The meaning of the column, with its unit.
    pub(crate) fn about(self) -> String {
        let unit = |a_second: u64| match a_second {
            1 => "seconds",
            1_000 => "milliseconds",
            1_000_000 => "microseconds",
            _ => "nanoseconds",
        };
        match self {
            Self::Ignored => "nothing".into(),
            Self::Time(a_second) => format!("time in {}", unit(a_second)),
            Self::Key => "key".into(),
            Self::Size => "size in bytes".into(),
            Self::KeySize => "key size in bytes".into(),
            Self::Op => "operation".into(),
            Self::Tenant => "tenant".into(),
            Self::Ttl => "time to live in seconds".into(),
            Self::Penalty(a_second) => format!("penalty of a miss in {}", unit(a_second)),
            Self::Next => "next request".into(),
        }
    }
}

/// The columns of a trace, from left to right.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) columns: Vec<Column>,
    names: Vec<String>,
}

impl Header {
    /// Parses the argument of `--columns`.
    pub(crate) fn asked(names: &str) -> Result<Self, String> {
        let names: Vec<_> = names.split(',').map(|name| name.trim().to_owned()).collect();
        let mut columns: Vec<Column> = vec![];
        for name in &names {
            let column = Column::find(name).ok_or_else(|| {
                format!("--columns: unknown column '{name}': choose from {}", known())
            })?;
            let again = columns.iter().any(|known| known.is_like(column));
            if again && column != Column::Ignored {
                return Err(format!(
                    "--columns: '{name}' is the second column for the {}: write - for one of them",
                    column.about()
                ));
            }
            columns.push(column);
        }
        if !columns.contains(&Column::Key) {
            return Err("--columns needs one column named key".into());
        }
        Ok(Self { columns, names })
    }

    /// Reads the fields of a first line as names of columns; `None` unless the fields are words,
    /// and more than one.
    pub(crate) fn of<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let names: Vec<String> =
            fields.map(|field| name_of(field).map(str::to_owned)).collect::<Option<_>>()?;
        let ranks: Vec<_> = names.iter().map(|name| rank(name)).collect();
        let columns = ranks.iter().enumerate().map(|(at, rank)| {
            let Some(rank) = *rank else { return Column::Ignored };
            let column = NAMES[rank].1;
            let is_better = |(other, known): (usize, &Option<usize>)| {
                let known = known.filter(|known| NAMES[*known].1.is_like(column));
                known.is_some_and(|known| (known, other) < (rank, at))
            };
            if ranks.iter().enumerate().any(is_better) { Column::Ignored } else { column }
        });
        let columns = columns.collect();
        let is_line = names.len() > 1 && names.iter().any(|name| !name.is_empty());
        is_line.then_some(Self { columns, names })
    }

    pub(crate) fn has(&self, column: Column) -> bool {
        self.columns.iter().any(|known| known.is_like(column))
    }

    /// Whether the line is likely a header and not a request in words: it names the key, or two
    /// columns.
    pub(crate) fn is_known(&self) -> bool {
        let known = self.columns.iter().filter(|column| **column != Column::Ignored).count();
        known > 1 || (known == 1 && self.has(Column::Key))
    }

    /// Rejects a header without a key or without sizes; the error lists its names with the meaning
    /// of each.
    pub(crate) fn check(&self, options: &ReadOptions) -> Result<(), String> {
        let missing = if !self.has(Column::Key) {
            "the key"
        } else if !self.has(Column::Size)
            && options.value_size.is_none()
            && !matches!(options.charge, Charge::One)
        {
            "the size (or give --value-size BYTES or --ignore-size)"
        } else {
            return Ok(());
        };
        let listed: Vec<_> = self.each().map(|(name, about)| format!("{name} ({about})")).collect();
        Err(format!(
            "the first line names no column for {missing}: it has {}; name the columns in this \
             order with --columns, with - for a column to skip, from {}",
            listed.join(", "),
            known()
        ))
    }

    fn each(&self) -> impl Iterator<Item = (&str, String)> {
        self.names.iter().zip(&self.columns).map(|(name, column)| {
            let about = match column {
                Column::Ignored => "unknown".to_owned(),
                column => column.about(),
            };
            (name.as_str(), about)
        })
    }

    /// The remark about used and ignored columns, and about substitutes for missing ones. A line
    /// has `more` fields than the header has names.
    pub(crate) fn remark(&self, options: &ReadOptions, more: usize) -> String {
        let (used, ignored): (Vec<_>, Vec<_>) =
            self.each().zip(&self.columns).partition(|(_, column)| **column != Column::Ignored);
        let used: Vec<_> =
            used.iter().map(|((name, about), _)| format!("{name} is the {about}")).collect();
        let mut ignored: Vec<_> = ignored.iter().map(|((name, _), _)| (*name).to_owned()).collect();
        if more > 0 {
            ignored.push(format!("{more} more without names"));
        }
        let mut parts = vec![used.join(", ")];
        if !ignored.is_empty() {
            parts.push(format!("ignored: {}", ignored.join(", ")));
        }
        let size = format!("size (every value has {})", options.unknown_size());
        let missing: Vec<_> = [
            (Column::Size, size.as_str()),
            (Column::Time(1), "time (requests are a millisecond apart)"),
            (Column::Op, "operation (all are reads)"),
            (Column::Tenant, "tenant (one for all)"),
        ]
        .iter()
        .filter(|(column, _)| !self.has(*column))
        .map(|(_, text)| *text)
        .collect();
        if !missing.is_empty() {
            parts.push(format!("missing: {}", missing.join(", ")));
        }
        format!("columns: {}", parts.join("; "))
    }
}

/// A field as a name: a word, and no number. Spreadsheets put a byte order mark before the first
/// name and leave the name of the first column empty.
fn name_of(field: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(field).ok()?.trim_start_matches('\u{feff}').trim();
    let is_word = name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '-')
        && name.chars().all(|c| c.is_alphanumeric() || " _-.()/".contains(c));
    (is_word || name.is_empty()).then_some(name)
}
