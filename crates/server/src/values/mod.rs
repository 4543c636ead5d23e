//! The layout of values in memory: strings, hashes and collections.

pub(crate) mod collection;
pub(crate) mod hash;
pub(crate) mod text_value;
