//! Figures as tables and charts, in the terminal and on an HTML page.
//!
//! Each figure is first a value ([`Table`], [`Chart`]) and is rendered last. So the terminal, the
//! dashboard and the pages that commands write show the same figures.

pub mod bars;
pub mod chart;
mod colour;
pub mod format;
pub mod html;
mod names;
mod plot;
mod svg;
pub mod table;
mod ticks;

pub use bars::{Bar, Bars};
pub use chart::{Axis, Chart, Mark, Series};
pub use colour::Colour;
pub use format::Format;
pub use html::Page;
pub use table::Table;
