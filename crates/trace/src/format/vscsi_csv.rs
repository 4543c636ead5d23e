//! Traces of virtual disks as text, in the form of libCacheSim's sample (`cloudPhysicsIO.csv`).
//!
//! ```text
//! version,time,op,size,lbn
//! 1,5633898,2a,512,42932745
//! ```
//!
//! The time is in seconds, the operation is the SCSI code in hexadecimal, the size is in bytes, and
//! the number of the first block is the key.

use super::{FormatSpec, vscsi};
use crate::error::excerpt;
use crate::lines::whole_number;
use crate::object::Number;
use crate::ranges::Ranges;
use crate::text::{self, Batch, LineFormat, LineRequest, scaled, size};

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "vscsi-csv",
    about: "version,time in seconds,SCSI op in hexadecimal,size,lbn",
    units: "times in seconds, addresses in blocks of 512 bytes",
    extensions: &["vscsi.csv"],
    recognises: |head| head.starts_with(HEADER),
    open: |reader, options| {
        let format = VscsiCsv { ranges: Ranges::of(options), number: Number::default() };
        Ok(text::open(reader, options, format))
    },
    create: None,
    looks_ahead: false,
    loses: &[],
};

const HEADER: &[u8] = b"version,time,op,size,lbn";

struct VscsiCsv {
    ranges: Ranges,
    number: Number,
}

impl LineFormat for VscsiCsv {
    fn read(&mut self, _: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        if line.is_empty() || line == HEADER {
            return Ok(());
        }
        match parse(line) {
            Ok((key, Some(request))) => {
                let first = whole_number(key).unwrap_or(0).saturating_mul(vscsi::SECTOR);
                let Some((blocks, size)) = self.ranges.split(first, request.value_size)? else {
                    batch.push(key, request);
                    return Ok(());
                };
                for block in blocks {
                    let key = self.number.write(block * size / vscsi::SECTOR);
                    batch.push(key, LineRequest { value_size: size, ..request });
                }
            }
            Ok((_, None)) => {}
            Err(column) => {
                let found = excerpt(line);
                let about = SPEC.about;
                return Err(format!(
                    "column {column} is missing or wrong in '{found}'; a line has the columns \
                     {about}"
                ));
            }
        }
        Ok(())
    }

    fn remark(&self) -> Option<&str> {
        self.ranges.remark()
    }
}

/// The key, and the request if the command is one.
fn parse(line: &[u8]) -> Result<(&[u8], Option<LineRequest>), &'static str> {
    let mut columns = line.split(|byte| *byte == b',');
    let mut next = |name| columns.next().filter(|column| !column.is_empty()).ok_or(name);
    whole_number(next("version")?).ok_or("version")?;
    let micros = scaled(next("time")?, 1_000_000).ok_or("time")?;
    let code = next("op")?;
    let code = std::str::from_utf8(code).ok().and_then(|code| u8::from_str_radix(code, 16).ok());
    let code = code.ok_or("op (two hexadecimal digits)")?;
    let value_size = size(next("size")?).ok_or("size")?;
    let key = next("lbn")?;
    whole_number(key).ok_or("lbn")?;
    if columns.next().is_some() {
        return Err("lbn (and nothing after it)");
    }
    let request =
        vscsi::op(code).map(|op| LineRequest { op, ..LineRequest::get(micros, value_size) });
    Ok((key, request))
}
