//! Output of commands: tables, charts and pages (`report::draw`), and one JSON document.

mod made;

pub use made::sign;

pub use load::json;

pub use ::report::draw::{
    Axis, Chart, Format, Mark, Page, Series, Table, chart, format, html, table,
};
