//! A read that writes nothing which other threads read in common, and a write that writes nothing
//! of that but a value: the common cases.
//!
//! A read holds one lane of its shard (`lanes.rs`), so what it must tell it *notes* there: that
//! there was an access, which moves the shard's tick, and how old the item was, for the counters
//! and for a rank that learns. Who holds the shard alone next moves the tick by all notes that are
//! new, and takes in those of its own lane, in their order. In a thread's own eyes the tick is the
//! shard's and as many more as its lane has new notes; what other lanes have noted meanwhile,
//! [`NOTES`] each at most, it does not see. So ticks are a little fuzzy among threads, and exact
//! where there is one.
//!
//! An item's stamps are written where they stand, as two atomic words: of two hits at once one may
//! not be counted in them, nor those of a thread whose tick is behind that of the last. Of what is
//! read all the time they are not written at all while they would tell next to nothing: all its
//! readers keep the line, and the age that is noted, a few hundredths of the number of items at
//! most, is that since they were written.
//!
//! Who replaces a value by one that fits its place looks for it with its own lane held, then takes
//! the others, so that nobody sees half of it, and notes it: the lines of the shard stay as they
//! are, and those of the item come while the other lanes do.
//!
//! What a read cannot do like this it leaves to one that holds the shard alone: to remove a dead
//! item, to time a miss, to report a key that models sample, and to note when the notes are full.

use crate::departed::listens;
use crate::item::{Parts, Ref};
use crate::lanes::Laned;
use crate::learn;
use crate::shard::{Shard, view};
use crate::table::Place;
use crate::trees::has_tree;
use crate::{Item, Key, Now, Store};
use base::TenantId;
use policy::rank::Stamps;
use std::sync::atomic::Ordering::Relaxed;

/// Notes of a lane, at most: full notes are a reason to hold the shard alone.
const NOTES: usize = 64;
/// Ticks by which the stamps of another thread's hit may seem to come from the future, at most.
const FUZZ: u32 = (NOTES * (crate::lanes::LANES_MAX + 1)) as u32;
/// Stamps of an item that was read so often are not written anew while its age is so small a part
/// of the number of items that there are buckets for: as a power of two.
const YOUNG: u32 = 6;

/// One read, or one value replaced.
#[derive(Clone, Copy, Debug, Default)]
struct Note {
    /// Of an item that was found: for how long it had been idle, and what it was.
    age: u32,
    size_class: u16,
    tenant: TenantId,
    /// As in the item's stamps; [`NONE`] where none was read.
    class: u8,
}

/// The class of no item.
const NONE: u8 = 0;
/// The size class in a note of no item that was read: a value was replaced.
const REPLACED: u16 = u16::MAX;

/// What was done in a lane and is to be told.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Notes {
    len: u32,
    /// Of these, as many as the shard's tick has moved by.
    counted: u32,
    /// The shard's tick when it was last held alone: here, because the shard's own is in a line
    /// that every write makes new.
    tick: u64,
    list: [Note; NOTES],
}

impl Default for Notes {
    fn default() -> Self {
        Self { len: 0, counted: 0, tick: 0, list: [Note::default(); NOTES] }
    }
}

impl Notes {
    /// The tick after these.
    #[inline]
    const fn now(&self) -> u64 {
        self.tick + (self.len - self.counted) as u64
    }

    #[inline]
    fn push(&mut self, note: Note) {
        self.list[self.len as usize] = note;
        self.len += 1;
    }
}

/// What came of a read that holds a lane.
pub(crate) enum Glance<'a> {
    /// There is such an item.
    Hit(Item<'a>),
    /// There is none.
    Miss,
    /// It takes the whole shard to tell. Nothing was noted.
    Unclear,
}

impl Laned for Shard {
    type Notes = Notes;

    #[inline]
    fn take_in(&mut self, notes: &mut Notes, lane: usize) {
        self.count(notes);
        for note in &notes.list[..notes.len as usize] {
            let tenant = &mut self.tenants[usize::from(note.tenant)];
            if note.class == NONE {
                let is_set = note.size_class == REPLACED;
                tenant.counters.sets += u64::from(is_set);
                tenant.counters.misses += u64::from(!is_set);
                continue;
            }
            tenant.counters.hits += 1;
            if let Some(lives) = &self.lives {
                lives.of(lane).count(note.tenant, Stamps::hit_class_of(note.class), note.age, true);
            }
            if self.is_watched {
                self.class_is_read(note.tenant, Stamps::penalty_class_of(note.class));
                if self.counts_sizes {
                    self.size_is_read(note.tenant, note.size_class, note.age);
                }
            }
        }
        (notes.len, notes.counted) = (0, 0);
    }

    #[inline]
    fn count(&mut self, notes: &mut Notes) {
        self.tick += u64::from(notes.len - notes.counted);
        notes.counted = notes.len;
    }

    #[inline]
    fn tell(&self, notes: &mut Notes) {
        notes.tick = self.tick;
    }
}

impl Shard {
    /// A read by who holds a lane.
    #[inline]
    pub(crate) fn glance(&self, notes: &mut Notes, key: &Key, now: Now) -> Glance<'_> {
        if notes.len as usize == NOTES || self.tap.sees(key) {
            return Glance::Unclear;
        }
        let tenant = &self.tenants[usize::from(key.tenant)];
        let Some(item) = tenant.table.look_up(key.hash, key.db, key.bytes) else {
            if self.stopwatch.is_on() {
                return Glance::Unclear;
            }
            notes.push(Note { tenant: key.tenant, ..Note::default() });
            return Glance::Miss;
        };
        if item.is_dead(now.unix_ms) {
            return Glance::Unclear;
        }
        let tick = notes.now() + 1;
        let mut stamps = item.stamps();
        let age = age_of(stamps, tick);
        let size_class = if self.counts_sizes { tenant.size_class(item) } else { 0 };
        notes.push(Note { age, size_class, tenant: key.tenant, class: stamps.class });
        let items = tenant.table.about();
        if stamps.hits < u8::MAX || age as usize > items >> YOUNG {
            self.refresh(item, &mut stamps, age, items, tick);
        }
        Glance::Hit(view(item, stamps, 0, &self.sizes, &tenant.trees))
    }

    /// Where an item stands whose value can be replaced by who notes it, if there is one: asked by
    /// who holds a lane, and will hold all.
    #[inline]
    pub(crate) fn replaceable(
        &self,
        store: &Store,
        notes: &Notes,
        key: &Key,
        parts: &Parts,
    ) -> Option<Place> {
        let tenant = &self.tenants[usize::from(key.tenant)];
        let len = parts.value[0].len();
        let is_noted = parts.expires.is_none()
            && len as u64 <= store.value_max.load(Relaxed)
            && (notes.len as usize) < NOTES
            && !self.stopwatch.is_on()
            && !self.tap.sees(key)
            && self.notes.is_none()
            && tenant.away.is_none()
            && !listens(tenant.departures.as_deref());
        if !is_noted {
            return None;
        }
        let (place, item) = tenant.table.find_item(key.hash, key.db, key.bytes)?;
        if item.expires().is_some()
            || has_tree(item.kind())
            || !item.has_room(&self.sizes, len, false)
        {
            return None;
        }
        item.prefetch_to_write();
        Some(place)
    }

    /// Replaces the value there, by a thread of this lane that holds all lanes since, and has taken
    /// nothing in.
    #[inline]
    pub(crate) fn replace(
        &mut self,
        notes: &mut Notes,
        lane: usize,
        key: &Key,
        place: Place,
        parts: &Parts,
    ) {
        let table = &mut self.tenants[usize::from(key.tenant)].table;
        let items = table.about();
        let mut item = table.get_mut(place);
        let is_replaced = item.overwrite(&self.sizes, parts.value[0], None);
        debug_assert!(is_replaced, "there is room");
        item.set_kind(parts.kind);
        let tick = notes.now() + 1;
        notes.push(Note { tenant: key.tenant, size_class: REPLACED, ..Note::default() });
        let mut stamps = item.view().stamps();
        let age = age_of(stamps, tick);
        if let Some(lives) = &self.lives {
            // The value that was there ends its life unread. Counters of a lane are its own.
            lives.of(lane).count(key.tenant, stamps.hit_class(), age, false);
        }
        self.refresh(self.get(key, place), &mut stamps, age, items, tick);
    }

    /// Looks at an item, without a trace.
    #[inline]
    pub(crate) fn peek(&self, notes: &Notes, key: &Key, now: Now) -> Glance<'_> {
        let tenant = &self.tenants[usize::from(key.tenant)];
        match tenant.table.look_up(key.hash, key.db, key.bytes) {
            None => Glance::Miss,
            Some(item) if item.is_dead(now.unix_ms) => Glance::Unclear,
            Some(item) => {
                let tick = notes.now();
                let stamps = item.stamps();
                let age = age_of(stamps, tick);
                Glance::Hit(view(item, stamps, age, &self.sizes, &tenant.trees))
            }
        }
    }

    /// Writes the stamps of an item that is used at this age.
    #[inline]
    fn refresh(&self, item: Ref, stamps: &mut Stamps, age: u32, items: usize, tick: u64) {
        // Who is ahead of this thread stays it.
        stamps.hit(if age == 0 { stamps.last.into() } else { tick });
        learn::classify(self.lessons, stamps, age, items);
        item.stamp(*stamps);
    }
}

/// The age of stamps, of which another thread's may be ahead of this one's tick.
#[inline]
fn age_of(stamps: Stamps, tick: u64) -> u32 {
    let age = stamps.age(tick);
    if age.wrapping_neg() < FUZZ { 0 } else { age }
}
