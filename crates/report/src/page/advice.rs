//! The advice page: all findings, the most important first.

use super::PageData;
use super::phrases::link;
use crate::draw::html::escape;
use crate::finding::Severity;
use crate::{finding, say};
use std::fmt::Write;

pub(super) fn render(shown: &PageData<'_>) -> String {
    let mut out = String::from("<h1>Advice</h1>\n");
    let found = finding::all(shown.report);
    if found.is_empty() {
        out += "<p>The measurements show no problem.</p>\n";
    }
    for one in found {
        let (class, word) = match one.severity {
            Severity::Warning => ("warning", "Warning"),
            Severity::Advice => ("advice", "Advice"),
            Severity::Note => ("note", "Note"),
        };
        let whose = one.tenant.as_ref().map_or_else(String::new, |name| format!("{} ", link(name)));
        let _ = writeln!(
            out,
            "<article class=\"{class}\"><h2>{word}</h2><p>{whose}{}</p><p>{}</p><p><b>{}</b></p>\
             </article>",
            escape(&one.says),
            escape(&one.evidence),
            escape(&one.todo)
        );
    }
    let text = say::advise(shown.report, None).join("\n");
    let policies = say::policies(shown.report).join("\n");
    out + &format!(
        "<h2>The answer of <code>LARDER \
         ADVISE</code></h2>\n<pre>{}</pre>\n<h2>Policies</h2>\n<pre>{}</pre>\n",
        escape(&text),
        escape(&policies)
    )
}
