//! Replies: handed to the driver, within limits for a client that reads slowly.

use super::connection::Connection;
use super::worker::{End, OUTPUT, Worker};
use crate::facts::Speaks;
use crate::services::pubsub::Publication;
use crate::session::{Flow, Session, Subscriptions};
use crate::settings::config::OutputLimit;
use std::sync::atomic::Ordering;
use wire::resp::Encoder;

/// Replies are sent early once they have this many bytes.
pub(super) const WRITE_EARLY: usize = 256 << 10;
/// The bytes of replies that may wait, or be sent in one turn. Beyond this, the client is
/// throttled.
pub(super) const REPLIES_MAX: usize = 1 << 20;
/// The bytes of replies that `client-output-buffer-limit` does not count. In Redis each client has
/// a buffer of this size in any case. So a small reply never disconnects a client, however low the
/// limit is.
const UNCOUNTED: usize = 16 << 10;
/// The bytes of lines that may wait for a watcher of memcached's protocol, as in memcached.
const WATCHER_MAX: usize = 256 << 10;
/// Publishes the bytes that wait for a client, for other threads.
fn note_output(connection: &Connection) {
    connection.session.client.output.store(connection.waiting as u64, Ordering::Relaxed);
}

impl Worker {
    /// Sends the replies.
    pub(super) fn reply(&mut self, at: usize, connection: &mut Connection) -> Result<(), End> {
        if self.output.is_empty() {
            return Ok(());
        }
        if let Flow::BackingOff { until_ms } = connection.session.flow {
            connection.held.append(&mut self.output);
            self.work.schedule.add_timer(until_ms, connection.token(at));
            return Ok(());
        }
        let len = self.output.len();
        let waiting = self.driver.borrow_mut().send(connection.token(at), &mut self.output)?;
        let sent = (connection.waiting + len).saturating_sub(waiting) as u64;
        let counters = self.counters();
        counters.writes.add(1);
        counters.net_out.add(sent);
        connection.session.client.net_out.add(sent);
        if self.output.capacity() > 4 * WRITE_EARLY {
            self.output = Vec::with_capacity(OUTPUT);
        }
        if waiting > 0 || connection.waiting > 0 {
            connection.waiting = waiting;
            note_output(connection);
            self.check_output(connection)?;
        }
        Ok(())
    }

    /// Notes that waiting replies were sent, or that gathered ones must wait. Continues a client
    /// that has read all.
    pub(super) fn note_sent(&mut self, at: usize, connection: &mut Connection) -> Result<(), End> {
        let waiting = self.driver().unsent(connection.token(at)).waiting;
        let sent = connection.waiting.saturating_sub(waiting);
        connection.waiting = waiting;
        self.counters().net_out.add(sent as u64);
        self.counters().writes.add(1);
        note_output(connection);
        if sent > 0 {
            // A client that reads its replies is not idle.
            let now_ms = self.server.clock.micros().0 / 1_000;
            connection.session.client.last_ms.store(now_ms, Ordering::Relaxed);
        }
        if waiting > 0 { self.check_output(connection) } else { self.continue_one(at, connection) }
    }

    /// Throttles a client if too many bytes of replies wait for it, until the client has read them.
    /// Returns whether it did.
    pub(super) fn throttle_behind(connection: &mut Connection) -> bool {
        let is_too_much = connection.waiting > REPLIES_MAX;
        if is_too_much {
            connection.session.throttle();
        }
        is_too_much
    }

    /// The limit for the bytes that may wait for a client.
    fn output_limit(&self, session: &Session) -> OutputLimit {
        let settings = &self.view.settings;
        if session.listens() { settings.output_pubsub } else { settings.output_normal }
    }

    /// The number of bytes in the output above which the client's limit is exceeded. It takes the
    /// replies into account that wait already. A reply ends there while it is written.
    pub(super) fn bound(&self, connection: &Connection) -> usize {
        match self.output_limit(&connection.session).hard.0 {
            0 => usize::MAX,
            hard => {
                let most = usize::try_from(hard).unwrap_or(usize::MAX).saturating_add(UNCOUNTED);
                most.saturating_sub(connection.waiting)
            }
        }
    }

    /// Ends a connection with a reply above its limit. None of the reply is sent.
    #[cold]
    pub(super) fn overflows(&mut self, connection: &Connection) -> End {
        self.output = Vec::with_capacity(OUTPUT);
        self.server.stats.output_limit_closed.fetch_add(1, Ordering::Relaxed);
        let hard = self.output_limit(&connection.session).hard;
        tracing::warn!(
            "closed client {}: more than {hard} of replies would wait for it, above \
             client-output-buffer-limit",
            connection.session.client.address
        );
        End::Closed
    }

    /// Sends the replies so far, and throttles the client if the replies had many bytes.
    pub(super) fn reply_early(
        &mut self,
        at: usize,
        connection: &mut Connection,
    ) -> Result<(), End> {
        connection.replied += self.output.len();
        self.reply(at, connection)?;
        let waiting = connection.waiting;
        if waiting.max(connection.replied) > REPLIES_MAX {
            connection.session.throttle();
            if waiting == 0 {
                // Others have their turn first.
                self.work.schedule.add_ready(connection.token(at));
            }
        }
        Ok(())
    }

    /// Disconnects a client that reads its replies too slowly.
    pub(super) fn check_output(&self, connection: &mut Connection) -> Result<(), End> {
        let limit = self.output_limit(&connection.session);
        let (waiting, now_ms) = (connection.waiting, self.server.clock.micros().0 / 1_000);
        let counted = waiting.saturating_sub(UNCOUNTED) as u64;
        let mut over = limit.hard.0 > 0 && counted > limit.hard.0;
        if limit.soft.0 > 0 && counted > limit.soft.0 {
            let since = *connection.over_soft_since_ms.get_or_insert(now_ms);
            over |= now_ms - since >= limit.seconds * 1_000;
        } else {
            connection.over_soft_since_ms = None;
        }
        if !over {
            return Ok(());
        }
        self.server.stats.output_limit_closed.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            "closed client {}: {waiting} bytes of replies wait for it, above \
             client-output-buffer-limit",
            connection.session.client.address
        );
        Err(End::Closed)
    }

    pub(super) fn publish(&mut self, at: usize, publication: &Publication) {
        let Some(connection) = &self.work.connections[at] else {
            return;
        };
        let hears = |tenant| connection.session.reachable(&self.view).contains(&tenant);
        // The message may have been on its way when the client ended the subscription.
        let listens = |all: &Subscriptions| all.has(publication);
        let is_there = connection.session.subscriptions.as_deref().is_some_and(listens);
        if !is_there || !publication.of.is_none_or(hears) {
            return;
        }
        let mut out = Encoder::new(&mut self.output, connection.session.protocol);
        if let Some(pattern) = &publication.pattern {
            out.push(4);
            out.bulk(b"pmessage");
            out.bulk(pattern);
        } else {
            out.push(3);
            out.bulk(if publication.sharded { b"smessage" } else { b"message" });
        }
        out.bulk(&publication.channel);
        out.bulk(&publication.message);
        self.push(at);
    }

    /// Shows a line to a watching client. A watcher of memcached's protocol that reads too slowly
    /// misses lines, and later gets their number.
    pub(super) fn watched(&mut self, at: usize, line: &[u8]) {
        let Some(connection) = &mut self.work.connections[at] else {
            return;
        };
        let waiting = connection.waiting;
        let session = &mut connection.session;
        if !session.watching {
            // The line was on its way when the client stopped watching.
            return;
        }
        if session.client.speaks == Speaks::Memcached {
            if waiting > WATCHER_MAX {
                session.skipped += 1;
                return;
            }
            let skipped = std::mem::take(&mut session.skipped);
            if skipped > 0 {
                self.output.extend_from_slice(format!("skipped={skipped}\n").as_bytes());
            }
        }
        self.output.extend_from_slice(line);
        self.push(at);
    }

    /// Writes the contents of `self.output` to a client outside of its own requests.
    pub(super) fn push(&mut self, at: usize) {
        self.with_whoever(at, Self::reply);
    }
}
