//! Dumping: writes the items of a tenant, the coldest first, one block at a time.
//!
//! Some items are drawn to find the distribution of idle times. Its quartiles give four walks
//! through the tenant's tables. Each walk takes the items that are idle for longer than its bound
//! and not copied yet.

use super::file::{DumpFile, each};
use crate::background::warm::Entry;
use crate::background::warm::WrittenDictionaries;
use crate::background::warm::file::encode;
use crate::services::clock::Clock;
use crate::services::transfers::Transfer;
use crate::values::collection;
use base::TenantId;
use std::collections::VecDeque;
use std::io;
use std::time::Instant;
use store::{Dump, Now, Scope, Store};

/// The approximate size of a block, in bytes.
const BLOCK: usize = 256 << 10;
/// The bytes by which a block may be longer than its items: its frame.
const FRAME: u64 = 64;
/// The number of items drawn to measure idle times.
const DRAWN: usize = 256;

/// One walk through the tables.
#[derive(Clone, Copy, Debug)]
struct Walk {
    /// The least idle time of the items it takes.
    idle_min: u32,
    /// Whether the items leave memory after the copy.
    leave: bool,
}

/// A dump in progress.
#[derive(Debug)]
pub(super) struct Dumping {
    tenant: TenantId,
    file: DumpFile,
    dictionaries: WrittenDictionaries,
    walks: VecDeque<Walk>,
    cursor: u64,
    begun: Instant,
    pub(super) transfer: Transfer,
}

impl Dumping {
    /// Begins a dump. If an operator asked for it, all items leave memory.
    pub(super) fn begin(
        (store, clock): (&Store, &Clock),
        folder: &str,
        tenant: TenantId,
        by: &'static str,
    ) -> Result<Self, String> {
        let file = DumpFile::create(folder.as_ref()).map_err(|error| {
            format!(
                "cannot create a file in dir {folder}: {error}; set dir to a folder that only this \
                 server uses"
            )
        })?;
        let all = by == "command";
        let mut idle: Vec<u32> = (0..DRAWN)
            .filter_map(|_| {
                let (scope, now) = (Scope::tenant(tenant), clock.now());
                store.random_key(scope, now, |found| found.item.idle)
            })
            .collect();
        idle.sort_unstable();
        let at = |part: usize| idle.get(idle.len() * part / 4).copied().unwrap_or(0);
        let walks = [(at(3), true), (at(2), true), (at(1), all), (0, all)];
        let at_s = clock.micros().as_f64() / 1e6;
        Ok(Self {
            tenant,
            file,
            dictionaries: WrittenDictionaries::default(),
            walks: walks.map(|(idle_min, leave)| Walk { idle_min, leave }).into(),
            cursor: 0,
            begun: Instant::now(),
            transfer: Transfer { by, at_s, ..Transfer::default() },
        })
    }

    /// The bytes on the disk so far.
    pub(super) const fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// Writes a block, unless it would take more than `left` bytes of the disk. Returns whether
    /// there is more to do.
    pub(super) fn step(&mut self, store: &Store, now: Now, number: u64, left: u64) -> bool {
        let Some(&walk) = self.walks.front() else {
            return false;
        };
        let (payload, items, failed) = self.gather(store, now, walk, number);
        if items > 0 {
            let written = if payload.len() as u64 + FRAME > left {
                Err("dump-max is reached".to_owned())
            } else {
                let written = self.add_dictionaries(store);
                let written = written.and_then(|()| self.file.add(number, &payload));
                written.map_err(|error| error.to_string())
            };
            if let Err(why) = written {
                each(store, self.tenant, &payload, |key, _, _| store.revoke(key, number));
                self.transfer.because = Some(why);
                return false;
            }
            self.transfer.items += items;
            self.transfer.bytes += payload.len() as u64;
            if walk.leave {
                let left = &mut self.transfer.left;
                each(store, self.tenant, &payload, |key, _, _| {
                    *left += u64::from(store.release(key, number));
                });
            }
        }
        self.transfer.because = failed;
        self.transfer.because.is_none() && !self.walks.is_empty()
    }

    /// Writes the dictionaries of the next block.
    fn add_dictionaries(&mut self, store: &Store) -> io::Result<()> {
        for (form, payload) in self.dictionaries.due(store, |record| encode(record))? {
            self.file.add_dictionary(form, &payload)?;
        }
        Ok(())
    }

    /// The items of a block, their number, and the reason if no more can follow.
    fn gather(
        &mut self,
        store: &Store,
        now: Now,
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
            let next = store.dump(&dump, self.cursor, now, |found, form| {
                let value = collection::flat(&found.item).unwrap_or_default();
                let form = self.dictionaries.form(found.tenant, form);
                let entry = (form, Entry::flat(found, &value));
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
                Err(error) => {
                    return (
                        payload,
                        items,
                        Some(format!("there is no memory for the dump's index: {error}")),
                    );
                }
            }
        }
        (payload, items, None)
    }

    /// The outcome, and the file unless it is empty.
    pub(super) fn end(mut self) -> (Transfer, Option<DumpFile>) {
        self.transfer.seconds = self.begun.elapsed().as_secs_f64();
        (self.transfer, (!self.file.is_empty()).then_some(self.file))
    }
}
