//! An experiment's entry in the list of all, and how it is run.

use super::Findings;
use anyhow::Result;
use std::path::PathBuf;

/// An experiment's entry in the registry.
pub(super) struct Experiment<S = Setting> {
    /// The name on the command line and in the answer.
    pub(super) name: &'static str,
    /// The question that the experiment answers, in a line.
    pub(super) about: &'static str,
    pub(super) run: fn(&S, &mut Findings) -> Result<()>,
}

/// How an experiment is run.
#[derive(Debug)]
pub(super) struct Setting {
    /// A smaller version that finishes within a minute.
    pub(super) quick: bool,
    pub(super) seeds: Vec<u64>,
    /// Folder with recorded traces; without it the experiments generate their workloads.
    pub(super) traces: Option<PathBuf>,
    /// Only the load of this name, for `claims`.
    pub(super) load: Option<String>,
}

impl Setting {
    /// `quick` in a quick run, otherwise `full`.
    pub(super) fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}
