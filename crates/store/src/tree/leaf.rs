//! A leaf: entries side by side in one piece of memory, in order.
//!
//! ```text
//!  ┌──────┬─────────────────────────┬──────────┬───────┬──
//!  │ rank │ length · 2 + is mortal  │ its end  │ body… │ …
//!  └──────┴─────────────────────────┴──────────┴───────┴──
//!    4      1 to 5 bytes              8, if it is mortal
//! ```
//!
//! A search reads the heads one after the other: of some thirty entries in a kilobyte that takes no
//! longer than a table of offsets would, and takes no memory.

use super::{Entry, NEVER, New, Probe};
use std::cmp::Ordering;

/// Bytes above which a leaf of several entries is split.
pub(super) const LEAF_MAX: usize = 1024;
/// Most bytes of an entry beside its body.
pub(super) const HEAD_MAX: usize = 17;

/// Bytes that the allocator takes for so many: four sizes to each power of two.
pub(super) const fn allocated(bytes: usize) -> usize {
    if bytes <= 128 {
        return bytes.next_multiple_of(16);
    }
    bytes.next_multiple_of(bytes.next_power_of_two() / 8)
}

/// The entry at the front, which is taken away; none at the end.
pub(super) fn take<'a>(bytes: &mut &'a [u8]) -> Option<Entry<'a>> {
    let (rank, mut rest) = bytes.split_first_chunk::<4>()?;
    let (mut word, mut shift) = (0u64, 0);
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        word |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    let mut dies = None;
    if word & 1 == 1 {
        let (when, after) = rest.split_first_chunk::<8>()?;
        (dies, rest) = (Some(u64::from_le_bytes(*when)), after);
    }
    let (body, rest) = rest.split_at_checked((word >> 1) as usize)?;
    *bytes = rest;
    Some(Entry { rank: u32::from_le_bytes(*rank), dies, body })
}

/// The head of an entry, and its length.
fn head(rank: u32, dies: Option<u64>, body: usize) -> ([u8; HEAD_MAX], usize) {
    let mut head = [0; HEAD_MAX];
    head[..4].copy_from_slice(&rank.to_le_bytes());
    let (mut at, mut word) = (4, (body as u64) << 1 | u64::from(dies.is_some()));
    while word >= 0x80 {
        head[at] = word as u8 | 0x80;
        word >>= 7;
        at += 1;
    }
    head[at] = word as u8;
    at += 1;
    if let Some(dies) = dies {
        head[at..at + 8].copy_from_slice(&dies.to_le_bytes());
        at += 8;
    }
    (head, at)
}

/// Where an entry is or would be.
pub(super) struct Found {
    pub(super) at: usize,
    /// Its bytes and its end; none where there is none.
    pub(super) old: Option<(usize, Option<u64>)>,
}

/// Looks for the place of an entry.
pub(super) fn find(bytes: &[u8], probe: &Probe<'_>) -> Found {
    let mut rest = bytes;
    loop {
        let at = bytes.len() - rest.len();
        let Some(entry) = take(&mut rest) else { return Found { at, old: None } };
        match probe.order_of(&entry) {
            Ordering::Less => {}
            Ordering::Equal => {
                let len = bytes.len() - rest.len() - at;
                return Found { at, old: Some((len, entry.dies)) };
            }
            Ordering::Greater => return Found { at, old: None },
        }
    }
}

/// Gives a leaf room for so many bytes, and takes away what is twice too much.
fn fit(bytes: &mut Vec<u8>, len: usize) {
    if len > bytes.capacity() {
        bytes.reserve_exact(allocated(len) - bytes.len());
    } else if len < bytes.capacity() / 2 {
        bytes.shrink_to(allocated(len));
    }
}

/// Puts an entry in the place of `old` bytes.
pub(super) fn replace(bytes: &mut Vec<u8>, at: usize, old: usize, new: &New<'_>) {
    let (head, head_len) = head(new.probe.rank, new.dies, new.body.len());
    let (len, end) = (bytes.len(), head_len + new.body.len());
    let after = len - old + end;
    if after > len {
        fit(bytes, after);
        bytes.resize(after, 0);
    }
    bytes.copy_within(at + old..len, at + end);
    bytes.truncate(after);
    bytes[at..at + head_len].copy_from_slice(&head[..head_len]);
    bytes[at + head_len..at + end].copy_from_slice(new.body);
    fit(bytes, after);
}

/// Takes an entry out.
pub(super) fn remove(bytes: &mut Vec<u8>, at: usize, len: usize) {
    bytes.drain(at..at + len);
    let left = bytes.len();
    fit(bytes, left);
}

/// Splits a leaf: at its middle, or before its last entry if that is `at` the end, where the next
/// ones are to come.
pub(super) fn split(bytes: &mut Vec<u8>, at_end: bool) -> Vec<u8> {
    let (mut rest, mut cut) = (&bytes[..], 0);
    loop {
        _ = take(&mut rest);
        if rest.is_empty() {
            break;
        }
        cut = bytes.len() - rest.len();
        if !at_end && cut >= bytes.len() / 2 {
            break;
        }
    }
    let mut right = Vec::with_capacity(allocated(bytes.len() - cut));
    right.extend_from_slice(&bytes[cut..]);
    bytes.truncate(cut);
    bytes.shrink_to(allocated(cut));
    right
}

/// Takes out what is dead by `now_ms`; returns how many entries were.
pub(super) fn remove_dead(bytes: &mut Vec<u8>, now_ms: u64) -> u64 {
    let mut kept = Vec::with_capacity(allocated(bytes.len()));
    let (mut rest, mut dead) = (&bytes[..], 0);
    loop {
        let before = rest;
        let Some(entry) = take(&mut rest) else { break };
        if entry.is_dead(now_ms) {
            dead += 1;
        } else {
            kept.extend_from_slice(&before[..before.len() - rest.len()]);
        }
    }
    *bytes = kept;
    let len = bytes.len();
    fit(bytes, len);
    dead
}

/// When the first entry dies.
pub(super) fn next_death(bytes: &[u8]) -> u64 {
    entries(bytes).filter_map(|entry| entry.dies).min().unwrap_or(NEVER)
}

/// The entries in their order.
pub(super) fn entries(mut bytes: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    std::iter::from_fn(move || take(&mut bytes))
}
