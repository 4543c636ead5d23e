//! Lists of the ARC paper: extents of 512-byte blocks, one a line.
//!
//! ```text
//! first_block blocks ignored request_number
//! 2565 8 0 1
//! ```
//!
//! Each block is an object and each line asks for its blocks in order, at one time. The trace has
//! no clock: extents are a millisecond apart.
//!
//! Megiddo, Modha. ARC: a self-tuning, low overhead replacement cache. FAST '03.

use super::Spec;
use crate::error::excerpt;
use crate::lines::whole_number;
use crate::object::Number;
use crate::text::{self, Batch, LineFormat, MADE_GAP_US, REQUESTS_A_LINE_MAX, Request};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "arc",
    about: "first_block blocks ignored request_number",
    extensions: &["lis", "arc"],
    recognises: |_| false,
    open: |reader, options| {
        let size = options.value_size.unwrap_or(BLOCK_BYTES);
        let arc = Arc { size, extents: 0, blocks: 0..0, number: Number::default() };
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
    /// What is left of the present extent.
    blocks: std::ops::Range<u64>,
    number: Number,
}

impl LineFormat for Arc {
    fn read(&mut self, _: u64, line: &[u8], _: &mut Batch) -> Result<(), String> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        self.blocks = parse(line).ok_or_else(|| {
            format!("expected {}, four numbers, and found '{}'", SPEC.about, excerpt(line))
        })?;
        self.extents += 1;
        Ok(())
    }

    fn resume(&mut self, batch: &mut Batch) -> bool {
        let Some(block) = self.blocks.next() else { return false };
        let micros = (self.extents - 1) * MADE_GAP_US;
        batch.push(self.number.write(block), Request::get(micros, self.size));
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
