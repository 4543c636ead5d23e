//! Tables that a reader can sort, and that become cards on a narrow screen.
//!
//! Each cell carries the head of its column, which a card shows beside the value.

use super::PageData;
use crate::draw::html::escape;
use std::fmt::Write;

/// A column of such a table.
pub(super) struct Column {
    /// Its head.
    pub(super) head: &'static str,
    /// Whether its values are numbers, which stand to the right and are sorted from the largest.
    pub(super) is_number: bool,
}

/// A column of text.
pub(super) const fn text(head: &'static str) -> Column {
    Column { head, is_number: false }
}

/// A column of numbers.
pub(super) const fn number(head: &'static str) -> Column {
    Column { head, is_number: true }
}

/// A cell: HTML, and the number or text by which the table is sorted.
pub(super) struct CardCell {
    html: String,
    key: SortKey,
}

#[derive(PartialEq, PartialOrd)]
enum SortKey {
    Number(f64),
    Text(String),
}

/// A cell of HTML that is sorted by a number.
pub(super) fn by(key: f64, html: impl Into<String>) -> CardCell {
    CardCell { html: html.into(), key: SortKey::Number(key) }
}

/// A cell of HTML that is sorted by a text.
pub(super) fn named(key: &str, html: impl Into<String>) -> CardCell {
    CardCell { html: html.into(), key: SortKey::Text(key.to_owned()) }
}

/// A cell of plain text.
pub(super) fn plain(text: &str) -> CardCell {
    named(text, escape(text))
}

/// The name of a column in the query.
fn slug(head: &str) -> String {
    head.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The table, sorted as the reader chose; in the order of `rows` otherwise.
pub(super) fn table(
    shown: &PageData<'_>,
    path: &str,
    columns: &[Column],
    mut rows: Vec<Vec<CardCell>>,
) -> String {
    let asked = shown.view.sort.as_deref().unwrap_or_default();
    let (is_down, asked) = asked.strip_prefix('-').map_or((false, asked), |name| (true, name));
    let sorted = columns.iter().position(|column| slug(column.head) == asked);
    if let Some(at) = sorted {
        rows.sort_by(|a, b| {
            let order = a[at].key.partial_cmp(&b[at].key).unwrap_or(std::cmp::Ordering::Equal);
            if is_down { order.reverse() } else { order }
        });
    }
    let link = |(at, column): (usize, &Column)| {
        let is_here = sorted == Some(at);
        let name = slug(column.head);
        // A second click turns the order round.
        let down = if is_here { !is_down } else { column.is_number };
        let sort = Some(if down { format!("-{name}") } else { name });
        let href = shown.view.with(|view| view.sort = sort).href(path);
        let sign = if !is_here {
            ""
        } else if is_down {
            " ▾"
        } else {
            " ▴"
        };
        format!("<a href=\"{href}\" data-stay>{}{sign}</a>", escape(column.head))
    };
    let links: Vec<String> = columns.iter().enumerate().map(link).collect();
    let class = |column: &Column| if column.is_number { " class=\"n\"" } else { "" };
    let mut out = format!("<p class=\"sorts\">Sort by {}</p>\n", links.join(" "));
    out += "<div class=\"wide\"><table class=\"cards\"><thead><tr>";
    for (column, link) in columns.iter().zip(&links) {
        let _ = write!(out, "<th{}>{link}</th>", class(column));
    }
    out += "</tr></thead>\n<tbody>\n";
    for row in rows {
        out += "<tr>";
        for (column, cell) in columns.iter().zip(row) {
            let _ = write!(
                out,
                "<td{} data-head=\"{}\">{}</td>",
                class(column),
                escape(column.head),
                cell.html
            );
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}
