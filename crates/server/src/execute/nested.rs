//! Commands within a command: those that EXEC or a script runs.
//!
//! Each of them is looked up, checked, counted and shown to monitors, as if its client had sent it
//! alone.

use super::admit::Refused;
use super::run::run_timed;
use super::{missing_keys, monitor, tracking};
use crate::call::{Call, Done, Failure, OUT_OF_MEMORY, handler, size_check};
use crate::facts::flag::{DENY_OOM, MAY_REPLICATE, NO_EXEC, NO_SCRIPT, WRITE};
use crate::facts::table::{find, get};
use crate::facts::unsupported;
use crate::services::monitors::{MONITOR, TRACE};
use crate::services::stats::PerCommand;
use crate::session::Session;
use wire::resp;
use wire::slots::slot;

/// A brief command takes less than this many microseconds. If the slow log keeps only longer
/// commands, brief commands are not timed.
const LONG_US: i64 = 1_000;

/// The counters of a command in the thread that runs it.
fn count<'a>(call: &Call<'a>, number: u16) -> &'a PerCommand {
    &call.server.stats.workers[call.session.client.place.worker].commands[usize::from(number)]
}

/// Runs a command that has been checked, and counts it.
pub(crate) fn counted(call: &mut Call<'_>, number: u16) -> Done {
    count(call, number).calls.add(1);
    let result = carry_out(call, number, |call, number| {
        let is_long = call.view.settings.slowlog_slower_than >= LONG_US;
        let is_untimed = get(number).is_brief() && is_long;
        if is_untimed { handler(number)(call) } else { run_timed(call, number).0 }
    });
    failing(call, number, result)
}

/// Repeats a blocked command, which was counted when it arrived.
pub(crate) fn tried_again(call: &mut Call<'_>, number: u16) -> Done {
    let result = carry_out(call, number, |call, number| handler(number)(call));
    failing(call, number, result)
}

/// Counts a command if it failed.
fn failing(call: &Call<'_>, number: u16, result: Done) -> Done {
    if result.is_err() {
        count(call, number).failed.add(1);
    }
    result
}

/// Runs a command outside of a batch by `run`, and sends the invalidations and notifications that a
/// batch would send.
pub(crate) fn carry_out(
    call: &mut Call<'_>,
    number: u16,
    run: impl FnOnce(&mut Call<'_>, u16) -> Done,
) -> Done {
    let (tracked, mark) = (call.server.tracking.is_active(), call.out.mark());
    if tracked {
        tracking::before(call);
    }
    let looks = missing_keys::looks_for_absent(call.view);
    let absent = if looks { missing_keys::before(call) } else { vec![] };
    let result = run(call, number);
    if tracked {
        tracking::after(call, mark);
    }
    if looks {
        missing_keys::after(call, &absent);
    }
    result
}

/// The permissions of a script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights {
    /// The script may not write.
    pub(crate) is_readonly: bool,
    /// Memory is full, so commands that may add to it are refused.
    pub(crate) is_full: bool,
    /// Its commands may use keys of several slots.
    pub(crate) crosses_slots: bool,
}

/// Runs a command of a script. `writes` is called before a command that may write, and returns
/// whether to run it. An error is counted.
pub(crate) fn run(
    call: &mut Call<'_>,
    rights: Rights,
    slot: &mut Option<u16>,
    writes: impl FnOnce() -> bool,
) -> Done {
    let result = permit(call, rights, slot).and_then(|number| {
        if get(number).has(WRITE) && !writes() {
            return Ok(());
        }
        if call.server.monitors.is_wanted(MONITOR | TRACE) {
            monitor::show(call);
        }
        counted(call, number)
    });
    if let Err(failure) = &result {
        call.server.stats.error(failure.text());
    }
    result
}

fn permit(call: &Call<'_>, rights: Rights, slot: &mut Option<u16>) -> Result<u16, Failure> {
    let number = match super::admit::resolve(call) {
        Ok(number) => number,
        Err(refused) => return Err(refusal(call, refused)),
    };
    let command = get(number);
    let refused = if !is_scripted(call, number) {
        Some("ERR This Redis command is not allowed from script")
    } else if rights.is_readonly && command.has(WRITE | MAY_REPLICATE) {
        Some("ERR Write commands are not allowed from read-only scripts.")
    } else {
        (rights.is_full && command.has(DENY_OOM)).then_some(OUT_OF_MEMORY)
    };
    if let Some(text) = refused {
        count_rejected(call, number);
        return Err(text.into());
    }
    if call.view.cluster.is_some() && !rights.crosses_slots {
        keep_to_slot(call, number, slot)?;
    }
    Ok(number)
}

/// Whether a script may run a command. A subcommand is recognised by its name, which is longer than
/// the word in the call; then its parent counts as well.
fn is_scripted(call: &Call<'_>, number: u16) -> bool {
    let command = get(number);
    let is_whole = command.name.len() == call.arg(0).len();
    let parent = if is_whole { None } else { find(call.arg(0)).map(get) };
    !command.has(NO_SCRIPT | NO_EXEC) && !parent.is_some_and(|parent| parent.has(NO_SCRIPT))
}

/// The slot of the first key that a call names; `None` outside of a cluster.
pub(crate) fn slot_of_keys(call: &Call<'_>) -> Option<u16> {
    call.view.cluster.as_ref()?;
    let command = find(call.arg(0)).map(get)?;
    let mut places = command.key_places(call.args.len(), |at| call.args.get(at));
    places.next().and_then(|at| call.args.get(at)).map(slot)
}

/// Keeps a script to the slot of its first key, which it need not have declared.
fn keep_to_slot(call: &Call<'_>, number: u16, known: &mut Option<u16>) -> Result<(), Failure> {
    for at in get(number).key_places(call.args.len(), |at| call.args.get(at)) {
        let own = slot(call.arg(at));
        if *known.get_or_insert(own) != own {
            return Err(CROSS_SLOT.into());
        }
    }
    Ok(())
}

const CROSS_SLOT: &str = "ERR Script attempted to access keys that do not hash to the same slot";

const UNKNOWN: &str = "Unknown Redis command called from script";

/// Counts a failure of a command that wrote its error reply itself.
pub(crate) fn count_failed(call: &Call<'_>) {
    if let Some(number) = find(call.arg(0)) {
        count(call, number).failed.add(1);
    }
}

fn count_rejected(call: &Call<'_>, number: u16) {
    count(call, number).rejected.add(1);
}

/// The error that a script gets for a refused command.
#[cold]
fn refusal(call: &Call<'_>, refused: Refused) -> Failure {
    if let Some(number) = refused.number() {
        count_rejected(call, number);
    }
    match refused {
        Refused::Unknown | Refused::Subcommand(_) => match unsupported::why(call.arg(0)) {
            Some(why) => {
                Failure::err(&format!("{UNKNOWN}: '{}' is not supported: {why}", call.text(0)))
            }
            None => Failure::err(UNKNOWN),
        },
        Refused::Arity(_) => "ERR Wrong number of args calling Redis command from script".into(),
        Refused::Denied(number, _) | Refused::Stranger(number) if !is_scripted(call, number) => {
            "ERR This Redis command is not allowed from script".into()
        }
        Refused::Denied(..) => {
            let told = refused.tell(call);
            let text = told.text().strip_prefix(b"NOPERM ").unwrap_or(told.text());
            [b"ERR ACL failure in script: ", text].concat().into()
        }
        Refused::Elsewhere(_, crate::settings::cluster::Elsewhere::Cross) => CROSS_SLOT.into(),
        Refused::Elsewhere(..) => {
            "ERR Script attempted to access a non local key in a cluster node".into()
        }
        other => other.tell(call),
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
