//! What a command shows: tables, charts and pages (`report::draw`), and one JSON document.

pub mod json;
mod made;

pub use made::sign;

pub use ::report::draw::{Axis, Chart, Format, Page, Series, Table, chart, format, html, table};
