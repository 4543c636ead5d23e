//! The table of recent objects, identical in writer and reader.

use super::layout::{PENALTY, TENANT, TTL, VALUE};
use crate::text::SIZE_MAX;

/// Places in the table of recent objects. More places hold more objects, but their numbers need
/// more bytes.
pub(super) const PLACES: usize = 1 << 18;

/// The problem of a block.
pub(super) type Damage = &'static str;

/// An object in the table, as of its last request.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    pub(super) text: Vec<u8>,
    pub(super) key: u64,
    pub(super) key_size: u32,
    pub(super) value_size: u64,
    pub(super) tenant: u16,
    pub(super) ttl: u64,
    pub(super) penalty: u64,
}

impl Recent {
    /// Applies the changes that the flags name, with one number for each.
    pub(super) fn change(
        &mut self,
        flag: u8,
        mut number: impl FnMut() -> Result<u64, Damage>,
    ) -> Result<(), Damage> {
        if flag & VALUE != 0 {
            let size = Some(number()?).filter(|size| *size <= SIZE_MAX);
            self.value_size = size.ok_or("a size is above 1 TiB")?;
        }
        if flag & TENANT != 0 {
            self.tenant = u16::try_from(number()?).map_err(|_| "a tenant is above 65535")?;
        }
        if flag & TTL != 0 {
            self.ttl = number()?;
        }
        if flag & PENALTY != 0 {
            self.penalty = number()?;
        }
        Ok(())
    }
}

pub(super) fn place(key: u64) -> usize {
    key as usize % PLACES
}

/// The recent objects by place. An empty place costs four bytes.
pub(super) struct RecentTable {
    /// One more than the index in `recents`; 0 where the place is empty.
    places: Vec<u32>,
    recents: Vec<Recent>,
}

impl RecentTable {
    pub(super) fn new() -> Self {
        Self { places: vec![0; PLACES], recents: vec![] }
    }

    /// The object at a place, if the place exists and is taken.
    pub(super) fn get(&self, place: usize) -> Option<&Recent> {
        let at = (*self.places.get(place)? as usize).checked_sub(1)?;
        self.recents.get(at)
    }

    /// Mutable access to the object at a place, if the place exists and is taken.
    #[inline]
    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Recent> {
        let at = (*self.places.get(place)? as usize).checked_sub(1)?;
        self.recents.get_mut(at)
    }

    /// The object at a place; an empty place is taken from now on.
    pub(super) fn at(&mut self, place: usize) -> &mut Recent {
        if self.places[place] == 0 {
            self.recents.push(Recent::default());
            self.places[place] = self.recents.len() as u32;
        }
        &mut self.recents[self.places[place] as usize - 1]
    }
}

/// The state of a place in the table, when only some keys are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sifted {
    Empty,
    /// A key that is not wanted, so the table does not know it.
    LeftOut,
    Wanted,
}
