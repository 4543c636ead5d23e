//! Errors of a trace.

use std::fmt;
use std::io;

/// The unit in which a format counts its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Lines of text.
    Line,
    /// Records of binary data.
    Record,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line => "line",
            Self::Record => "record",
        })
    }
}

/// An error with its place and its fix.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// One record cannot be parsed. The stream goes on after it.
    #[error("{unit} {at}: {problem} (--skip-bad counts such {unit}s and goes on)")]
    Malformed {
        /// Line or record.
        unit: Unit,
        /// Number of the record, from 1.
        at: u64,
        /// The problem of the record, and the expected form.
        problem: String,
    },
    /// The bytes could not be read or written; the source says why.
    #[error("after {unit} {at}")]
    Io {
        /// Line or record.
        unit: Unit,
        /// Number of the last complete record.
        at: u64,
        /// The error of the machine.
        source: io::Error,
    },
    /// The trace as a whole cannot be used as asked: a wrong parameter, an unknown version.
    #[error("{0}")]
    Unusable(String),
}

impl Error {
    /// An error for a malformed line.
    pub(crate) fn line(at: u64, problem: impl Into<String>) -> Self {
        Self::Malformed { unit: Unit::Line, at, problem: problem.into() }
    }

    /// An error for a malformed record.
    pub(crate) fn record(at: u64, problem: impl Into<String>) -> Self {
        Self::Malformed { unit: Unit::Record, at, problem: problem.into() }
    }

    /// Whether the bytes could be read but are incomplete or changed.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Io { source, .. } => {
                matches!(source.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
            }
            _ => false,
        }
    }

    /// Whether the stream goes on after the error.
    pub const fn is_malformed(&self) -> bool {
        matches!(self, Self::Malformed { .. })
    }
}

/// At most the first 60 characters of the input, for an error message.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const MOST: usize = 60;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MOST)]);
    let mut short: String = text.chars().take(MOST).collect();
    short = base::printable(&short).into_owned();
    if text.chars().count() > MOST {
        short.push('…');
    }
    short
}
