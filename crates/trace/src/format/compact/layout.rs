//! Numbers of the layout: magic numbers, flags and columns.

pub(super) const MAGIC: [u8; 8] = *b"larder\x001";
/// The magic number of a sample; its rate and its seed follow.
pub(super) const MAGIC_OF_SAMPLES: [u8; 8] = *b"larder\x002";
/// Most bytes of a block, packed or plain; a larger length is damage.
pub(super) const BLOCK_BYTES_MAX: usize = 1 << 28;
pub(super) const OP: u8 = 0b11;
pub(super) const NEW: u8 = 1 << 2;
pub(super) const VALUE: u8 = 1 << 3;
pub(super) const TENANT: u8 = 1 << 4;
pub(super) const TTL: u8 = 1 << 5;
pub(super) const PENALTY: u8 = 1 << 6;
/// In a sample: numbers of requests and reads omitted before this request follow. Otherwise: the
/// tick of the next access.
pub(super) const NEXT: u8 = 1 << 7;
/// In a sample: the end, and no request; numbers of requests and reads omitted after the last
/// follow.
pub(super) const END: u8 = 3;

pub(super) const TIMES: usize = 0;
pub(super) const FLAGS: usize = 1;
pub(super) const PLACE: usize = 2;
pub(super) const KEYS: usize = 3;
pub(super) const FIELDS: usize = 4;
pub(super) const COLUMNS: usize = 5;
