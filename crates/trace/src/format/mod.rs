//! The formats of traces: one file each, and its name in the list below.

use crate::{Access, Error, Micros, Op, Options, Sink, Source, Totals};
use std::io::{BufRead, Write};

/// Opens a trace for reading.
pub type Open = fn(Box<dyn BufRead + Send>, &Options) -> Result<Box<dyn Source>, Error>;
/// Begins a trace. Totals that are zero are unknown.
pub type Create = fn(Box<dyn Write + Send>, &Totals) -> Result<Box<dyn Sink>, Error>;

/// A format's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name used on the command line.
    pub name: &'static str,
    /// What a record looks like, in a line.
    pub about: &'static str,
    /// The units that its numbers are read in; empty where the trace itself names them.
    pub units: &'static str,
    /// Endings of file names, without the dot and without those of compression.
    pub extensions: &'static [&'static str],
    /// Whether a trace that begins so is surely of this format.
    pub recognises: fn(head: &[u8]) -> bool,
    /// Reads it.
    pub open: Open,
    /// Writes it, where that is possible.
    pub create: Option<Create>,
    /// Whether what it writes can say when each object is next asked for, and what the whole trace
    /// holds: it is then worth reading the accesses twice.
    pub looks_ahead: bool,
    /// What of a request it cannot hold, where it is written.
    pub loses: &'static [Loss],
}

/// What a format may have no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Whether a request writes or removes: it reads when it is read back.
    Operations,
    /// Whose a request is.
    Tenants,
    /// How long an object lives.
    Lives,
    /// What a miss costs.
    Penalties,
    /// Keys that are not numbers: there are hashes in their place.
    Names,
    /// Times between two seconds.
    Fractions,
    /// Values of 4 GiB and more.
    Sizes,
}

impl Loss {
    /// Whether a request has what would be lost.
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

    /// What becomes of the requests that have it.
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
        /// Every format, in the order in which a trace is tried for one.
        pub const ALL: &[&Spec] = &[$(&$name::SPEC,)*];
    };
}

formats! {
    compact, lcs, memcached_watch, monitor, monitor_trace, kvcache, msr, ibm, mooncake, vscsi,
    vscsi_csv, twitter, csv, columns, oracle_general, keys32, keys64, arc, lirs,
}

/// The format of that name.
///
/// # Errors
/// A sentence that names the known ones.
pub fn find(name: &str) -> Result<&'static Spec, String> {
    ALL.iter().copied().find(|spec| spec.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|spec| spec.name).collect();
        format!("unknown format '{name}': choose one of {}", known.join(", "))
    })
}

/// The format of a file of that name whose first bytes, uncompressed, are `head`.
///
/// A name that spells the format out (`web.twitter.csv`) counts most, then what the bytes prove,
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

/// The lines that a reader of text does not pass over: neither empty nor a comment.
pub(crate) fn spoken(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    lines.filter(|line| !line.is_empty() && line[0] != b'#')
}

/// What a command of memcached, Redis, an object store or a published trace does to a cache; `None`
/// for a word that is none of theirs. What reads and writes at once is a write.
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

/// The word for an operation in formats that write it out.
pub(crate) const fn word(op: Op) -> &'static str {
    match op {
        Op::Get => "get",
        Op::Set => "set",
        Op::Delete => "delete",
    }
}
