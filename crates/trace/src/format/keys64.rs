//! Lists of keys with 64 bits each, otherwise like those with [32 bits](super::keys32).

use super::FormatSpec;
use super::keys32::KeyList;

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "keys64",
    about: "binary: a key of 64 bits per request, little endian",
    units: "no times: requests are a millisecond apart",
    extensions: &["keys64", "u64"],
    recognises: |_| false,
    open: |reader, options| Ok(Box::new(KeyList::<8>::new(reader, options))),
    create: None,
    looks_ahead: false,
    loses: &[],
};
