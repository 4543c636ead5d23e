//! What a script asks of the server while it runs: `redis.call` and its kin.
//!
//! A command of a script is carried out as one between MULTI and EXEC is: it is looked up, checked
//! for rights, counted and told to those who listen. Its reply is read back and becomes a value.

use super::answer::Wrong;
use super::api::acl_mark;
use super::convert;
use super::flags::Flags;
use super::number::shortest;
use super::running::Running;
use crate::commands::{Call, within};
use mlua::{BorrowedBytes, Lua, MultiValue, Result, Value};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use wire::resp::{Decoder, Encoder, Limits, Protocol, Reply, encode_command};

const NO_ARGUMENTS: &str = "Please specify at least one argument for this redis lib call";
const WRONG_ARGUMENTS: &str = "Lua redis lib command arguments must be strings or integers";

/// The server, for the script that runs.
#[derive(Debug)]
pub(super) struct Host<'h, 'a> {
    call: &'h mut Call<'a>,
    running: &'h Running,
    flags: Flags,
    /// It was called so that it may not write.
    is_readonly: bool,
    /// Memory was full when it began.
    is_full: bool,
    /// Whether it chose version 3 for the replies it is given.
    is_three: &'h AtomicBool,
    /// The slot of its keys so far, where this server is one of several.
    slot: Option<u16>,
    command: Vec<u8>,
    reply: Vec<u8>,
    decoder: Decoder,
}

/// An argument of a command.
enum Arg<'a> {
    Text(BorrowedBytes<'a>),
    Number(String),
}

impl AsRef<[u8]> for Arg<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Text(text) => text,
            Self::Number(text) => text.as_bytes(),
        }
    }
}

type Told = Result<std::result::Result<Value, Wrong>>;

impl<'h, 'a> Host<'h, 'a> {
    pub(super) fn new(
        call: &'h mut Call<'a>,
        running: &'h Running,
        is_three: &'h AtomicBool,
        (flags, is_readonly): (Flags, bool),
    ) -> Self {
        let is_full = !flags.has(Flags::ALLOW_OOM) && within::is_full(call);
        Self {
            call,
            running,
            flags,
            is_readonly: is_readonly || flags.has(Flags::NO_WRITES),
            is_full,
            is_three,
            slot: None,
            command: vec![],
            reply: vec![],
            decoder: Decoder::default(),
        }
    }

    /// `redis.call`: an error is raised.
    pub(super) fn call(&mut self, lua: &Lua, args: &MultiValue) -> Result<Value> {
        self.ask(lua, args)?.map_err(Wrong::raised)
    }

    /// `redis.pcall`: an error is a table. Also `redis.acl_check_cmd`, behind its mark.
    pub(super) fn pcall(&mut self, lua: &Lua, mut args: MultiValue) -> Result<Value> {
        if matches!(args.front(), Some(Value::LightUserData(mark)) if *mark == acl_mark()) {
            args.pop_front();
            return self.may_call(&args).map_err(Wrong::raised);
        }
        match self.ask(lua, &args)? {
            Ok(value) => Ok(value),
            Err(wrong) => Ok(Value::Table(wrong.table(lua)?)),
        }
    }

    fn ask(&mut self, lua: &Lua, args: &MultiValue) -> Told {
        match encoded(args, &mut self.command) {
            Err(wrong) => Ok(Err(wrong)),
            Ok(()) => self.carry_out(lua),
        }
    }

    /// Carries out `self.command`.
    fn carry_out(&mut self, lua: &Lua) -> Told {
        let limits = Limits { bulk_max: u64::MAX, stranger: false };
        let Ok(Some(args)) = self.decoder.decode(&self.command, &limits) else {
            return Ok(Err(Wrong::new(NO_ARGUMENTS)));
        };
        let is_three = self.is_three.load(Relaxed);
        let protocol = if is_three { Protocol::Resp3 } else { Protocol::Resp2 };
        self.reply.clear();
        let call = &mut *self.call;
        let mut inner = Call {
            args,
            out: Encoder::new(&mut self.reply, protocol),
            session: &mut *call.session,
            shared: call.shared,
            view: call.view,
            now: call.now,
        };
        let rights = within::Rights {
            is_readonly: self.is_readonly,
            is_full: self.is_full && !self.running.has_written(),
            crosses_slots: self.flags.has(Flags::ALLOW_CROSS_SLOT.with(Flags::UNSAID)),
        };
        let done = within::run(&mut inner, rights, &mut self.slot, || self.running.writes());
        let told = match (done, Reply::decode(&self.reply)) {
            (Err(failure), _) => Err(Wrong { text: failure.text().to_vec(), is_counted: true }),
            (Ok(()), Ok(Some((Reply::Error(text), _)))) => {
                Err(Wrong { text: text.to_vec(), is_counted: true })
            }
            (Ok(()), Ok(Some((reply, _)))) => Ok(convert::to_lua(lua, &reply, protocol)?),
            (Ok(()), _) => Err(Wrong::new("the command has no reply for a script")),
        };
        self.give_back();
        Ok(told)
    }

    /// Gives back memory that an unusually long command or reply has taken.
    fn give_back(&mut self) {
        for buffer in [&mut self.command, &mut self.reply] {
            buffer.clear();
            buffer.shrink_to(64 << 10);
        }
        self.decoder.shrink();
    }

    fn may_call(&mut self, args: &MultiValue) -> std::result::Result<Value, Wrong> {
        encoded(args, &mut self.command)?;
        let limits = Limits { bulk_max: u64::MAX, stranger: false };
        let Ok(Some(args)) = self.decoder.decode(&self.command, &limits) else {
            return Err(Wrong::new(NO_ARGUMENTS));
        };
        let allowed = within::may_call(self.call.session, args);
        let unknown = || Wrong::new("Invalid command passed to redis.acl_check_cmd()");
        allowed.map(Value::Boolean).ok_or_else(unknown)
    }
}

/// Writes the command that arguments are.
fn encoded(args: &MultiValue, command: &mut Vec<u8>) -> std::result::Result<(), Wrong> {
    if args.is_empty() {
        return Err(Wrong::new(NO_ARGUMENTS));
    }
    let words: Option<Vec<Arg<'_>>> = args.iter().map(word).collect();
    let words = words.ok_or_else(|| Wrong::new(WRONG_ARGUMENTS))?;
    command.clear();
    encode_command(command, &words);
    Ok(())
}

fn word(value: &Value) -> Option<Arg<'_>> {
    match value {
        Value::String(text) => Some(Arg::Text(text.as_bytes())),
        Value::Integer(number) => Some(Arg::Number(number.to_string())),
        Value::Number(number) => Some(Arg::Number(shortest(*number))),
        _ => None,
    }
}
