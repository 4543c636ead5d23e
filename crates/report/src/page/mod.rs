//! The dashboard: the report as pages for a browser.
//!
//! Each page is a function from report and history to HTML. Each has one file, and its name stands
//! in one list. A page is complete without a script. The script (`dashboard.js`) replaces the
//! middle of the page once a second with HTML from the server, and hides lines of charts on a
//! click. Pages load nothing from other hosts.

mod advice;
mod now;
mod phrases;
mod plans;
mod series;
mod shown;
mod sizing;
mod tenant;
#[cfg(test)]
mod tests;
mod url;
mod whole;

pub use shown::{PageData, PageSpec};
pub use url::{decode, encode};
pub use whole::{SCRIPT, find, style, whole};

/// Every page, in the order of the navigation.
pub const ALL: &[PageSpec] = &[
    PageSpec { path: "/", title: "Now", render: now::render },
    PageSpec { path: "/tenant", title: "Tenant", render: tenant::render },
    PageSpec { path: "/plans", title: "Plans", render: plans::render },
    PageSpec { path: "/sizing", title: "Sizing", render: sizing::render },
    PageSpec { path: "/advice", title: "Advice", render: advice::render },
];
