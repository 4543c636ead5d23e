//! A big-reader lock, for a value that is read far more often than written, by threads that must
//! not wait for each other.
//!
//! The guarded value has a few *reader slots*, each with a lock of its own [1]. A reader takes one
//! slot, that of its thread; a writer takes them all, in order. So two reading threads write no
//! common cache line. A reader waits only for a writer, or for a thread of the same slot.
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
//! A reader cannot write to the value. It records its changes, mainly counts, in the *read buffer*
//! of its slot. A writer drains the buffer of its own slot before anything else, so that a thread
//! always sees its own earlier operations. With a single thread, it is as if there were no slots.
//! The writer only counts the other buffers, and leaves them to their threads, in whose processor
//! caches they are. It drains them only if it must know about all reads. Before a writer releases
//! the slots, it *publishes* to each slot the data that readers need and that every write changes.
//! Readers therefore need no line of the writer's except that of their slot, which they have to
//! fetch anyway. A thread that holds all slots and changes nothing that readers need does not have
//! to drain or publish. Like a reader, it may record its operation, and leave all other lines
//! alone. Such a thread may hold its own slot first, to see whether this is enough, and then only
//! tries the others: a thread that waits takes the slots in order.
//!
//! The protocol has no atomics except those of the locks. A reader's release of its slot comes
//! before a writer's acquire of that slot, and a writer's release of all slots before a reader's
//! acquire. `cargo x loom` checks it in every order of two readers and a writer.
//!
//! [1] Hsieh, Weihl. Scalable Reader-Writer Locks for Parallel Systems. IPPS '92.

use crate::sync::prefetch::fetch_to_write;
use crate::sync::shim::{Padded, RawLock, Witness};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

#[cfg(test)]
#[path = "big_reader_tests.rs"]
mod tests;

/// Most reader slots, because a writer takes them all.
pub(crate) const READER_SLOTS_MAX: usize = 4;

/// A value whose readers record their changes in a buffer.
pub(crate) trait Buffered {
    /// The records of the readers of one slot.
    type Buffer: Default;

    /// Applies the records of a slot's buffer, and empties it.
    fn drain(&mut self, buffer: &mut Self::Buffer, slot: usize);

    /// Counts the records that are new since the last call, and marks them as counted; the records
    /// stay in the buffer.
    fn count_new_records(&mut self, buffer: &mut Self::Buffer);

    /// Stores in the buffer the data that readers of its slot need.
    fn publish(&self, buffer: &mut Self::Buffer);
}

/// The fields are in this order so that one cache line holds everything that a read writes, and the
/// published data.
#[derive(Default)]
#[repr(C)]
struct ReaderSlot<N> {
    lock: RawLock,
    buffer: UnsafeCell<N>,
}

/// A value with reader slots.
pub(crate) struct BigReaderLock<T: Buffered> {
    all: [Padded<ReaderSlot<T::Buffer>>; READER_SLOTS_MAX],
    /// The number of slots in use, a power of two, minus one.
    mask: usize,
    value: UnsafeCell<T>,
    witness: Witness,
}

// SAFETY: the value is handed out shared to the holder of a slot, and exclusively to the holder of
// all slots. A buffer is handed out exclusively to the holder of its slot.
unsafe impl<T: Buffered + Send + Sync> Sync for BigReaderLock<T> where T::Buffer: Send {}

/// A guard of one slot.
pub(crate) struct Read<'a, T: Buffered> {
    lock: &'a BigReaderLock<T>,
    at: usize,
    /// Not `Send`: the thread that took a lock must release it.
    stays: PhantomData<*const ()>,
}

/// A guard of all slots, without any buffer drained.
pub(crate) struct Exclusive<'a, T: Buffered> {
    lock: &'a BigReaderLock<T>,
    /// The slot of this thread.
    own: usize,
    stays: PhantomData<*const ()>,
}

/// A guard of all slots, with at least one buffer drained.
pub(crate) struct Write<'a, T: Buffered>(Exclusive<'a, T>);

impl<T: Buffered> BigReaderLock<T> {
    /// Guards a value with `count` slots, rounded up to a power of two, and at most
    /// [`READER_SLOTS_MAX`].
    pub(crate) fn new(value: T, count: usize) -> Self {
        Self {
            all: Default::default(),
            mask: count.clamp(1, READER_SLOTS_MAX).next_power_of_two() - 1,
            value: UnsafeCell::new(value),
            witness: Witness::new(),
        }
    }

    /// Number of slots in use.
    pub(crate) const fn count(&self) -> usize {
        self.mask + 1
    }

    fn in_use(&self) -> impl DoubleEndedIterator<Item = &ReaderSlot<T::Buffer>> {
        self.all[..=self.mask].iter().map(|slot| &slot.0)
    }

    /// Waits for the thread's slot.
    #[inline]
    pub(crate) fn read(&self, thread: usize) -> Read<'_, T> {
        let at = thread & self.mask;
        self.all[at].0.lock.lock();
        self.reads(at)
    }

    /// Waits for the thread's slot, and prefetches the other slots, which the caller takes next.
    #[inline]
    pub(crate) fn read_first(&self, thread: usize) -> Read<'_, T> {
        let own = thread & self.mask;
        for slot in self.others(own) {
            fetch_to_write(std::ptr::from_ref(slot).cast());
        }
        self.read(thread)
    }

    /// The slots in use, without one.
    #[inline]
    fn others(&self, own: usize) -> impl Iterator<Item = &ReaderSlot<T::Buffer>> {
        let others = self.in_use().enumerate().filter(move |(at, _)| *at != own);
        others.map(|(_, slot)| slot)
    }

    /// Takes the thread's slot if it is free.
    #[inline]
    pub(crate) fn try_read(&self, thread: usize) -> Option<Read<'_, T>> {
        let at = thread & self.mask;
        self.all[at].0.lock.try_lock().then(|| self.reads(at))
    }

    /// Makes the guard of a slot that this thread has locked.
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

    /// Waits for all slots, drains the buffer of the thread's slot, and counts the others.
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
            // SAFETY: this thread has just locked these slots.
            self.in_use().take(taken).for_each(|slot| unsafe { slot.lock.unlock() });
            return None;
        }
        Some(self.all_held(0).write_drained())
    }

    /// Makes the guard of all slots, which this thread has locked.
    #[inline]
    fn all_held(&self, thread: usize) -> Exclusive<'_, T> {
        self.witness.writes();
        Exclusive { lock: self, own: thread & self.mask, stays: PhantomData }
    }
}

impl<'a, T: Buffered> Exclusive<'a, T> {
    /// The guarded value, and the buffer of the thread's slot. A caller that changes data of
    /// [`Buffered::publish`] turns this guard into a [`Write`] first.
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
            if is_own { value.drain(buffer, at) } else { value.count_new_records(buffer) }
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
        // SAFETY: this thread has locked all slots, and the guard is borrowed exclusively.
        unsafe { (&mut *self.lock.value.get(), &mut *self.lock.all[at].0.buffer.get()) }
    }
}

impl<'a, T: Buffered> Read<'a, T> {
    /// Takes all other slots if they are free, so that everything read so far still holds.
    /// Otherwise releases this slot, too: another thread may wait for it while it holds the others.
    #[inline]
    pub(crate) fn exclusive(self) -> Option<Exclusive<'a, T>> {
        let (lock, own) = (self.lock, self.at);
        let taken = lock.others(own).take_while(|slot| slot.lock.try_lock()).count();
        if taken < lock.mask {
            // SAFETY: this thread has just locked these slots.
            lock.others(own).take(taken).for_each(|slot| unsafe { slot.lock.unlock() });
            return None;
        }
        std::mem::forget(self);
        Some(lock.all_held(own))
    }

    /// The guarded value, and the buffer of the slot.
    #[inline]
    pub(crate) fn parts(&mut self) -> (&T, &mut T::Buffer) {
        // SAFETY: this thread has locked the slot, so there is no guard of all slots. Only this
        // guard, borrowed exclusively, hands out the slot's buffer.
        unsafe { (&*self.lock.value.get(), &mut *self.lock.all[self.at].0.buffer.get()) }
    }
}

impl<T: Buffered> Deref for Write<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread has locked all slots, and the guard is borrowed.
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
        // SAFETY: this guard locked the slot, in this thread.
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
        // SAFETY: the guard holds all slots, locked by this thread.
        self.lock.in_use().rev().for_each(|slot| unsafe { slot.lock.unlock() });
    }
}
