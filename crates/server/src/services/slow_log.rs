//! The slow log: commands that took longer than `slowlog-log-slower-than`.
//!
//! Two readings of the clock for each command would cost more than a GET. Brief commands (the fast
//! ones, and SET) are timed in groups of up to 16 that a client sent together. Without a pipeline
//! each is timed by itself. If a group took long, its largest command is logged, with the number of
//! others. All other commands are timed one by one. So nothing slow is missed.
//!
//! Two more logs of the same form keep commands that have many bytes, or many bytes in their reply.

use super::clients::Client;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of arguments that are kept of a command, and of bytes of each.
const ARGS_MAX: usize = 32;
const BYTES_MAX: usize = 128;

/// A logged command.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) unix_s: u64,
    /// Microseconds for the slow log, bytes for the others.
    pub(crate) amount: u64,
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) address: String,
    pub(crate) name: String,
}

/// The last slow commands.
#[derive(Debug, Default)]
pub(crate) struct SlowLog(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    next: u64,
    /// All entries, the newest first.
    all: VecDeque<Entry>,
}

/// The arguments in the form in which they are kept.
fn kept<'a>(args: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let count = args.len();
    let shown = if count > ARGS_MAX { ARGS_MAX - 1 } else { count };
    let mut kept: Vec<Vec<u8>> = args
        .take(shown)
        .map(|arg| match arg.get(..BYTES_MAX) {
            Some(head) if arg.len() > BYTES_MAX => {
                let more = format!("... ({} more bytes)", arg.len() - BYTES_MAX);
                [head, more.as_bytes()].concat()
            }
            _ => arg.to_vec(),
        })
        .collect();
    if count > shown {
        kept.push(format!("... ({} more arguments)", count - shown).into_bytes());
    }
    kept
}

impl SlowLog {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs a command. The log keeps at most `max` entries.
    pub(crate) fn add<'a>(
        &self,
        client: &Client,
        args: impl ExactSizeIterator<Item = &'a [u8]>,
        amount: u64,
        max: usize,
    ) {
        let entry = Entry {
            id: 0,
            unix_s: crate::services::clock::Clock::unix_us() / 1_000_000,
            amount,
            args: kept(args),
            address: client.address.clone(),
            name: client.labels().name.clone(),
        };
        let mut entries = self.lock();
        let id = entries.next;
        entries.next += 1;
        entries.all.push_front(Entry { id, ..entry });
        entries.all.truncate(max);
    }

    /// The newest entries, at most `count`.
    pub(crate) fn newest(&self, count: usize) -> Vec<Entry> {
        self.lock().all.iter().take(count).cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().all.len()
    }

    pub(crate) fn reset(&self) {
        self.lock().all.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_commands_are_cut() {
        let long = [b'x'; 200];
        let args: Vec<&[u8]> = std::iter::repeat_n(&long[..], 40).collect();
        let kept = kept(args.iter().copied());
        assert_eq!(kept.len(), 32);
        assert!(kept[0].ends_with(b"x... (72 more bytes)"));
        assert_eq!(kept[31], b"... (9 more arguments)");
    }
}
