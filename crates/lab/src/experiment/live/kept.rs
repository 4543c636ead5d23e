//! Measurements that outlive a run: each is a line of a file, from which the next run takes it.
//!
//! All rounds of an experiment take hours. A run with `--resume` that is ended loses only the
//! server that it was measuring.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

/// The figures of a row in a round, by name.
pub(super) type Measured = Vec<(String, f64)>;

/// A measurement: its server, load and round. A run takes figures from the file only if all of it
/// is equal; it does not notice a new build of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Subject {
    pub(super) workload: String,
    /// Bytes of memory of the server, which differ with the requests and traces of a run.
    pub(super) memory: u64,
    pub(super) row: String,
    /// The command of the row's server.
    pub(super) command: String,
    pub(super) round: u64,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    subject: Subject,
    figures: Measured,
}

/// The file of a run with `--resume`; without a file nothing is kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    file: Option<RefCell<File>>,
    lines: Vec<Line>,
}

impl Kept {
    /// Reads the measurements of the file, which is created if it is missing.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let open = || format!("could not open {}", path.display());
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let mut file = file.with_context(open)?;
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(open)?;
        // The last line is cut if the run was killed while it wrote it.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64)?;
        let mut lines = vec![];
        for (at, line) in text[..whole].lines().enumerate() {
            let line = serde_json::from_str(line);
            ensure!(
                line.is_ok(),
                "line {} of {} is no measurement of a live experiment: name another file with \
                 --resume",
                at + 1,
                path.display()
            );
            lines.extend(line.ok());
        }
        Ok(Self { file: Some(RefCell::new(file)), lines })
    }

    /// The figures of this subject, if an earlier run measured them.
    pub(super) fn find(&self, subject: &Subject) -> Option<Measured> {
        let line = self.lines.iter().find(|line| line.subject == *subject)?;
        Some(line.figures.clone())
    }

    /// Appends the figures of a subject to the file, and returns them.
    pub(super) fn keep(&self, subject: Subject, figures: Measured) -> Result<Measured> {
        let line = Line { subject, figures };
        if let Some(file) = &self.file {
            let mut text = serde_json::to_string(&line)?;
            text.push('\n');
            file.borrow_mut().write_all(text.as_bytes())?;
        }
        Ok(line.figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(round: u64) -> Subject {
        let [workload, row, command] = ["A", "auto", "larder serve"].map(str::to_owned);
        Subject { workload, memory: 7, row, command, round }
    }

    #[test]
    fn a_measurement_is_taken_from_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        let figures = vec![("mean_us".to_owned(), 2.5), ("p99_us".to_owned(), 9.0)];
        let kept = Kept::open(&path).unwrap();
        assert_eq!(kept.find(&subject(1)), None);
        kept.keep(subject(1), figures.clone()).unwrap();
        // A run that is killed leaves a part of a line, and the next run writes it anew.
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"wo").unwrap();
        let kept = Kept::open(&path).unwrap();
        kept.keep(subject(2), figures[..1].to_vec()).unwrap();
        let kept = Kept::open(&path).unwrap();
        assert_eq!(kept.find(&subject(1)), Some(figures.clone()));
        assert_eq!(kept.find(&subject(2)), Some(figures[..1].to_vec()));
        assert_eq!(kept.find(&Subject { memory: 8, ..subject(1) }), None);
    }

    #[test]
    fn another_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        std::fs::write(&path, "to do: measure\n").unwrap();
        let error = Kept::open(&path).unwrap_err().to_string();
        assert!(error.contains("line 1") && error.contains("--resume"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "to do: measure\n");
    }
}
