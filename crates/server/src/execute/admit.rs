//! Admission: finds the command of a call, and decides whether it may run.

use super::refused::Refused;
use super::{cluster, permission};
use crate::call::{Call, Failure, NO_AUTH, wrong_number};
use crate::facts::table::{get, name_of};
use crate::facts::{Facts, flag, unsupported};
use crate::services::exclusive::BUSY;

impl Refused {
    /// The error text for the client. An ACL refusal is also added to the ACL log.
    #[cold]
    pub(crate) fn tell(self, call: &Call<'_>) -> Failure {
        let name = self.number().map_or("", name_of);
        match self {
            Self::Unknown => unknown(call),
            Self::Subcommand(number) => unknown_subcommand(call, get(number)),
            Self::Arity(_) => wrong_number(name),
            Self::Stranger(_) => NO_AUTH.into(),
            Self::Denied(number, denied) => permission::refuse(call, number, denied),
            Self::Listens(_) => Failure::err(&format!(
                "Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / \
                 RESET are allowed in this context"
            )),
            Self::InMulti(_) => "ERR Command not allowed inside a transaction".into(),
            Self::Busy(_) => BUSY.into(),
            Self::Elsewhere(_, elsewhere) => {
                cluster::redirect(call.view, &call.session.client, elsewhere)
            }
            Self::NoExec(_) => {
                let name = name.to_ascii_uppercase();
                Failure::err(&format!("{name} isn't allowed for a DENY BLOCKING client"))
            }
            Self::InScript(_, text) => text.into(),
            Self::CrossSlot => cluster::CROSS_SLOT.into(),
        }
    }
}

/// Finds the command of the call and checks that it may run.
#[allow(clippy::inline_always, reason = "of a GET the call alone would be a twentieth")]
#[inline(always)]
pub(crate) fn resolve(call: &Call<'_>) -> Result<u16, Refused> {
    let table = call.server.table;
    let Some(mut number) = table.find(call.arg(0)) else {
        return Err(Refused::Unknown);
    };
    let mut command = table.get(number);
    if command.has_subcommands && call.args.len() > 1 {
        match table.find_subcommand(number, call.arg(1)) {
            Some(found) => number = found,
            None => return Err(Refused::Subcommand(number)),
        }
        command = table.get(number);
    }
    if !command.accepts(call.args.len()) {
        return Err(Refused::Arity(number));
    }
    if call.session.limited && !command.has(flag::NO_AUTH) {
        permission::permit(call, number)?;
    }
    if call.session.only_listens() && !command.has(flag::LISTENING) {
        return Err(Refused::Listens(number));
    }
    if call.session.transaction.is_some() && command.has(flag::NO_MULTI) {
        return Err(Refused::InMulti(number));
    }
    if let Some(nodes) = &call.view.cluster {
        cluster::permit(nodes, call, number)?;
    }
    Ok(number)
}

/// Whether a command waits for the end of a pause. A command that is refused anyway does not wait.
pub(crate) fn waits(call: &Call<'_>) -> bool {
    let Ok(number) = resolve(call) else {
        return false;
    };
    let command = get(number);
    let mut flags = paused_flags(call, command);
    if command.has(flag::ABORTS)
        && let Some(transaction) = &call.session.transaction
    {
        flags |= transaction.flags;
    }
    flags & flag::UNPAUSED == 0 && call.server.turns.pause.holds(flags & flag::PAUSED != 0)
}

/// The flags of a command from the view of a pause: a script declared as read-only does not count
/// as a write.
pub(super) fn paused_flags(call: &Call<'_>, command: &Facts) -> u32 {
    let is_paused = command.has(flag::CARRIES) && command.has(flag::MAY_REPLICATE);
    if is_paused && call.server.scripts.writes_nothing(call, command.name) {
        return command.flags & !flag::PAUSED;
    }
    command.flags
}

/// The number of bytes of names and arguments that an error repeats.
const ECHO_MAX: usize = 128;

#[cold]
fn unknown(call: &Call<'_>) -> Failure {
    if let Some(why) = unsupported::why(call.arg(0)) {
        let name = call.text(0);
        return Failure::err(&format!("unknown command '{name}', which is not supported: {why}"));
    }
    let clip = |bytes: &'_ [u8], max: usize| bytes[..bytes.len().min(max)].to_vec();
    let mut shown = vec![];
    for arg in call.args.iter_from(1) {
        if shown.len() >= ECHO_MAX {
            break;
        }
        shown.push(b'\'');
        let room = ECHO_MAX - (shown.len() - 1);
        shown.extend(clip(arg, room));
        shown.extend_from_slice(b"' ");
    }
    let mut text = b"ERR unknown command '".to_vec();
    text.extend(clip(call.arg(0), ECHO_MAX));
    text.extend_from_slice(b"', with args beginning with: ");
    text.extend(shown);
    text.into()
}

#[cold]
fn unknown_subcommand(call: &Call<'_>, command: &Facts) -> Failure {
    let name = call.arg(1);
    let mut text = b"ERR unknown subcommand '".to_vec();
    text.extend_from_slice(&name[..name.len().min(ECHO_MAX)]);
    text.extend_from_slice(b"'. Try ");
    text.extend_from_slice(command.name.to_ascii_uppercase().as_bytes());
    text.extend_from_slice(b" HELP.");
    text.into()
}
