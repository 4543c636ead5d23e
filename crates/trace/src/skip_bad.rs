//! Counts malformed records instead of ending at the first.

use crate::{Error, Passed, Sample, Source};
use base::{Access, TenantId};

/// Skips malformed records and counts them. If the bytes are cut off or damaged, nothing useful
/// follows: the trace ends there, and says so.
#[derive(Debug)]
pub struct SkipBad<S> {
    inner: S,
    skipped: u64,
    cut_off: Option<String>,
}

impl<S> SkipBad<S> {
    /// Wraps `inner`.
    pub const fn new(inner: S) -> Self {
        Self { inner, skipped: 0, cut_off: None }
    }
}

impl<S: Source> Source for SkipBad<S> {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        loop {
            if self.cut_off.is_some() {
                return None;
            }
            match self.inner.next() {
                Some(Err(error)) if error.is_malformed() => self.skipped += 1,
                Some(Err(error)) if error.is_damage() => {
                    let why = std::error::Error::source(&error).map(ToString::to_string);
                    self.cut_off = Some(format!("{error}: {}", why.unwrap_or_default()));
                }
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

    fn remark(&self) -> Option<&str> {
        self.inner.remark()
    }

    fn cut_off(&self) -> Option<&str> {
        self.cut_off.as_deref().or_else(|| self.inner.cut_off())
    }

    fn tenant_name(&self, tenant: TenantId) -> Option<&str> {
        self.inner.tenant_name(tenant)
    }

    fn sample(&self) -> Option<Sample> {
        self.inner.sample()
    }

    fn passed(&self) -> Passed {
        self.inner.passed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, format};
    use std::io::{self, BufReader, Cursor, Read};

    struct Failing(Option<io::Error>);

    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            self.0.take().map_or(Ok(0), Err)
        }
    }

    /// A stream that was cut off ends; a failing disk is still an error.
    #[test]
    fn what_is_cut_off_ends_and_says_so() {
        for (error, is_damage) in [
            (io::ErrorKind::UnexpectedEof.into(), true),
            (io::Error::new(io::ErrorKind::InvalidData, "checksum"), true),
            (io::Error::from_raw_os_error(5), false),
        ] {
            let bytes = Cursor::new("0,k,1,1,0,get,0\n1,j,1,1,0,ge").chain(Failing(Some(error)));
            let csv = format::find("csv").unwrap();
            let reader = Box::new(BufReader::new(bytes));
            let mut source = SkipBad::new((csv.open)(reader, &ReadOptions::default()).unwrap());
            assert!(source.next().unwrap().is_ok());
            let failed = source.next().is_some();
            assert_eq!((failed, source.cut_off().is_some()), (!is_damage, is_damage));
            assert!(source.next().is_none());
        }
    }
}
