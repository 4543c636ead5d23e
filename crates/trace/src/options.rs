//! Options of a reader, besides the bytes that it reads.

use crate::Charge;

/// Options of a reader besides the bytes.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The size that the cache is charged for an object.
    pub charge: Charge,
    /// Names of the columns, for formats that leave them open.
    pub columns: Option<String>,
    /// The separator of columns, if the first line does not show it.
    pub separator: Option<u8>,
    /// Bytes of a value, if the format has no sizes.
    pub value_size: Option<u64>,
    /// Bytes of a block, if requests for ranges are to be split into blocks.
    pub block_size: Option<u64>,
    /// The meaning of words and numbers for operations, as `0=get,1=set`.
    pub ops: Option<String>,
}

impl ReadOptions {
    /// Bytes of a value without a known size: one, unless the user gives another number.
    pub(crate) fn unknown_size(&self) -> u64 {
        self.value_size.unwrap_or(1)
    }
}
