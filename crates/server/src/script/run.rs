//! One run: what surrounds it, what it is given, and what becomes of what it returns.

use super::answer::{IS_COUNTED, NOT_ENOUGH_MEMORY};
use super::flags::Flags;
use super::host::Host;
use super::running::Called;
use super::vm::Vm;
use super::{Engine, convert, failed};
use crate::commands::{Call, Done, Failure, within};
use mlua::{Function, MultiValue, Table, Value};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use wire::resp::Protocol;

/// What is run: a script or a function, compiled, and what is said of it.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    pub(super) function: Function,
    pub(super) flags: Flags,
    /// What errors name: the digest of a script, the name of a function.
    pub(super) name: &'a [u8],
    pub(super) is_function: bool,
    /// It was called so that it may not write.
    pub(super) is_readonly: bool,
}

impl Engine {
    /// Runs what is compiled, and writes what it returns.
    pub(super) fn run(&mut self, call: &mut Call<'_>, runs: &Runs<'_>, keys: usize) -> Done {
        permit(call, runs)?;
        let Some(vm) = &mut self.vm else { return Err(Failure::err("no interpreter")) };
        let called = runs.is_function.then(|| Called {
            name: runs.name.to_vec(),
            command: call.args.iter_from(0).map(<[u8]>::to_vec).collect(),
            since: std::time::Instant::now(),
        });
        let scripts = &call.shared.scripts;
        scripts.running.begin(called);
        let gate = call.shared.gate.script();
        let now_ms = call.shared.clock.micros().0 / 1_000;
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
        // The hook of a script that was killed ends whatever runs.
        let is_lost = gate.is_killed() && vm.watch(call.shared).is_err();
        let done = match outcome {
            Ok(done) if !is_lost => done,
            Ok(done) => {
                self.vm = None;
                done
            }
            Err(error) => {
                self.vm = None;
                Err(named(failed(&error).text(), runs.name))
            }
        };
        if let Some(vm) = &mut self.vm {
            vm.tidy();
        }
        self.weigh(call);
        done
    }
}

/// Whether something may be run at all.
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
    if may_fill && within::is_full(call) {
        return Err(
            "OOM allow-oom flag is not set on the script, can not run it when used memory \
                    > 'maxmemory'"
                .into(),
        );
    }
    Ok(())
}

/// Runs something; an outer error is one of the interpreter, which is to be made anew.
fn run_in(vm: &Vm, call: &mut Call<'_>, runs: &Runs<'_>, keys: usize) -> mlua::Result<Done> {
    let lua = &vm.lua;
    let table = |words: &mut dyn Iterator<Item = &[u8]>| -> mlua::Result<Table> {
        let table = lua.create_table()?;
        for (at, word) in words.enumerate() {
            table.raw_set(at + 1, lua.create_string(word)?)?;
        }
        Ok(table)
    };
    let (keys, args) = (
        table(&mut call.args.iter_from(3).take(keys))?,
        table(&mut call.args.iter_from(3 + keys))?,
    );
    let running = Arc::clone(&call.shared.scripts.running);
    vm.is_three.store(false, Relaxed);
    let rights = (runs.flags, runs.is_readonly);
    let (api, run) = if runs.is_function {
        (&vm.function_api, &vm.function_run)
    } else {
        (&vm.eval_api, &vm.eval_run)
    };
    let host = RefCell::new(Host::new(call, &running, &vm.is_three, rights));
    let (is_done, value) = lua.scope(|scope| {
        let calls = scope.create_function(|lua, args: MultiValue| {
            host.try_borrow_mut().map_err(mlua::Error::external)?.call(lua, &args)
        })?;
        let pcalls = scope.create_function(|lua, args: MultiValue| {
            host.try_borrow_mut().map_err(mlua::Error::external)?.pcall(lua, args)
        })?;
        api.raw_set("call", calls)?;
        api.raw_set("pcall", pcalls)?;
        run.call::<(bool, Value)>((&runs.function, keys, args))
    })?;
    let is_three = vm.is_three.load(Relaxed);
    let protocol = if is_three { Protocol::Resp3 } else { Protocol::Resp2 };
    if is_done {
        convert::reply(&mut call.out, &value, protocol, 0)?;
        return Ok(Ok(()));
    }
    let Value::Table(wrong) = value else {
        // Lua's own last words: no memory or no stack was left for more.
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
    // It was counted where it was made.
    call.out.error(failure.text());
    Ok(Ok(()))
}

/// The error that a table is, with its place.
fn described(wrong: &Table, name: &[u8]) -> mlua::Result<Failure> {
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

/// An error, and what it is an error of.
fn named(text: &[u8], name: &[u8]) -> Failure {
    [text, b" script: ", name].concat().into()
}
