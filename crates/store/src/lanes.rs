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
//!   write    lock, take in     lock, count       …    &mut T, by a thread of lane 0
//!            tell, unlock      tell, unlock
//!   settle   lock, take in     lock, take in     …    &mut T
//!            tell, unlock      tell, unlock
//! ```
//!
//! What a reader would have to write, its counts above all, it *notes* in its lane. Who writes
//! takes in the notes of its own lane before anything else, so that a thread always sees what it
//! read before: where one thread does all, it is as if there were no lanes. Those of other lanes it
//! only counts, and leaves them to their threads, in whose caches they are; unless it must know all
//! that was read. Before the lanes are free again it *tells* each what readers go by that every
//! write changes: so they need no line of the writer's but that of their lane, which they have to
//! fetch anyway.
//!
//! The protocol has no atomics but those of the locks: a reader's release of its lane comes before
//! a writer's acquire of that lane, and a writer's release of all lanes before a reader's acquire.
//! `cargo x loom` plays it in every order of two readers and a writer.
//!
//! [1] Hsieh, Weihl. Scalable Reader-Writer Locks for Parallel Systems. IPPS '92.

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

/// All lanes held.
pub(crate) struct Write<'a, T: Laned> {
    lanes: &'a Lanes<T>,
    stays: PhantomData<*const ()>,
}

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

    /// Waits for all lanes, takes in the notes of a thread's own, and counts the others.
    #[inline]
    pub(crate) fn write(&self, thread: usize) -> Write<'_, T> {
        self.in_use().for_each(|lane| lane.lock.lock());
        let (mut all, own) = (self.writes(), thread & self.mask);
        for at in 0..=self.mask {
            let (value, notes) = all.parts(at);
            if at == own { value.take_in(notes, at) } else { value.count(notes) }
        }
        all
    }

    /// Waits for all lanes, and takes in all notes.
    pub(crate) fn settle(&self) -> Write<'_, T> {
        self.in_use().for_each(|lane| lane.lock.lock());
        self.settled()
    }

    /// Takes all lanes if they are free, and all notes in.
    pub(crate) fn try_settle(&self) -> Option<Write<'_, T>> {
        let taken = self.in_use().take_while(|lane| lane.lock.try_lock()).count();
        if taken <= self.mask {
            // SAFETY: these have just been locked by this thread.
            self.in_use().take(taken).for_each(|lane| unsafe { lane.lock.unlock() });
            return None;
        }
        Some(self.settled())
    }

    /// All lanes are locked by this thread.
    #[inline]
    fn writes(&self) -> Write<'_, T> {
        self.witness.writes();
        Write { lanes: self, stays: PhantomData }
    }

    /// The same, with all notes taken in.
    fn settled(&self) -> Write<'_, T> {
        let mut all = self.writes();
        for at in 0..=self.mask {
            let (value, notes) = all.parts(at);
            value.take_in(notes, at);
        }
        all
    }
}

impl<T: Laned> Write<'_, T> {
    /// What is guarded, and the notes of a lane.
    #[inline]
    fn parts(&mut self, at: usize) -> (&mut T, &mut T::Notes) {
        // SAFETY: all lanes are locked by this thread, and the guard is borrowed alone.
        unsafe { (&mut *self.lanes.value.get(), &mut *self.lanes.all[at].0.notes.get()) }
    }
}

impl<T: Laned> Read<'_, T> {
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
        unsafe { &*self.lanes.value.get() }
    }
}

impl<T: Laned> DerefMut for Write<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: all lanes are locked by this thread, and the guard is borrowed alone.
        unsafe { &mut *self.lanes.value.get() }
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
        for at in 0..=self.lanes.mask {
            let (value, notes) = self.parts(at);
            value.tell(notes);
        }
        self.lanes.witness.writes();
        // SAFETY: the guard locked them all, in this thread.
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
        assert!(sum.written % 2 == 0, "half of a write was seen");
        assert_eq!(notes.told, sum.written, "all lanes are told before one is free");
        notes.count += 1;
    }

    fn writes(sum: &Lanes<Sum>, thread: usize) {
        let mut sum = sum.write(thread);
        sum.written += 1;
        sum.written += 1;
    }

    #[cfg(not(loom))]
    #[test]
    fn a_writer_takes_in_what_was_noted() {
        let sum = Lanes::new(Sum::default(), 2);
        (0..3).for_each(|thread| reads(&sum, thread));
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
                        if n % 8 == thread { writes(sum, thread) } else { reads(sum, thread) }
                    }
                });
            }
        });
        let sum = sum.settle();
        assert_eq!(sum.noted + sum.written / 2, (LANES_MAX + 1) * each);
    }

    /// Two readers in lanes of their own, and a writer that waits or one that does not.
    #[cfg(loom)]
    #[test]
    fn readers_and_a_writer_in_every_order() {
        for waits in [true, false] {
            loom::model(move || {
                let sum = loom::sync::Arc::new(Lanes::new(Sum::default(), 2));
                let readers = [0, 1].map(|thread| {
                    let sum = loom::sync::Arc::clone(&sum);
                    loom::thread::spawn(move || reads(&sum, thread))
                });
                if waits {
                    writes(&sum, 0);
                } else if let Some(mut sum) = sum.try_settle() {
                    sum.written += 2;
                }
                readers.into_iter().for_each(|reader| reader.join().unwrap());
                assert_eq!(sum.settle().noted, 2);
            });
        }
    }
}
