//! Phrases that several pages contain.

use super::PageData;
use crate::draw::html::escape;
use crate::say;
use base::Cause;

/// A link to a tenant's page.
pub(super) fn link(shown: &PageData<'_>, name: &str) -> String {
    let view = shown.view.with(|view| {
        view.tenant = Some(name.to_owned());
        view.sort = None;
    });
    format!("<a href=\"{}\">{}</a>", view.href("/tenant"), escape(name))
}

/// Each line of text as one HTML paragraph.
pub(super) fn paragraphs(lines: &[String]) -> String {
    let all: Vec<_> = lines.iter().map(|line| format!("<p>{}</p>\n", escape(line))).collect();
    all.concat()
}

/// The legend of the colours of causes.
pub(super) fn causes() -> String {
    let part = |(at, cause): (usize, Cause)| {
        format!("<span><i style=\"background:var(--k{at})\"></i>{}</span> ", say::word(cause))
    };
    let parts: String = Cause::ALL.into_iter().enumerate().map(part).collect();
    format!("<p class=\"legend\">Causes of misses: {parts}</p>\n")
}

/// A bar that is full to `share`, with its value as text beside it.
pub(super) fn bar(share: f64, text: &str) -> String {
    let width = 100.0 * share.clamp(0.0, 1.0);
    format!("<span class=\"bar plain\"><b style=\"width:{width:.1}%\"></b></span> {}", escape(text))
}
