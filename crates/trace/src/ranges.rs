//! Requests for a range of a disk or of an object.
//!
//! A cache holds blocks, and a trace of a disk has requests: 32 KiB from byte 4096 on, then 4 KiB
//! from byte 8192 on. As objects named by their offsets these two have nothing in common, though
//! the second is a part of the first. `--block-size` splits each request into the blocks that it
//! touches, and each block is an object.

use crate::ReadOptions;
use std::ops::Range;

/// The remark where requests are not split.
pub(crate) const WHOLE: &str = "a request for a range counts as one object, and overlapping ranges \
                                count as different objects: --block-size 4kb splits them into \
                                blocks";
/// The most blocks of one request.
const BLOCKS_MAX: u64 = 1 << 16;

/// The way in which requests are split.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranges {
    size: Option<u64>,
}

impl Ranges {
    pub(crate) fn of(options: &ReadOptions) -> Self {
        Self { size: options.block_size.filter(|size| *size > 0) }
    }

    /// The remark about requests that stay whole, if they do.
    pub(crate) fn remark(self) -> Option<&'static str> {
        if self.size.is_none() { Some(WHOLE) } else { None }
    }

    /// The blocks that a request touches, and the bytes of each; `None` if the request stays whole.
    ///
    /// # Errors
    /// The request touches too many blocks.
    pub(crate) fn split(
        self,
        offset: u64,
        bytes: u64,
    ) -> Result<Option<(Range<u64>, u64)>, String> {
        let Some(size) = self.size else { return Ok(None) };
        let first = offset / size;
        let end = offset.saturating_add(bytes.max(1)).div_ceil(size).max(first + 1);
        if end - first > BLOCKS_MAX {
            return Err(format!(
                "a request of {bytes} bytes has more than {BLOCKS_MAX} blocks of {size}: choose a \
                 larger --block-size"
            ));
        }
        Ok(Some((first..end, size)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_blocks_that_it_touches() {
        let ranges = Ranges::of(&ReadOptions { block_size: Some(4096), ..ReadOptions::default() });
        for (offset, bytes, blocks) in
            [(0, 4096, 0..1), (0, 4097, 0..2), (4095, 2, 0..2), (8192, 0, 2..3), (8191, 8194, 1..5)]
        {
            assert_eq!(ranges.split(offset, bytes), Ok(Some((blocks, 4096))), "{offset} {bytes}");
        }
        assert!(ranges.split(0, 1 << 40).unwrap_err().contains("--block-size"));
        let whole = Ranges::of(&ReadOptions::default());
        assert_eq!((whole.split(0, 1 << 40), whole.remark()), (Ok(None), Some(WHOLE)));
    }
}
