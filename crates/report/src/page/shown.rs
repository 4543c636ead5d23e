//! The data that a page shows, and a page's entry in the list of all.

use super::Choices;
use super::time::Time;
use crate::{History, Report};

/// The data that a page shows, and the choices of its reader.
#[derive(Clone, Copy, Debug)]
pub struct PageData<'a> {
    /// The report of this moment.
    pub report: &'a Report,
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
