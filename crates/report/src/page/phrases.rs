//! Phrases that several pages contain.

use super::{PageData, encode};
use crate::draw::html::escape;
use crate::words::span;

/// A link to a tenant's page.
pub(super) fn link(name: &str) -> String {
    format!("<a href=\"/tenant?tenant={}\">{}</a>", encode(name), escape(name))
}

/// Each line of text as one HTML paragraph.
pub(super) fn paragraphs(lines: &[String]) -> String {
    let all: Vec<_> = lines.iter().map(|line| format!("<p>{}</p>\n", escape(line))).collect();
    all.concat()
}

/// The span that charts show, in words.
pub(super) fn back(shown: &PageData<'_>) -> String {
    format!("last {}", span(shown.span_s))
}
