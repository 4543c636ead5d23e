//! What a store knows of an item besides its size, in eight bytes: all that [`Meta`] holds, to a
//! step.
//!
//! A store keeps them in the item's header. Ticks count accesses: `last` one by one, `born` in
//! steps of 512. Both wrap, and whoever keeps them refreshes them long before they would be read
//! wrongly. Hits that no longer fit are halved together with the time that they took. `class` has
//! two: five bits for what a fetch of the key took, one more than the class, and three for the age
//! at the last hit, or the mean interval, which a rank that learns goes by. So it is zero of no
//! item, and a list of [tags](super::Tag) needs nothing else to say where there is none.

use super::Meta;
use super::gittins::{BORN_STEP, interval_class};
use base::penalty;

const PENALTY: u8 = (1 << Stamps::PENALTY_BITS) - 1;

const _: () = assert!(penalty::CLASSES < PENALTY, "one more than any class has its bits");

/// Beyond this age `last` is moved on: half of what it can tell apart.
const AGE_MAX: u32 = 1 << 31;
/// The same for `born`, in its steps: a quarter, for a refresh may come so much later.
const LIFE_MAX: u16 = 1 << 14;

/// When an item was used and made, how often used, and what its fetch cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Stamps {
    /// The tick of the last access, wrapping.
    pub last: u32,
    /// That of the first, in steps, wrapping.
    pub born: u16,
    /// The class of the penalty and that of the age at the last hit.
    pub class: u8,
    /// Hits, as far as they are counted.
    pub hits: u8,
}

impl Default for Stamps {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl Stamps {
    /// Of `class`, the bits of the penalty.
    pub(super) const PENALTY_BITS: u32 = 5;

    /// Those of an item made at `tick`.
    pub const fn new(tick: u64, penalty_class: u8) -> Self {
        let born = (tick >> BORN_STEP) as u16;
        Self { last: tick as u32, born, class: (penalty_class & PENALTY) + 1, hits: 0 }
    }

    /// What a fetch took; 0 where none was timed.
    #[inline]
    pub const fn penalty_class(self) -> u8 {
        Self::penalty_class_of(self.class)
    }

    /// The same, of `class` alone.
    #[inline]
    pub const fn penalty_class_of(class: u8) -> u8 {
        (class & PENALTY).saturating_sub(1)
    }

    /// Puts another in its place.
    pub const fn set_penalty_class(&mut self, class: u8) {
        self.class = self.class & !PENALTY | (class + 1);
    }

    /// The class of the age at the last hit, where a rank learns; 0 before there was one.
    #[inline]
    pub const fn hit_class(self) -> u8 {
        Self::hit_class_of(self.class)
    }

    /// The same, of `class` alone.
    #[inline]
    pub const fn hit_class_of(class: u8) -> u8 {
        class >> Self::PENALTY_BITS
    }

    /// Puts another in its place.
    pub const fn set_hit_class(&mut self, class: u8) {
        self.class = self.class & PENALTY | class << Self::PENALTY_BITS;
    }

    /// Those of an item that at `tick` was idle for so many accesses, and used so often before.
    pub fn aged(tick: u64, idle: u32, penalty_class: u8, hits: u8) -> Self {
        let idle = idle.min(AGE_MAX);
        let life = (idle >> BORN_STEP).min(u32::from(LIFE_MAX)) as u16;
        let born = ((tick >> BORN_STEP) as u16).wrapping_sub(life);
        let last = (tick as u32).wrapping_sub(idle);
        Self { last, born, hits, ..Self::new(tick, penalty_class) }
    }

    /// The same, used for so many accesses before the last.
    #[must_use]
    pub fn used_for(self, accesses: u32) -> Self {
        let steps = (accesses >> BORN_STEP).min(u32::from(LIFE_MAX)) as u16;
        Self { born: self.last_step().wrapping_sub(steps), ..self }
    }

    /// As if it was made at `tick`.
    #[must_use]
    pub const fn renewed(self, tick: u64) -> Self {
        Self { born: (tick >> BORN_STEP) as u16, ..self }
    }

    /// Accesses from the first to the last, to a step.
    #[inline]
    pub const fn in_use(self) -> u32 {
        (self.steps_in_use() as u32) << BORN_STEP
    }

    /// Used at `tick`; counted once, however often a command asks for it.
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
        // It was moved on, and the other not.
        if steps > 2 * LIFE_MAX { 0 } else { steps }
    }

    /// Accesses since the last one.
    #[inline]
    pub const fn age(self, tick: u64) -> u32 {
        (tick as u32).wrapping_sub(self.last)
    }

    /// Accesses between two hits, in the mean, to a step; 0 if there was none.
    #[inline]
    pub const fn interval(self) -> u32 {
        match self.hits {
            0 => 0,
            hits => ((self.steps_in_use() as u32) << BORN_STEP) / hits as u32,
        }
    }

    /// The octave of [`Stamps::interval`], without dividing; none before there was a hit.
    #[inline]
    pub const fn interval_octave(self) -> Option<u32> {
        match interval_class(self.in_use(), self.hits) {
            0 => None,
            class => Some(class as u32 - 1),
        }
    }

    /// Accesses since it was made, to a step: as if it was made when that began.
    #[inline]
    pub const fn life(self, tick: u64) -> u32 {
        let steps = ((tick >> BORN_STEP) as u16).wrapping_sub(self.born);
        let life = ((steps as u32) << BORN_STEP) | (tick as u32 % (1 << BORN_STEP));
        let age = self.age(tick);
        if life < age { age } else { life }
    }

    /// What a rank goes by, of an item that takes so many bytes.
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

    /// Moves stamps on that are so old that they would soon seem young.
    pub fn refresh(&mut self, tick: u64) {
        if self.age(tick) > AGE_MAX {
            self.last = (tick as u32).wrapping_sub(AGE_MAX);
        }
        let step = (tick >> BORN_STEP) as u16;
        let life = step.wrapping_sub(self.born);
        if life > LIFE_MAX {
            // With its hits, of which one at least is left, so that their interval stays.
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

    /// An item that is used every thousandth access for ever: its hits by its time stay the same.
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
