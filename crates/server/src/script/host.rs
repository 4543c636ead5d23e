//! What a script asks of the server while it runs: `redis.call` and its kin.
//!
//! A command of a script is carried out as one between MULTI and EXEC is: it is looked up, checked
//! for rights, counted and told to those who listen. Its reply is read back and becomes a value.
//!
//! The functions of Lua are made once, with the interpreter; a thread that runs a script says with
//! [`Host::serve`] whom they ask. The limit to the interpreter's memory makes every string that
//! Rust gives it several times as dear, so it is lifted while a reply becomes a value.

use super::answer::Wrong;
use super::convert;
use super::flags::Flags;
use super::look::{Looks, Work};
use super::number::shortest;
use crate::commands::{Call, within};
use mlua::{Lua, MultiValue, Result, Table, Value};
use scoped_tls_hkt::scoped_thread_local;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use wire::resp::{Encoder, Protocol, Reply, Words};

const NO_ARGUMENTS: &str = "Please specify at least one argument for this redis lib call";
const WRONG_ARGUMENTS: &str = "Lua redis lib command arguments must be strings or integers";
/// Memory that a command and its reply may keep for the next.
const KEPT_MAX: usize = 64 << 10;

scoped_thread_local!(static mut HOST: for<'a> &'a mut (dyn Serves + 'a));

/// What the functions of Lua ask of whom they ask.
trait Serves {
    /// Carries out a command. An error is raised by `redis.call`; of `redis.pcall` it is a table.
    fn carry_out(&mut self, lua: &Lua, args: Given<'_>, is_raised: bool) -> Result<Value>;
    /// `redis.acl_check_cmd`.
    fn may_call(&mut self, lua: &Lua, args: Given<'_>) -> Result<bool>;
}

/// The arguments that a script gave: so many go in a table that a function of Rust has no place for
/// them.
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

/// Adds the functions to what scripts and functions see, and those that are given tables to what
/// the prelude sees.
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
        return Err(Wrong::new("no command can be called here").raised());
    }
    HOST.with(ask)
}

/// The server, for the script that runs.
#[derive(Debug)]
pub(super) struct Host<'h, 'a> {
    call: &'h mut Call<'a>,
    flags: Flags,
    /// It was called so that it may not write.
    is_readonly: bool,
    /// Memory was full when it began.
    is_full: bool,
    /// Whether it chose version 3 for the replies it is given.
    is_three: &'h AtomicBool,
    /// The slot of its keys so far, where this server is one of several.
    slot: Option<u16>,
    buffers: &'h mut Buffers,
}

/// Where a command and its reply are put together.
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
        let is_full = !flags.has(Flags::ALLOW_OOM) && within::is_full(call);
        let slot = within::slot_of_keys(call);
        Self {
            call,
            flags,
            is_readonly: is_readonly || flags.has(Flags::NO_WRITES),
            is_full,
            is_three,
            slot,
            buffers,
        }
    }

    /// Does `f`, while the functions of Lua ask this host.
    pub(super) fn serve<R>(&mut self, f: impl FnOnce() -> R) -> R {
        HOST.set(self, f)
    }

    /// Carries out the command that arguments are.
    fn ask(&mut self, lua: &Lua, args: Given<'_>) -> Result<std::result::Result<Value, Wrong>> {
        if let Err(wrong) = self.read(lua, args)? {
            return Ok(Err(wrong));
        }
        let Buffers { command, reply } = &mut *self.buffers;
        let Some(args) = command.command() else { return Ok(Err(Wrong::new(NO_ARGUMENTS))) };
        let is_three = self.is_three.load(Relaxed);
        let protocol = if is_three { Protocol::Resp3 } else { Protocol::Resp2 };
        reply.clear();
        let call = &mut *self.call;
        let mut inner = Call {
            args,
            out: Encoder::new(reply, protocol),
            session: &mut *call.session,
            shared: call.shared,
            view: call.view,
            now: call.now,
        };
        let rights = within::Rights {
            is_readonly: self.is_readonly,
            is_full: self.is_full && !call.shared.gate.script().has_written(),
            crosses_slots: self.flags.has(Flags::ALLOW_CROSS_SLOT.with(Flags::UNSAID)),
        };
        let script = call.shared.gate.script();
        let mut may_write = true;
        let done = within::run(&mut inner, rights, &mut self.slot, || {
            may_write = script.writes();
            may_write
        });
        if let Some(looks) = lua.app_data_ref::<Looks>() {
            looks.look_if_late(!may_write)?;
        }
        let counted = |text: &[u8]| Wrong { text: text.to_vec(), is_counted: true };
        let told = match done {
            Err(failure) => Err(counted(failure.text())),
            Ok(()) => match value(lua, reply, protocol)? {
                Some(Ok(value)) => Ok(value),
                Some(Err(text)) => Err(counted(text)),
                None => Err(Wrong::new("the command has no reply for a script")),
            },
        };
        command.shrink_to(KEPT_MAX);
        reply.clear();
        reply.shrink_to(KEPT_MAX);
        Ok(told)
    }

    /// Puts the command together, which counts with the memory of the script.
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
            self.buffers.command.command().map(|args| within::may_call(self.call.session, args));
        let unknown = || Wrong::new("Invalid command passed to redis.acl_check_cmd()").raised();
        allowed.flatten().ok_or_else(unknown)
    }
}

/// A reply as the script that asked for it sees it; the limit holds for a long one. An error apart,
/// and `None` for what is no reply.
fn value<'r>(
    lua: &Lua,
    reply: &'r [u8],
    protocol: Protocol,
) -> Result<Option<std::result::Result<Value, &'r [u8]>>> {
    if reply.len() > KEPT_MAX {
        // One element after the other: as a whole they would take more than their bytes.
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
