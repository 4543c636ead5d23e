//! Progress of a run on the terminal.

use crate::run::Progress;
use ::report::draw::Format;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// A bar, and one line for each tenant below it; nothing if stderr is no terminal.
pub(crate) struct Screen {
    pub(crate) bar: ProgressBar,
    /// The name of the run, if it is one of several.
    title: Option<String>,
    names: Vec<String>,
}

impl Screen {
    pub(crate) fn new(requests: Option<u64>, title: Option<String>, names: Vec<String>) -> Self {
        Self { bar: progress_bar(requests), title, names }
    }

    pub(crate) fn show(&self, progress: &Progress) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        let lines = self.names.iter().zip(&progress.tenants).map(|(name, recent)| {
            let (mean, ratio) = (Format::Micros.show(recent.mean_us), recent.miss_ratio);
            format!("{name}  miss ratio {ratio:.3}  mean {mean}")
        });
        let lines: Vec<String> = self.title.iter().cloned().chain(lines).collect();
        self.bar.set_message(lines.join("\n"));
        self.bar.set_position(progress.requests);
    }
}

/// A bar over `requests` requests if their number is known, with a line below it.
pub(crate) fn progress_bar(requests: Option<u64>) -> ProgressBar {
    let bar = match requests {
        Some(requests) => ProgressBar::new(requests),
        None => ProgressBar::new_spinner(),
    };
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {eta}\n{msg}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
