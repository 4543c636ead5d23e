//! A read that writes nothing which other threads read in common: the common case.
//!
//! It holds one lane of its shard (`lanes.rs`), so what it must tell it *notes* there: that there
//! was an access, which moves the shard's tick, and how old the item was, for the counters and for
//! a rank that learns. Who holds the shard alone next moves the tick by all notes that are new, and
//! takes in those of its own lane, in their order. In a thread's own eyes the tick is the shard's
//! and as many more as its lane has new notes; what other lanes have noted meanwhile, [`NOTES`]
//! each at most, it does not see. So ticks are a little fuzzy among threads, and exact where there
//! is one.
//!
//! An item's stamps are written where they stand, as two atomic words: of two hits at once one may
//! not be counted in them, nor those of a thread whose tick is behind that of the last. Of what is
//! read all the time they are not written at all while they would tell next to nothing: all its
//! readers keep the line, and the age that is noted, a few hundredths of the number of items at
//! most, is that since they were written.
//!
//! What a read cannot do like this it leaves to one that holds the shard alone: to remove a dead
//! item, to time a miss, to report a key that models sample, and to note when the notes are full.

use crate::item::Ref;
use crate::lanes::Laned;
use crate::shard::{Shard, view};
use crate::{Item, Key, Now};
use base::TenantId;
use policy::rank::Stamps;
use policy::rank::lhd::hit_class;

/// Notes of a lane, at most: full notes are a reason to hold the shard alone.
const NOTES: usize = 64;
/// Ticks by which the stamps of another thread's hit may seem to come from the future, at most.
const FUZZ: u32 = (NOTES * (crate::lanes::LANES_MAX + 1)) as u32;
/// Stamps of an item that was read so often are not written anew while its age is so small a part
/// of the number of items that there are buckets for: as a power of two.
const YOUNG: u32 = 6;

/// One read.
#[derive(Clone, Copy, Debug, Default)]
struct Note {
    /// Of an item that was found: for how long it had been idle, and what it was.
    age: u32,
    size_class: u16,
    tenant: TenantId,
    /// As in the item's stamps; [`MISSED`] where there was none.
    class: u8,
}

/// The class of no item.
const MISSED: u8 = 0;

/// What the reads of a lane have to tell.
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
            if note.class == MISSED {
                tenant.counters.misses += 1;
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
        Glance::Hit(view(item, stamps, 0, &self.sizes))
    }

    /// Looks at an item, without a trace.
    #[inline]
    pub(crate) fn peek(&self, notes: &Notes, key: &Key, now: Now) -> Glance<'_> {
        let table = &self.tenants[usize::from(key.tenant)].table;
        match table.look_up(key.hash, key.db, key.bytes) {
            None => Glance::Miss,
            Some(item) if item.is_dead(now.unix_ms) => Glance::Unclear,
            Some(item) => {
                let tick = notes.now();
                let stamps = item.stamps();
                Glance::Hit(view(item, stamps, age_of(stamps, tick), &self.sizes))
            }
        }
    }

    /// Writes the stamps of an item that is read at this age.
    #[inline]
    fn refresh(&self, item: Ref, stamps: &mut Stamps, age: u32, items: usize, tick: u64) {
        if self.lives.is_some() {
            stamps.set_hit_class(hit_class(age, items));
        }
        // Who is ahead of this thread stays it.
        stamps.hit(if age == 0 { stamps.last.into() } else { tick });
        item.stamp(*stamps);
    }
}

/// The age of stamps, of which another thread's may be ahead of this one's tick.
#[inline]
fn age_of(stamps: Stamps, tick: u64) -> u32 {
    let age = stamps.age(tick);
    if age.wrapping_neg() < FUZZ { 0 } else { age }
}
