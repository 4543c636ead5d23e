//! Reads of compressed items: decompression, and the removal of items whose value is corrupt.

use crate::bytes::memory::Memory;
use crate::compression::codec::{Plain, compress};
use crate::compression::counts::Compressed;
use crate::compression::counts::OnWrite;
use crate::compression::decision::is_much;
use crate::compression::form::Corrupt;
use crate::compression::outside::StoredForm;
use crate::contents::contents::Contents;
use crate::items::item::{Parts, Ref};
use crate::items::table::item_table::Slot;
use crate::items::trees::trees::has_tree;
use crate::learning::exit::Exit;
use crate::tenant::tenant::TenantShard;
use crate::{Item, Key, Now, ScanItem};
use base::TenantId;

impl<'a> Item<'a> {
    /// The item with its plain value, if the value was compressed.
    #[inline]
    pub(crate) fn with_plain(self, plain: Option<&'a Plain>) -> Self {
        match plain {
            Some(plain) => Self { value: plain, is_compressed: false, ..self },
            None => self,
        }
    }

    /// The item without its value, if that is compressed.
    #[inline]
    pub(crate) fn without_plain(self) -> Self {
        if !self.is_compressed {
            return self;
        }
        let hidden = crate::compression::form::plain_len(self.value);
        Self { value: b"", is_compressed: false, hidden, ..self }
    }
}

impl Contents {
    /// The plain value of an item; `None` if its value is not compressed.
    pub(crate) fn plain(&self, at: TenantId, item: Ref) -> Option<Result<Plain, Corrupt>> {
        item.is_compressed().then(|| self.tenant(at).compressed.plain(item.value()))
    }

    /// Decompresses the value of the item at a place, if it is compressed. A corrupt item is
    /// removed. Returns the place, and the plain value.
    #[inline]
    pub(crate) fn open(
        &mut self,
        key: &Key,
        found: Option<Slot>,
        memory: &Memory,
    ) -> (Option<Slot>, Option<Plain>) {
        match found {
            Some(place) if self.get(key, place).is_compressed() => {
                self.open_compressed(key, place, memory)
            }
            found => (found, None),
        }
    }

    /// Reads an item as [`Contents::read`] does, and decompresses its value. A corrupt item is
    /// removed, and its read counts as a miss.
    #[inline]
    pub(crate) fn read_open(
        &mut self,
        key: &Key,
        now: Now,
        memory: &Memory,
    ) -> (Option<Slot>, Option<Plain>) {
        let read = self.read(key, now, memory);
        let (found, plain) = self.open(key, read, memory);
        if read.is_some() && found.is_none() {
            self.read_was_a_miss(key.tenant);
        }
        (found, plain)
    }

    #[cold]
    fn open_compressed(
        &mut self,
        key: &Key,
        place: Slot,
        memory: &Memory,
    ) -> (Option<Slot>, Option<Plain>) {
        match self.plain(key.tenant, self.get(key, place)) {
            Some(Ok(plain)) => (Some(place), Some(plain)),
            Some(Err(Corrupt)) => {
                memory.take_back(self.take_out(key.tenant, place, Exit::Flushed));
                (None, None)
            }
            None => (Some(place), None),
        }
    }

    /// Shows an item that a walk meets, with its plain value. A corrupt one is not shown.
    pub(crate) fn show(
        &self,
        (tenant, db, key): (TenantId, u8, &[u8]),
        item: Item<'_>,
        visit: impl FnOnce(&ScanItem),
    ) {
        if !item.is_compressed {
            return visit(&ScanItem { tenant, db, key, item });
        }
        if let Ok(plain) = self.tenant(tenant).compressed.plain(item.value) {
            let item = item.with_plain(Some(&plain));
            visit(&ScanItem { tenant, db, key, item });
        }
    }

    /// Shows an item that a walk meets, with its value as it is stored. A corrupt one, or one
    /// without its dictionary, is not shown.
    pub(crate) fn show_stored(
        &self,
        (tenant, db, key): (TenantId, u8, &[u8]),
        item: Item<'_>,
        visit: impl FnOnce(&ScanItem, StoredForm),
    ) {
        let form = if item.is_compressed {
            self.tenant(tenant).compressed.form(item.value)
        } else {
            Some(StoredForm::Plain)
        };
        if let Some(form) = form {
            visit(&ScanItem { tenant, db, key, item }, form);
        }
    }

    /// The stored form of a value that is written, if writes like this one compress: of a new item
    /// or of one that is compressed already. A plain item may be plain because it is hot.
    #[inline]
    pub(crate) fn stored_on_write(
        &mut self,
        key: &Key,
        found: Option<Slot>,
        parts: &Parts,
    ) -> Option<Vec<u8>> {
        if self.on_write == OnWrite::Nothing {
            return None;
        }
        self.compressed_on_write(key, found, parts)
    }

    /// A function of its own, so that other writes need no stack for it.
    #[cold]
    #[inline(never)]
    fn compressed_on_write(
        &mut self,
        key: &Key,
        found: Option<Slot>,
        parts: &Parts,
    ) -> Option<Vec<u8>> {
        let value = parts.value[0];
        if parts.is_compressed || has_tree(parts.kind) || value.is_empty() {
            return None;
        }
        if self.on_write == OnWrite::All {
            return compress(value, None);
        }
        if found.is_some_and(|place| !self.get(key, place).is_compressed()) {
            return None;
        }
        let TenantShard { compressed, pages, .. } = self.tenant_mut(key.tenant);
        let Compressed { known, work, new, .. } = compressed;
        let stored = new.as_mut()?.stored(value, known, work)?;
        let charge = |parts: &Parts| pages.classes().charge(parts.contents());
        let (plain, less) = (charge(parts), charge(&parts.or_stored(Some(&stored))));
        is_much(plain.saturating_sub(less), plain).then_some(stored)
    }
}
