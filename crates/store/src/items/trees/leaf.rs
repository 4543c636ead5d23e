//! A leaf: entries one after another in one piece of memory, in order.
//!
//! ```text
//!  ┌───────────────────────────────────────┬───────┬──────────┬───────┬──
//!  │ length · 4 + has a rank · 2 + is mortal │ rank  │ its end  │ body… │ …
//!  └───────────────────────────────────────┴───────┴──────────┴───────┴──
//!    1 to 5 bytes                            4       8, if it is so
//! ```
//!
//! Rank 0 is not stored: a list, in which all entries have it, pays nothing for it.
//!
//! A search reads the heads one after the other. For some thirty entries in a kilobyte that is as
//! fast as a table of offsets, and needs no memory.

use crate::items::trees::entry::{Entry, NEVER, New, Probe, Spot};
use std::cmp::Ordering;
use std::ops::Range;

/// Bytes above which a leaf of several entries is split.
pub(crate) const LEAF_MAX: usize = 1024;
/// Most bytes of an entry without its body.
pub(crate) const HEAD_MAX: usize = 17;
/// The bits stored with an entry's length.
const IS_MORTAL: u64 = 1;
const HAS_RANK: u64 = 2;

/// Bytes that the allocator takes for `bytes` bytes: four sizes to each power of two.
pub(crate) const fn allocated(bytes: usize) -> usize {
    if bytes <= 128 {
        return bytes.next_multiple_of(16);
    }
    bytes.next_multiple_of(bytes.next_power_of_two() / 8)
}

/// The first word of the entry at the front, and the bytes after it.
#[inline]
fn word(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (mut rest, mut word, mut shift) = (bytes, 0u64, 0);
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        word |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((word, rest));
        }
        shift += 7;
    }
}

/// Bytes of an entry between its first word and its body.
#[inline]
const fn beside(word: u64) -> usize {
    ((word & HAS_RANK) * 2 + (word & IS_MORTAL) * 8) as usize
}

/// The bytes after the entry at the front; `None` at the end.
#[inline]
fn skip(bytes: &[u8]) -> Option<&[u8]> {
    let (word, rest) = word(bytes)?;
    rest.get(beside(word) + (word >> 2) as usize..)
}

/// Takes the entry at the front off `bytes`; `None` at the end.
pub(super) fn take<'a>(bytes: &mut &'a [u8]) -> Option<Entry<'a>> {
    let (word, mut rest) = word(bytes)?;
    let (mut rank, mut dies) = (0, None);
    if word & HAS_RANK != 0 {
        let (ranked, after) = rest.split_first_chunk()?;
        (rank, rest) = (u32::from_le_bytes(*ranked), after);
    }
    if word & IS_MORTAL != 0 {
        let (when, after) = rest.split_first_chunk()?;
        (dies, rest) = (Some(u64::from_le_bytes(*when)), after);
    }
    let (body, rest) = rest.split_at_checked((word >> 2) as usize)?;
    *bytes = rest;
    Some(Entry { rank, dies, body })
}

/// The head of an entry, and the length of the head.
fn head(rank: u32, dies: Option<u64>, body: usize) -> ([u8; HEAD_MAX], usize) {
    let (has_rank, is_mortal) = (u64::from(rank > 0), u64::from(dies.is_some()));
    let mut head = [0; HEAD_MAX];
    let (mut at, mut word) = (0, (body as u64) << 2 | has_rank << 1 | is_mortal);
    while word >= 0x80 {
        head[at] = word as u8 | 0x80;
        word >>= 7;
        at += 1;
    }
    head[at] = word as u8;
    at += 1;
    if rank > 0 {
        head[at..at + 4].copy_from_slice(&rank.to_le_bytes());
        at += 4;
    }
    if let Some(dies) = dies {
        head[at..at + 8].copy_from_slice(&dies.to_le_bytes());
        at += 8;
    }
    (head, at)
}

/// The end of the leaf at which the next entries are expected.
#[derive(Clone, Copy)]
pub(crate) enum Grows {
    AtFront,
    Within,
    AtEnd,
}

/// The position of an entry, or the position at which it would be.
pub(super) struct Found {
    pub(super) at: usize,
    /// The entry's bytes and its expiry; `None` if there is no entry.
    pub(super) old: Option<(usize, Option<u64>)>,
}

/// Finds the place of an entry.
pub(super) fn find(bytes: &[u8], spot: Spot<'_>) -> Found {
    match spot {
        Spot::Probe(probe) => find_probed(bytes, probe),
        Spot::Position(position) => {
            let at = bytes.len() - behind(bytes, position).len();
            found(bytes, at)
        }
        Spot::Before(position) => {
            Found { at: bytes.len() - behind(bytes, position).len(), old: None }
        }
    }
}

/// Finds the entry of a probe. Of entries with a lower rank it reads only the heads.
fn find_probed(bytes: &[u8], probe: &Probe<'_>) -> Found {
    let mut rest = bytes;
    loop {
        let at = bytes.len() - rest.len();
        let Some((head, behind)) = word(rest) else { return Found { at, old: None } };
        let rank = match behind.first_chunk() {
            Some(rank) if head & HAS_RANK != 0 => u32::from_le_bytes(*rank),
            _ => 0,
        };
        if rank < probe.rank {
            let Some(behind) = behind.get(beside(head) + (head >> 2) as usize..) else {
                return Found { at, old: None };
            };
            rest = behind;
            continue;
        }
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

/// The entry at `at`, if there is one.
fn found(bytes: &[u8], at: usize) -> Found {
    let mut rest = &bytes[at..];
    let dies = take(&mut rest).map(|entry| entry.dies);
    Found { at, old: dies.map(|dies| (bytes.len() - rest.len() - at, dies)) }
}

/// The bytes after `position` entries, of which it reads only the heads.
fn behind(bytes: &[u8], position: u64) -> &[u8] {
    let mut rest = bytes;
    for _ in 0..position {
        let Some(behind) = skip(rest) else { break };
        rest = behind;
    }
    rest
}

/// The number of entries before the place of an entry.
pub(super) fn position(bytes: &[u8], spot: Spot<'_>) -> u64 {
    entries(&bytes[..find(bytes, spot).at]).count() as u64
}

/// Gives a leaf room for `len` bytes, and frees memory if the leaf has twice too much.
fn fit(bytes: &mut Vec<u8>, len: usize) {
    if len > bytes.capacity() {
        bytes.reserve_exact(allocated(len) - bytes.len());
    } else if len < bytes.capacity() / 2 {
        bytes.shrink_to(allocated(len));
    }
}

/// Replaces `old` bytes by an entry.
pub(super) fn replace(bytes: &mut Vec<u8>, at: usize, old: usize, new: &New<'_>) {
    let (head, head_len) = head(new.rank, new.dies, new.body.len());
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
    if after < len {
        fit(bytes, after);
    }
}

/// Removes an entry.
pub(super) fn remove(bytes: &mut Vec<u8>, at: usize, len: usize) {
    bytes.drain(at..at + len);
    let left = bytes.len();
    fit(bytes, left);
}

/// Splits a leaf, and returns the right half. The cut is in the middle, or next to the newest entry
/// if more are expected there: after the first entry, or before the last.
pub(super) fn split(bytes: &mut Vec<u8>, grows: Grows) -> Vec<u8> {
    let (mut rest, mut cut) = (&bytes[..], 0);
    loop {
        _ = take(&mut rest);
        if rest.is_empty() {
            break;
        }
        cut = bytes.len() - rest.len();
        let is_there = match grows {
            Grows::AtFront => true,
            Grows::Within => cut >= bytes.len() / 2,
            Grows::AtEnd => false,
        };
        if is_there {
            break;
        }
    }
    // A leaf that will grow gets its full room at once, so that most entries need no allocation.
    let room = |len: usize, grows: bool| allocated(if grows { len.max(LEAF_MAX) } else { len });
    let mut right = Vec::with_capacity(room(bytes.len() - cut, matches!(grows, Grows::AtEnd)));
    right.extend_from_slice(&bytes[cut..]);
    if matches!(grows, Grows::AtFront) {
        let mut left = Vec::with_capacity(room(cut, true));
        left.extend_from_slice(&bytes[..cut]);
        *bytes = left;
    } else {
        bytes.truncate(cut);
        bytes.shrink_to(allocated(cut));
    }
    right
}

/// Removes the entries of a span of positions, and returns how many of them had an expiry.
pub(super) fn remove_span(bytes: &mut Vec<u8>, span: Range<u64>) -> u64 {
    let from = find(bytes, Spot::Position(span.start)).at;
    let (mut rest, mut mortal) = (&bytes[from..], 0);
    for _ in span {
        let Some(entry) = take(&mut rest) else { break };
        mortal += u64::from(entry.dies.is_some());
    }
    let len = bytes.len() - from - rest.len();
    remove(bytes, from, len);
    mortal
}

/// Removes the entries that are dead by `now_ms`, and returns how many.
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

/// The first expiry of the entries.
pub(super) fn next_death(bytes: &[u8]) -> u64 {
    entries(bytes).filter_map(|entry| entry.dies).min().unwrap_or(NEVER)
}

/// The entries in their order.
pub(super) fn entries(mut bytes: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    std::iter::from_fn(move || take(&mut bytes))
}
