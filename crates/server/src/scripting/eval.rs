//! One run of a script or a function: its preparation, its arguments, and its result.

use super::answer::IS_COUNTED;
use super::convert;
use super::convert::word;
use super::engine::{Engine, failed};
use super::failing::NOT_ENOUGH_MEMORY;
use super::flags::Flags;
use super::host::Host;
use super::library::folded;
use super::look::Work;
use super::vm::Vm;
use crate::call::{Call, Done, Failure};
use crate::execute::nested;
use mlua::{Table, Value, Variadic};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use wire::resp::{Command, Protocol};

/// The largest number of words that are passed one by one. More words are passed in tables.
const WORDS_MAX: usize = 200;

/// A compiled script or function to run.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    pub(super) flags: Flags,
    /// Its name in errors: the digest of a script, or the name of a function.
    pub(super) name: &'a str,
    pub(super) is_function: bool,
    /// Whether the caller does not let it write.
    pub(super) is_readonly: bool,
}

impl Engine {
    /// Runs the compiled code, and writes its result.
    pub(super) fn run(&mut self, call: &mut Call<'_>, runs: &Runs<'_>, keys: usize) -> Done {
        permit(call, runs)?;
        if call.server.process.is_stopping() {
            return Err(Failure::err("the server ends"));
        }
        let Some(vm) = &mut self.vm else {
            return Err(Failure::err("no interpreter"));
        };
        let scripts = &call.server.scripts;
        if runs.is_function {
            scripts.running.begin_function(runs.name, call.args);
        } else {
            scripts.running.begin();
        }
        let gate = call.server.turns.gate.script();
        let now_ms = call.server.clock.micros().0 / 1_000;
        gate.begin(now_ms);
        let session = &mut *call.session;
        let (db, was_executing) = (session.db, session.executing);
        session.executing = true;
        session.scripted = true;
        let caching = session.tracks.as_ref().and_then(|tracks| tracks.caching);
        let outcome = catch_unwind(AssertUnwindSafe(|| run_in(vm, call, runs, keys)));
        let lost = || mlua::Error::runtime("the interpreter is lost");
        let outcome = outcome.unwrap_or_else(|_| Err(lost()));
        let session = &mut *call.session;
        session.scripted = false;
        session.executing = was_executing;
        if session.db != db {
            session.set_db(db, call.view);
        }
        if let Some(tracks) = &mut session.tracks {
            tracks.caching = caching;
        }
        scripts.running.end();
        gate.end();
        let done = match outcome {
            Ok(done) => done,
            Err(error) => {
                self.vm = None;
                Err(named(failed(&error).text(), runs.name))
            }
        };
        let bytes = self.vm.as_mut().map_or(0, Vm::tidy);
        call.server.scripts.usage.vm.store(bytes as u64, Relaxed);
        done
    }
}

/// Checks whether the code may run now.
fn permit(call: &Call<'_>, runs: &Runs<'_>) -> Result<(), Failure> {
    let flags = runs.flags;
    if flags.has(Flags::NO_CLUSTER) && call.view.cluster.is_some() {
        return Err(Failure::err("Can not run script on cluster, 'no-cluster' flag is set."));
    }
    if flags.has(Flags::UNSAID) {
        return Ok(());
    }
    if runs.is_readonly && !flags.has(Flags::NO_WRITES) {
        let text = "Can not execute a script with write flag using *_ro command.";
        return Err(Failure::err(text));
    }
    let may_fill = !flags.has(Flags::ALLOW_OOM) && !flags.has(Flags::NO_WRITES);
    if may_fill && nested::is_full(call) {
        return Err(
            "OOM allow-oom flag is not set on the script, can not run it when used memory \
                    > 'maxmemory'"
                .into(),
        );
    }
    Ok(())
}

/// Runs the code. An outer error means that the interpreter must be made anew.
fn run_in(vm: &mut Vm, call: &mut Call<'_>, runs: &Runs<'_>, keys: usize) -> mlua::Result<Done> {
    let mut buffers = std::mem::take(&mut vm.buffers);
    vm.is_three.store(false, Relaxed);
    let rights = (runs.flags, runs.is_readonly);
    let words = call.args;
    let mut host = Host::new(call, (&vm.is_three, &mut buffers), rights);
    let ran = vm.unlimited(|| host.serve(|| start(vm, runs, words, keys)));
    vm.buffers = buffers;
    let (is_done, value) = ran??;
    let is_three = vm.is_three.load(Relaxed);
    let protocol = if is_three { Protocol::Resp3 } else { Protocol::Resp2 };
    if is_done {
        if let Value::Table(table) = &value
            && let Value::String(text) = table.raw_get::<Value>("err")?
        {
            nested::count_failed(call);
            if table.raw_get::<Value>(IS_COUNTED)?.is_nil() {
                call.server.stats.error(&text.as_bytes());
            }
        }
        let mark = call.out.mark();
        let mut work = Work::replying(&vm.lua);
        let mut reply =
            || convert::reply(&mut call.out, &value, (protocol, &vm.flat), &mut work, 0);
        let replied = if value.is_table() { vm.unlimited(reply)? } else { reply() };
        return Ok(replied.map_err(|oops| {
            call.out.rewind(mark);
            named(failed(&oops.into()).text(), runs.name)
        }));
    }
    let Value::Table(wrong) = value else {
        // This is Lua's own error: it had no memory or stack left for more.
        let text = value.to_string()?;
        if text.contains(NOT_ENOUGH_MEMORY) {
            return Err(mlua::Error::MemoryError(text));
        }
        return Ok(Err(named(format!("ERR {text}").as_bytes(), runs.name)));
    };
    let failure = described(&wrong, runs.name)?;
    if wrong.raw_get::<Value>(IS_COUNTED)?.is_nil() {
        return Ok(Err(failure));
    }
    // The error has been counted where it arose.
    nested::count_failed(call);
    call.out.error(failure.text());
    Ok(Ok(()))
}

/// Passes the code's name, keys and arguments to the prelude. Returns whether it succeeded, and its
/// result or its error.
fn start(vm: &Vm, runs: &Runs<'_>, words: Command<'_>, keys: usize) -> mlua::Result<(bool, Value)> {
    let run = if runs.is_function { &vm.function_run } else { &vm.eval_run };
    let name = folded(runs.name);
    if let (4, Some(only)) = (words.len(), words.get(3)) {
        return run.call((&*name, keys, word(only)));
    }
    if words.len() <= WORDS_MAX {
        let words: Vec<_> = words.iter_from(3).map(word).collect();
        return run.call((&*name, keys, Variadic::from(words)));
    }
    let table = |words: &mut dyn Iterator<Item = &[u8]>| -> mlua::Result<Table> {
        let table = vm.lua.create_table()?;
        for (at, text) in words.enumerate() {
            table.raw_set(at + 1, word(text))?;
        }
        Ok(table)
    };
    let args = table(&mut words.iter_from(3 + keys))?;
    run.call((&*name, table(&mut words.iter_from(3).take(keys))?, args))
}

/// The error in a table, with its place.
fn described(wrong: &Table, name: &str) -> mlua::Result<Failure> {
    let text = match wrong.raw_get::<Value>("err")? {
        Value::String(text) => text.as_bytes().to_vec(),
        _ => b"ERR unknown error".to_vec(),
    };
    let mut text = named(&text, name).text().to_vec();
    let (source, line) = (wrong.raw_get::<Value>("source")?, wrong.raw_get::<Value>("line")?);
    if let Value::String(source) = source {
        text.extend_from_slice(b", on ");
        text.extend_from_slice(&source.as_bytes());
        text.extend_from_slice(format!(":{}.", line.to_string()?).as_bytes());
    }
    Ok(text.into())
}

/// An error text, with the name of the failed code.
fn named(text: &[u8], name: &str) -> Failure {
    [text, b" script: ", name.as_bytes()].concat().into()
}
