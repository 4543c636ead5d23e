//! Figures as tables and charts: in the terminal, and on one page of HTML.
//!
//! Each is a value first ([`Table`], [`Chart`]) and is rendered last, so the same figures stand in
//! the terminal, on the dashboard and on a page that a command writes.

pub mod chart;
pub mod format;
pub mod html;
mod plot;
mod svg;
pub mod table;
mod ticks;

pub use chart::{Axis, Chart, Series};
pub use format::Format;
pub use html::Page;
pub use table::Table;
