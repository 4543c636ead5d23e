//! What can be wrong with a trace.

use std::fmt;
use std::io;

/// What a format counts its records in.
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

/// A problem, its place, and what would mend it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// One record cannot be understood. The stream goes on behind it.
    #[error("{unit} {at}: {problem} (--skip-bad counts such {unit}s and goes on)")]
    Malformed {
        /// Line or record.
        unit: Unit,
        /// Its number, from 1.
        at: u64,
        /// What is wrong with it, and what was expected.
        problem: String,
    },
    /// The bytes could not be had, or could not be written; the source says why.
    #[error("after {unit} {at}")]
    Io {
        /// Line or record.
        unit: Unit,
        /// The last one that was whole.
        at: u64,
        /// Why.
        source: io::Error,
    },
    /// The trace as a whole cannot be used as asked: a wrong parameter, an unknown version.
    #[error("{0}")]
    Unusable(String),
}

impl Error {
    /// A line that cannot be understood.
    pub(crate) fn line(at: u64, problem: impl Into<String>) -> Self {
        Self::Malformed { unit: Unit::Line, at, problem: problem.into() }
    }

    /// A record that cannot be understood.
    pub(crate) fn record(at: u64, problem: impl Into<String>) -> Self {
        Self::Malformed { unit: Unit::Record, at, problem: problem.into() }
    }

    /// Whether the bytes were had, but are not whole: cut off, or not what was once written.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Io { source, .. } => {
                matches!(source.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
            }
            _ => false,
        }
    }

    /// Whether the stream goes on behind what is wrong.
    pub const fn is_malformed(&self) -> bool {
        matches!(self, Self::Malformed { .. })
    }
}

/// At most the first 60 characters of what was found, for an error message.
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
