//! The door: every request of a client passes [`run`], in either protocol.
//!
//! Commands within a command, which EXEC or a script runs, pass [`super::nested::run`]. Both let
//! the observers of `observers.rs` see the request.

use super::observers::{self, Batch};
use super::request::{AnyRequest, Origin, Outcome};
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

/// Runs a request of a client, and writes its reply.
#[inline]
pub(crate) fn run<R: AnyRequest>(request: &mut R, batch: &Batch) -> Outcome {
    if batch.is_observed() {
        return run_observed(request, batch);
    }
    carry_out(request, batch);
    Outcome::Replied
}

/// Admits a request of a client and lets its handler reply, or refuses it. Returns its command, if
/// there is one.
#[allow(clippy::inline_always, reason = "of a GET the call alone would be a hundredth")]
#[inline(always)]
fn carry_out<R: AnyRequest>(request: &mut R, batch: &Batch) -> Option<R::Command> {
    match request.admit(Origin::Client) {
        Ok(command) => {
            request.handle(command, Origin::Client, batch.worker());
            Some(command)
        }
        Err(refused) => request.refuse(refused, Origin::Client, batch.worker()),
    }
}

#[inline(never)]
fn run_observed<R: AnyRequest>(request: &mut R, batch: &Batch) -> Outcome {
    observers::run(request, batch, |request| carry_out(request, batch))
}
