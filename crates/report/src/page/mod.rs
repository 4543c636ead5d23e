//! The dashboard: the report as pages for a browser.
//!
//! Each page is a function from report, history and the reader's choices to HTML. Each has one
//! file, and its name stands in one list. A page is complete without a script. The script
//! (`dashboard.js`) replaces the middle of the page once a second with HTML from the server, shows
//! the figures of all charts at the moment under the pointer, and zooms. The query of the address
//! holds every choice. Pages load nothing from other hosts.

mod advice;
mod cards;
mod choices;
mod events;
mod now;
mod phrases;
mod plans;
mod process;
mod series;
mod server;
mod shown;
mod sizing;
mod tenant;
#[cfg(test)]
mod tests;
mod time;
mod url;
mod whole;

pub use choices::Choices;
pub use shown::{Advice, PageData, PageSpec};
pub use url::{decode, encode};
pub use whole::{SCRIPT, find, middle, style, whole};

/// Every page, in the order of the navigation.
pub const ALL: &[PageSpec] = &[
    PageSpec { path: "/", title: "Now", has_time: true, render: now::render },
    PageSpec { path: "/tenant", title: "Tenant", has_time: true, render: tenant::render },
    PageSpec {
        path: "/plans",
        title: "What self-tuning did",
        has_time: true,
        render: plans::render,
    },
    PageSpec { path: "/sizing", title: "Sizing", has_time: false, render: sizing::render },
    PageSpec { path: "/advice", title: "Advice", has_time: false, render: advice::render },
    PageSpec { path: "/server", title: "Server", has_time: true, render: server::render },
];
