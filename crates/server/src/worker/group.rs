//! Commands that are timed together, for the slow log.

use super::Worker;
use crate::commands;
use crate::connection::Connection;

/// Commands of a client that are timed together: the clock is read once for so many, and at the
/// end of what was read at once. Without pipelining that is each command.
pub(super) struct Group {
    began_us: u64,
    /// Where in the buffer it begins.
    from: usize,
    len: usize,
    /// Bytes of the largest command and its reply, and where in the buffer it begins.
    largest: (usize, usize),
}

/// Commands in a group.
const GROUP: usize = 16;

impl Group {
    pub(super) const fn begin(began_us: u64, from: usize) -> Self {
        Self { began_us, from, len: 0, largest: (0, from) }
    }

    #[inline]
    pub(super) const fn add(&mut self, size: usize, at: usize) {
        self.len += 1;
        if size > self.largest.0 {
            self.largest = (size, at);
        }
    }

    pub(super) const fn is_full(&self) -> bool {
        self.len == GROUP
    }
}

impl Worker {
    /// Looks at how long a group of commands took, and begins the next at `consumed`.
    #[inline]
    pub(super) fn end_group(
        &self,
        connection: &mut Connection,
        bytes: &[u8],
        group: &mut Group,
        consumed: usize,
    ) {
        let now_us = self.shared.clock.micros().0;
        let session = &mut connection.session;
        let alone_us = std::mem::take(&mut session.timed_alone_us);
        let together = group.len - std::mem::take(&mut session.timed_alone).min(group.len);
        let micros = (now_us - group.began_us).saturating_sub(alone_us);
        if together > 0 && self.view.settings.is_slow(micros) {
            self.note_group(connection, bytes, group, micros, together);
        }
        *group = Group::begin(now_us, consumed);
    }

    /// Keeps the largest command of a slow group in the slow log.
    #[cold]
    fn note_group(
        &self,
        connection: &Connection,
        bytes: &[u8],
        group: &Group,
        micros: u64,
        together: usize,
    ) {
        let is_brief = |args: &[Vec<u8>]| {
            commands::find(&args[0]).is_some_and(|n| commands::get(n).is_brief())
        };
        let first = commands::slowlog::read(&bytes[group.largest.1..]);
        let mut largest = first.filter(|(args, _)| is_brief(args));
        if largest.is_none() {
            // The largest was timed alone: of the others, the one that was asked with most bytes.
            let mut from = group.from;
            for _ in 0..group.len {
                let Some(read) = commands::slowlog::read(&bytes[from..]) else { break };
                from += read.1;
                let larger = largest.as_ref().is_none_or(|(_, len)| read.1 > *len);
                if is_brief(&read.0) && larger {
                    largest = Some(read);
                }
            }
        }
        if let Some((args, _)) = largest {
            let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
            let client = &connection.session.client;
            commands::note_slow(&self.shared, &self.view, client, &args, micros, together);
        }
    }
}
