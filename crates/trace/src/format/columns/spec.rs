//! The registry entry.

use super::read::Columns;
use super::splitter::{Splitter, header_of};
use super::write::{ColumnsWriter, WRITTEN};
use crate::format::FormatSpec;
use crate::lines::Lines;
use crate::{Error, Unit, text};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "columns",
    about: "text in columns, named by the first line or by --columns",
    units: "",
    extensions: &["tsv", "psv"],
    recognises: |head| {
        // The names may follow a hash, and comment lines.
        let lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        for line in lines.filter(|line| !line.is_empty()) {
            let header = header_of(&mut Splitter::of(line), line);
            if header.is_some_and(|header| header.is_known()) {
                return true;
            }
            if line[0] != b'#' {
                return false;
            }
        }
        false
    },
    open: |reader, options| {
        let mut lines = Lines::new(reader);
        let format = Columns::begin(&mut lines, options)?;
        Ok(text::open_lines(lines, options, format))
    },
    create: Some(|writer, _| {
        let mut out = BufWriter::with_capacity(1 << 16, writer);
        writeln!(out, "{WRITTEN}").map_err(|source| Error::Io {
            unit: Unit::Line,
            at: 0,
            source,
        })?;
        Ok(Box::new(ColumnsWriter { out, line: vec![], names: BTreeMap::new(), written: 1 }))
    }),
    looks_ahead: false,
    loses: &[],
};
