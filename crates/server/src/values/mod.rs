//! The layout of values in memory: strings, hashes and collections.

pub(crate) mod collection;
pub(crate) mod hash;
mod kind;
mod rank;
mod step;
pub(crate) mod text_value;
