//! The plans page: every change with its promise and its actual effect.

use super::PageData;
use super::phrases::link;
use crate::draw::html::escape;
use crate::say;
use crate::words::{clock, percent, size};
use std::fmt::Write;

pub(super) fn render(shown: &PageData<'_>) -> String {
    let server = &shown.report.server;
    let mut out = String::from("<h1>What changed</h1>\n");
    let _ = writeln!(out, "<p>{}</p>", escape(&say::pilot(shown.report)));
    if shown.report.changes.is_empty() {
        return out + "<p>Nothing yet.</p>\n";
    }
    out += "<div class=\"wide\"><table><thead><tr><th>when</th><th>what</th><th>memory</th>\
            <th class=\"n\">promised</th><th class=\"n\">expected</th><th class=\"n\">actual</th>\
            </tr></thead>\n<tbody>\n";
    for change in shown.report.changes.iter().rev() {
        let moved: Vec<_> = change
            .moved
            .iter()
            .map(|moved| {
                format!("{} {} to {}", link(&moved.tenant), size(moved.before), size(moved.after))
            })
            .collect();
        let told = say::measured(change).into_iter().chain(say::claimed(change));
        let told = told.fold(String::new(), |told, text| told + "<br>" + &escape(&text));
        let share = |share: Option<f64>| share.map_or_else(String::new, percent);
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}{told}</td><td>{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            clock(change.unix_s, server.now_unix_s, server.utc_offset_s),
            escape(&change.text),
            moved.join("<br>"),
            share(change.promised),
            share(change.expected),
            share(change.actual),
        );
    }
    out + "</tbody></table></div>\n<p>Promised: share of the waiting that the plan saves. \
           Expected, actual: waiting as a share of the waiting without a cache.</p>\n"
}
