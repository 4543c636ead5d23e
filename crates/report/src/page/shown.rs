//! The data that a page shows, and a page's entry in the list of all.

use super::Choices;
use super::time::Time;
use crate::finding::{self, Finding};
use crate::say::{self, Decision};
use crate::{History, Report};

/// The advice of a report. With hundreds of tenants it takes long to find, so several pages share
/// it.
#[derive(Clone, Debug, Default)]
pub struct Advice {
    /// The findings, the most important first.
    pub findings: Vec<Finding>,
    /// Whether all is well, and the commands to type.
    pub decision: Decision,
    /// The lines of LARDER ADVISE.
    pub lines: Vec<String>,
}

impl Advice {
    /// The advice of this report.
    pub fn of(report: &Report) -> Self {
        let findings = finding::all(report);
        let decision = say::decision(report, &findings);
        Self { findings, decision, lines: say::advise(report, None) }
    }
}

/// The data that a page shows, and the choices of its reader.
#[derive(Clone, Copy, Debug)]
pub struct PageData<'a> {
    /// The report of this moment.
    pub report: &'a Report,
    /// The advice of this moment, or of some seconds ago.
    pub advice: &'a Advice,
    /// The series and changes up to now.
    pub history: &'a History,
    /// The choices of the reader.
    pub view: &'a Choices,
}

impl PageData<'_> {
    /// The stretch of time that all charts of the page show.
    pub(super) fn time(&self) -> Time {
        Time::of(self)
    }

    /// The stretch of time that the reader chose; `None` for the usual one.
    pub(super) fn stretch(&self) -> Option<Time> {
        let usual = Choices::default();
        let is_chosen = self.view.range.is_some() || self.view.span_s != usual.span_s;
        is_chosen.then(|| self.time())
    }
}

/// A page of the dashboard.
pub struct PageSpec {
    /// The path of its URL.
    pub path: &'static str,
    /// The name in the navigation.
    pub title: &'static str,
    /// Whether the page has charts over time, and so the choice of a stretch.
    pub has_time: bool,
    /// Renders the middle of the page as HTML.
    pub render: fn(&PageData<'_>) -> String,
}
