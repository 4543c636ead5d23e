//! A format's entry in the list of all, and the parts of a request that a format may lose.

use crate::{Error, ReadOptions, Sink, Source, Totals, object};
use base::{Access, Micros, Op};
use std::io::{BufRead, Write};

/// Opens a trace for reading.
pub type Open = fn(Box<dyn BufRead + Send>, &ReadOptions) -> Result<Box<dyn Source>, Error>;
/// Begins to write a trace. Totals of zero are unknown.
pub type Create = fn(Box<dyn Write + Send>, &Totals) -> Result<Box<dyn Sink>, Error>;

/// A format's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct FormatSpec {
    /// The name used on the command line.
    pub name: &'static str,
    /// The layout of a record, in a line.
    pub about: &'static str,
    /// The units of its numbers; empty if the trace itself names them.
    pub units: &'static str,
    /// Endings of file names, without the dot and without the endings of compression.
    pub extensions: &'static [&'static str],
    /// Whether a trace that begins with `head` is certainly in this format.
    pub recognises: fn(head: &[u8]) -> bool,
    /// Opens a trace in this format.
    pub open: Open,
    /// Begins to write a trace in this format, if that is supported.
    pub create: Option<Create>,
    /// Whether a written trace can have the next access of each object and the totals of the whole
    /// trace. The accesses are then worth reading twice.
    pub looks_ahead: bool,
    /// The parts of a request that a written trace cannot hold.
    pub loses: &'static [Loss],
}

/// A part of a request that a format may be unable to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The operation: writes and removals are read back as reads.
    Operations,
    /// The tenant of a request.
    Tenants,
    /// The time to live of an object.
    Lives,
    /// The cost of a miss.
    Penalties,
    /// Keys that are not numbers; they are replaced by hashes.
    Names,
    /// Fractions of seconds in times.
    Fractions,
    /// Values of 4 GiB and more.
    Sizes,
}

impl Loss {
    /// Whether a request has the part that would be lost.
    pub fn hits(self, access: &Access, key: &[u8]) -> bool {
        match self {
            Self::Operations => access.op != Op::Get,
            Self::Tenants => access.tenant != 0,
            Self::Lives => access.ttl != Micros(0),
            Self::Penalties => access.penalty != Micros(0),
            Self::Names => !object::is_number(key),
            Self::Sizes => access.value_size > u32::MAX.into(),
            Self::Fractions => !access.time.0.is_multiple_of(1_000_000),
        }
    }

    /// The effect on requests that have the part.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Operations => "writes and deletions become reads",
            Self::Tenants => "requests lose their tenant",
            Self::Lives => "requests lose their time to live",
            Self::Penalties => "requests lose the penalty of a miss",
            Self::Names => "requests have a hash instead of the key",
            Self::Sizes => "requests have 4 GiB instead of a larger size",
            Self::Fractions => "requests have times in whole seconds",
        }
    }
}
