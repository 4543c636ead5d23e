//! The file of a dump: blocks of items, in the form of the warm-restart file, each with a checksum.
//!
//! The file never has a name: it is a temporary file, and the system frees its space when it is
//! closed. The end of the server, in any way, closes it. So nothing needs to be cleaned up, and no
//! server takes a foreign file for its own. A cache that starts cannot find stale data of an
//! earlier run. The positions of the blocks are kept in memory.

use crate::background::warm::Entry;
use crate::background::warm::file::{Broken, Kind, Writer};
use base::TenantId;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use store::Store;

/// A file of blocks.
#[derive(Debug)]
pub(super) struct DumpFile {
    writer: Writer,
    /// The number of each block, and its position in the file.
    blocks: Vec<(u64, u64)>,
    /// The positions of the dictionaries, by the forms of their items.
    dictionaries: HashMap<u32, u64>,
}

impl DumpFile {
    /// An empty file in this folder.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            writer: Writer::to(files::nameless(folder)?)?,
            blocks: vec![],
            dictionaries: HashMap::new(),
        })
    }

    /// The bytes on the disk.
    pub(super) const fn bytes(&self) -> u64 {
        self.writer.bytes
    }

    /// Whether the file has no blocks.
    pub(super) const fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Adds a block, and waits until it is on the disk. After an error no more blocks may be added.
    pub(super) fn add(&mut self, number: u64, payload: &[u8]) -> io::Result<()> {
        let offset = self.writer.bytes;
        self.writer.block(Kind::Items, payload)?;
        self.writer.sync()?;
        self.blocks.push((number, offset));
        Ok(())
    }

    /// Adds a dictionary, before the items that name it.
    pub(super) fn add_dictionary(&mut self, form: u32, payload: &[u8]) -> io::Result<()> {
        let offset = self.writer.bytes;
        self.writer.block(Kind::Dictionary, payload)?;
        self.dictionaries.insert(form, offset);
        Ok(())
    }

    /// The payload of a dictionary, or its damage; `None` if there is none.
    pub(super) fn dictionary(&self, form: u32) -> Option<Result<Vec<u8>, Broken>> {
        let &offset = self.dictionaries.get(&form)?;
        Some(self.writer.read_at(u64::from(form), offset))
    }

    /// Removes the last block. Returns its number, and its payload or its damage.
    pub(super) fn take(&mut self) -> Option<(u64, Result<Vec<u8>, Broken>)> {
        let (number, offset) = self.blocks.pop()?;
        Some((number, self.writer.read_at(number, offset)))
    }
}

/// Shows the items of a block with their forms.
pub(super) fn each(
    store: &Store,
    tenant: TenantId,
    mut payload: &[u8],
    mut see: impl FnMut(&store::Key, u32, &Entry),
) {
    while !payload.is_empty() {
        // A block with the right checksum was encoded like this, so decoding it does not fail.
        let Ok(((form, entry), rest)) = postcard::take_from_bytes::<(u32, Entry<'_>)>(payload)
        else {
            return;
        };
        payload = rest;
        see(&store.key(tenant, entry.db, entry.key), form, &entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_the_last_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = DumpFile::create(folder.path()).unwrap();
        for number in 0..5u64 {
            file.add(number, &vec![number as u8; 1_000 * number as usize]).unwrap();
        }
        assert_eq!(file.bytes(), 12 + 5 * 13 + 10_000);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
        for number in (0..5u64).rev() {
            let (at, payload) = file.take().unwrap();
            assert_eq!(at, number);
            assert_eq!(payload.unwrap(), vec![number as u8; 1_000 * number as usize]);
        }
        assert!(file.is_empty() && file.take().is_none());
    }

    /// A damaged block is lost, but no other block, whatever bit of it is wrong.
    #[test]
    fn a_torn_block_is_noticed() {
        for bit in (0..8 * 33).chain([u64::MAX]) {
            let folder = tempfile::tempdir().unwrap();
            let mut file = DumpFile::create(folder.path()).unwrap();
            for number in 0..3 {
                file.add(number, &[7; 20]).unwrap();
            }
            let middle = 12 + 33;
            file.writer.harm(middle, bit);
            let whole: Vec<_> = (0..3).map(|_| file.take().unwrap().1.is_ok()).collect();
            let expected = if bit == u64::MAX { [false, false, true] } else { [true, false, true] };
            assert_eq!(whole, expected, "bit {bit}");
        }
    }
}
