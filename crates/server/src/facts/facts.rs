//! The facts about a command, stated once, beside the command.
//!
//! Permissions, pauses, transactions, MONITOR, client-side caches and COMMAND all use these facts,
//! and hardly any code knows a command by its name. A command without a stated access reads its
//! keys if it has the flag READ, and otherwise reads and writes them, in the client's database.

use super::accesses::{Access, Accesses, Channels, Databases};
use super::keys::{Keys, NO_KEY, Places};
use super::{access, flag};

/// The facts about a command, or a subcommand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// The name in lower case; for a subcommand `command|subcommand`.
    pub(crate) name: &'static str,
    /// The number of arguments, with the name; -N for N or more.
    pub(crate) arity: i32,
    pub(crate) flags: u32,
    pub(crate) keys: Keys,
    pub(crate) accesses: Accesses,
    pub(crate) databases: Databases,
    pub(crate) channels: Channels,
    /// The categories of the command and its subcommands, if they are not those of its group.
    pub(crate) categories: Option<&'static [&'static str]>,
    /// The distance from the key to the argument with the written value, if it writes one.
    pub(crate) value: Option<usize>,
    pub(crate) group: &'static str,
    /// The version of Redis that introduced it.
    pub(crate) since: &'static str,
    pub(crate) summary: &'static str,
    /// Whether the command has subcommands; the table lists them.
    pub(crate) has_subcommands: bool,
}

impl Facts {
    pub(crate) const fn new(name: &'static str, arity: i32, flags: u32) -> Self {
        let reads = flags & flag::READ != 0;
        let touches = flags & (flag::READ | flag::WRITE) != 0;
        Self {
            name,
            arity,
            flags,
            keys: NO_KEY,
            accesses: Accesses::Same(if reads { access::READS } else { access::BOTH }),
            databases: if touches { Databases::Current } else { Databases::Nothing },
            channels: Channels::Nothing,
            categories: None,
            value: None,
            group: "generic",
            since: "1.0.0",
            summary: "",
            has_subcommands: false,
        }
    }

    pub(crate) const fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Whether only a sample of its calls is timed.
    pub(crate) const fn is_brief(&self) -> bool {
        self.flags & (flag::FAST | flag::BRIEF) != 0 && self.flags & flag::BLOCKING == 0
    }

    /// The positions of keys in a call with `args` arguments; `arg` returns an argument.
    #[inline]
    pub(crate) fn key_places<'a>(
        &self,
        args: usize,
        arg: impl Fn(usize) -> Option<&'a [u8]>,
    ) -> Places {
        self.keys.places(args, arg)
    }

    /// The access of a call to the key at a position among its arguments.
    pub(crate) fn access_at(&self, args: &[&[u8]], at: usize) -> Access {
        match self.accesses {
            Accesses::Same(access) => access,
            Accesses::Each(each) => each(args, at),
        }
    }

    /// The range of arguments that are channels.
    pub(crate) fn channel_places(&self, args: usize) -> std::ops::Range<usize> {
        match self.channels {
            Channels::Nothing => 1..1,
            Channels::First => 1..2,
            Channels::All | Channels::Patterns => 1..args,
        }
    }

    pub(crate) const fn accepts(&self, args: usize) -> bool {
        let arity = self.arity as i64;
        if arity >= 0 { args as i64 == arity } else { args as i64 >= -arity }
    }
}
