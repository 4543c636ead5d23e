//! Compressed values: their stored form, dictionaries, counts, and the decision which items shrink.

pub(crate) mod codec;
pub(crate) mod counts;
pub(crate) mod decision;
#[allow(unsafe_code)]
pub(crate) mod dictionary;
pub(crate) mod form;
pub(crate) mod octaves;
pub(crate) mod outside;
pub(crate) mod work;
