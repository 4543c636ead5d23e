//! A command of RESP at the door: how it is admitted, carried out and refused.

use super::admit::resolve;
use super::refused::Refused;
use super::request::{AnyRequest, Origin};
use super::slow::note_slow;
use super::{admit, hot_keys, http_guard, missing_keys, monitor, queue, script, slow, tracking};
use crate::call::{Call, Done, Failure, OVERFLOW, handler};
use crate::facts::flag::{self, NO_EXEC};
use crate::facts::table::get;
use crate::services::hot_keys::Cost;
use std::sync::atomic::Ordering;

/// A brief command takes less than this many microseconds. If the slow log keeps only longer
/// commands, the brief commands of EXEC and scripts are not timed.
const LONG_US: i64 = 1_000;

impl AnyRequest for Call<'_> {
    type Command = u16;
    type Refused = Refused;

    #[allow(clippy::inline_always, reason = "of a GET the call alone would be a twentieth")]
    #[inline(always)]
    fn admit(&mut self, origin: Origin<'_>) -> Result<u16, Refused> {
        let number = resolve(self)?;
        match origin {
            Origin::Exec if get(number).has(NO_EXEC) => Err(Refused::NoExec(number)),
            Origin::Script(script) => script::permit(self, number, script).map(|()| number),
            _ => Ok(number),
        }
    }

    #[allow(clippy::inline_always, reason = "of a GET the call alone would be a twentieth")]
    #[inline(always)]
    fn handle(&mut self, number: u16, origin: Origin<'_>, worker: usize) {
        let mark = self.out.mark();
        let counted = &self.server.stats.workers[worker].commands[usize::from(number)];
        let result = match origin {
            Origin::Client => {
                self.session.client.command.store(number, Ordering::Relaxed);
                if self.session.transaction.is_some() && !get(number).has(flag::UNQUEUED) {
                    // EXEC times it when it runs.
                    self.session.timed_alone += 1;
                    queue::queue(self, get(number))
                } else {
                    counted.calls.add(u64::from(origin.counts_calls()));
                    if get(number).is_brief() {
                        handler(number)(self)
                    } else {
                        run_watched(self, number)
                    }
                }
            }
            Origin::Exec | Origin::Script(_) => {
                counted.calls.add(u64::from(origin.counts_calls()));
                let is_long = self.view.settings.slowlog_slower_than >= LONG_US;
                let is_untimed = get(number).is_brief() && is_long;
                if is_untimed { handler(number)(self) } else { run_timed(self, number).0 }
            }
            Origin::Retry => handler(number)(self),
        };
        if let Err(failure) = result {
            counted.failed.add(1);
            fail(self, mark, failure, origin);
        }
    }

    #[cold]
    fn refuse(&mut self, refused: Refused, origin: Origin<'_>, worker: usize) -> Option<u16> {
        let is_client = matches!(origin, Origin::Client);
        let is_unread = matches!(refused, Refused::Unknown | Refused::Arity(_));
        if is_client && is_unread && http_guard::is_http(self) {
            http_guard::close(self);
            return None;
        }
        let (mark, number) = (self.out.mark(), refused.number());
        let mut failure = match origin {
            Origin::Script(_) => script::refusal(self, refused),
            _ => refused.tell(self),
        };
        if let Some(number) = number {
            let counted = &self.server.stats.workers[worker].commands[usize::from(number)];
            counted.rejected.add(origin.counts_refusals().into());
            if is_client && get(number).has(flag::ABORTS) {
                failure = queue::abort(self, failure);
            }
        }
        if is_client && let Some(transaction) = &mut self.session.transaction {
            transaction.broken = true;
        }
        fail(self, mark, failure, origin);
        number
    }

    fn mark(&self) -> usize {
        self.out.mark()
    }

    fn is_paused(&self) -> bool {
        admit::waits(self)
    }

    #[cold]
    fn refuse_busy(&mut self, worker: usize) -> bool {
        let Ok(number) = resolve(self) else {
            return false;
        };
        let refuses = !get(number).has(flag::ALLOW_BUSY);
        if refuses {
            self.refuse(Refused::Busy(number), Origin::Client, worker);
        }
        refuses
    }

    fn show(&self) {
        monitor::show(self);
    }

    fn remember_reads(&self) {
        tracking::before(self);
    }

    fn invalidate(&mut self, mark: usize) {
        tracking::after(self, mark);
    }

    fn missing_keys(&self) -> Vec<usize> {
        missing_keys::before(self)
    }

    fn notify_missing(&self, places: &[usize]) {
        missing_keys::after(self, places);
    }

    fn count_hot_keys(&self, nanos: u64, mark: usize) {
        let bytes = self.args.consumed + self.out.mark().saturating_sub(mark);
        hot_keys::note(self, Cost { nanos, bytes: bytes as u64 });
    }

    fn count_time(&self, number: u16, micros: u64, weight: u64, worker: usize) {
        self.server.stats.workers[worker].time(number, micros, weight);
    }

    fn count_top_keys(&self, number: Option<u16>, worker: usize) {
        if let Some(number) = number {
            slow::note_keys(self, &self.server.stats.workers[worker], number);
        }
    }
}

/// Runs a command that may take long.
#[inline(never)]
fn run_watched(call: &mut Call<'_>, number: u16) -> Done {
    let (result, micros) = run_timed(call, number);
    call.session.timed_alone_us += micros;
    call.session.timed_alone += 1;
    result
}

/// Runs a command, and adds it to the slow log if it took long. A command that blocks is logged
/// when its wait ends, and for EXEC the queued commands are logged. Returns its duration in
/// microseconds.
fn run_timed(call: &mut Call<'_>, number: u16) -> (Done, u64) {
    let before = call.server.clock.micros();
    let result = handler(number)(call);
    let micros = call.server.clock.micros().0 - before.0;
    if let Some(wait) = call.session.flow.blocked_mut() {
        wait.took_us += micros;
    } else if call.view.settings.is_slow(micros) && !get(number).has(flag::ABORTS) {
        let args: Vec<&[u8]> = call.args.iter_from(0).collect();
        note_slow(&call.server.logs, call.view, &call.session.client, &args, micros, 1);
    }
    (result, micros)
}

/// Replaces the part of a reply written so far by an error. A script gets the error apart.
#[cold]
fn fail(call: &mut Call<'_>, mark: usize, failure: Failure, origin: Origin<'_>) {
    call.server.stats.error(failure.text());
    if let Origin::Script(script) = origin {
        script.failure.replace(Some(failure));
        return;
    }
    if failure.text() == OVERFLOW.as_bytes() {
        call.session.overflow();
    }
    call.out.rewind(mark);
    call.out.error(failure.text());
}
