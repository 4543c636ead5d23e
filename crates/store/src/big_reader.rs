//! A big-reader lock: for what is read far more often than written, by threads that must not wait
//! for each other.
//!
//! The guarded value has a few *reader slots*, each with a lock of its own [1]. A reader takes one,
//! that of its thread; a writer takes them all, in order. So two threads that read write no line in
//! common, and a reader waits only for a writer, or for a thread of the same slot.
//!
//! ```text
//!                   slot 0            slot 1            …
//!   read            lock, buffer                             &T, &mut its buffer
//!   read                              lock, buffer           &T, &mut its buffer
//!   exclusive       lock, buffer      lock              …    &mut T, &mut buffer of slot 0
//!   write           lock, drain       lock, count       …    &mut T, by a thread of slot 0
//!                   publish, unlock   publish, unlock
//!   write_drained   lock, drain       lock, drain       …    &mut T
//!                   publish, unlock   publish, unlock
//! ```
//!
//! A reader records what it would have to write, its counts above all, in the *read buffer* of its
//! slot. A writer drains the buffer of its own slot before anything else, so that a thread always
//! sees what it did before: where one thread does all, it is as if there were no slots. Those of
//! other slots it only counts, and leaves them to their threads, in whose caches they are; unless
//! it must know all that was read. Before the slots are free again it *publishes* to each what
//! readers go by that every write changes: so they need no line of the writer's but that of their
//! slot, which they have to fetch anyway. A thread that holds all slots and changes nothing that
//! readers go by need not drain or publish: it may record what it did, as they do, and leave the
//! lines of all else alone. It may hold its own slot first, to see whether that will do, and then
//! only tries the others: a thread that waits takes them in order.
//!
//! The protocol has no atomics but those of the locks: a reader's release of its slot comes before
//! a writer's acquire of that slot, and a writer's release of all slots before a reader's acquire.
//! `cargo x loom` plays it in every order of two readers and a writer.
//!
//! [1] Hsieh, Weihl. Scalable Reader-Writer Locks for Parallel Systems. IPPS '92.

use crate::fetch::fetch_to_write;
use crate::memory::Padded;
use crate::sync::{RawLock, Witness};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Reader slots at most: a writer takes them all.
pub(crate) const READER_SLOTS_MAX: usize = 4;

/// A value whose readers buffer what they would have to write to it.
pub(crate) trait Buffered {
    /// The records of the readers of one slot.
    type Buffer: Default;

    /// Takes in the buffer of a slot, and leaves it empty.
    fn drain(&mut self, buffer: &mut Self::Buffer, slot: usize);

    /// Looks how much there is in a buffer, and leaves it.
    fn count(&mut self, buffer: &mut Self::Buffer);

    /// Leaves in the buffer what readers of its slot go by.
    fn publish(&self, buffer: &mut Self::Buffer);
}

/// In this order: what every read writes is one line, with what was published to it.
#[derive(Default)]
#[repr(C)]
struct ReaderSlot<N> {
    lock: RawLock,
    buffer: UnsafeCell<N>,
}

/// A value with reader slots.
pub(crate) struct BigReaderLock<T: Buffered> {
    all: [Padded<ReaderSlot<T::Buffer>>; READER_SLOTS_MAX],
    /// The slots in use, a power of two, less one.
    mask: usize,
    value: UnsafeCell<T>,
    witness: Witness,
}

// SAFETY: the value is handed out shared to the holder of a slot, and alone to the holder of all;
// a buffer is handed out alone to the holder of its slot.
unsafe impl<T: Buffered + Send + Sync> Sync for BigReaderLock<T> where T::Buffer: Send {}

/// One slot held.
pub(crate) struct Read<'a, T: Buffered> {
    lock: &'a BigReaderLock<T>,
    at: usize,
    /// A lock is given back by the thread that took it.
    stays: PhantomData<*const ()>,
}

/// All slots held, and no buffer drained yet.
pub(crate) struct Exclusive<'a, T: Buffered> {
    lock: &'a BigReaderLock<T>,
    /// The slot of this thread.
    own: usize,
    stays: PhantomData<*const ()>,
}

/// All slots held, and at least one buffer drained.
pub(crate) struct Write<'a, T: Buffered>(Exclusive<'a, T>);

impl<T: Buffered> BigReaderLock<T> {
    /// A value with so many slots, or as many more as make it a power of two, up to
    /// [`READER_SLOTS_MAX`].
    pub(crate) fn new(value: T, count: usize) -> Self {
        Self {
            all: Default::default(),
            mask: count.clamp(1, READER_SLOTS_MAX).next_power_of_two() - 1,
            value: UnsafeCell::new(value),
            witness: Witness::new(),
        }
    }

    /// Slots in use.
    pub(crate) const fn count(&self) -> usize {
        self.mask + 1
    }

    fn in_use(&self) -> impl DoubleEndedIterator<Item = &ReaderSlot<T::Buffer>> {
        self.all[..=self.mask].iter().map(|slot| &slot.0)
    }

    /// Waits for a slot.
    #[inline]
    pub(crate) fn read(&self, thread: usize) -> Read<'_, T> {
        let at = thread & self.mask;
        self.all[at].0.lock.lock();
        self.reads(at)
    }

    /// Waits for a slot, and has the others brought meanwhile, which are to be held next.
    #[inline]
    pub(crate) fn read_first(&self, thread: usize) -> Read<'_, T> {
        let own = thread & self.mask;
        for slot in self.others(own) {
            fetch_to_write(std::ptr::from_ref(slot).cast());
        }
        self.read(thread)
    }

    /// The slots in use but one.
    #[inline]
    fn others(&self, own: usize) -> impl Iterator<Item = &ReaderSlot<T::Buffer>> {
        let others = self.in_use().enumerate().filter(move |(at, _)| *at != own);
        others.map(|(_, slot)| slot)
    }

    /// Takes a slot if it is free.
    #[inline]
    pub(crate) fn try_read(&self, thread: usize) -> Option<Read<'_, T>> {
        let at = thread & self.mask;
        self.all[at].0.lock.try_lock().then(|| self.reads(at))
    }

    /// The slot is locked by this thread.
    #[inline]
    fn reads(&self, at: usize) -> Read<'_, T> {
        self.witness.reads();
        Read { lock: self, at, stays: PhantomData }
    }

    /// Waits for all slots.
    #[inline]
    pub(crate) fn exclusive(&self, thread: usize) -> Exclusive<'_, T> {
        self.in_use().for_each(|slot| slot.lock.lock());
        self.all_held(thread)
    }

    /// Waits for all slots, drains the buffer of the thread's own, and counts the others.
    #[inline]
    pub(crate) fn write(&self, thread: usize) -> Write<'_, T> {
        self.exclusive(thread).write()
    }

    /// Waits for all slots, and drains all buffers.
    pub(crate) fn write_drained(&self) -> Write<'_, T> {
        self.exclusive(0).write_drained()
    }

    /// Takes all slots if they are free, and drains all buffers.
    pub(crate) fn try_write_drained(&self) -> Option<Write<'_, T>> {
        let taken = self.in_use().take_while(|slot| slot.lock.try_lock()).count();
        if taken <= self.mask {
            // SAFETY: these have just been locked by this thread.
            self.in_use().take(taken).for_each(|slot| unsafe { slot.lock.unlock() });
            return None;
        }
        Some(self.all_held(0).write_drained())
    }

    /// All slots are locked by this thread.
    #[inline]
    fn all_held(&self, thread: usize) -> Exclusive<'_, T> {
        self.witness.writes();
        Exclusive { lock: self, own: thread & self.mask, stays: PhantomData }
    }
}

impl<'a, T: Buffered> Exclusive<'a, T> {
    /// The guarded value, and the buffer of the thread's slot. A caller that changes what
    /// [`Buffered::publish`] publishes makes this a [`Write`] first.
    #[inline]
    pub(crate) fn parts(&mut self) -> (&mut T, &mut T::Buffer) {
        self.parts_at(self.own)
    }

    /// Drains the buffer of the thread's slot, and counts the others.
    #[inline]
    pub(crate) fn write(mut self) -> Write<'a, T> {
        for at in 0..=self.lock.mask {
            let is_own = at == self.own;
            let (value, buffer) = self.parts_at(at);
            if is_own { value.drain(buffer, at) } else { value.count(buffer) }
        }
        Write(self)
    }

    /// Drains all buffers.
    fn write_drained(mut self) -> Write<'a, T> {
        for at in 0..=self.lock.mask {
            let (value, buffer) = self.parts_at(at);
            value.drain(buffer, at);
        }
        Write(self)
    }

    /// The guarded value, and the buffer of a slot.
    #[inline]
    fn parts_at(&mut self, at: usize) -> (&mut T, &mut T::Buffer) {
        // SAFETY: all slots are locked by this thread, and the guard is borrowed alone.
        unsafe { (&mut *self.lock.value.get(), &mut *self.lock.all[at].0.buffer.get()) }
    }
}

impl<'a, T: Buffered> Read<'a, T> {
    /// Takes all other slots if they are free: what was read still holds. If not, this one is given
    /// up, too: another thread may wait for it with the rest in hand.
    #[inline]
    pub(crate) fn exclusive(self) -> Option<Exclusive<'a, T>> {
        let (lock, own) = (self.lock, self.at);
        let taken = lock.others(own).take_while(|slot| slot.lock.try_lock()).count();
        if taken < lock.mask {
            // SAFETY: these have just been locked by this thread.
            lock.others(own).take(taken).for_each(|slot| unsafe { slot.lock.unlock() });
            return None;
        }
        std::mem::forget(self);
        Some(lock.all_held(own))
    }

    /// The guarded value, and the buffer of the slot.
    #[inline]
    pub(crate) fn parts(&mut self) -> (&T, &mut T::Buffer) {
        // SAFETY: the slot is locked by this thread, so nobody has them all, and nobody but this
        // guard, borrowed alone, hands out the slot's buffer.
        unsafe { (&*self.lock.value.get(), &mut *self.lock.all[self.at].0.buffer.get()) }
    }
}

impl<T: Buffered> Deref for Write<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: all slots are locked by this thread, and the guard is borrowed.
        unsafe { &*self.0.lock.value.get() }
    }
}

impl<T: Buffered> DerefMut for Write<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.parts().0
    }
}

impl<T: Buffered> Drop for Read<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.witness.reads();
        // SAFETY: the guard locked it, in this thread.
        unsafe { self.lock.all[self.at].0.lock.unlock() }
    }
}

impl<T: Buffered> Drop for Write<'_, T> {
    #[inline]
    fn drop(&mut self) {
        for at in 0..=self.0.lock.mask {
            let (value, buffer) = self.0.parts_at(at);
            value.publish(buffer);
        }
    }
}

impl<T: Buffered> Drop for Exclusive<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.witness.writes();
        // SAFETY: the guard has them all, locked by this thread.
        self.lock.in_use().rev().for_each(|slot| unsafe { slot.lock.unlock() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was recorded in a slot, and what was published to its readers.
    #[derive(Default)]
    struct Recorded {
        count: usize,
        published: usize,
    }

    /// What was written, and what was recorded.
    #[derive(Default)]
    struct Sum {
        written: usize,
        /// Changed by a thread that records it.
        replaced: usize,
        recorded: usize,
        /// In the other slot, of two.
        counted: usize,
    }

    impl Buffered for Sum {
        type Buffer = Recorded;

        fn drain(&mut self, buffer: &mut Recorded, _: usize) {
            self.recorded += std::mem::take(&mut buffer.count);
        }

        fn count(&mut self, buffer: &mut Recorded) {
            self.counted = buffer.count;
        }

        fn publish(&self, buffer: &mut Recorded) {
            buffer.published = self.written;
        }
    }

    fn reads(sum: &BigReaderLock<Sum>, thread: usize) {
        let mut slot = sum.read(thread);
        let (sum, buffer) = slot.parts();
        let all = [sum.written, sum.replaced];
        assert!(all.iter().all(|count| count % 2 == 0), "half of a write was seen");
        assert_eq!(buffer.published, sum.written, "all slots are published to before one is free");
        buffer.count += 1;
    }

    fn writes(sum: &BigReaderLock<Sum>, thread: usize) {
        let mut sum = sum.write(thread);
        sum.written += 1;
        sum.written += 1;
    }

    fn replaces(sum: &BigReaderLock<Sum>, thread: usize) {
        let slot = sum.read_first(thread);
        let mut exclusive = slot.exclusive().unwrap_or_else(|| sum.exclusive(thread));
        let (sum, buffer) = exclusive.parts();
        sum.replaced += 1;
        sum.replaced += 1;
        buffer.count += 1;
    }

    #[cfg(not(loom))]
    #[test]
    fn a_writer_drains_what_was_recorded() {
        let sum = BigReaderLock::new(Sum::default(), 2);
        (0..2).for_each(|thread| reads(&sum, thread));
        replaces(&sum, 2);
        let write = sum.write(0);
        assert_eq!((write.recorded, write.counted), (2, 1), "those of its own slot");
        drop(write);
        assert_eq!(sum.write_drained().recorded, 3, "all");
        let slot = sum.read(1);
        assert!(sum.try_write_drained().is_none() && sum.try_read(3).is_none());
        assert!(sum.try_read(0).is_some(), "a refused writer leaves no slot locked");
        drop(slot);
        assert!(sum.try_write_drained().is_some_and(|sum| sum.recorded == 3));
    }

    #[cfg(not(loom))]
    #[test]
    fn threads_lose_nothing() {
        let sum = BigReaderLock::new(Sum::default(), READER_SLOTS_MAX);
        let each = if cfg!(miri) { 50 } else { 20_000 };
        std::thread::scope(|scope| {
            for thread in 0..=READER_SLOTS_MAX {
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
        let sum = sum.write_drained();
        assert_eq!(sum.recorded + sum.written / 2, (READER_SLOTS_MAX + 1) * each);
    }

    /// Two readers in slots of their own, and a writer that waits, replaces, or does not wait.
    #[cfg(loom)]
    #[test]
    fn readers_and_a_writer_in_every_order() {
        for how in 0..3 {
            loom::model(move || {
                let sum = loom::sync::Arc::new(BigReaderLock::new(Sum::default(), 2));
                let readers = [0, 1].map(|thread| {
                    let sum = loom::sync::Arc::clone(&sum);
                    loom::thread::spawn(move || reads(&sum, thread))
                });
                match how {
                    0 => writes(&sum, 0),
                    1 => replaces(&sum, 0),
                    _ => _ = sum.try_write_drained().map(|mut sum| sum.written += 2),
                }
                readers.into_iter().for_each(|reader| reader.join().unwrap());
                let sum = sum.write_drained();
                assert_eq!(sum.recorded, 2 + sum.replaced / 2);
            });
        }
    }

    /// Two of different slots want the other's, each with its own in hand.
    #[cfg(loom)]
    #[test]
    fn two_that_replace_do_not_wait_for_ever() {
        loom::model(|| {
            let sum = loom::sync::Arc::new(BigReaderLock::new(Sum::default(), 2));
            let other = loom::sync::Arc::clone(&sum);
            let thread = loom::thread::spawn(move || replaces(&other, 1));
            replaces(&sum, 0);
            thread.join().unwrap();
            assert_eq!(sum.write_drained().recorded, 2);
        });
    }
}
