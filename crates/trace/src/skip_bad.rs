//! Counts malformed records instead of ending at the first.

use crate::{Access, Error, Source};

/// Passes over malformed records and counts them.
#[derive(Debug)]
pub struct SkipBad<S> {
    inner: S,
    skipped: u64,
}

impl<S> SkipBad<S> {
    /// Reads `inner`.
    pub const fn new(inner: S) -> Self {
        Self { inner, skipped: 0 }
    }
}

impl<S: Source> Source for SkipBad<S> {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        loop {
            match self.inner.next() {
                Some(Err(error)) if error.is_malformed() => self.skipped += 1,
                other => return other,
            }
        }
    }

    fn key(&self) -> &[u8] {
        self.inner.key()
    }

    fn skipped(&self) -> u64 {
        self.skipped + self.inner.skipped()
    }

    fn lost(&self) -> u64 {
        self.inner.lost()
    }
}
