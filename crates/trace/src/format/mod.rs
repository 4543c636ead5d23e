//! The formats of traces: one file each, and an entry in the list below.

use crate::{Access, Error, Micros, Op, Options, Sink, Source, Totals};
use std::io::{BufRead, Write};

/// Opens a trace for reading.
pub type Open = fn(Box<dyn BufRead + Send>, &Options) -> Result<Box<dyn Source>, Error>;
/// Begins to write a trace. Totals of zero are unknown.
pub type Create = fn(Box<dyn Write + Send>, &Totals) -> Result<Box<dyn Sink>, Error>;

/// A format's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
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
            Self::Names => !crate::object::is_number(key),
            Self::Sizes => access.value_size > u32::MAX.into(),
            Self::Fractions => !access.time.0.is_multiple_of(1_000_000),
        }
    }

    /// The effect on requests that have the part.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Operations => "writes and removals are reads in it",
            Self::Tenants => "requests lose their tenant",
            Self::Lives => "requests lose their time to live",
            Self::Penalties => "requests lose the penalty of a miss",
            Self::Names => "requests have a hash in place of the key",
            Self::Sizes => "requests have 4 GiB in place of a larger size",
            Self::Fractions => "requests have whole seconds for a time",
        }
    }
}

macro_rules! formats {
    ($($name:ident),* $(,)?) => {
        $(pub mod $name;)*
        /// Every format, in the order in which they are tried on a trace.
        pub const ALL: &[&Spec] = &[$(&$name::SPEC,)*];
    };
}

formats! {
    compact, lcs, memcached_watch, monitor, monitor_trace, kvcache, msr, ibm, mooncake, vscsi,
    vscsi_csv, twitter, csv, columns, oracle_general, keys32, keys64, arc, lirs,
}

/// Finds the format with that name.
///
/// # Errors
/// A sentence that names the known formats.
pub fn find(name: &str) -> Result<&'static Spec, String> {
    ALL.iter().copied().find(|spec| spec.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|spec| spec.name).collect();
        format!("unknown format '{name}': choose one of {}", known.join(", "))
    })
}

/// Detects the format of a file from its name and from `head`, its first uncompressed bytes.
///
/// A name that spells the format out (`web.twitter.csv`) counts most, then the proof in the bytes,
/// then the end of the name.
pub fn detect(file_name: &str, head: &[u8]) -> Option<&'static Spec> {
    let mut name = file_name.to_ascii_lowercase();
    for ending in [".zst", ".zstd", ".gz"] {
        if let Some(stem) = name.strip_suffix(ending) {
            name.truncate(stem.len());
        }
    }
    let ends = |extension: &str| {
        name.strip_suffix(&extension.to_ascii_lowercase()).is_some_and(|stem| stem.ends_with('.'))
    };
    let named = ALL
        .iter()
        .flat_map(|spec| spec.extensions.iter().map(move |extension| (*extension, *spec)))
        .filter(|(extension, _)| ends(extension))
        .max_by_key(|(extension, _)| extension.len());
    if twitter::is_own_name(&name) && twitter::fits(head) {
        return Some(&twitter::SPEC);
    }
    let spelt_out = named.filter(|(extension, _)| extension.contains('.')).map(|(_, spec)| spec);
    let proven = || ALL.iter().copied().find(|spec| (spec.recognises)(head));
    spelt_out.or_else(proven).or(named.map(|(_, spec)| spec))
}

/// The lines that a reader of text does not skip: neither empty nor a comment.
pub(crate) fn spoken(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    lines.filter(|line| !line.is_empty() && line[0] != b'#')
}

/// The effect of a command of memcached, Redis, an object store or a published trace on a cache;
/// `None` for an unknown word. A command that reads and writes is a write.
#[inline]
pub(crate) fn op(word: &[u8]) -> Option<Op> {
    match word {
        b"get" => return Some(Op::Get),
        b"set" => return Some(Op::Set),
        _ => {}
    }
    let mut lower = [0; 8];
    let lower = lower.get_mut(..word.len())?;
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    Some(match &*lower {
        b"get" | b"gets" | b"read" | b"r" | b"head" => Op::Get,
        b"set" | b"add" | b"replace" | b"cas" | b"append" | b"prepend" | b"incr" | b"decr"
        | b"write" | b"w" | b"update" | b"put" | b"post" | b"copy" => Op::Set,
        b"delete" | b"del" | b"remove" => Op::Delete,
        _ => return None,
    })
}

/// The word for an operation in formats that write words.
pub(crate) const fn word(op: Op) -> &'static str {
    match op {
        Op::Get => "get",
        Op::Set => "set",
        Op::Delete => "delete",
    }
}
