//! EVAL and related commands: scripts in Lua, which `crate::scripting::engine` runs.

use crate::call::{Call, Command, Done, Failure, NOT_AN_INTEGER};
use crate::facts::flag::{ALLOW_BUSY, CARRIES, MAY_REPLICATE, NO_SCRIPT, READ, UNPAUSED, UNTRACED};
use crate::facts::{COUNTED_KEYS, access};
use crate::scripting::digest::Digest;
use crate::scripting::engine::NO_SCRIPT as UNKNOWN;
use wire::resp::parse_integer;

/// The flags of commands that run scripts: EVAL and related ones, and their read-only forms.
const RUNS: u32 = NO_SCRIPT | MAY_REPLICATE | CARRIES | UNTRACED;
const READS: u32 = NO_SCRIPT | READ | CARRIES | UNTRACED;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("eval", -3, RUNS, eval).keys(COUNTED_KEYS).doc(
        "scripting",
        "2.6.0",
        "Runs a script.",
    ),
    Command::new("evalsha", -3, RUNS, evalsha).keys(COUNTED_KEYS).doc(
        "scripting",
        "2.6.0",
        "Runs a stored script, by its SHA-1.",
    ),
    Command::new("eval_ro", -3, READS, eval_ro).keys(COUNTED_KEYS).access(access::READS).doc(
        "scripting",
        "7.0.0",
        "Runs a script that may not write.",
    ),
    Command::new("evalsha_ro", -3, READS, evalsha_ro).keys(COUNTED_KEYS).access(access::READS).doc(
        "scripting",
        "7.0.0",
        "Runs a stored script that may not write.",
    ),
    Command::container("script", NO_SCRIPT, SCRIPT).doc("scripting", "2.6.0", "Stored scripts."),
];

const SCRIPT: &[Command] = &[
    Command::new("script|load", 3, NO_SCRIPT, load).doc("scripting", "2.6.0", "Stores a script."),
    Command::new("script|exists", -3, NO_SCRIPT, exists).doc(
        "scripting",
        "2.6.0",
        "Whether scripts are stored, by their SHA-1.",
    ),
    Command::new("script|flush", -2, NO_SCRIPT, flush).doc(
        "scripting",
        "2.6.0",
        "Removes all scripts.",
    ),
    Command::new("script|kill", 2, NO_SCRIPT | UNPAUSED | ALLOW_BUSY, kill).doc(
        "scripting",
        "2.6.0",
        "Ends the running script, if it has not written yet.",
    ),
    Command::new("script|debug", 3, NO_SCRIPT, debug).doc(
        "scripting",
        "3.2.0",
        "Refused: there is no debugger.",
    ),
    Command::new("script|help", 2, NO_SCRIPT, help).doc(
        "scripting",
        "5.0.0",
        "The subcommands of SCRIPT.",
    ),
];

/// The number of keys for a script or function, from argument 2; the error `no_number` if that is
/// no integer.
pub(super) fn count_of_keys(call: &Call<'_>, no_number: &'static str) -> Result<usize, Failure> {
    let count = parse_integer(call.arg(2)).ok_or(no_number)?;
    if count > call.args.len() as i64 - 3 {
        return Err(Failure::err("Number of keys can't be greater than number of args"));
    }
    usize::try_from(count).map_err(|_| Failure::err("Number of keys can't be negative"))
}

fn eval(call: &mut Call<'_>) -> Done {
    eval_text(call, false)
}

fn eval_ro(call: &mut Call<'_>) -> Done {
    eval_text(call, true)
}

fn eval_text(call: &mut Call<'_>, is_readonly: bool) -> Done {
    let keys = count_of_keys(call, NOT_AN_INTEGER)?;
    call.alone(|call| {
        let mut engine = call.server.scripts.lock();
        let (digest, flags) = engine.load(call, call.arg(1), false)?;
        engine.eval(call, (&digest, flags), keys, is_readonly)
    })
}

fn evalsha(call: &mut Call<'_>) -> Done {
    eval_known(call, false)
}

fn evalsha_ro(call: &mut Call<'_>) -> Done {
    eval_known(call, true)
}

fn eval_known(call: &mut Call<'_>, is_readonly: bool) -> Done {
    let digest = read_digest(call.arg(1)).ok_or(UNKNOWN)?;
    let keys = count_of_keys(call, NOT_AN_INTEGER)?;
    call.alone(|call| {
        let mut engine = call.server.scripts.lock();
        let flags = engine.flags(&digest).ok_or(UNKNOWN)?;
        engine.eval(call, (&digest, flags), keys, is_readonly)
    })
}

/// A digest in any case; `None` if the text has another length.
fn read_digest(text: &[u8]) -> Option<Digest> {
    let digest: Digest = text.try_into().ok()?;
    Some(digest.map(|letter| letter.to_ascii_lowercase()))
}

fn load(call: &mut Call<'_>) -> Done {
    let (digest, _) = call.server.scripts.lock().load(call, call.arg(2), true)?;
    call.out.bulk(&digest);
    Ok(())
}

fn exists(call: &mut Call<'_>) -> Done {
    let engine = call.server.scripts.lock();
    call.out.array(call.args.len() - 2);
    for text in call.args.iter_from(2) {
        let is_known = read_digest(text).is_some_and(|digest| engine.knows(&digest));
        call.out.integer(i64::from(is_known));
    }
    Ok(())
}

fn flush(call: &mut Call<'_>) -> Done {
    if call.args.len() > 3 || call.args.len() == 3 && !call.is(2, "sync") && !call.is(2, "async") {
        return Err(Failure::err("SCRIPT FLUSH only support SYNC|ASYNC option"));
    }
    call.server.scripts.lock().flush(call);
    call.ok()
}

fn kill(call: &mut Call<'_>) -> Done {
    call.server.scripts.running.may_end(false)?;
    call.server.turns.kill_script()?;
    call.ok()
}

fn debug(_: &mut Call<'_>) -> Done {
    Err(Failure::err("SCRIPT DEBUG is not supported: there is no debugger"))
}

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "EXISTS <sha1> [<sha1> ...]",
        "    Whether scripts are stored.",
        "FLUSH [ASYNC|SYNC]",
        "    Remove all scripts.",
        "KILL",
        "    End the running script, if it has not written yet.",
        "LOAD <script>",
        "    Store a script without running it.",
        "HELP",
        "    Print this help.",
    ])
}
