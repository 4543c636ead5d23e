//! Progress of a long command, on standard error and only on a terminal.

use indicatif::{HumanCount, ProgressBar, ProgressStyle};

/// Requests between two looks at the clock.
const STEP: u64 = 1 << 16;

/// Counts requests, and shows their number.
pub(super) struct Progress {
    bar: ProgressBar,
    requests: u64,
}

impl Progress {
    /// Begins to count for `what`.
    pub(super) fn new(what: &'static str) -> Self {
        let style = ProgressStyle::with_template("{spinner} {prefix} {msg} requests, {elapsed}");
        let bar = ProgressBar::new_spinner().with_prefix(what);
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self { bar, requests: 0 }
    }

    /// Counts one more request.
    #[inline]
    pub(super) fn step(&mut self) {
        self.requests += 1;
        if self.requests.is_multiple_of(STEP) {
            self.show();
        }
    }

    /// Counts more requests, and shows the sum at once.
    pub(super) fn steps(&mut self, requests: u64) {
        self.requests += requests;
        self.show();
    }

    fn show(&self) {
        self.bar.set_message(HumanCount(self.requests).to_string());
        self.bar.tick();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
