//! The metadata of an item besides its size, in eight bytes: the fields of [`Meta`], to a step.
//!
//! A store keeps them in the item's header. Ticks count accesses: `last` one by one, `born` in
//! steps of 512 ticks. Both wrap, and the store refreshes them long before they would give a wrong
//! age. When the count of hits is full, the hits and the time of use are halved together.
//!
//! `class` has two fields. Five bits hold the penalty class of the key's last fetch, plus one.
//! Three bits hold the class of the age at the last hit, or of the mean interval, for a rank that
//! learns. So the field of the penalty is never zero for an item, and in a list of
//! [tags](super::Tag) a zero marks an empty place.

use super::Meta;
use super::gittins::{BORN_STEP, interval_class};
use base::penalty;

const PENALTY: u8 = (1 << Stamps::PENALTY_BITS) - 1;

const _: () = assert!(penalty::CLASSES < PENALTY, "one more than any class has its bits");

/// Beyond this age `last` is moved on: half of its range.
const AGE_MAX: u32 = 1 << 31;
/// Beyond this life, in steps, `born` is moved on: a quarter of its range, to allow for a late
/// refresh.
const LIFE_MAX: u16 = 1 << 14;

/// The last use and the birth of an item, its hits, and the cost of its fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Stamps {
    /// The tick of the last access, wrapping.
    pub last: u32,
    /// The tick of the first access, in steps, wrapping.
    pub born: u16,
    /// The class of the penalty and the class of the age at the last hit.
    pub class: u8,
    /// Hits, halved when the count is full.
    pub hits: u8,
}

impl Default for Stamps {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl Stamps {
    /// Bits of the penalty in `class`.
    pub(super) const PENALTY_BITS: u32 = 5;

    /// The stamps of an item made at `tick`.
    pub const fn new(tick: u64, penalty_class: u8) -> Self {
        let born = (tick >> BORN_STEP) as u16;
        Self { last: tick as u32, born, class: (penalty_class & PENALTY) + 1, hits: 0 }
    }

    /// The penalty class of the last fetch; 0 without a timed fetch.
    #[inline]
    pub const fn penalty_class(self) -> u8 {
        Self::penalty_class_of(self.class)
    }

    /// The penalty class in a `class` field.
    #[inline]
    pub const fn penalty_class_of(class: u8) -> u8 {
        (class & PENALTY).saturating_sub(1)
    }

    /// Replaces the penalty class.
    pub const fn set_penalty_class(&mut self, class: u8) {
        self.class = self.class & !PENALTY | (class + 1);
    }

    /// The class of the age at the last hit, for a rank that learns; 0 without a hit.
    #[inline]
    pub const fn hit_class(self) -> u8 {
        Self::hit_class_of(self.class)
    }

    /// The class of the age at the last hit, in a `class` field.
    #[inline]
    pub const fn hit_class_of(class: u8) -> u8 {
        class >> Self::PENALTY_BITS
    }

    /// Replaces the class of the age at the last hit.
    pub const fn set_hit_class(&mut self, class: u8) {
        self.class = self.class & PENALTY | class << Self::PENALTY_BITS;
    }

    /// The stamps, at `tick`, of an item idle for `idle` accesses, with `hits` hits before.
    pub fn aged(tick: u64, idle: u32, penalty_class: u8, hits: u8) -> Self {
        let idle = idle.min(AGE_MAX);
        let life = (idle >> BORN_STEP).min(u32::from(LIFE_MAX)) as u16;
        let born = ((tick >> BORN_STEP) as u16).wrapping_sub(life);
        let last = (tick as u32).wrapping_sub(idle);
        Self { last, born, hits, ..Self::new(tick, penalty_class) }
    }

    /// Sets the birth so that the item was in use for `accesses` before its last use.
    #[must_use]
    pub fn used_for(self, accesses: u32) -> Self {
        let steps = (accesses >> BORN_STEP).min(u32::from(LIFE_MAX)) as u16;
        Self { born: self.last_step().wrapping_sub(steps), ..self }
    }

    /// Sets the birth to `tick`.
    #[must_use]
    pub const fn renewed(self, tick: u64) -> Self {
        Self { born: (tick >> BORN_STEP) as u16, ..self }
    }

    /// Accesses from the birth to the last use, to a step.
    #[inline]
    pub const fn in_use(self) -> u32 {
        (self.steps_in_use() as u32) << BORN_STEP
    }

    /// Notes a use at `tick` that is no hit.
    #[inline]
    pub const fn used(&mut self, tick: u64) {
        self.last = tick as u32;
    }

    /// Notes a hit at `tick`. Several hits by one command count once.
    #[inline]
    pub const fn hit(&mut self, tick: u64) {
        if self.last == tick as u32 {
            return;
        }
        if self.hits == u8::MAX {
            self.hits /= 2;
            self.born = self.last_step().wrapping_sub(self.steps_in_use() / 2);
        }
        self.hits += 1;
        self.last = tick as u32;
    }

    const fn last_step(self) -> u16 {
        (self.last >> BORN_STEP) as u16
    }

    const fn steps_in_use(self) -> u16 {
        let steps = self.last_step().wrapping_sub(self.born);
        // A refresh moved `born` on, past `last`.
        if steps > 2 * LIFE_MAX { 0 } else { steps }
    }

    /// Accesses since the last use.
    #[inline]
    pub const fn age(self, tick: u64) -> u32 {
        (tick as u32).wrapping_sub(self.last)
    }

    /// Mean number of accesses between two hits, to a step; 0 without a hit.
    #[inline]
    pub const fn interval(self) -> u32 {
        match self.hits {
            0 => 0,
            hits => ((self.steps_in_use() as u32) << BORN_STEP) / hits as u32,
        }
    }

    /// The octave of [`Stamps::interval`], without a division; `None` without a hit.
    #[inline]
    pub const fn interval_octave(self) -> Option<u32> {
        match interval_class(self.in_use(), self.hits) {
            0 => None,
            class => Some(class as u32 - 1),
        }
    }

    /// Accesses since the birth, to a step: as if the item was made when its step began.
    #[inline]
    pub const fn life(self, tick: u64) -> u32 {
        let steps = ((tick >> BORN_STEP) as u16).wrapping_sub(self.born);
        let life = ((steps as u32) << BORN_STEP) | (tick as u32 % (1 << BORN_STEP));
        let age = self.age(tick);
        if life < age { age } else { life }
    }

    /// The metadata for a rank, of an item of this size.
    #[inline]
    pub fn meta(self, size: u32, tick: u64) -> Meta {
        Meta {
            age: u64::from(self.age(tick)),
            life: u64::from(self.life(tick)),
            hits: u32::from(self.hits),
            size,
            penalty: penalty::of_class(self.penalty_class()),
        }
    }

    /// Moves stamps on if they are so old that they would soon wrap and seem young.
    pub fn refresh(&mut self, tick: u64) {
        if self.age(tick) > AGE_MAX {
            self.last = (tick as u32).wrapping_sub(AGE_MAX);
        }
        let step = (tick >> BORN_STEP) as u16;
        let life = step.wrapping_sub(self.born);
        if life > LIFE_MAX {
            // The hits are halved too, down to one, so that their interval stays.
            self.born = step.wrapping_sub(if self.hits > 1 { life / 2 } else { LIFE_MAX });
            self.hits = self.hits.div_ceil(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stamps that wrapped would make the oldest item look like the newest.
    #[test]
    fn old_stamps_are_moved_on_before_they_wrap() {
        let mut stamps = Stamps::new(5, 0);
        for tick in (0..1u64 << 36).step_by(1 << 26) {
            stamps.refresh(tick + 5);
            assert!(u64::from(stamps.age(tick + 5)) >= tick.min(1 << 31), "{tick}");
            assert!(u64::from(stamps.life(tick + 5)) >= tick.min(1 << 24), "{tick}");
        }
        stamps.hit(1 << 36);
        assert_eq!((stamps.age((1 << 36) + 3), stamps.hits), (3, 1));
    }

    /// An item used at every thousandth access for ever keeps its ratio of hits to time.
    #[test]
    fn hits_and_the_time_that_they_took_are_halved_together() {
        let mut stamps = Stamps::new(1 << 33, 3);
        for at in 1..2_000u32 {
            stamps.hit((1 << 33) + u64::from(at) * 1_000);
            let interval = stamps.interval();
            assert!(at < 20 || (900..1_100).contains(&interval), "{at}: {interval}");
            assert_eq!(stamps.interval_octave(), Some((interval | 1).ilog2()));
        }
        assert!(stamps.hits >= 128 && stamps.penalty_class() == 3);
    }
}
