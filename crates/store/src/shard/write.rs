//! The order of a write: what it needs, the room for it, the change. Then nothing can fail.

use crate::contents::need::Need;
use crate::items::item::Parts;
use crate::items::table::item_table::Slot;
use crate::shard::shard::Shard;
use crate::victims::budget::Around;
use crate::{Change, Error, Item, Key, Now};
use policy::rank::Stamps;

impl Shard {
    /// Writes a value, unless it is not worth the items that would be evicted for it.
    #[inline]
    pub(crate) fn set(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        found: Option<Slot>,
        parts: &Parts,
        now: Now,
    ) -> Result<(), Error> {
        let asks = key.may_be_declined && found.is_none();
        let (contents, room) = self.parts();
        let mut bytes = parts.contents();
        if !asks || !room.declines(contents, around.budget, key, bytes) {
            bytes = self.write(around, key, found, parts, now)?;
        }
        self.contents_mut().written(key, now, || (bytes, parts.expires));
        Ok(())
    }

    /// Writes a value without counting the write. Returns the item's contents in bytes.
    #[inline]
    fn write(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        found: Option<Slot>,
        parts: &Parts,
        now: Now,
    ) -> Result<u64, Error> {
        around.budget.check_value(parts.value[0].len())?;
        let stored = self.contents_mut().stored_on_write(key, found, parts);
        let parts = &parts.or_stored(stored.as_deref());
        self.write_as_it_is(around, key, found, parts, now)?;
        Ok(parts.contents())
    }

    /// Writes a value in this form without counting the write.
    #[inline]
    fn write_as_it_is(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        found: Option<Slot>,
        parts: &Parts,
        now: Now,
    ) -> Result<(), Error> {
        let (contents, room) = self.parts();
        contents.note_change(key);
        let need = contents.need(key, found, parts);
        let reserved = room.reserve(contents, around, &need, now)?;
        let freed = contents.put(key, parts, &need, reserved, now);
        around.budget.memory.take_back(freed);
        Ok(())
    }

    /// Writes an item of these stamps that is not there yet, without counting the write.
    pub(crate) fn insert(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        parts: &Parts,
        stamps: Stamps,
        now: Now,
    ) -> Result<(), Error> {
        let (contents, room) = self.parts();
        let stored = contents.stored_on_write(key, None, parts);
        let parts = &parts.or_stored(stored.as_deref());
        let need = Need::new_item(key, parts, stamps);
        let reserved = room.reserve(contents, around, &need, now)?;
        let freed = contents.put(key, parts, &need, reserved, now);
        around.budget.memory.take_back(freed);
        Ok(())
    }

    /// Appends to a value.
    fn append(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        place: Slot,
        more: &[u8],
        now: Now,
    ) -> Result<(), Error> {
        let (contents, room) = self.parts();
        let item = contents.get(key, place);
        let expires = item.expires();
        around.budget.check_value(item.value().len() + more.len())?;
        let bytes = if let Some(bytes) = contents.append(key, place, more) {
            bytes
        } else {
            let need = contents.need_of_copy(key, place, more, expires);
            let reserved = room.reserve(contents, around, &need, now)?;
            let freed = contents.put_copy(key, reserved.place.unwrap_or(place), more, expires);
            around.budget.memory.take_back(freed);
            need.chunk.unwrap_or_default()
        };
        contents.written(key, now, || (bytes, expires));
        Ok(())
    }

    /// Changes the expiry.
    fn set_expires(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        place: Slot,
        expires: Option<u64>,
        now: Now,
    ) -> Result<(), Error> {
        let (contents, room) = self.parts();
        let need = contents.need_of_expiry(key, place, expires);
        let reserved = room.reserve(contents, around, &need, now)?;
        let place = reserved.place.unwrap_or(place);
        let freed = contents.put_expiry(key, &need, place, expires, now);
        around.budget.memory.take_back(freed);
        Ok(())
    }

    /// Shows the item to `f`, and makes the change that it returns.
    #[inline]
    pub(crate) fn update<'v, R>(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        now: Now,
        f: impl FnOnce(Option<&Item>) -> (Change<'v>, R),
    ) -> Result<R, Error> {
        let contents = self.contents_mut();
        let found = contents.touch(key, now, &around.budget.memory);
        let (found, plain) = contents.open(key, found, &around.budget.memory);
        let item = found.map(|place| contents.view(key, place).with_plain(plain.as_ref()));
        let (change, result) = f(item.as_ref());
        self.apply(around, key, found, &change, now)?;
        Ok(result)
    }

    /// Appends to a compressed value, or overwrites a part of it: the value is plain afterwards.
    #[cold]
    fn change_compressed(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        place: Slot,
        change: &Change,
        now: Now,
    ) -> Result<(), Error> {
        let contents = self.contents();
        let item = contents.get(key, place);
        let (kind, expires) = (item.kind(), item.expires());
        let Some(Ok(plain)) = contents.plain(key.tenant, item) else { return Ok(()) };
        let value = match change {
            Change::Append(more) => [&plain, *more].concat(),
            Change::Patch(at, bytes) => {
                let mut value = plain.to_vec();
                let end = at.saturating_add(bytes.len());
                let Some(part) = value.get_mut(*at..end) else { return Ok(()) };
                part.copy_from_slice(bytes);
                value
            }
            _ => return Ok(()),
        };
        drop(plain);
        around.budget.check_value(value.len())?;
        let parts = Parts::of(key, &value, kind, expires);
        self.write_as_it_is(around, key, Some(place), &parts, now)?;
        self.contents_mut().written(key, now, || (parts.contents(), expires));
        Ok(())
    }

    /// Makes a change, such as the result of the closure of
    /// [`Store::update`](crate::Store::update).
    pub(crate) fn apply(
        &mut self,
        around: &Around<'_>,
        key: &Key,
        found: Option<Slot>,
        change: &Change,
        now: Now,
    ) -> Result<(), Error> {
        self.contents_mut().note_change(key);
        match (change, found) {
            (Change::Set { value, kind, expires }, _) => {
                self.set(around, key, found, &Parts::of(key, value, *kind, *expires), now)
            }
            (Change::Hold { value, kind, expires }, _) => {
                let parts = Parts::of(key, value, *kind, *expires);
                self.write(around, key, found, &parts, now).map(|_| ())
            }
            (Change::Append(value), None) => {
                self.set(around, key, None, &Parts::of(key, value, 0, None), now)
            }
            (Change::Append(_) | Change::Patch(..), Some(place))
                if self.contents().get(key, place).is_compressed() =>
            {
                self.change_compressed(around, key, place, change, now)
            }
            (Change::Append(more), Some(place)) => self.append(around, key, place, more, now),
            (Change::Patch(at, bytes), Some(place)) => {
                self.contents_mut().patch(key, place, *at, bytes, now);
                Ok(())
            }
            (Change::Expire(expires), Some(place)) => {
                self.set_expires(around, key, place, *expires, now)
            }
            (Change::Remove, Some(place)) => {
                self.contents_mut().delete(&around.budget.memory, key, place, now);
                Ok(())
            }
            (Change::Keep, _) | (Change::Patch(..) | Change::Expire(_) | Change::Remove, None) => {
                Ok(())
            }
        }
    }
}
