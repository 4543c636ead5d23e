//! Progress of a run: a few lines, drawn again in place on a terminal, or written every few seconds
//! where there is none.

use super::result::Holding;
use load::Progress;
use report::draw::Format;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Pauses between two drawings on a terminal, and between two lines elsewhere.
const DRAWN_EVERY: Duration = Duration::from_millis(500);
const WRITTEN_EVERY: Duration = Duration::from_secs(4);

/// The most characters of a line.
const WIDTH: usize = 80;

/// The output for progress: a terminal, or any other stream.
pub(super) struct Screen {
    out: Box<dyn Write + Send>,
    terminal: bool,
    /// The latest block of lines of each run.
    blocks: [String; 2],
    /// Number of lines that the next drawing overwrites.
    drawn: usize,
}

impl Screen {
    /// Writes to standard output, or to standard error where standard output is kept for the
    /// answer.
    pub(super) fn new(keep_stdout: bool) -> Self {
        let (out, terminal): (Box<dyn Write + Send>, _) = if keep_stdout {
            (Box::new(std::io::stderr()), std::io::stderr().is_terminal())
        } else {
            (Box::new(std::io::stdout()), std::io::stdout().is_terminal())
        };
        Self { out, terminal, blocks: Default::default(), drawn: 0 }
    }

    /// The time between two reports of progress; each report covers the time since the one before.
    pub(super) const fn interval(&self) -> Duration {
        if self.terminal { DRAWN_EVERY } else { WRITTEN_EVERY }
    }

    /// Writes a text that later drawings leave in place.
    pub(super) fn say(&mut self, text: &str) {
        self.drawn = 0;
        // A closed output is no reason to fail.
        let _ = writeln!(self.out, "{text}");
    }

    /// Shows the progress of the run at `at`.
    pub(super) fn show(
        &mut self,
        at: usize,
        recipe: &str,
        names: &[String],
        progress: &Progress,
        holdings: &[Holding],
    ) {
        if self.terminal {
            self.blocks[at] = block(recipe, names, progress, holdings);
            let text = self.blocks.join("\n");
            // Move up to the start of the last drawing, and clear each line before writing it.
            let mut drawn = String::new();
            if self.drawn > 0 {
                let _ = write!(drawn, "\x1b[{}A", self.drawn);
            }
            for line in text.lines() {
                let _ = writeln!(drawn, "\x1b[2K{line}");
            }
            self.drawn = text.lines().count();
            let _ = self.out.write_all(drawn.as_bytes());
            let _ = self.out.flush();
        } else {
            let _ = writeln!(self.out, "{}", line(recipe, names, progress));
        }
    }
}

/// The recipe, the progress in per cent and the phase of a run.
fn head(recipe: &str, progress: &Progress) -> String {
    let total = progress.requests_total.unwrap_or(0).max(1);
    let share = progress.requests as f64 / total as f64 * 100.0;
    let phase = if progress.warming_up { ", warming up" } else { "" };
    format!("{recipe} {share:3.0} %{phase}")
}

fn block(recipe: &str, names: &[String], progress: &Progress, holdings: &[Holding]) -> String {
    let mut text = head(recipe, progress);
    let _ = write!(
        text,
        "\n  {:<16} {:>9} {:>10} {:>10} {:>10}",
        "tenant", "requests", "miss ratio", "mean", "memory"
    );
    for ((name, recent), holding) in names.iter().zip(&progress.tenants).zip(holdings) {
        let short: String = name.chars().take(16).collect();
        let _ = write!(
            text,
            "\n  {short:<16} {:>9} {:>10.3} {:>10} {:>10}",
            recent.requests,
            recent.miss_ratio,
            Format::Micros.show(recent.mean_us),
            Format::Bytes.show(holding.bytes as f64)
        );
    }
    text
}

/// A run's progress in one line, cut to the width of a terminal where there are many tenants.
fn line(recipe: &str, names: &[String], progress: &Progress) -> String {
    let mut text = head(recipe, progress);
    text += " · recent misses in %:";
    for (name, recent) in names.iter().zip(&progress.tenants) {
        let _ = write!(text, " {name} {:.0}", 100.0 * recent.miss_ratio);
    }
    if text.chars().count() > WIDTH {
        text = text.chars().take(WIDTH - 1).chain(['…']).collect();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::Recent;

    #[test]
    fn every_tenant_has_its_line() {
        let recent = Recent { requests: 7, miss_ratio: 0.25, mean_us: 400.0 };
        let progress = Progress {
            elapsed: Duration::from_secs(1),
            requests: 30,
            requests_total: Some(120),
            warming_up: true,
            tenants: vec![recent; 2],
        };
        let names = ["web".to_owned(), "a name of more than sixteen".to_owned()];
        let holdings = [Holding { bytes: 2 << 20 }; 2];
        let text = block("auto", &names, &progress, &holdings);
        assert_eq!(text.lines().count(), 4, "{text}");
        assert!(text.starts_with("auto  25 %, warming up"), "{text}");
        let web = text.lines().nth(2).unwrap();
        let words: Vec<_> = web.split_whitespace().collect();
        assert_eq!(words, ["web", "7", "0.250", "400", "µs", "2", "MiB"]);
        let text = line("auto", &names, &progress);
        assert!(text.starts_with("auto  25 %, warming up · recent misses in %: web 25"), "{text}");
        let many = vec!["somebody".to_owned(); 40];
        let progress = Progress { tenants: vec![recent; 40], ..progress };
        let text = line("auto", &many, &progress);
        assert!(text.chars().count() == WIDTH && text.ends_with('…'), "{text}");
    }
}
