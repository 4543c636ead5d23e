//! Phrases that several pages contain.

use super::PageData;
use crate::draw::html::escape;
use crate::sizing::Sizing;
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

/// The memory that a tenant needs for a miss ratio, with a field for any and links to some that can
/// be reached.
pub(super) fn memory_for(shown: &PageData<'_>, path: &str, tenant: &Tenant) -> String {
    const LINKS: usize = 6;
    let sizing = Sizing::with_band(tenant).filter(|_| !tenant.is_silent());
    let suggested = || sizing.map_or(0.05, |sizing| sizing.suggested());
    let wanted = shown.view.misses.map_or_else(suggested, |misses| f64::from(misses) / 1e3);
    let lines = say::memory(shown.report, tenant, wanted);
    let (typed, says): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.starts_with(' '));
    // An example that nobody asked for is no advice.
    let typed = typed.iter().filter(|_| shown.view.misses.is_some());
    let typed: String = typed.map(|line| command(line.trim())).collect();
    let says = format!("<p>{}</p>\n{typed}", prose(&says.join(" ")));
    let Some(sizing) = sizing else { return says };
    let link = |ratio: f64| {
        let view = shown.view.with(|view| {
            view.misses = Some((1e3 * ratio).round() as u16);
            view.tenant = Some(tenant.name.clone());
        });
        let here = if (ratio - wanted).abs() < 1e-4 { " aria-current=\"true\"" } else { "" };
        let percent = (1e3 * ratio).round() / 10.0;
        format!("<a href=\"{}\" data-stay{here}>{percent}\u{a0}%</a> ", view.href(path))
    };
    let links: String = sizing.attainable().take(LINKS).map(link).collect();
    format!(
        "<form class=\"wanted\" method=\"get\"><input type=\"hidden\" name=\"tenant\" \
         value=\"{}\"><label>Memory for misses of <input type=\"number\" name=\"misses\" \
         min=\"0.1\" max=\"99.9\" step=\"any\" value=\"{}\"> %</label> {links}</form>\n{says}",
        escape(&tenant.name),
        (1e3 * wanted).round() / 10.0,
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

/// The legend of the bars of memory and of causes.
pub(super) fn causes() -> String {
    let part = |(at, cause): (usize, Cause)| {
        format!("<span><i style=\"background:var(--k{at})\"></i>{}</span> ", say::word(cause))
    };
    let parts: String = Cause::ALL.into_iter().enumerate().map(part).collect();
    format!(
        "<p class=\"legend\">Share: all the memory fills the bar. Causes: all reads of the tenant \
         fill the bar, and its misses take their share: {parts}</p>\n"
    )
}

/// A bar that is full to `share`, with its value as text beside it.
pub(super) fn bar(share: f64, text: &str) -> String {
    let width = 100.0 * share.clamp(0.0, 1.0);
    format!("<span class=\"bar plain\"><b style=\"width:{width:.1}%\"></b></span> {}", escape(text))
}
