//! The formats of traces: one file each, and its name in the list below.

use crate::{Error, Op, Options, Sink, Source};
use std::io::{BufRead, Write};

/// Opens a trace for reading.
pub type Open = fn(Box<dyn BufRead + Send>, &Options) -> Result<Box<dyn Source>, Error>;
/// Begins a trace.
pub type Create = fn(Box<dyn Write + Send>) -> Result<Box<dyn Sink>, Error>;

/// A format's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name used on the command line.
    pub name: &'static str,
    /// What a record looks like, in a line.
    pub about: &'static str,
    /// Endings of file names, without the dot and without those of compression.
    pub extensions: &'static [&'static str],
    /// Whether a trace that begins so is surely of this format.
    pub recognises: fn(head: &[u8]) -> bool,
    /// Reads it.
    pub open: Open,
    /// Writes it, where that is possible.
    pub create: Option<Create>,
}

macro_rules! formats {
    ($($name:ident),* $(,)?) => {
        $(pub mod $name;)*
        /// Every format, in the order in which a trace is tried for one.
        pub const ALL: &[&Spec] = &[$(&$name::SPEC,)*];
    };
}

formats! { csv, oracle_general }

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

/// The format of a file of that name whose first bytes, uncompressed, are `head`: what the bytes
/// prove counts more than what the name says.
pub fn detect(file_name: &str, head: &[u8]) -> Option<&'static Spec> {
    let mut name = file_name.to_ascii_lowercase();
    for ending in [".zst", ".zstd", ".gz"] {
        if let Some(stem) = name.strip_suffix(ending) {
            name.truncate(stem.len());
        }
    }
    let by_bytes = || ALL.iter().find(|spec| (spec.recognises)(head));
    let by_name = || {
        let ends = |extension: &&str| {
            name.strip_suffix(&extension.to_ascii_lowercase()).is_some_and(|s| s.ends_with('.'))
        };
        ALL.iter().find(|spec| spec.extensions.iter().any(ends))
    };
    by_bytes().or_else(by_name).copied()
}

/// What a command of memcached, Redis or a published trace does to a cache; `None` for a word that
/// is none of theirs. What reads and writes at once is a write.
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
        b"get" | b"gets" | b"read" | b"r" => Op::Get,
        b"set" | b"add" | b"replace" | b"cas" | b"append" | b"prepend" | b"incr" | b"decr"
        | b"write" | b"w" | b"update" => Op::Set,
        b"delete" | b"del" => Op::Delete,
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
