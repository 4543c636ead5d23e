//! Where accesses come from: trace formats and generators.
//!
//! Everything is a [`Source`]: a stream that hands out one [`Access`] at a time and keeps nothing
//! of it, so a trace larger than memory works. A format reads from whatever [`BufRead`] it is
//! handed; who opens the file, or undoes its compression, is not known here.
//!
//! No byte sequence makes a reader panic. A malformed record is an [`Error`] that names it, and a
//! reader goes on behind it if it is asked again: [`SkipBad`] does so and counts.
//!
//! [`BufRead`]: std::io::BufRead
#![forbid(unsafe_code)]

pub mod capture;
mod charge;
pub mod column;
mod command;
mod error;
pub mod file;
pub mod format;
pub mod join;
mod lines;
mod object;
mod ops;
mod ranges;
mod records;
mod skip_bad;
pub mod synth;
mod tenants;
mod text;
mod timeline;
mod totals;

pub use base::{Access, Micros, Op, TenantId, Tick};
pub use charge::Charge;
pub use error::{Error, Unit};
pub use skip_bad::SkipBad;
pub use totals::Totals;

/// A stream of accesses, in the order of time.
pub trait Source: Send {
    /// The next access, or `None` at the end. After [`Error::Malformed`] the stream goes on behind
    /// the bad record; after any other error it has ended.
    fn next(&mut self) -> Option<Result<Access, Error>>;

    /// Appends accesses to `block`, so many, or all that are left. Of the keys only the hashes can
    /// then be had.
    fn read(&mut self, block: &mut Vec<Access>, count: usize) -> Result<(), Error> {
        for _ in 0..count {
            let Some(access) = self.next() else { break };
            block.push(access?);
        }
        Ok(())
    }

    /// Passes over requests to keys that `keeps` says no to, `most` of them at most, up to the next
    /// that it says yes to. Of a key it always has to say the same. A source that was sought in is
    /// not read in another way behind that.
    fn seek(&mut self, keeps: &mut dyn FnMut(u64) -> bool, most: u64) -> Sought {
        seek_by_reading(self, keeps, most)
    }

    /// The text of the key of the access last returned, empty before the first. Where a source
    /// numbers its objects this is the number in decimal.
    fn key(&self) -> &[u8];

    /// Malformed records passed over so far.
    fn skipped(&self) -> u64 {
        0
    }

    /// Requests that the trace is known to lack, where whoever wrote it could not keep up.
    fn lost(&self) -> u64 {
        0
    }

    /// How the trace is understood, where that is not plain from the format; a sentence for the
    /// user.
    fn remark(&self) -> Option<&str> {
        None
    }

    /// Why the trace ended before its end, where [`SkipBad`] passed over that.
    fn cut_off(&self) -> Option<&str> {
        None
    }

    /// The word by which the trace names a tenant; where there is none, it is the number.
    fn tenant_name(&self, _tenant: TenantId) -> Option<&str> {
        None
    }

    /// Which sample of another trace this is, if it is one.
    fn sample(&self) -> Option<Sample> {
        None
    }

    /// Of a sample, what the whole has before the access returned last, since the one before that;
    /// at the end, behind the last.
    fn passed(&self) -> Passed {
        Passed::default()
    }
}

/// A sample of a trace: all requests of some keys, chosen by hash.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Share of the keys.
    pub rate: f64,
    /// Which of them.
    pub seed: u64,
}

/// Requests of a whole trace that a sample of it lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Requests of any kind.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
}

impl Passed {
    pub(crate) fn count(&mut self, op: Op) {
        self.requests += 1;
        self.reads += u64::from(op == Op::Get);
    }
}

/// What came of looking for a key.
#[derive(Debug)]
pub struct Sought {
    /// What was passed over.
    pub passed: Passed,
    /// The request behind that, if its key is wanted.
    pub found: Option<Result<Access, Error>>,
    /// Whether there is nothing behind.
    pub is_over: bool,
}

/// Looks for a key by reading each request.
pub(crate) fn seek_by_reading<S: Source + ?Sized>(
    source: &mut S,
    keeps: &mut dyn FnMut(u64) -> bool,
    most: u64,
) -> Sought {
    let mut passed = Passed::default();
    while passed.requests < most {
        match source.next() {
            Some(Ok(access)) if !keeps(access.key) => passed.count(access.op),
            Some(found) => return Sought { passed, found: Some(found), is_over: false },
            None => return Sought { passed, found: None, is_over: true },
        }
    }
    Sought { passed, found: None, is_over: false }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        (**self).next()
    }

    fn read(&mut self, block: &mut Vec<Access>, count: usize) -> Result<(), Error> {
        (**self).read(block, count)
    }

    fn seek(&mut self, keeps: &mut dyn FnMut(u64) -> bool, most: u64) -> Sought {
        (**self).seek(keeps, most)
    }

    fn key(&self) -> &[u8] {
        (**self).key()
    }

    fn skipped(&self) -> u64 {
        (**self).skipped()
    }

    fn lost(&self) -> u64 {
        (**self).lost()
    }

    fn remark(&self) -> Option<&str> {
        (**self).remark()
    }

    fn cut_off(&self) -> Option<&str> {
        (**self).cut_off()
    }

    fn tenant_name(&self, tenant: TenantId) -> Option<&str> {
        (**self).tenant_name(tenant)
    }

    fn sample(&self) -> Option<Sample> {
        (**self).sample()
    }

    fn passed(&self) -> Passed {
        (**self).passed()
    }
}

/// Where accesses go: a trace being written.
pub trait Sink: Send {
    /// Writes one access whose key has the text `key`.
    fn put(&mut self, access: &Access, key: &[u8]) -> Result<(), Error>;

    /// The tenant is known by this word from here on. Says whether the format has words.
    fn name_tenant(&mut self, _tenant: TenantId, _name: &str) -> bool {
        false
    }

    /// What is put is a sample; to be told before the first access. Says whether the format can
    /// hold what [`Sink::pass`] tells.
    fn sample(&mut self, _sample: Sample) -> bool {
        false
    }

    /// The whole has these requests before the access that is put next, or behind the last.
    fn pass(&mut self, _passed: Passed) {}

    /// Writes what is still held back. Nothing may be put after it.
    fn finish(&mut self) -> Result<(), Error>;
}

/// What a reader must be told besides the bytes.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What the cache is charged for an object.
    pub charge: Charge,
    /// Names of the columns, for formats that leave them open.
    pub columns: Option<String>,
    /// What stands between two columns, where it cannot be told from the first line.
    pub separator: Option<u8>,
    /// Bytes of a value where the format does not say.
    pub value_size: Option<u64>,
    /// Bytes of a block, where requests for ranges are to be split into blocks.
    pub block_size: Option<u64>,
    /// The meaning of words and numbers for operations, as `0=get,1=set`.
    pub ops: Option<String>,
}

impl Options {
    /// Bytes of a value of which the trace does not say more: one, unless the user does.
    pub(crate) fn unknown_size(&self) -> u64 {
        self.value_size.unwrap_or(1)
    }
}

/// The tenant of a client number: the number itself. Those beyond the last tenant are one.
pub(crate) fn tenant(client: u64) -> TenantId {
    TenantId::try_from(client).unwrap_or(TenantId::MAX)
}
