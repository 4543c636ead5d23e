//! What a command shows: tables and charts in the terminal, one page of HTML, one JSON document.
//!
//! Each is a value first ([`Table`], [`Chart`]) and is rendered last, so the same figures stand in
//! the terminal and on the page.

pub mod chart;
pub mod format;
pub mod html;
pub mod json;
pub mod table;
mod ticks;

pub use chart::{Axis, Chart, Series};
pub use format::Format;
pub use html::Page;
pub use table::Table;
