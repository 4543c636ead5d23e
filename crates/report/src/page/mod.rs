//! The dashboard: the report as pages for a browser.
//!
//! Each page is a function from report and history to HTML. Each has one file, and its name stands
//! in one list. A page is complete without a script. The script (`dashboard.js`) replaces the
//! middle of the page once a second with HTML from the server, and hides lines of charts on a
//! click. Pages load nothing from other hosts.

mod advice;
mod now;
mod plans;
mod series;
mod sizing;
mod tenant;

use crate::draw::html::{STYLE, escape};
use crate::words::{clock, span};
use crate::{History, Report};
use std::fmt::Write;

/// The data that a page shows, and how far back its charts reach.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
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
pub struct Spec {
    /// The path of its URL.
    pub path: &'static str,
    /// The name in the navigation.
    pub title: &'static str,
    /// Renders the middle of the page as HTML.
    pub render: fn(&Shown<'_>) -> String,
}

/// Every page, in the order of the navigation.
pub const ALL: &[Spec] = &[
    Spec { path: "/", title: "Now", render: now::render },
    Spec { path: "/tenant", title: "Tenant", render: tenant::render },
    Spec { path: "/plans", title: "Plans", render: plans::render },
    Spec { path: "/sizing", title: "Sizing", render: sizing::render },
    Spec { path: "/advice", title: "Advice", render: advice::render },
];

/// The spans that charts may show, in seconds.
const SPANS: [(u64, &str); 4] =
    [(300, "5 minutes"), (3_600, "hour"), (86_400, "day"), (2_592_000, "month")];

/// The page at a path.
pub fn find(path: &str) -> Option<&'static Spec> {
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
pub fn whole(page: &Spec, shown: &Shown<'_>) -> String {
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

/// Percent-encodes text for use in a part of a URL.
pub fn encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Decodes percent-encoded text; `+` becomes a space, and invalid escapes stay as they are.
pub fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = vec![];
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match (bytes[at], hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A link to a tenant's page.
fn link(name: &str) -> String {
    format!("<a href=\"/tenant?tenant={}\">{}</a>", encode(name), escape(name))
}

/// Each line of text as one HTML paragraph.
fn paragraphs(lines: &[String]) -> String {
    let all: Vec<_> = lines.iter().map(|line| format!("<p>{}</p>\n", escape(line))).collect();
    all.concat()
}

/// The span that charts show, in words.
fn back(shown: &Shown<'_>) -> String {
    format!("last {}", span(shown.span_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::healthy;
    use crate::{Change, Moved, Point};

    fn shown(names: &[&str], page: &Spec) -> String {
        let mut report = healthy();
        let first = report.tenants[0].clone();
        report.tenants = names
            .iter()
            .map(|&name| crate::Tenant { name: name.into(), ..first.clone() })
            .collect();
        let mut history = History::default();
        for second in 0..200 {
            let point = Point {
                unix_s: (report.server.now_unix_s - 200 + second) as u32,
                reads: 10,
                misses: 2,
                used_kib: 100,
                ..Point::default()
            };
            history.push(names.iter().map(|&name| (name, point)));
        }
        let moved = Moved { tenant: names[0].into(), before: 1, after: 2 };
        report.changes = vec![Change {
            unix_s: report.server.now_unix_s - 60,
            text: "a plan is in force".into(),
            moved: vec![moved],
            ..Change::default()
        }];
        let tenant = Some(names[0]);
        let shown = Shown { report: &report, history: &history, tenant, memory: None, span_s: 300 };
        whole(page, &shown)
    }

    /// The name of a tenant is escaped wherever it appears.
    #[test]
    fn names_are_text() {
        for page in ALL {
            let html = shown(&["<script>alert(\"x\")</script>", "b"], page);
            assert!(!html.contains("<script>alert"), "{}", page.title);
            assert_eq!(html.matches("<script").count(), 1, "{}", page.title);
            assert!(html.contains("&lt;script&gt;alert"), "{}", page.title);
            assert!(!html.contains("http://") && !html.contains("https://"));
        }
    }

    /// Charts show few lines however many tenants there are; tables show all tenants.
    #[test]
    fn many_tenants_stay_readable() {
        let names: Vec<String> = (0..200).map(|at| format!("tenant{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let html = shown(&names, &ALL[0]);
        let lines = html.matches("<polyline").count() + html.matches("<polygon").count();
        assert!(lines < 40, "{lines}");
        assert!(names.iter().all(|name| html.contains(&format!(">{name}<"))));
    }

    #[test]
    fn what_a_url_holds_comes_back() {
        for text in ["web", "a b&c=d/ü", "<\">%"] {
            assert_eq!(decode(&encode(text)), text);
        }
        assert_eq!(decode("a+b%zz%4"), "a b%zz%4");
    }
}
