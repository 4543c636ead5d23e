//! The data that a page shows, and a page's entry in the list of all.

use crate::{History, Report};

/// The data that a page shows, and how far back its charts reach.
#[derive(Clone, Copy, Debug)]
pub struct PageData<'a> {
    /// The report of this moment.
    pub report: &'a Report,
    /// The series and changes up to now.
    pub history: &'a History,
    /// The tenant that the request names.
    pub tenant: Option<&'a str>,
    /// The memory that the request names, in bytes.
    pub memory: Option<u64>,
    /// How far back charts go, in seconds.
    pub span_s: u64,
}

/// A page of the dashboard.
pub struct PageSpec {
    /// The path of its URL.
    pub path: &'static str,
    /// The name in the navigation.
    pub title: &'static str,
    /// Renders the middle of the page as HTML.
    pub render: fn(&PageData<'_>) -> String,
}
