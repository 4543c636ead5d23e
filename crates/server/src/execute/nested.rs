//! The door for commands within a command, which EXEC or a script runs, and for the retry of a
//! blocked command.
//!
//! Each of them is looked up and checked as if its client had sent it alone. Its observers see it
//! only if it is admitted.

use super::observers::{self, Batch};
use super::request::{AnyRequest, Origin, Outcome};
use crate::call::{Call, size_check};
use crate::facts::flag::WRITE;
use crate::facts::table::{find, get};
use crate::session::Session;
use wire::resp;
use wire::slots::slot;

/// Runs a command of EXEC, of a script, or of a blocked client, and writes its reply. The error of
/// a script's command is left in [`super::request::Script`] instead.
pub(crate) fn run(call: &mut Call<'_>, origin: Origin<'_>) -> Outcome {
    let batch = Batch::nested(call, origin);
    match call.admit(origin) {
        Ok(number) if !may_run(call, number, origin) => return Outcome::Postponed,
        Ok(number) if batch.is_observed() => {
            return observers::run(call, &batch, |call| {
                call.handle(number, origin, batch.worker());
                Some(number)
            });
        }
        Ok(number) => call.handle(number, origin, batch.worker()),
        Err(refused) => drop(call.refuse(refused, origin, batch.worker())),
    }
    Outcome::Replied
}

/// Whether a command may run now. A script that was asked to end must not begin to write.
fn may_run(call: &Call<'_>, number: u16, origin: Origin<'_>) -> bool {
    let is_scripted = matches!(origin, Origin::Script(_));
    !is_scripted || !get(number).has(WRITE) || call.server.turns.gate.script().writes()
}

/// The slot of the first key that a call names; `None` outside of a cluster.
pub(crate) fn slot_of_keys(call: &Call<'_>) -> Option<u16> {
    call.view.cluster.as_ref()?;
    let command = find(call.arg(0)).map(get)?;
    let mut places = command.key_places(call.args.len(), |at| call.args.get(at));
    places.next().and_then(|at| call.args.get(at)).map(slot)
}

/// Counts a failure of a command that wrote its error reply itself.
pub(crate) fn count_failed(call: &Call<'_>) {
    if let Some(number) = find(call.arg(0)) {
        let worker = &call.server.stats.workers[call.session.client.place.worker];
        worker.commands[usize::from(number)].failed.add(1);
    }
}

/// Whether memory is so full that nothing may be added.
pub(crate) fn is_full(call: &Call<'_>) -> bool {
    size_check::is_full(call, 1)
}

/// Whether the client may call a command; `None` if there is no such command.
pub(crate) fn may_call(session: &Session, args: resp::Command<'_>) -> Option<bool> {
    let mut words: Vec<&[u8]> = args.iter_from(0).collect();
    let mut number = find(words[0])?;
    if get(number).has_subcommands && words.len() > 1 {
        number = crate::facts::table::find_subcommand(number, words[1])?;
    }
    // The check reads the positions of keys, so missing arguments are filled up with empty ones.
    words.resize(words.len().max(get(number).arity.unsigned_abs() as usize), b"");
    Some(!session.limited || session.permits(number, &words).is_ok())
}
