//! Lists of the ARC paper: extents of 512-byte blocks, one a line.
//!
//! ```text
//! first_block blocks ignored request_number
//! 2565 8 0 1
//! ```
//!
//! Each block is an object, and each line requests its blocks in order, at one time. The trace has
//! no clock; extents are a millisecond apart.
//!
//! Megiddo, Modha. ARC: a self-tuning, low overhead replacement cache. FAST '03.

use super::FormatSpec;
use crate::error::excerpt;
use crate::lines::whole_number;
use crate::object::Number;
use crate::text::{self, Batch, LineFormat, LineRequest, MADE_GAP_US, REQUESTS_A_LINE_MAX};

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "arc",
    about: "first_block blocks ignored request_number",
    units: "no times: lines are a millisecond apart; blocks of 512 bytes",
    extensions: &["lis", "arc"],
    recognises: |_| false,
    open: |reader, options| {
        let block = options.block_size.unwrap_or(BLOCK_BYTES);
        let size = options.value_size.unwrap_or(block);
        let arc = Arc { size, block, extents: 0, blocks: 0..0, number: Number::default() };
        Ok(text::open(reader, options, arc))
    },
    create: None,
    looks_ahead: false,
    loses: &[],
};

const BLOCK_BYTES: u64 = 512;

struct Arc {
    size: u64,
    extents: u64,
    /// The remaining blocks of the current extent.
    blocks: std::ops::Range<u64>,
    number: Number,
    /// Bytes of a block that counts as an object.
    block: u64,
}

impl LineFormat for Arc {
    fn read(&mut self, _: u64, line: &[u8], _: &mut Batch) -> Result<(), String> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let blocks = parse(line).ok_or_else(|| {
            format!("expected {}, four numbers, and found '{}'", SPEC.about, excerpt(line))
        })?;
        let bytes = |block: u64| block.saturating_mul(BLOCK_BYTES);
        self.blocks = if self.block == BLOCK_BYTES {
            blocks
        } else {
            bytes(blocks.start) / self.block..bytes(blocks.end).div_ceil(self.block)
        };
        self.extents += 1;
        Ok(())
    }

    fn resume(&mut self, batch: &mut Batch) -> bool {
        let Some(block) = self.blocks.next() else { return false };
        let micros = (self.extents - 1) * MADE_GAP_US;
        batch.push(self.number.write(block), LineRequest::get(micros, self.size));
        true
    }
}

fn parse(line: &[u8]) -> Option<std::ops::Range<u64>> {
    let mut numbers =
        line.split(u8::is_ascii_whitespace).filter(|text| !text.is_empty()).map(whole_number);
    let (first, blocks) = (numbers.next()??, numbers.next()??);
    let (_, _) = (numbers.next()??, numbers.next()??);
    if numbers.next().is_some() || blocks > REQUESTS_A_LINE_MAX {
        return None;
    }
    Some(first..first.checked_add(blocks)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadOptions;
    use std::io::Cursor;

    #[test]
    fn larger_blocks_hold_several_of_the_trace() {
        let read = |options: &ReadOptions| {
            let mut source = (SPEC.open)(Box::new(Cursor::new("7 10 0 1\n16 8 0 2\n")), options);
            let source = source.as_mut().unwrap();
            let mut found = vec![];
            while let Some(access) = source.next() {
                let size = access.unwrap().value_size;
                found.push((String::from_utf8_lossy(source.key()).into_owned(), size));
            }
            found
        };
        assert_eq!(read(&ReadOptions::default()).len(), 18);
        let large = read(&ReadOptions { block_size: Some(4096), ..ReadOptions::default() });
        let of = |key: &str| (key.to_owned(), 4096);
        assert_eq!(large, [of("0"), of("1"), of("2"), of("2")]);
    }
}
