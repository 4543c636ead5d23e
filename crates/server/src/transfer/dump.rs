//! Writing: a tenant's items, the coldest first, a block at a time.
//!
//! How cold is cold is found by drawing some items: their quartiles of idleness make four walks
//! through the tenant's tables, each taking what is colder than its bound and not yet copied.

use super::Transfer;
use super::file::DumpFile;
use crate::collection;
use crate::shared::Shared;
use crate::warm::Entry;
use base::TenantId;
use std::collections::VecDeque;
use std::time::Instant;
use store::{Dump, Scope};

/// Bytes of a block, more or less.
const BLOCK: usize = 256 << 10;
/// Bytes a block may be longer than its items: its frame.
const FRAME: u64 = 64;
/// Items drawn to find how idle they are.
const DRAWN: usize = 256;

/// One walk through the tables.
#[derive(Clone, Copy, Debug)]
struct Walk {
    /// Items idle for so long are taken.
    idle_min: u32,
    /// Whether they leave.
    leave: bool,
}

/// A dump under way.
#[derive(Debug)]
pub(super) struct Dumping {
    tenant: TenantId,
    file: DumpFile,
    walks: VecDeque<Walk>,
    cursor: u64,
    begun: Instant,
    pub(super) transfer: Transfer,
}

impl Dumping {
    /// Begins one. Asked for by an operator, all items leave.
    pub(super) fn begin(
        shared: &Shared,
        tenant: TenantId,
        by: &'static str,
    ) -> Result<Self, String> {
        let folder = &shared.view().settings.dir;
        let file = DumpFile::create(folder.as_ref()).map_err(|error| {
            format!("no file can be made in dir {folder}: {error}; set dir to a folder of its own")
        })?;
        let all = by == "command";
        let mut idle: Vec<u32> = (0..DRAWN)
            .filter_map(|_| {
                let (scope, now) = (Scope::tenant(tenant), shared.clock.now());
                shared.store.random_key(scope, now, |found| found.item.idle)
            })
            .collect();
        idle.sort_unstable();
        let at = |part: usize| idle.get(idle.len() * part / 4).copied().unwrap_or(0);
        let walks = [(at(3), true), (at(2), true), (at(1), all), (0, all)];
        let at_s = shared.clock.micros().as_f64() / 1e6;
        Ok(Self {
            tenant,
            file,
            walks: walks.map(|(idle_min, leave)| Walk { idle_min, leave }).into(),
            cursor: 0,
            begun: Instant::now(),
            transfer: Transfer { by, at_s, ..Transfer::default() },
        })
    }

    /// Bytes on the disk so far.
    pub(super) const fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// Writes a block, unless it would take more than `left` bytes of the disk. Whether there is
    /// more to do.
    pub(super) fn step(&mut self, shared: &Shared, number: u64, left: u64) -> bool {
        let Some(&walk) = self.walks.front() else { return false };
        let (payload, items, failed) = self.gather(shared, walk, number);
        if items > 0 {
            let written = if payload.len() as u64 + FRAME > left {
                Err("dump-max is reached".to_owned())
            } else {
                self.file.add(number, &payload).map_err(|error| error.to_string())
            };
            if let Err(why) = written {
                each(shared, self.tenant, &payload, |key, _| shared.store.revoke(key, number));
                self.transfer.because = Some(why);
                return false;
            }
            self.transfer.items += items;
            self.transfer.bytes += payload.len() as u64;
            if walk.leave {
                let left = &mut self.transfer.left;
                each(shared, self.tenant, &payload, |key, _| {
                    *left += u64::from(shared.store.release(key, number));
                });
            }
        }
        self.transfer.because = failed;
        self.transfer.because.is_none() && !self.walks.is_empty()
    }

    /// The items of a block, how many they are, and why there can be no more.
    fn gather(
        &mut self,
        shared: &Shared,
        walk: Walk,
        number: u64,
    ) -> (Vec<u8>, u64, Option<String>) {
        let (mut payload, mut items) = (Vec::with_capacity(BLOCK + BLOCK / 4), 0);
        while payload.len() < BLOCK {
            let dump = Dump {
                tenant: self.tenant,
                idle_min: walk.idle_min,
                block: number,
                most: BLOCK - payload.len(),
                again: walk.leave && self.transfer.by == "command",
            };
            let next = shared.store.dump(&dump, self.cursor, shared.clock.now(), |found| {
                let value = collection::flat(&found.item).unwrap_or_default();
                let entry = Entry::flat(found, &value);
                if let Ok(longer) = postcard::to_extend(&entry, std::mem::take(&mut payload)) {
                    payload = longer;
                    items += 1;
                }
            });
            match next {
                Ok(Some(cursor)) => self.cursor = cursor,
                Ok(None) => {
                    self.cursor = 0;
                    self.walks.pop_front();
                    break;
                }
                Err(error) => return (payload, items, Some(format!("for its index, {error}"))),
            }
        }
        (payload, items, None)
    }

    /// The outcome, and the file, unless that is empty.
    pub(super) fn end(mut self) -> (Transfer, Option<DumpFile>) {
        self.transfer.seconds = self.begun.elapsed().as_secs_f64();
        (self.transfer, (!self.file.is_empty()).then_some(self.file))
    }
}

/// Shows the items of a block.
pub(super) fn each(
    shared: &Shared,
    tenant: TenantId,
    mut payload: &[u8],
    mut see: impl FnMut(&store::Key, &Entry),
) {
    while !payload.is_empty() {
        // A block whose checksum is right was written so.
        let Ok((entry, rest)) = postcard::take_from_bytes::<Entry<'_>>(payload) else { return };
        payload = rest;
        see(&shared.store.key(tenant, entry.db, entry.key), &entry);
    }
}
