//! Running commands: a batch of one connection behind the gate, in either protocol.

use super::busy_worker;
use super::connection::{Codec, Connection};
use super::lookahead::Lookahead;
use super::replies::WRITE_EARLY;
use super::timing_group::Group;
use super::worker::{End, Worker};
use crate::call::Call;
use crate::execute::observers::{Batch, Begins};
use crate::execute::request::Outcome;
use crate::execute::run;
use crate::execute::slow;
use crate::memcached::{self, Ask};
use crate::services::stats;
use crate::session::{Flow, Why};
use store::{Entered, Now};
use wire::resp::{Decoder, Encoder, Limits, Malformed, Protocol};

impl Worker {
    /// Runs the complete commands at the front of `bytes`. Returns the number of their bytes. Their
    /// replies are left in `self.output`.
    pub(super) fn execute(
        &mut self,
        at: usize,
        connection: &mut Connection,
        codec: &mut Codec,
        bytes: &[u8],
        now: Now,
    ) -> Result<usize, End> {
        let mut consumed = 0;
        loop {
            if Self::throttle_behind(connection) {
                return Ok(consumed);
            }
            let rest = &bytes[consumed..];
            let entered = self.enter();
            let is_busy = entered == Entered::Not;
            let now = if entered == Entered::AtOnce { now } else { self.server.clock.now() };
            let result = match codec {
                Codec::Redis(decoder) => {
                    self.execute_redis(at, connection, decoder, rest, now, is_busy)
                }
                Codec::Memcached(decoder) => {
                    self.execute_memcached(at, connection, decoder, rest, now, is_busy)
                }
            };
            self.leave();
            consumed += result?;
            if connection.session.overflows {
                return Err(self.overflows(connection));
            }
            if !connection.session.flow.begin_batch() {
                return Ok(consumed);
            }
        }
    }

    fn execute_memcached(
        &mut self,
        at: usize,
        connection: &mut Connection,
        decoder: &mut wire::memcached::Decoder,
        bytes: &[u8],
        now: Now,
        is_busy: bool,
    ) -> Result<usize, End> {
        let mut consumed = 0;
        self.batches += 1;
        let batch = Batch::of_memcached(self.begins(is_busy));
        let mut bound = self.bound(connection);
        while connection.session.is_running() {
            let session = &mut connection.session;
            let limits = wire::memcached::Limits {
                data_max: self.view.settings.memcached_item_max.0,
                stranger: session.user.is_none(),
            };
            match decoder.decode(&bytes[consumed..], &limits) {
                Ok(None) => break,
                Ok(Some(request)) => {
                    consumed += request.consumed;
                    if !request.is_empty() {
                        let (server, view) = (&*self.server, &*self.view);
                        let (out, worker) = (&mut self.output, self.number);
                        let len = request.consumed;
                        let mut ask =
                            Ask { request, out, bound, session, server, view, now, worker };
                        if run::run(&mut ask, &batch) == Outcome::Postponed {
                            ask.session.pause();
                            consumed -= len;
                            break;
                        }
                    }
                }
                Err(malformed) => {
                    let (state, clock) = (&self.server.memcached, &self.server.clock);
                    memcached::refuse(state, clock, session, &mut self.output, malformed);
                }
            }
            if self.output.len() > WRITE_EARLY.min(bound) {
                if self.output.len() > bound {
                    connection.session.overflow();
                    break;
                }
                self.reply_early(at, connection)?;
                bound = self.bound(connection);
            }
            if self.server.turns.gate.is_closed() && consumed < bytes.len() {
                connection.session.end_batch(Why::Exclusive);
            }
        }
        if batch.is_tracked() {
            self.server.tell_pending();
        } else {
            self.server.audience.tracking.forget_all(self.server.clients.mail(), None);
        }
        Ok(consumed)
    }

    fn execute_redis(
        &mut self,
        at: usize,
        connection: &mut Connection,
        decoder: &mut Decoder,
        bytes: &[u8],
        now: Now,
        is_busy: bool,
    ) -> Result<usize, End> {
        self.batches += 1;
        let batch = Batch::of_redis(self.begins(is_busy));
        let mut group = Group::begin(now.micros.0, 0);
        let mut consumed = 0;
        let mut ahead = Lookahead::ALONE;
        let (mut commands, large_from) = (0, self.view.settings.large_from());
        let mut bound = self.bound(connection);
        let mut early = WRITE_EARLY.min(bound);
        while connection.session.is_running() {
            let session = &mut connection.session;
            ahead.next(&self.server.store, session, &bytes[consumed..]);
            let limits = Limits {
                bulk_max: self.view.settings.proto_max_bulk_len.0,
                stranger: session.user.is_none(),
            };
            match decoder.decode(&bytes[consumed..], &limits) {
                Ok(None) => break,
                Ok(Some(command)) => {
                    consumed += command.consumed;
                    if command.is_empty() {
                        continue;
                    }
                    commands += 1;
                    let runs_scripts = run::may_run_scripts(&command);
                    if runs_scripts {
                        self.lend_work(at);
                    }
                    let mark = self.output.len();
                    let out = Encoder::new(&mut self.output, session.protocol).bounded(bound);
                    let (server, view) = (&*self.server, &*self.view);
                    let len = command.consumed;
                    let mut call = Call { args: command, out, session, server, view, now };
                    let outcome = run::run(&mut call, &batch);
                    if runs_scripts {
                        self.work = busy_worker::take_back_work();
                    }
                    if outcome == Outcome::Postponed {
                        call.session.pause();
                        consumed -= len;
                        break;
                    }
                    let reply = call.out.mark().saturating_sub(mark);
                    if len.max(reply) as u64 >= large_from {
                        slow::note_large(&call, len, reply);
                    }
                    group.add(len + reply, consumed - len);
                    let is_muted = session.mute.is_muted();
                    if !std::mem::take(&mut session.pushed) && is_muted {
                        if let Some(wait) = session.flow.blocked_mut() {
                            wait.is_muted = true;
                        }
                        self.output.truncate(mark);
                    }
                }
                Err(malformed) => {
                    self.refuse_malformed(&malformed, &limits);
                    session.closing = true;
                }
            }
            if group.is_full() {
                self.end_group(connection, bytes, &mut group, consumed);
                if self.server.turns.gate.is_closed() && consumed < bytes.len() {
                    connection.session.end_batch(Why::Exclusive);
                }
            }
            if self.output.len() > early {
                self.end_group(connection, bytes, &mut group, consumed);
                if self.output.len() > bound {
                    connection.session.overflow();
                    break;
                }
                self.reply_early(at, connection)?;
                bound = self.bound(connection);
                early = WRITE_EARLY.min(bound);
                group = Group::begin(self.server.clock.micros().0, consumed);
            }
        }
        self.end_group(connection, bytes, &mut group, consumed);
        connection.session.client.commands.add(commands);
        self.server.tell_pending();
        // A client that began to track meanwhile may have read keys that this batch overwrote. If
        // it was this client, it has read nothing yet.
        if !batch.is_tracked() {
            let session = &connection.session;
            let began = matches!(session.flow, Flow::EndBatch(Why::Observers));
            let began = began.then_some(session.client.id);
            self.server.audience.tracking.forget_all(self.server.clients.mail(), began);
        }
        Ok(consumed)
    }

    /// The beginning of a batch.
    fn begins(&self, is_busy: bool) -> Begins<'_> {
        let (server, now_ms) = (&*self.server, self.now_ms);
        Begins {
            audience: &server.audience,
            hot_keys: &server.stats.hot_keys,
            turns: &server.turns,
            view: &self.view,
            worker: self.number,
            weight: self.weight(),
            now_ms,
            is_busy,
        }
    }

    /// The number of batches for which this one stands if it is timed; 0 if it is not.
    fn weight(&self) -> u64 {
        if self.view.settings.latency_tracking { stats::weight(self.batches) } else { 0 }
    }

    /// Replies with the error in a client's bytes.
    #[cold]
    fn refuse_malformed(&mut self, malformed: &Malformed, limits: &Limits) {
        let text = match malformed {
            Malformed::Length => {
                format!("ERR {malformed} (proto-max-bulk-len {})", limits.bulk_max)
            }
            _ => format!("ERR {malformed}"),
        };
        self.server.stats.error(text.as_bytes());
        // The byte that the text names is sent back as it was, not as UTF-8.
        let text: Vec<u8> = text.chars().map(|c| c as u8).collect();
        Encoder::new(&mut self.output, Protocol::Resp2).error(&text);
    }
}
