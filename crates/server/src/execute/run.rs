//! Runs one command of a client, and writes its reply.

use super::admit::{Refused, resolve};
use super::slow::note_slow;
use super::{http_guard, queue};
use crate::call::{Call, Done, Failure, OVERFLOW, handler};
use crate::facts::flag;
use crate::facts::table::get;
use crate::services::stats;
use std::sync::atomic::Ordering;
use wire::resp;

/// Whether a command may run scripts, which may take long: EVAL and related commands, FCALL, EXEC.
#[inline]
pub(crate) fn may_run_scripts(command: &resp::Command<'_>) -> bool {
    let name = command.get(0).unwrap_or_default();
    let [first, second, ..] = *name else {
        return false;
    };
    match [first | 0x20, second | 0x20] {
        [b'e', b'v'] | [b'f', b'c'] => true,
        [b'e', b'x'] => name.get(2).is_some_and(|third| third | 0x20 == b'e'),
        _ => false,
    }
}

/// Runs one command and writes its reply. Returns the command's number, if the command exists.
#[inline]
pub(crate) fn execute(call: &mut Call<'_>, counters: &stats::Worker) -> Option<u16> {
    let mark = call.out.mark();
    match resolve(call) {
        Ok(number) => {
            let command = get(number);
            let counted = &counters.commands[number as usize];
            call.session.client.command.store(number, Ordering::Relaxed);
            let result = if call.session.transaction.is_some() && !command.has(flag::UNQUEUED) {
                // EXEC times it when it runs.
                call.session.timed_alone += 1;
                queue::queue(call, command)
            } else {
                counted.calls.add(1);
                if command.is_brief() { handler(number)(call) } else { run_watched(call, number) }
            };
            if let Err(failure) = result {
                counted.failed.add(1);
                fail(call, mark, &failure);
            }
            Some(number)
        }
        Err(Refused::Unknown | Refused::Arity(_)) if http_guard::is_http(call) => {
            http_guard::close(call);
            None
        }
        Err(refused) => refuse(call, counters, refused),
    }
}

/// Replies to a refused command. Returns its number, if the command exists.
#[cold]
fn refuse(call: &mut Call<'_>, counters: &stats::Worker, refused: Refused) -> Option<u16> {
    let (mark, number, mut failure) = (call.out.mark(), refused.number(), refused.tell(call));
    if let Some(number) = number {
        counters.commands[number as usize].rejected.add(1);
        if get(number).has(flag::ABORTS) {
            failure = queue::abort(call, failure);
        }
    }
    if let Some(transaction) = &mut call.session.transaction {
        transaction.broken = true;
    }
    fail(call, mark, &failure);
    number
}

/// Refuses a command while a script holds the gate, and returns true. It returns false for a
/// command with the flag `ALLOW_BUSY`, and for one that is refused anyway.
#[cold]
pub(crate) fn refuse_busy(call: &mut Call<'_>, counters: &stats::Worker) -> bool {
    let Ok(number) = resolve(call) else {
        return false;
    };
    let refuses = !get(number).has(flag::ALLOW_BUSY);
    if refuses {
        refuse(call, counters, Refused::Busy(number));
    }
    refuses
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
pub(crate) fn run_timed(call: &mut Call<'_>, number: u16) -> (Done, u64) {
    let before = call.server.clock.micros();
    let result = handler(number)(call);
    let micros = call.server.clock.micros().0 - before.0;
    if let Some(wait) = call.session.flow.blocked_mut() {
        wait.took_us += micros;
    } else if call.view.settings.is_slow(micros) && !get(number).has(flag::ABORTS) {
        let args: Vec<&[u8]> = call.args.iter_from(0).collect();
        note_slow(call.server, call.view, &call.session.client, &args, micros, 1);
    }
    (result, micros)
}

/// Replaces the part of a reply written so far by an error.
#[cold]
pub(crate) fn fail(call: &mut Call<'_>, mark: usize, failure: &Failure) {
    call.server.stats.error(failure.text());
    if failure.text() == OVERFLOW.as_bytes() {
        call.session.overflow();
    }
    call.out.rewind(mark);
    call.out.error(failure.text());
}
