//! Commands of scripts: the checks beyond those of a client's command, and their errors.

use super::refused::Refused;
use super::request::Script;
use crate::call::{Call, Failure, OUT_OF_MEMORY};
use crate::facts::flag::{DENY_OOM, MAY_REPLICATE, NO_EXEC, NO_SCRIPT, WRITE};
use crate::facts::table::{find, get};
use crate::facts::unsupported;
use crate::settings::cluster::Elsewhere;
use wire::slots::slot;

const NOT_ALLOWED: &str = "ERR This Redis command is not allowed from script";
const CROSS_SLOT: &str = "ERR Script attempted to access keys that do not hash to the same slot";
const UNKNOWN: &str = "Unknown Redis command called from script";

/// Checks that a script may run this command.
pub(super) fn permit(call: &Call<'_>, number: u16, script: &Script) -> Result<(), Refused> {
    let command = get(number);
    let is_full = || script.is_full && !call.server.turns.gate.script().has_written();
    let refused = if !is_scripted(call, number) {
        Some(NOT_ALLOWED)
    } else if script.is_readonly && command.has(WRITE | MAY_REPLICATE) {
        Some("ERR Write commands are not allowed from read-only scripts.")
    } else {
        (command.has(DENY_OOM) && is_full()).then_some(OUT_OF_MEMORY)
    };
    if let Some(text) = refused {
        return Err(Refused::InScript(number, text));
    }
    if call.view.cluster.is_some() && !script.crosses_slots {
        keep_to_slot(call, number, script)?;
    }
    Ok(())
}

/// Whether a script may run a command. A subcommand is recognised by its name, which is longer than
/// the word in the call; then its parent counts as well.
fn is_scripted(call: &Call<'_>, number: u16) -> bool {
    let command = get(number);
    let is_whole = command.name.len() == call.arg(0).len();
    let parent = if is_whole { None } else { find(call.arg(0)).map(get) };
    !command.has(NO_SCRIPT | NO_EXEC) && !parent.is_some_and(|parent| parent.has(NO_SCRIPT))
}

/// Keeps a script to the slot of its first key, which it need not have declared.
fn keep_to_slot(call: &Call<'_>, number: u16, script: &Script) -> Result<(), Refused> {
    for at in get(number).key_places(call.args.len(), |at| call.args.get(at)) {
        let own = slot(call.arg(at));
        let known = script.slot.get().unwrap_or(own);
        script.slot.set(Some(known));
        if known != own {
            return Err(Refused::CrossSlot);
        }
    }
    Ok(())
}

/// The error that a script gets for a refused command.
#[cold]
pub(super) fn refusal(call: &Call<'_>, refused: Refused) -> Failure {
    match refused {
        Refused::Unknown | Refused::Subcommand(_) => match unsupported::why(call.arg(0)) {
            Some(why) => {
                Failure::err(&format!("{UNKNOWN}: '{}' is not supported: {why}", call.text(0)))
            }
            None => Failure::err(UNKNOWN),
        },
        Refused::Arity(_) => "ERR Wrong number of args calling Redis command from script".into(),
        Refused::Denied(number, _) | Refused::Stranger(number) if !is_scripted(call, number) => {
            NOT_ALLOWED.into()
        }
        Refused::Denied(..) => {
            let told = refused.tell(call);
            let text = told.text().strip_prefix(b"NOPERM ").unwrap_or(told.text());
            [b"ERR ACL failure in script: ", text].concat().into()
        }
        Refused::Elsewhere(_, Elsewhere::Cross) | Refused::CrossSlot => CROSS_SLOT.into(),
        Refused::Elsewhere(..) => {
            "ERR Script attempted to access a non local key in a cluster node".into()
        }
        other => other.tell(call),
    }
}
