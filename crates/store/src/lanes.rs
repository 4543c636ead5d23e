//! A lock for what is read far more often than written, by threads that must not wait for each
//! other.
//!
//! What is guarded has a few *lanes*, each with a lock of its own [1]. Who reads takes one, that of
//! its thread; who writes takes them all, in order. So two threads that read write no line in
//! common, and a reader waits only for a writer, or for a thread of the same lane.
//!
//! ```text
//!            lane 0            lane 1            …
//!   read     lock, notes                              &T, &mut its notes
//!   read                       lock, notes            &T, &mut its notes
//!   alone    lock, notes       lock              …    &mut T, &mut its notes, by one of lane 0
//!   write    lock, take in     lock, count       …    &mut T, by a thread of lane 0
//!            tell, unlock      tell, unlock
//!   settle   lock, take in     lock, take in     …    &mut T
//!            tell, unlock      tell, unlock
//! ```
//!
//! What a reader would have to write, its counts above all, it *notes* in its lane. Who writes
//! takes in the notes of its own lane before anything else, so that a thread always sees what it
//! did before: where one thread does all, it is as if there were no lanes. Those of other lanes it
//! only counts, and leaves them to their threads, in whose caches they are; unless it must know all
//! that was read. Before the lanes are free again it *tells* each what readers go by that every
//! write changes: so they need no line of the writer's but that of their lane, which they have to
//! fetch anyway. Who holds all lanes and changes nothing that readers go by need not take in or
//! tell: it may note what it did, as they do, and leave the lines of all else alone. It may hold
//! its own lane first, to see whether that will do, and then only tries the others: who waits takes
//! them in order.
//!
//! The protocol has no atomics but those of the locks: a reader's release of its lane comes before
//! a writer's acquire of that lane, and a writer's release of all lanes before a reader's acquire.
//! `cargo x loom` plays it in every order of two readers and a writer.
//!
//! [1] Hsieh, Weihl. Scalable Reader-Writer Locks for Parallel Systems. IPPS '92.

use crate::fetch::fetch_to_write;
use crate::memory::Padded;
use crate::sync::{RawLock, Witness};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Lanes there are at most: a writer takes them all.
pub(crate) const LANES_MAX: usize = 4;

/// What can be read by several threads that note what they have to tell.
pub(crate) trait Laned {
    /// What readers of one lane noted.
    type Notes: Default;

    /// Takes notes of a lane in, and leaves none.
    fn take_in(&mut self, notes: &mut Self::Notes, lane: usize);

    /// Looks how many notes there are, and leaves them.
    fn count(&mut self, notes: &mut Self::Notes);

    /// Leaves in the notes what readers of their lane go by.
    fn tell(&self, notes: &mut Self::Notes);
}

/// In this order: what every read writes is one line, and what it was told is there, too.
#[derive(Default)]
#[repr(C)]
struct Lane<N> {
    lock: RawLock,
    notes: UnsafeCell<N>,
}

/// A value with lanes.
pub(crate) struct Lanes<T: Laned> {
    all: [Padded<Lane<T::Notes>>; LANES_MAX],
    /// Those in use, a power of two, less one.
    mask: usize,
    value: UnsafeCell<T>,
    witness: Witness,
}

// SAFETY: the value is handed out shared to who holds a lane, and alone to who holds all; notes are
// handed out alone to who holds their lane.
unsafe impl<T: Laned + Send + Sync> Sync for Lanes<T> where T::Notes: Send {}

/// One lane held.
pub(crate) struct Read<'a, T: Laned> {
    lanes: &'a Lanes<T>,
    at: usize,
    /// A lock is given back by the thread that took it.
    stays: PhantomData<*const ()>,
}

/// All lanes held, and nothing taken in yet.
pub(crate) struct Alone<'a, T: Laned> {
    lanes: &'a Lanes<T>,
    /// The lane of this thread.
    own: usize,
    stays: PhantomData<*const ()>,
}

/// All lanes held, and the notes of at least one taken in.
pub(crate) struct Write<'a, T: Laned>(Alone<'a, T>);

impl<T: Laned> Lanes<T> {
    /// A value with so many lanes, or as many more as make it a power of two, up to [`LANES_MAX`].
    pub(crate) fn new(value: T, count: usize) -> Self {
        Self {
            all: Default::default(),
            mask: count.clamp(1, LANES_MAX).next_power_of_two() - 1,
            value: UnsafeCell::new(value),
            witness: Witness::new(),
        }
    }

    /// Lanes in use.
    pub(crate) const fn count(&self) -> usize {
        self.mask + 1
    }

    fn in_use(&self) -> impl DoubleEndedIterator<Item = &Lane<T::Notes>> {
        self.all[..=self.mask].iter().map(|lane| &lane.0)
    }

    /// Waits for a lane.
    #[inline]
    pub(crate) fn read(&self, thread: usize) -> Read<'_, T> {
        let at = thread & self.mask;
        self.all[at].0.lock.lock();
        self.reads(at)
    }

    /// Waits for a lane, and has the others brought meanwhile, which are to be held next.
    #[inline]
    pub(crate) fn read_first(&self, thread: usize) -> Read<'_, T> {
        let own = thread & self.mask;
        for lane in self.others(own) {
            fetch_to_write(std::ptr::from_ref(lane).cast());
        }
        self.read(thread)
    }

    /// The lanes in use but one.
    #[inline]
    fn others(&self, own: usize) -> impl Iterator<Item = &Lane<T::Notes>> {
        let others = self.in_use().enumerate().filter(move |(at, _)| *at != own);
        others.map(|(_, lane)| lane)
    }

    /// Takes a lane if it is free.
    #[inline]
    pub(crate) fn try_read(&self, thread: usize) -> Option<Read<'_, T>> {
        let at = thread & self.mask;
        self.all[at].0.lock.try_lock().then(|| self.reads(at))
    }

    /// The lane is locked by this thread.
    #[inline]
    fn reads(&self, at: usize) -> Read<'_, T> {
        self.witness.reads();
        Read { lanes: self, at, stays: PhantomData }
    }

    /// Waits for all lanes.
    #[inline]
    pub(crate) fn alone(&self, thread: usize) -> Alone<'_, T> {
        self.in_use().for_each(|lane| lane.lock.lock());
        self.all_held(thread)
    }

    /// Waits for all lanes, takes in the notes of a thread's own, and counts the others.
    #[inline]
    pub(crate) fn write(&self, thread: usize) -> Write<'_, T> {
        self.alone(thread).write()
    }

    /// Waits for all lanes, and takes in all notes.
    pub(crate) fn settle(&self) -> Write<'_, T> {
        self.alone(0).settle()
    }

    /// Takes all lanes if they are free, and all notes in.
    pub(crate) fn try_settle(&self) -> Option<Write<'_, T>> {
        let taken = self.in_use().take_while(|lane| lane.lock.try_lock()).count();
        if taken <= self.mask {
            // SAFETY: these have just been locked by this thread.
            self.in_use().take(taken).for_each(|lane| unsafe { lane.lock.unlock() });
            return None;
        }
        Some(self.all_held(0).settle())
    }

    /// All lanes are locked by this thread.
    #[inline]
    fn all_held(&self, thread: usize) -> Alone<'_, T> {
        self.witness.writes();
        Alone { lanes: self, own: thread & self.mask, stays: PhantomData }
    }
}

impl<'a, T: Laned> Alone<'a, T> {
    /// What is guarded, and the notes of the thread's lane. Who changes what [`Laned::tell`] tells
    /// makes this a [`Write`] first.
    #[inline]
    pub(crate) fn parts(&mut self) -> (&mut T, &mut T::Notes) {
        self.parts_at(self.own)
    }

    /// Takes in the notes of the thread's lane, and counts the others.
    #[inline]
    pub(crate) fn write(mut self) -> Write<'a, T> {
        for at in 0..=self.lanes.mask {
            let is_own = at == self.own;
            let (value, notes) = self.parts_at(at);
            if is_own { value.take_in(notes, at) } else { value.count(notes) }
        }
        Write(self)
    }

    /// Takes in all notes.
    fn settle(mut self) -> Write<'a, T> {
        for at in 0..=self.lanes.mask {
            let (value, notes) = self.parts_at(at);
            value.take_in(notes, at);
        }
        Write(self)
    }

    /// What is guarded, and the notes of a lane.
    #[inline]
    fn parts_at(&mut self, at: usize) -> (&mut T, &mut T::Notes) {
        // SAFETY: all lanes are locked by this thread, and the guard is borrowed alone.
        unsafe { (&mut *self.lanes.value.get(), &mut *self.lanes.all[at].0.notes.get()) }
    }
}

impl<'a, T: Laned> Read<'a, T> {
    /// Takes all other lanes if they are free: what was read still holds. If not, this one is given
    /// up, too: another thread may wait for it with the rest in hand.
    #[inline]
    pub(crate) fn alone(self) -> Option<Alone<'a, T>> {
        let (lanes, own) = (self.lanes, self.at);
        let taken = lanes.others(own).take_while(|lane| lane.lock.try_lock()).count();
        if taken < lanes.mask {
            // SAFETY: these have just been locked by this thread.
            lanes.others(own).take(taken).for_each(|lane| unsafe { lane.lock.unlock() });
            return None;
        }
        std::mem::forget(self);
        Some(lanes.all_held(own))
    }

    /// What is guarded, and the notes of the lane.
    #[inline]
    pub(crate) fn parts(&mut self) -> (&T, &mut T::Notes) {
        // SAFETY: the lane is locked by this thread, so nobody has them all, and nobody but this
        // guard, borrowed alone, hands out the lane's notes.
        unsafe { (&*self.lanes.value.get(), &mut *self.lanes.all[self.at].0.notes.get()) }
    }
}

impl<T: Laned> Deref for Write<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: all lanes are locked by this thread, and the guard is borrowed.
        unsafe { &*self.0.lanes.value.get() }
    }
}

impl<T: Laned> DerefMut for Write<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.parts().0
    }
}

impl<T: Laned> Drop for Read<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lanes.witness.reads();
        // SAFETY: the guard locked it, in this thread.
        unsafe { self.lanes.all[self.at].0.lock.unlock() }
    }
}

impl<T: Laned> Drop for Write<'_, T> {
    #[inline]
    fn drop(&mut self) {
        for at in 0..=self.0.lanes.mask {
            let (value, notes) = self.0.parts_at(at);
            value.tell(notes);
        }
    }
}

impl<T: Laned> Drop for Alone<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lanes.witness.writes();
        // SAFETY: the guard has them all, locked by this thread.
        self.lanes.in_use().rev().for_each(|lane| unsafe { lane.lock.unlock() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was noted in a lane, and what its readers were told was written.
    #[derive(Default)]
    struct Noted {
        count: usize,
        told: usize,
    }

    /// What was written, and what was noted.
    #[derive(Default)]
    struct Sum {
        written: usize,
        /// Changed by who notes it.
        replaced: usize,
        noted: usize,
        /// In the other lane, of two.
        counted: usize,
    }

    impl Laned for Sum {
        type Notes = Noted;

        fn take_in(&mut self, notes: &mut Noted, _: usize) {
            self.noted += std::mem::take(&mut notes.count);
        }

        fn count(&mut self, notes: &mut Noted) {
            self.counted = notes.count;
        }

        fn tell(&self, notes: &mut Noted) {
            notes.told = self.written;
        }
    }

    fn reads(sum: &Lanes<Sum>, thread: usize) {
        let mut lane = sum.read(thread);
        let (sum, notes) = lane.parts();
        let all = [sum.written, sum.replaced];
        assert!(all.iter().all(|count| count % 2 == 0), "half of a write was seen");
        assert_eq!(notes.told, sum.written, "all lanes are told before one is free");
        notes.count += 1;
    }

    fn writes(sum: &Lanes<Sum>, thread: usize) {
        let mut sum = sum.write(thread);
        sum.written += 1;
        sum.written += 1;
    }

    fn replaces(sum: &Lanes<Sum>, thread: usize) {
        let lane = sum.read_first(thread);
        let mut alone = lane.alone().unwrap_or_else(|| sum.alone(thread));
        let (sum, notes) = alone.parts();
        sum.replaced += 1;
        sum.replaced += 1;
        notes.count += 1;
    }

    #[cfg(not(loom))]
    #[test]
    fn a_writer_takes_in_what_was_noted() {
        let sum = Lanes::new(Sum::default(), 2);
        (0..2).for_each(|thread| reads(&sum, thread));
        replaces(&sum, 2);
        let write = sum.write(0);
        assert_eq!((write.noted, write.counted), (2, 1), "those of its own lane");
        drop(write);
        assert_eq!(sum.settle().noted, 3, "all");
        let lane = sum.read(1);
        assert!(sum.try_settle().is_none() && sum.try_read(3).is_none());
        assert!(sum.try_read(0).is_some(), "a refused writer leaves no lane locked");
        drop(lane);
        assert!(sum.try_settle().is_some_and(|sum| sum.noted == 3));
    }

    #[cfg(not(loom))]
    #[test]
    fn threads_lose_nothing() {
        let sum = Lanes::new(Sum::default(), LANES_MAX);
        let each = if cfg!(miri) { 50 } else { 20_000 };
        std::thread::scope(|scope| {
            for thread in 0..=LANES_MAX {
                let sum = &sum;
                scope.spawn(move || {
                    for n in 0..each {
                        match (n + thread) % 8 {
                            0 => writes(sum, thread),
                            1 => replaces(sum, thread),
                            _ => reads(sum, thread),
                        }
                    }
                });
            }
        });
        let sum = sum.settle();
        assert_eq!(sum.noted + sum.written / 2, (LANES_MAX + 1) * each);
    }

    /// Two readers in lanes of their own, and who waits to write, to replace, or does not wait.
    #[cfg(loom)]
    #[test]
    fn readers_and_a_writer_in_every_order() {
        for how in 0..3 {
            loom::model(move || {
                let sum = loom::sync::Arc::new(Lanes::new(Sum::default(), 2));
                let readers = [0, 1].map(|thread| {
                    let sum = loom::sync::Arc::clone(&sum);
                    loom::thread::spawn(move || reads(&sum, thread))
                });
                match how {
                    0 => writes(&sum, 0),
                    1 => replaces(&sum, 0),
                    _ => _ = sum.try_settle().map(|mut sum| sum.written += 2),
                }
                readers.into_iter().for_each(|reader| reader.join().unwrap());
                let sum = sum.settle();
                assert_eq!(sum.noted, 2 + sum.replaced / 2);
            });
        }
    }

    /// Two of different lanes want the other's, each with its own in hand.
    #[cfg(loom)]
    #[test]
    fn two_that_replace_do_not_wait_for_ever() {
        loom::model(|| {
            let sum = loom::sync::Arc::new(Lanes::new(Sum::default(), 2));
            let other = loom::sync::Arc::clone(&sum);
            let thread = loom::thread::spawn(move || replaces(&other, 1));
            replaces(&sum, 0);
            thread.join().unwrap();
            assert_eq!(sum.settle().noted, 2);
        });
    }
}
