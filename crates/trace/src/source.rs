//! The trait of everything that accesses are read from.

use crate::Error;
use base::{Access, Op, TenantId};

/// A stream of accesses, in the order of time.
pub trait Source: Send {
    /// The next access, or `None` at the end. After [`Error::Malformed`] the stream goes on after
    /// the bad record; after any other error it has ended.
    fn next(&mut self) -> Option<Result<Access, Error>>;

    /// Appends up to `count` accesses to `block`, fewer at the end of the stream. Of their keys
    /// only the hashes are then available.
    fn read(&mut self, block: &mut Vec<Access>, count: usize) -> Result<(), Error> {
        for _ in 0..count {
            let Some(access) = self.next() else { break };
            block.push(access?);
        }
        Ok(())
    }

    /// Skips requests, at most `most`, up to the next one whose key `keeps` accepts. `keeps` must
    /// always return the same for a key. After a seek, a source is read only by further seeks.
    fn seek(&mut self, keeps: &mut dyn FnMut(u64) -> bool, most: u64) -> Sought {
        seek_by_reading(self, keeps, most)
    }

    /// The text of the key of the last access, empty before the first. Where a source numbers its
    /// objects, the text is the number in decimal.
    fn key(&self) -> &[u8];

    /// Number of malformed records skipped so far.
    fn skipped(&self) -> u64 {
        0
    }

    /// Number of requests that the trace is known to lack, because its recorder was too slow.
    fn lost(&self) -> u64 {
        0
    }

    /// How the trace is interpreted, where the format leaves it open; a sentence for the user.
    fn remark(&self) -> Option<&str> {
        None
    }

    /// The reason why the trace ended early, if [`SkipBad`](crate::SkipBad) ignored the error.
    fn cut_off(&self) -> Option<&str> {
        None
    }

    /// The word by which the trace names a tenant; `None` if the tenant is just a number.
    fn tenant_name(&self, _tenant: TenantId) -> Option<&str> {
        None
    }

    /// The rate and the seed, if this trace is a sample of another trace.
    fn sample(&self) -> Option<Sample> {
        None
    }

    /// For a sample: the requests of the whole trace that were omitted just before the last access;
    /// at the end, those omitted after it.
    fn passed(&self) -> Passed {
        Passed::default()
    }
}

/// A sample of a trace: all requests of some keys, chosen by hash.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Share of the keys.
    pub rate: f64,
    /// Seed of the choice of keys.
    pub seed: u64,
}

/// Requests of a whole trace that its sample omits.
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

/// The result of a seek.
#[derive(Debug)]
pub struct Sought {
    /// The requests that were skipped.
    pub passed: Passed,
    /// The request after them, if its key is wanted, or an error.
    pub found: Option<Result<Access, Error>>,
    /// Whether the stream has ended.
    pub is_over: bool,
}

/// Seeks by reading each request.
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
