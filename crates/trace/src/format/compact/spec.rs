//! The registry entry.

use super::layout::{MAGIC, MAGIC_OF_SAMPLES};
use super::read::{self, Compact};
use super::write::CompactWriter;
use crate::Error;
use crate::format::FormatSpec;
use crate::records::Records;

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "compact",
    about: "binary, Larder's own: all fields, a few bytes per request",
    units: "",
    extensions: &["compact"],
    recognises: |head| head.starts_with(&MAGIC) || head.starts_with(&MAGIC_OF_SAMPLES),
    open: |reader, options| {
        let mut records = Records::new(reader);
        let sample = match records.take_some(MAGIC.len()) {
            Ok(Some(magic)) if magic == MAGIC => None,
            Ok(Some(magic)) if magic == MAGIC_OF_SAMPLES => Some(read::sample(&mut records)?),
            Err(error) if !error.is_malformed() => return Err(error),
            _ => {
                return Err(Error::Unusable(
                    "not a trace in the compact format: it does not begin with the magic number"
                        .into(),
                ));
            }
        };
        Ok(Box::new(Compact::new(records, options.charge, sample)))
    },
    create: Some(|writer, _| Ok(Box::new(CompactWriter::new(writer)))),
    looks_ahead: false,
    loses: &[],
};
