//! The pace of LHD's learning, in the simulator and in the live store.

/// Requests before the densities are computed first.
pub(super) const FIRST_LOOK: u64 = 1 << 12;
/// Requests, for each object cached, after which the first look comes even before a turnover.
pub(super) const PATIENCE: u64 = 8;
/// Requests between two looks, at most.
pub(super) const LOOK_MAX: u64 = 1 << 20;
/// Requests seen, divided by the requests until the next look.
pub(super) const LOOK_SHARE: u64 = 8;
/// Weight of the past at each look.
pub(super) const DECAY: f32 = 0.9;
/// One newcomer or hit in this many becomes an explorer, while there is room for one.
pub(super) const EXPLORE_ONE_IN: u64 = 32;
/// The capacity divided by the bytes that explorers may hold.
pub(super) const EXPLORE_SHARE: u64 = 100;
/// Age, in requests for each object cached, at which an explorer becomes an ordinary item.
pub(super) const EXPLORE_AGE: u32 = 64;
