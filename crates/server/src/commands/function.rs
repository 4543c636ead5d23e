//! FUNCTION and FCALL: libraries of functions in Lua, which `crate::scripting::engine` runs.

use super::script::count_of_keys;
use crate::call::{Call, Command, Done, Failure, wrong_arguments};
use crate::facts::Databases;
use crate::facts::flag::{
    ALLOW_BUSY, CARRIES, DENY_OOM, MAY_REPLICATE, NO_SCRIPT, READ, UNPAUSED, UNTRACED, WRITE,
};
use crate::facts::{COUNTED_KEYS, access};
use crate::scripting::engine::parts_of;
use crate::scripting::library::Library;
use crate::text::glob;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("fcall", -3, NO_SCRIPT | MAY_REPLICATE | CARRIES | UNTRACED, fcall)
        .keys(COUNTED_KEYS)
        .doc("scripting", "7.0.0", "Calls a function."),
    Command::new("fcall_ro", -3, NO_SCRIPT | READ | CARRIES | UNTRACED, fcall_ro)
        .keys(COUNTED_KEYS)
        .access(access::READS)
        .doc("scripting", "7.0.0", "Calls a function that does not write."),
    Command::container("function", NO_SCRIPT, FUNCTION).doc(
        "scripting",
        "7.0.0",
        "Libraries of functions.",
    ),
];

const FUNCTION: &[Command] =
    &[
        Command::new("function|load", -3, NO_SCRIPT | WRITE | DENY_OOM, load)
            .databases(Databases::Nothing)
            .doc("scripting", "7.0.0", "Loads a library."),
        Command::new("function|delete", 3, NO_SCRIPT | WRITE, delete)
            .databases(Databases::Nothing)
            .doc("scripting", "7.0.0", "Deletes a library."),
        Command::new("function|flush", -2, NO_SCRIPT | WRITE, flush)
            .databases(Databases::Nothing)
            .doc("scripting", "7.0.0", "Deletes all libraries."),
        Command::new("function|list", -2, NO_SCRIPT, list).doc(
            "scripting",
            "7.0.0",
            "Libraries and their functions.",
        ),
        Command::new("function|stats", 2, NO_SCRIPT | UNPAUSED | ALLOW_BUSY, stats).doc(
            "scripting",
            "7.0.0",
            "The running function, and the number of functions.",
        ),
        Command::new("function|kill", 2, NO_SCRIPT | UNPAUSED | ALLOW_BUSY, kill).doc(
            "scripting",
            "7.0.0",
            "Ends the running function, if it has not written yet.",
        ),
        Command::new("function|dump", 2, NO_SCRIPT, dump).doc(
            "scripting",
            "7.0.0",
            "All libraries as one text, for FUNCTION RESTORE of this server.",
        ),
        Command::new("function|restore", -3, NO_SCRIPT | WRITE | DENY_OOM, restore)
            .databases(Databases::Nothing)
            .doc("scripting", "7.0.0", "Loads libraries that FUNCTION DUMP wrote."),
        Command::new("function|help", 2, NO_SCRIPT, help).doc(
            "scripting",
            "7.0.0",
            "The subcommands of FUNCTION.",
        ),
    ];

fn fcall(call: &mut Call<'_>) -> Done {
    call_function(call, false)
}

fn fcall_ro(call: &mut Call<'_>) -> Done {
    call_function(call, true)
}

fn call_function(call: &mut Call<'_>, is_readonly: bool) -> Done {
    call.alone(|call| {
        let mut engine = call.server.scripts.lock();
        let registered = engine.function(call.arg(1)).ok_or("ERR Function not found")?;
        let keys = count_of_keys(call, "ERR Bad number of keys provided")?;
        engine.fcall(call, &registered, keys, is_readonly)
    })
}

/// `FUNCTION LOAD [REPLACE] code`.
fn load(call: &mut Call<'_>) -> Done {
    let last = call.args.len() - 1;
    let mut replaces = false;
    for at in 2..last {
        if !call.is(at, "replace") {
            return Err(Failure::err(&format!("Unknown option given: {}", call.text(at))));
        }
        replaces = true;
    }
    let mut engine = call.server.scripts.lock();
    let name = engine.load_library(parts_of(call), call.arg(last), replaces)?;
    drop(engine);
    call.out.bulk(name.as_bytes());
    Ok(())
}

fn delete(call: &mut Call<'_>) -> Done {
    let name = call.text(2);
    if !call.server.scripts.lock().delete_library(&call.server.scripts, &name) {
        return Err(Failure::err("Library not found"));
    }
    call.ok()
}

fn flush(call: &mut Call<'_>) -> Done {
    if call.args.len() > 3 {
        return Err(wrong_arguments(call));
    }
    if call.args.len() == 3 && !call.is(2, "sync") && !call.is(2, "async") {
        return Err(Failure::err("FUNCTION FLUSH only supports SYNC|ASYNC option"));
    }
    call.server.scripts.lock().flush_libraries(&call.server.scripts);
    call.ok()
}

/// `FUNCTION LIST [LIBRARYNAME pattern] [WITHCODE]`.
fn list(call: &mut Call<'_>) -> Done {
    let (mut pattern, mut with_code, mut at) = (None, false, 2);
    while at < call.args.len() {
        if !with_code && call.is(at, "withcode") {
            with_code = true;
        } else if pattern.is_none() && call.is(at, "libraryname") {
            at += 1;
            let given = call.args.get(at);
            pattern = Some(given.ok_or("ERR library name argument was not given")?);
        } else {
            return Err(Failure::err(&format!("Unknown argument {}", call.text(at))));
        }
        at += 1;
    }
    let engine = call.server.scripts.lock();
    let chosen: Vec<(&String, &Library)> = (engine.libraries().iter())
        .filter(|(name, _)| pattern.is_none_or(|it| glob::matches_ignore_case(it, name.as_bytes())))
        .collect();
    call.out.array(chosen.len());
    for (name, library) in chosen {
        show(call, name, library, with_code);
    }
    Ok(())
}

fn show(call: &mut Call<'_>, name: &str, library: &Library, with_code: bool) {
    let out = &mut call.out;
    out.map(3 + usize::from(with_code));
    out.bulk(b"library_name");
    out.bulk(name.as_bytes());
    out.bulk(b"engine");
    out.bulk(b"LUA");
    out.bulk(b"functions");
    out.array(library.functions.len());
    for function in library.functions.values() {
        out.map(3);
        out.bulk(b"name");
        out.bulk(function.name.as_bytes());
        out.bulk(b"description");
        match &function.description {
            Some(text) => out.bulk(text),
            None => out.null(),
        }
        out.bulk(b"flags");
        let flags: Vec<&str> = function.flags.names().collect();
        out.set(flags.len());
        for flag in flags {
            out.simple(flag);
        }
    }
    if with_code {
        out.bulk(b"library_code");
        out.bulk(&library.code);
    }
}

fn stats(call: &mut Call<'_>) -> Done {
    let scripts = &call.server.scripts;
    let running = scripts.running.function()?;
    let out = &mut call.out;
    out.map(2);
    out.bulk(b"running_script");
    match running {
        None => out.null(),
        Some(called) => {
            out.map(3);
            out.bulk(b"name");
            out.bulk(called.name.as_bytes());
            out.bulk(b"command");
            let words = called.command.command();
            out.array(words.map_or(0, |words| words.len()));
            for word in words.iter().flat_map(|words| words.iter_from(0)) {
                out.bulk(word);
            }
            out.bulk(b"duration_ms");
            let now_ms = call.server.clock.micros().0 / 1_000;
            let since_ms = call.server.turns.gate.script().since_ms().unwrap_or(now_ms);
            out.integer(now_ms.saturating_sub(since_ms) as i64);
        }
    }
    out.bulk(b"engines");
    out.map(1);
    out.bulk(b"LUA");
    out.map(2);
    let load = |count: &std::sync::atomic::AtomicU64| {
        count.load(std::sync::atomic::Ordering::Relaxed) as i64
    };
    out.bulk(b"libraries_count");
    out.integer(load(&scripts.usage.libraries));
    out.bulk(b"functions_count");
    out.integer(load(&scripts.usage.functions));
    Ok(())
}

fn kill(call: &mut Call<'_>) -> Done {
    call.server.scripts.running.may_end(true)?;
    call.server.turns.kill_script()?;
    call.ok()
}

/// The first bytes of a dump.
const DUMP_HEAD: &[u8] = b"larder functions 1\n";
const BAD_DUMP: &str = "ERR DUMP payload version or checksum are wrong";

/// The dump: a head, each library as its length and its text, and a checksum of all these bytes.
fn dump(call: &mut Call<'_>) -> Done {
    let mut bytes = DUMP_HEAD.to_vec();
    for library in call.server.scripts.lock().libraries().values() {
        bytes.extend_from_slice(&(library.code.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&library.code);
    }
    let sum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    call.out.bulk(&bytes);
    Ok(())
}

/// The texts of the libraries in a dump; `None` if the dump is damaged.
fn read_dump(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (bytes, sum) = bytes.split_last_chunk::<4>()?;
    let mut rest = bytes.strip_prefix(DUMP_HEAD)?;
    (crc32fast::hash(bytes) == u32::from_le_bytes(*sum)).then_some(())?;
    let mut libraries = vec![];
    while let Some((len, behind)) = rest.split_first_chunk::<4>() {
        let (code, behind) = behind.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        libraries.push(code);
        rest = behind;
    }
    rest.is_empty().then_some(libraries)
}

/// `FUNCTION RESTORE dump [FLUSH|APPEND|REPLACE]`.
fn restore(call: &mut Call<'_>) -> Done {
    if call.args.len() > 4 {
        return Err(wrong_arguments(call));
    }
    let libraries = read_dump(call.arg(2)).ok_or(BAD_DUMP)?;
    let replaces = call.is(3, "replace");
    let is_known = replaces || call.is(3, "append") || call.is(3, "flush");
    if call.args.len() == 4 && !is_known {
        return Err(Failure::err(
            "Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
        ));
    }
    let mut engine = call.server.scripts.lock();
    if call.is(3, "flush") {
        engine.flush_libraries(&call.server.scripts);
    }
    for code in libraries {
        engine.load_library(parts_of(call), code, replaces)?;
    }
    call.ok()
}

fn help(call: &mut Call<'_>) -> Done {
    call.help(&[
        "FUNCTION <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "LOAD [REPLACE] <code>",
        "    Load a library.",
        "DELETE <library>",
        "    Delete a library.",
        "FLUSH [ASYNC|SYNC]",
        "    Delete all libraries.",
        "LIST [LIBRARYNAME <pattern>] [WITHCODE]",
        "    Libraries and their functions.",
        "STATS",
        "    The running function, and the number of functions.",
        "KILL",
        "    End the running function, if it has not written yet.",
        "DUMP | RESTORE <dump> [FLUSH|APPEND|REPLACE]",
        "    Write all libraries as one text, or load such a text.",
        "HELP",
        "    Print this help.",
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_that_was_changed_is_refused() {
        let mut bytes = DUMP_HEAD.to_vec();
        bytes.extend_from_slice(&[2, 0, 0, 0, b'a', b'b']);
        let sum = crc32fast::hash(&bytes).to_le_bytes();
        let whole = [bytes.as_slice(), &sum].concat();
        assert_eq!(read_dump(&whole), Some(vec![&b"ab"[..]]));
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert_eq!(read_dump(&changed), None, "{at}");
        }
        assert_eq!(read_dump(b""), None);
    }
}
