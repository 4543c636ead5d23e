//! A whole page: the navigation around its middle, the style and the script.

use super::{ALL, PageData, PageSpec, encode};
use crate::Report;
use crate::draw::html::{STYLE, escape};
use crate::words::clock;

/// The spans that charts may show, in seconds.
const SPANS: [(u64, &str); 4] =
    [(300, "5 minutes"), (3_600, "hour"), (86_400, "day"), (2_592_000, "month")];

/// The page at a path.
pub fn find(path: &str) -> Option<&'static PageSpec> {
    ALL.iter().find(|page| page.path == path)
}

/// The script of the dashboard.
pub const SCRIPT: &str = include_str!("dashboard.js");

/// Style rules of the dashboard, appended to the common style.
const OWN_STYLE: &str = include_str!("dashboard.css");

/// The style sheet.
pub fn style() -> String {
    format!("{STYLE}{OWN_STYLE}")
}

/// A whole page.
pub fn whole(page: &PageSpec, shown: &PageData<'_>) -> String {
    let links: Vec<_> = ALL
        .iter()
        .map(|one| {
            let here = if one.path == page.path { " aria-current=\"page\"" } else { "" };
            format!("<a href=\"{}\"{here}>{}</a>\n", one.path, one.title)
        })
        .collect();
    let links = links.concat();
    let spans: Vec<_> = SPANS
        .iter()
        .map(|(seconds, name)| {
            let here = if *seconds == shown.span_s { " aria-current=\"true\"" } else { "" };
            let tenant = shown
                .tenant
                .map_or_else(String::new, |tenant| format!("&amp;tenant={}", encode(tenant)));
            format!("<a href=\"?span={seconds}{tenant}\"{here}>{name}</a>\n")
        })
        .collect();
    let spans = spans.concat();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} · Larder</title>\n<link rel=\"stylesheet\" href=\"/dashboard.css\">\n\
         <link rel=\"icon\" href=\"data:,\">\n</head>\n\
         <body class=\"dashboard\">\n\
         <header><nav aria-label=\"pages\"><b>Larder</b>\n{links}</nav>\n\
         <nav aria-label=\"time shown\">{spans}</nav></header>\n\
         <main aria-live=\"off\">\n{middle}</main>\n\
         <footer>Larder {version}. <span id=\"state\">As of {when}</span></footer>\n\
         <script src=\"/dashboard.js\"></script>\n</body>\n</html>\n",
        title = page.title,
        middle = (page.render)(shown),
        version = escape(&shown.report.server.version),
        when = now(shown.report),
    )
}

fn now(report: &Report) -> String {
    let server = &report.server;
    let seconds = server.now_unix_s % 60;
    format!("{}:{seconds:02}", clock(server.now_unix_s, server.now_unix_s, server.utc_offset_s))
}
