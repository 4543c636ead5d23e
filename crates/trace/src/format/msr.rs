//! Block traces of Microsoft Research, Cambridge: one week of 36 volumes.
//!
//! ```text
//! Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
//! 128166372003061629,hm,1,Read,383496192,32768,413
//! ```
//!
//! Times are those of Windows, in units of 100 ns. An object is the address of a request, named
//! `host.disk:offset`. Its size is the size of the request, which may differ between requests. With
//! `--block-size` each block that a request touches is an object (`ranges.rs`). The penalty of a
//! miss is the measured response time, which the blocks of a request share. The disk is the tenant.
//!
//! Narayanan, Donnelly, Rowstron. Write off-loading: practical power management for enterprise
//! storage. FAST '08.

use super::FormatSpec;
use crate::error::excerpt;
use crate::lines::whole_number;
use crate::ops::op;
use crate::ranges::Ranges;
use crate::tenants::tenant;
use crate::text::{self, Batch, LineFormat, LineRequest, size};
use base::Micros;

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "msr",
    about: "Timestamp (100 ns),Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
    units: "times and response times in 100 ns, offsets and sizes in bytes",
    extensions: &["msr", "msr.csv"],
    recognises: |head| {
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        parse(line.trim_ascii_end(), &mut vec![]).is_ok()
    },
    open: |reader, options| {
        let msr = Msr { key: vec![], block: vec![], ranges: Ranges::of(options) };
        Ok(text::open(reader, options, msr))
    },
    create: None,
    looks_ahead: false,
    loses: &[],
};

struct Msr {
    key: Vec<u8>,
    /// The key of a block.
    block: Vec<u8>,
    ranges: Ranges,
}

impl LineFormat for Msr {
    fn read(&mut self, at: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        if line.is_empty() || (at == 1 && line.starts_with(b"Timestamp")) {
            return Ok(());
        }
        let request = parse(line, &mut self.key).map_err(|column| {
            format!(
                "column {column} is missing or wrong in '{}'; a line has the columns {}",
                excerpt(line),
                SPEC.about
            )
        })?;
        let offset = memchr::memrchr(b':', &self.key).map_or(0, |colon| colon + 1);
        let first = whole_number(&self.key[offset..]).unwrap_or(0);
        let Some((blocks, size)) = self.ranges.split(first, request.value_size)? else {
            batch.push(&self.key, request);
            return Ok(());
        };
        let penalty = Micros(request.penalty.0 / (blocks.end - blocks.start));
        for block in blocks {
            self.block.clear();
            self.block.extend_from_slice(&self.key[..offset]);
            self.block.extend_from_slice(itoa::Buffer::new().format(block * size).as_bytes());
            batch.push(&self.block, LineRequest { value_size: size, penalty, ..request });
        }
        Ok(())
    }

    fn remark(&self) -> Option<&str> {
        self.ranges.remark()
    }
}

/// Parses a line, and writes the object's key to `key`.
fn parse(line: &[u8], key: &mut Vec<u8>) -> Result<LineRequest, &'static str> {
    let mut columns = line.split(|byte| *byte == b',');
    let mut next = |name| columns.next().filter(|column| !column.is_empty()).ok_or(name);
    let time = whole_number(next("Timestamp")?).ok_or("Timestamp")?;
    let host = next("Hostname")?;
    let disk = next("DiskNumber")?;
    let disk_number = whole_number(disk).ok_or("DiskNumber")?;
    let op = match next("Type")? {
        kind if kind.eq_ignore_ascii_case(b"read") || kind.eq_ignore_ascii_case(b"write") => {
            op(kind).ok_or("Type")?
        }
        _ => return Err("Type (Read or Write)"),
    };
    let offset = next("Offset")?;
    whole_number(offset).ok_or("Offset")?;
    let value_size = size(next("Size")?).ok_or("Size")?;
    let response = whole_number(next("ResponseTime")?).ok_or("ResponseTime")?;
    key.clear();
    for part in [host, b".", disk, b":", offset] {
        key.extend_from_slice(part);
    }
    Ok(LineRequest {
        op,
        tenant: tenant(disk_number),
        penalty: Micros(response / 10),
        ..LineRequest::get(time / 10, value_size)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadOptions;
    use std::io::Cursor;

    #[test]
    fn overlapping_ranges_have_blocks_in_common() {
        let text = "128166372003061629,hm,1,Read,8192,8192,400\n\
                    128166372003061630,hm,1,Write,12000,1,413\n";
        let read = |options: &ReadOptions| {
            let mut source = (SPEC.open)(Box::new(Cursor::new(text)), options).unwrap();
            let said = source.remark().map(str::to_owned);
            let mut found = vec![];
            while let Some(access) = source.next() {
                let access = access.unwrap();
                let key = String::from_utf8_lossy(source.key()).into_owned();
                found.push((key, access.value_size, access.penalty.0));
            }
            (found, said)
        };
        let of = |key: &str, size, penalty| (key.to_owned(), size, penalty);
        let (found, said) = read(&ReadOptions::default());
        assert_eq!(found, [of("hm.1:8192", 8192, 40), of("hm.1:12000", 1, 41)]);
        assert!(said.unwrap().contains("--block-size"));
        let (found, said) = read(&ReadOptions { block_size: Some(4096), ..ReadOptions::default() });
        let blocks =
            [of("hm.1:8192", 4096, 20), of("hm.1:12288", 4096, 20), of("hm.1:8192", 4096, 41)];
        assert_eq!((found, said), (blocks.to_vec(), None));
    }
}
