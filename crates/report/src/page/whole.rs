//! A whole page: the navigation around its middle, the style and the script.

use super::phrases::prose;
use super::{ALL, PageData, PageSpec, events, time};
use crate::draw::html::{STYLE, escape};
use crate::words::clock_second;
use crate::{Report, say};

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

/// The middle of a page: all that changes while it is open.
pub fn middle(page: &PageSpec, shown: &PageData<'_>) -> String {
    let controls = if page.has_time { time::controls(shown, page.path) } else { String::new() };
    // The first sentence of these pages says it.
    let is_said = matches!(page.path, "/" | "/tenant");
    let quiet = say::quiet(shown.report).filter(|_| !is_said);
    let quiet = quiet
        .map_or_else(String::new, |says| format!("<p class=\"found bad\">{}</p>\n", prose(&says)));
    format!("{controls}{quiet}{}{}", events::detail(shown), (page.render)(shown))
}

/// A whole page.
pub fn whole(page: &PageSpec, shown: &PageData<'_>) -> String {
    // Other pages keep the choices that they know.
    let view = shown.view.with(|view| (view.sort, view.event, view.memory) = (None, None, None));
    let links: Vec<_> = ALL
        .iter()
        .map(|one| {
            let here = if one.path == page.path { " aria-current=\"page\"" } else { "" };
            format!("<a href=\"{}\"{here}>{}</a>\n", view.href(one.path), one.title)
        })
        .collect();
    let kiosk = shown.view.with(|view| view.is_kiosk = !view.is_kiosk).href(page.path);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title} · Larder</title>\n<link rel=\"stylesheet\" href=\"/dashboard.css\">\n\
         <link rel=\"icon\" href=\"data:,\">\n</head>\n\
         <body class=\"dashboard{class}\">\n\
         <header><nav aria-label=\"pages\"><b>Larder</b>\n{links}</nav></header>\n\
         <main aria-live=\"off\">\n{middle}</main>\n\
         <footer>Larder {version}. <span id=\"state\">As of {when}</span> · \
         <a href=\"{kiosk}\">{word}</a></footer>\n\
         <script src=\"/dashboard.js\"></script>\n</body>\n</html>\n",
        title = page.title,
        class = if shown.view.is_kiosk { " kiosk" } else { "" },
        word = if shown.view.is_kiosk { "leave the wall" } else { "for a wall" },
        links = links.concat(),
        middle = middle(page, shown),
        version = escape(&shown.report.server.version),
        when = now(shown.report),
    )
}

fn now(report: &Report) -> String {
    let server = &report.server;
    clock_second(server.now_unix_s, server.now_unix_s, server.utc_offset_s)
}
