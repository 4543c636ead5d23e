//! Groups of commands that are timed together, for the slow log.

use super::connection::Connection;
use super::worker::Worker;
use crate::commands;
use crate::execute::slow;
use crate::facts::table;

/// Commands of a client that are timed together. The clock is read once for a group, and at the end
/// of each read. Without pipelining a group is one command.
pub(super) struct Group {
    began_us: u64,
    /// The place in the buffer where the group begins.
    from: usize,
    len: usize,
    /// The bytes of the largest command with its reply, and the place in the buffer where it
    /// begins.
    largest: (usize, usize),
}

/// The largest number of commands in a group.
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
    /// Measures the time of a group, logs it if it was slow, and begins the next group at
    /// `consumed`.
    #[inline]
    pub(super) fn end_group(
        &self,
        connection: &mut Connection,
        bytes: &[u8],
        group: &mut Group,
        consumed: usize,
    ) {
        let now_us = self.server.clock.micros().0;
        let session = &mut connection.session;
        let alone_us = std::mem::take(&mut session.timed_alone_us);
        let together = group.len - std::mem::take(&mut session.timed_alone).min(group.len);
        let micros = (now_us - group.began_us).saturating_sub(alone_us);
        if together > 0 && self.view.settings.is_slow(micros) {
            self.note_group(connection, bytes, group, micros, together);
        }
        *group = Group::begin(now_us, consumed);
    }

    /// Adds the largest command of a slow group to the slow log.
    #[cold]
    fn note_group(
        &self,
        connection: &Connection,
        bytes: &[u8],
        group: &Group,
        micros: u64,
        together: usize,
    ) {
        let is_brief =
            |args: &[Vec<u8>]| table::find(&args[0]).is_some_and(|n| table::get(n).is_brief());
        let first = commands::slowlog::read(&bytes[group.largest.1..]);
        let mut largest = first.filter(|(args, _)| is_brief(args));
        if largest.is_none() {
            // The largest one was timed alone: takes the one of the others with the most bytes.
            let mut from = group.from;
            for _ in 0..group.len {
                let Some(read) = commands::slowlog::read(&bytes[from..]) else {
                    break;
                };
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
            slow::note_slow(&self.server.logs, &self.view, client, &args, micros, together);
        }
    }
}
