//! Phrases that several pages contain.

use super::PageData;
use crate::draw::html::escape;
use crate::words::continues_number;
use crate::{Tenant, say};
use base::Cause;

/// A link to a tenant's page.
pub(super) fn link(shown: &PageData<'_>, name: &str) -> String {
    let view = shown.view.with(|view| {
        view.tenant = Some(name.to_owned());
        view.sort = None;
    });
    format!("<a href=\"{}\">{}</a>", view.href("/tenant"), escape(name))
}

/// Text as HTML in which a number stays on one line, with its unit.
pub(super) fn prose(text: &str) -> String {
    let mut out = String::new();
    for word in escape(text).split(' ') {
        if !out.is_empty() {
            out.push(if continues_number(&out, word) { '\u{a0}' } else { ' ' });
        }
        out += word;
    }
    out.push(' ');
    for unit in ["%", "B", "KiB", "MiB", "GiB", "TiB", "µs", "ms", "s"] {
        for after in [" ", ".", ",", ":", ";"] {
            out = out.replace(&format!(" {unit}{after}"), &format!("\u{a0}{unit}{after}"));
        }
    }
    out.pop();
    out
}

/// The memory that a tenant needs for a miss ratio, with links to other ratios.
pub(super) fn memory_for(shown: &PageData<'_>, path: &str, tenant: &Tenant) -> String {
    let wanted = shown.view.misses.unwrap_or(5);
    let lines = say::memory(shown.report, tenant, f64::from(wanted) / 100.0);
    let link = |misses: u8| {
        let view = shown.view.with(|view| {
            view.misses = Some(misses);
            view.tenant = Some(tenant.name.clone());
        });
        let here = if misses == wanted { " aria-current=\"true\"" } else { "" };
        format!("<a href=\"{}\" data-stay{here}>{misses}\u{a0}%</a> ", view.href(path))
    };
    let links: String = [1, 2, 5, 10, 20, 50].map(link).concat();
    let (typed, says): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.starts_with(' '));
    let typed: String = typed.iter().map(|line| command(line.trim())).collect();
    format!(
        "<p class=\"wanted\">Memory for misses of {links}</p>\n<p>{}</p>\n{typed}",
        prose(&says.join(" "))
    )
}

/// A command with a button that copies it.
pub(super) fn command(text: &str) -> String {
    format!(
        "<p class=\"type\"><span class=\"head\">Type</span> <code>{0}</code> <button \
         type=\"button\" data-copy=\"{0}\">copy</button></p>\n",
        escape(text)
    )
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
