//! The functions by which a running script calls the server: `redis.call` and related ones.
//!
//! A command of a script runs like one between MULTI and EXEC: it is looked up, checked for
//! permissions, counted and shown to monitors. Its reply is decoded and becomes a Lua value.
//!
//! The Lua functions are made once, with the interpreter. A thread that runs a script connects them
//! to its host with [`Host::serve`]. With a memory limit, every string that Rust gives the
//! interpreter costs several times as much. So the limit is lifted while a short reply becomes a
//! value.

use super::answer::Wrong;
use super::convert;
use super::flags::Flags;
use super::look::{Looks, Work};
use super::number::shortest;
use crate::call::Call;
use crate::execute::nested;
use crate::execute::request::{Origin, Outcome, Script};
use mlua::{Lua, MultiValue, Result, Table, Value};
use scoped_tls_hkt::scoped_thread_local;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use wire::resp::{Encoder, Protocol, Reply, Words};

const NO_ARGUMENTS: &str = "Please specify at least one argument for this redis lib call";
const WRONG_ARGUMENTS: &str = "Lua redis lib command arguments must be strings or integers";
/// The memory in bytes that a command and its reply may keep for the next one.
const KEPT_MAX: usize = 64 << 10;

scoped_thread_local!(static mut HOST: for<'a> &'a mut (dyn Serves + 'a));

/// The requests that the Lua functions make to their host.
trait Serves {
    /// Runs a command. `redis.call` raises its error; for `redis.pcall` the error is a table.
    fn carry_out(&mut self, lua: &Lua, args: Given<'_>, is_raised: bool) -> Result<Value>;
    /// `redis.acl_check_cmd`.
    fn may_call(&mut self, lua: &Lua, args: Given<'_>) -> Result<bool>;
}

/// The arguments that a script gave. They are in a table if there are too many for a Rust function.
#[derive(Clone, Copy, Debug)]
enum Given<'a> {
    Values(&'a MultiValue),
    Table(&'a Table, usize),
}

impl Given<'_> {
    fn len(self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::Table(_, len) => len,
        }
    }

    fn value(self, at: usize) -> Result<Value> {
        match self {
            Self::Values(values) => Ok(values.get(at).cloned().unwrap_or(Value::Nil)),
            Self::Table(table, _) => table.raw_get(at + 1),
        }
    }
}

/// Adds the functions for scripts and functions. Their forms with tables of arguments are only for
/// the prelude.
pub(super) fn register(lua: &Lua, apis: [&Table; 2], rust: &Table) -> Result<()> {
    for (name, is_raised) in [("call", true), ("pcall", false)] {
        let carry_out = move |lua: &Lua, args: MultiValue| {
            asked(|host| host.carry_out(lua, Given::Values(&args), is_raised))
        };
        let function = lua.create_function(carry_out)?;
        apis.iter().try_for_each(|api| api.raw_set(name, &function))?;
        let carry_out = move |lua: &Lua, (args, len): (Table, usize)| {
            asked(|host| host.carry_out(lua, Given::Table(&args, len), is_raised))
        };
        rust.raw_set(format!("{name}_many"), lua.create_function(carry_out)?)?;
    }
    let may_call =
        |lua: &Lua, args: MultiValue| asked(|host| host.may_call(lua, Given::Values(&args)));
    let function = lua.create_function(may_call)?;
    apis.iter().try_for_each(|api| api.raw_set("acl_check_cmd", &function))
}

fn asked<R>(ask: impl FnOnce(&mut dyn Serves) -> Result<R>) -> Result<R> {
    if !HOST.is_set() {
        return Err(Wrong::new("a script can call commands only while it runs").raised());
    }
    HOST.with(ask)
}

/// The server, as the running script sees it.
#[derive(Debug)]
pub(super) struct Host<'h, 'a> {
    call: &'h mut Call<'a>,
    script: Script,
    /// Whether it chose RESP3 for the replies that it gets.
    is_three: &'h AtomicBool,
    buffers: &'h mut Buffers,
}

/// The buffers for a command and its reply.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    command: Words,
    reply: Vec<u8>,
}

impl<'h, 'a> Host<'h, 'a> {
    pub(super) fn new(
        call: &'h mut Call<'a>,
        (is_three, buffers): (&'h AtomicBool, &'h mut Buffers),
        (flags, is_readonly): (Flags, bool),
    ) -> Self {
        let script = Script {
            is_readonly: is_readonly || flags.has(Flags::NO_WRITES),
            is_full: !flags.has(Flags::ALLOW_OOM) && nested::is_full(call),
            crosses_slots: flags.has(Flags::ALLOW_CROSS_SLOT.with(Flags::UNSAID)),
            slot: nested::slot_of_keys(call).into(),
            failure: None.into(),
        };
        Self { call, script, is_three, buffers }
    }

    /// Runs `f`, and connects the Lua functions to this host meanwhile.
    pub(super) fn serve<R>(&mut self, f: impl FnOnce() -> R) -> R {
        HOST.set(self, f)
    }

    /// Runs the command in these arguments.
    fn ask(&mut self, lua: &Lua, args: Given<'_>) -> Result<std::result::Result<Value, Wrong>> {
        if let Err(wrong) = self.read(lua, args)? {
            return Ok(Err(wrong));
        }
        let Buffers { command, reply } = &mut *self.buffers;
        let Some(args) = command.command() else {
            return Ok(Err(Wrong::new(NO_ARGUMENTS)));
        };
        let is_three = self.is_three.load(Relaxed);
        let protocol = if is_three { Protocol::Resp3 } else { Protocol::Resp2 };
        reply.clear();
        let call = &mut *self.call;
        let mut inner = Call {
            args,
            out: Encoder::new(reply, protocol),
            session: &mut *call.session,
            server: call.server,
            view: call.view,
            now: call.now,
        };
        let outcome = nested::run(&mut inner, Origin::Script(&self.script));
        let failure = self.script.failure.take();
        if let Some(looks) = lua.app_data_ref::<Looks>() {
            looks.look_if_late(outcome == Outcome::Postponed)?;
        }
        let counted = |text: &[u8]| Wrong { text: text.to_vec(), is_counted: true };
        let told = match failure {
            Some(failure) => Err(counted(failure.text())),
            None => match value(lua, reply, protocol)? {
                Some(Ok(value)) => Ok(value),
                Some(Err(text)) => Err(counted(text)),
                None => Err(Wrong::new("the command returns no reply to a script")),
            },
        };
        command.shrink_to(KEPT_MAX);
        reply.clear();
        reply.shrink_to(KEPT_MAX);
        Ok(told)
    }

    /// Builds the command from its arguments. A long one counts with the script's memory.
    fn read(&mut self, lua: &Lua, args: Given<'_>) -> Result<std::result::Result<(), Wrong>> {
        let command = &mut self.buffers.command;
        command.clear();
        if args.len() == 0 {
            return Ok(Err(Wrong::new(NO_ARGUMENTS)));
        }
        let (mut work, mut bytes) = (None, 0);
        for at in 0..args.len() {
            match args.value(at)? {
                Value::String(text) => {
                    let text = text.as_bytes();
                    bytes += text.len();
                    if bytes > KEPT_MAX {
                        let work = work.get_or_insert_with(|| Work::asking(lua));
                        work.take(std::mem::take(&mut bytes))?;
                    }
                    command.push(&text);
                }
                Value::Integer(number) => {
                    command.push(itoa::Buffer::new().format(number).as_bytes());
                }
                Value::Number(number) => command.push(shortest(number).as_bytes()),
                _ => return Ok(Err(Wrong::new(WRONG_ARGUMENTS))),
            }
        }
        Ok(Ok(()))
    }
}

impl Serves for Host<'_, '_> {
    fn carry_out(&mut self, lua: &Lua, args: Given<'_>, is_raised: bool) -> Result<Value> {
        match self.ask(lua, args)? {
            Ok(value) => Ok(value),
            Err(wrong) if is_raised => Err(wrong.raised()),
            Err(wrong) => wrong.table(lua).map(Value::Table),
        }
    }

    fn may_call(&mut self, lua: &Lua, args: Given<'_>) -> Result<bool> {
        self.read(lua, args)?.map_err(Wrong::raised)?;
        let allowed =
            self.buffers.command.command().map(|args| nested::may_call(self.call.session, args));
        let unknown = || Wrong::new("Invalid command passed to redis.acl_check_cmd()").raised();
        allowed.flatten().ok_or_else(unknown)
    }
}

/// A reply as the script sees it. The memory limit applies only to a long one. An error reply is
/// returned apart, and `None` if the bytes are no reply.
fn value<'r>(
    lua: &Lua,
    reply: &'r [u8],
    protocol: Protocol,
) -> Result<Option<std::result::Result<Value, &'r [u8]>>> {
    if reply.len() > KEPT_MAX {
        // One element after the other: decoded as a whole they would take more than their bytes.
        if let Some(holds) = Reply::holds(reply) {
            return Ok(Some(Ok(convert::elements_to_lua(lua, reply, holds, protocol)?)));
        }
    }
    let reply = match Reply::decode(reply) {
        Ok(Some((Reply::Error(text), _))) => return Ok(Some(Err(text))),
        Ok(Some((reply, _))) => reply,
        _ => return Ok(None),
    };
    if matches!(reply, Reply::Integer(_)) || reply.as_bytes().is_some_and(|b| b.len() > KEPT_MAX) {
        return Ok(Some(Ok(convert::to_lua(lua, &reply, protocol)?)));
    }
    let limit = lua.set_memory_limit(0)?;
    let value = convert::to_lua(lua, &reply, protocol);
    lua.set_memory_limit(limit)?;
    Ok(Some(Ok(value?)))
}
