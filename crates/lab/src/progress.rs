//! Progress of a command that reads a trace: a bar on standard error, hidden where that is not a
//! terminal.
//!
//! The bar follows the requests where their number is known, or else the part of the trace's file
//! that has been read. Of a stream, which has neither, it tells the requests and the time so far.

use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicU64, Ordering};
use trace::file::ReadPart;

/// Steps of a bar that follows a file.
const STEPS: u64 = 10_000;

/// Requests between two looks at the clock.
const LOOK: u64 = 1 << 14;

/// A bar, which is cleared when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    requests: AtomicU64,
    /// Requests that are expected, or the part of the file.
    part: Option<ReadPart>,
}

impl Progress {
    /// A bar for so many requests.
    pub(crate) fn of(what: &str, requests: u64) -> Self {
        Self::new(what, Some(requests), None)
    }

    /// A bar for all requests of a trace, or for a limit of them.
    pub(crate) fn reading(what: &str, limit: Option<u64>, part: Option<ReadPart>) -> Self {
        Self::new(what, limit, part.filter(|_| limit.is_none()))
    }

    fn new(what: &str, requests: Option<u64>, part: Option<ReadPart>) -> Self {
        let (bar, shape) = match requests.or(part.as_ref().map(|_| STEPS)) {
            Some(length) => {
                (ProgressBar::new(length), "{msg} {wide_bar} {prefix} requests, {eta} left")
            }
            None => (ProgressBar::new_spinner(), "{spinner} {msg}: {prefix} requests, {elapsed}"),
        };
        if let Ok(style) = ProgressStyle::with_template(shape) {
            bar.set_style(style);
        }
        Self { bar: bar.with_message(what.to_owned()), requests: AtomicU64::new(0), part }
    }

    /// Counts more requests.
    pub(crate) fn add(&self, requests: u64) {
        let all = self.requests.fetch_add(requests, Ordering::Relaxed) + requests;
        if all / LOOK == (all - requests) / LOOK {
            return;
        }
        self.bar.set_prefix(HumanCount(all).to_string());
        match &self.part {
            Some(part) => self.bar.set_position((part.part() * STEPS as f64) as u64),
            None if self.bar.length().is_some() => self.bar.set_position(all),
            None => self.bar.tick(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of a file that was read is half of a bar; a limit counts requests, and a stream has no
    /// bar.
    #[test]
    fn the_bar_follows_what_is_known() {
        let shown = |progress: Progress| {
            progress.add(LOOK);
            assert_eq!(progress.bar.prefix(), "16,384");
            (progress.bar.position(), progress.bar.length())
        };
        let text = vec![b'x'; 1 << 20];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, &text).unwrap();
        let opened = trace::file::open(path.to_str().unwrap()).unwrap();
        let part = opened.part.clone();
        std::io::Read::read_exact(&mut opened.reader(), &mut text[..1 << 19].to_vec()).unwrap();
        let (at, length) = shown(Progress::reading("t", None, part.clone()));
        assert!((STEPS / 2..STEPS).contains(&at) && length == Some(STEPS), "{at}");
        let limited = shown(Progress::reading("t", Some(2 * LOOK), part));
        assert_eq!(limited, (LOOK, Some(2 * LOOK)));
        assert_eq!(shown(Progress::reading("t", None, None)).1, None);
    }
}
