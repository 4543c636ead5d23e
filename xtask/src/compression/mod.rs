//! `cargo x bench compression`: compression by price, with real values.

mod play;
mod sessions;
mod tables;
mod values;

pub(crate) use tables::run;
