//! Tests of the lock: readers, writers, and their buffers.

use super::*;

/// Reads recorded in a slot, and the count published to its readers.
#[derive(Default)]
struct Recorded {
    count: usize,
    published: usize,
}

/// Writes to the value, and drained records.
#[derive(Default)]
struct Sum {
    written: usize,
    /// Changes by threads that record them.
    replaced: usize,
    recorded: usize,
    /// Records in the last buffer that was only counted.
    counted: usize,
}

impl Buffered for Sum {
    type Buffer = Recorded;

    fn drain(&mut self, buffer: &mut Recorded, _: usize) {
        self.recorded += std::mem::take(&mut buffer.count);
    }

    fn count_new_records(&mut self, buffer: &mut Recorded) {
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

/// Two readers in different slots, and a writer that waits, replaces, or does not wait.
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

/// Two threads of different slots want each other's slot, while each holds its own.
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
