//! The properties of a command, stated once, beside the command.
//!
//! Permissions, pauses, transactions, MONITOR, client-side caches and COMMAND all use these
//! properties, and none of them knows a command by its name. A command without a stated access gets
//! the strictest one: it reads and writes its keys, in the client's database.

use super::{Call, Done, only_subcommands};
use std::iter::StepBy;
use std::ops::Range;
use wire::resp::parse_integer;

/// The function that runs a command.
pub(crate) type Handler = fn(&mut Call<'_>) -> Done;

/// The positions of keys among the arguments. `first`, `last` (negative from the end) and `step`
/// describe a range, all zero for none. `count` is the argument that counts the keys behind it,
/// zero for none. `word` is a word that precedes a key, empty for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) first: i32,
    pub(crate) last: i32,
    pub(crate) step: i32,
    pub(crate) count: usize,
    pub(crate) word: &'static str,
}

impl Keys {
    /// Keys from the first to the last argument, in steps of `step`.
    pub(crate) const fn new(first: i32, last: i32, step: i32) -> Self {
        Self { first, last, step, count: 0, word: "" }
    }

    /// Adds the keys behind the argument `count`, which holds their number.
    pub(crate) const fn and_counted(self, count: usize) -> Self {
        Self { count, ..self }
    }

    /// Adds the key behind the last occurrence of `word`, in any case.
    pub(crate) const fn and_behind(self, word: &'static str) -> Self {
        Self { word, ..self }
    }

    /// Whether the positions depend on the arguments of the call.
    pub(crate) const fn are_movable(self) -> bool {
        self.count > 0 || !self.word.is_empty()
    }

    /// Whether the command has any key.
    pub(crate) const fn is_any(self) -> bool {
        self.first > 0 || self.count > 0
    }
}

/// No key.
pub(crate) const NO_KEY: Keys = Keys::new(0, 0, 0);
/// One key, the first argument.
pub(crate) const ONE_KEY: Keys = Keys::new(1, 1, 1);
/// The second argument is the number of keys, and the keys follow it.
pub(crate) const COUNTED_KEYS: Keys = NO_KEY.and_counted(2);
/// Every argument is a key.
pub(crate) const ALL_KEYS: Keys = Keys::new(1, -1, 1);
/// Every other argument is a key.
pub(crate) const KEY_VALUES: Keys = Keys::new(1, -1, 2);

/// An iterator over the positions of keys among the arguments of a call.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    fixed: StepBy<Range<usize>>,
    /// The counted keys, or the key behind a word.
    others: Range<usize>,
}

impl Iterator for Places {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.fixed.next().or_else(|| self.others.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.fixed.len() + self.others.len();
        (len, Some(len))
    }
}

impl ExactSizeIterator for Places {}

/// Properties that a command has or lacks. COMMAND shows some of them, and the dispatcher uses all.
pub(crate) mod flag {
    /// May write.
    pub(crate) const WRITE: u32 = 1;
    /// Only reads.
    pub(crate) const READ: u32 = 1 << 1;
    /// Refused when memory is full.
    pub(crate) const DENY_OOM: u32 = 1 << 2;
    /// Is meant for operators.
    pub(crate) const ADMIN: u32 = 1 << 3;
    /// Concerns channels.
    pub(crate) const PUBSUB: u32 = 1 << 4;
    /// Takes constant time, or time logarithmic in a size.
    pub(crate) const FAST: u32 = 1 << 5;
    /// Needs no authentication.
    pub(crate) const NO_AUTH: u32 = 1 << 6;
    /// Runs at once even between MULTI and EXEC.
    pub(crate) const UNQUEUED: u32 = 1 << 7;
    /// Is allowed to a RESP2 client that has subscriptions.
    pub(crate) const LISTENING: u32 = 1 << 8;
    /// Not allowed between MULTI and EXEC.
    pub(crate) const NO_MULTI: u32 = 1 << 9;
    /// Takes a step or two although it is not called fast; only a sample of its calls is timed.
    pub(crate) const BRIEF: u32 = 1 << 10;
    /// May be queued, but EXEC does not run it.
    pub(crate) const NO_EXEC: u32 = 1 << 11;
    /// Sends no reply or several replies, not always one.
    pub(crate) const UNEVEN: u32 = 1 << 12;
    /// Ends the transaction if it is refused between MULTI and EXEC.
    pub(crate) const ABORTS: u32 = 1 << 13;
    /// Waits while writes are paused, although it writes no key.
    pub(crate) const MAY_REPLICATE: u32 = 1 << 14;
    /// Never waits for a pause.
    pub(crate) const UNPAUSED: u32 = 1 << 15;
    /// May have secrets as arguments: neither MONITOR nor the slow log shows it.
    pub(crate) const SECRET: u32 = 1 << 16;
    /// Asks about keys without being workload: the models do not see it.
    pub(crate) const UNTRACED: u32 = 1 << 17;
    /// Its channels belong to slots, like keys.
    pub(crate) const SLOTTED: u32 = 1 << 18;
    /// Runs even while a script keeps all other commands waiting: it accesses no key.
    pub(crate) const ALLOW_BUSY: u32 = 1 << 19;
    /// May wait until another client writes.
    pub(crate) const BLOCKING: u32 = 1 << 20;
    /// Is not allowed in a script, and neither are its subcommands.
    pub(crate) const NO_SCRIPT: u32 = 1 << 22;
    /// Only names its keys: the commands that it runs read and write them.
    pub(crate) const CARRIES: u32 = 1 << 23;

    /// Commands with one of these flags wait while writes are paused.
    pub(crate) const PAUSED: u32 = WRITE | MAY_REPLICATE;

    /// The names of flags in the reply of COMMAND.
    pub(crate) const NAMES: &[(u32, &str)] = &[
        (WRITE, "write"),
        (READ, "readonly"),
        (DENY_OOM, "denyoom"),
        (ADMIN, "admin"),
        (PUBSUB, "pubsub"),
        (NO_SCRIPT, "noscript"),
        (BLOCKING, "blocking"),
        (FAST, "fast"),
        (NO_AUTH, "no_auth"),
        (NO_MULTI, "no_multi"),
    ];
}

/// The access of a command to a key. The words are those of COMMAND GETKEYSANDFLAGS. The required
/// permissions follow from them: `access` requires the permission to read, the other three the
/// permission to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// `RO`, `RW`, `OW` (the old value is overwritten without a read) or `RM`.
    pub(crate) mode: &'static str,
    /// Whether the reply or another key reveals something of the value.
    pub(crate) tells: bool,
    /// `update`, `insert`, `delete`, or nothing.
    pub(crate) change: Option<&'static str>,
    /// Whether the key itself is removed.
    pub(crate) removes: bool,
}

impl Access {
    const fn new(mode: &'static str, tells: bool, change: Option<&'static str>) -> Self {
        Self { mode, tells, change, removes: false }
    }

    const fn removing(self) -> Self {
        Self { removes: true, ..self }
    }

    /// Whether the access requires the permission to read the key, and to write it.
    pub(crate) const fn needs(self) -> (bool, bool) {
        (self.tells, self.change.is_some())
    }
}

/// Every access that commands have.
pub(crate) mod access {
    use super::Access;

    /// Asks whether a key exists or what properties it has, without revealing its value.
    pub(crate) const ASKS: Access = Access::new("RO", false, None);
    /// Reveals the value.
    pub(crate) const READS: Access = Access::new("RO", true, None);
    /// Writes a value, and replaces the old one if there was any.
    pub(crate) const SETS: Access = Access::new("OW", false, Some("update"));
    /// Writes a value if the key does not exist.
    pub(crate) const INSERTS: Access = Access::new("OW", false, Some("insert"));
    /// Adds to a value.
    pub(crate) const ADDS: Access = Access::new("RW", false, Some("insert"));
    /// Changes part of a value, or its expiry.
    pub(crate) const CHANGES: Access = Access::new("RW", false, Some("update"));
    /// Removes fields or elements.
    pub(crate) const DROPS: Access = Access::new("RW", false, Some("delete"));
    /// Changes a value and reveals it.
    pub(crate) const BOTH: Access = Access::new("RW", true, Some("update"));
    /// Removes elements and reveals them.
    pub(crate) const POPS: Access = Access::new("RW", true, Some("delete"));
    /// Reveals a value and removes its key.
    pub(crate) const TAKES: Access = POPS.removing();
    /// Removes a key.
    pub(crate) const REMOVES: Access = Access::new("RM", false, Some("delete")).removing();
}

/// The access to each key of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Accesses {
    Same(Access),
    /// Finds the access to the key at a position among the arguments; the command's name is at 0.
    Each(fn(&[&[u8]], usize) -> Access),
}

/// The databases that a command accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Databases {
    /// No database.
    Nothing,
    /// The client's database.
    Current,
    /// All databases.
    All,
    /// The database that the argument at this position names. It becomes the client's database.
    Enters(usize),
    /// The client's database, and one that an argument names. The function finds the argument's
    /// position.
    Also(fn(&[&[u8]]) -> Option<usize>),
}

/// The arguments that are channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channels {
    /// None.
    Nothing,
    /// The first argument.
    First,
    /// All arguments.
    All,
    /// All arguments, which are patterns of channels.
    Patterns,
}

/// A command, or a subcommand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    /// The name in lower case; for a subcommand `command|subcommand`.
    pub(crate) name: &'static str,
    /// The number of arguments, with the name; -N for N or more.
    pub(crate) arity: i32,
    pub(crate) flags: u32,
    pub(crate) keys: Keys,
    accesses: Accesses,
    pub(crate) databases: Databases,
    pub(crate) channels: Channels,
    /// The categories of the command and its subcommands, if they are not those of its group.
    pub(crate) categories: Option<&'static [&'static str]>,
    /// The distance from the key to the argument with the written value, if it writes one.
    pub(crate) value: Option<usize>,
    pub(crate) run: Handler,
    pub(crate) group: &'static str,
    /// The version of Redis that introduced it.
    pub(crate) since: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) subcommands: &'static [Command],
}

impl Command {
    pub(crate) const fn new(name: &'static str, arity: i32, flags: u32, run: Handler) -> Self {
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
            run,
            group: "generic",
            since: "1.0.0",
            summary: "",
            subcommands: &[],
        }
    }

    /// A command that consists only of its subcommands.
    pub(crate) const fn container(
        name: &'static str,
        flags: u32,
        subcommands: &'static [Self],
    ) -> Self {
        Self { subcommands, ..Self::new(name, -2, flags, only_subcommands) }
    }

    pub(crate) const fn subcommands(self, subcommands: &'static [Self]) -> Self {
        Self { subcommands, ..self }
    }

    pub(crate) const fn keys(self, keys: Keys) -> Self {
        Self { keys, databases: Databases::Current, ..self }
    }

    pub(crate) const fn access(self, access: Access) -> Self {
        Self { accesses: Accesses::Same(access), ..self }
    }

    pub(crate) const fn accesses(self, each: fn(&[&[u8]], usize) -> Access) -> Self {
        Self { accesses: Accesses::Each(each), ..self }
    }

    pub(crate) const fn databases(self, databases: Databases) -> Self {
        Self { databases, ..self }
    }

    pub(crate) const fn channels(self, channels: Channels) -> Self {
        Self { channels, ..self }
    }

    pub(crate) const fn categories(self, categories: &'static [&'static str]) -> Self {
        Self { categories: Some(categories), ..self }
    }

    pub(crate) const fn value(self, behind: usize) -> Self {
        Self { value: Some(behind), ..self }
    }

    pub(crate) const fn doc(
        self,
        group: &'static str,
        since: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { group, since, summary, ..self }
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
        let Keys { first, last, step, count, word } = self.keys;
        let last = if last < 0 { args as i32 + last } else { last };
        let fixed = first.max(0) as usize..(last + 1).max(0) as usize;
        let fixed = if first > 0 { fixed } else { 0..0 };
        let mut others = 0..0;
        if count > 0 {
            let keys = arg(count).and_then(parse_integer).unwrap_or(0).max(0);
            let keys = usize::try_from(keys).unwrap_or(usize::MAX);
            others = count + 1..(count + 1).saturating_add(keys).min(args);
        }
        if !word.is_empty() {
            let is_word =
                |at: usize| arg(at).is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()));
            let behind = (1..args.saturating_sub(1)).rev().find(|&at| is_word(at));
            others = behind.map_or(0..0, |at| at + 1..at + 2);
        }
        Places { fixed: fixed.step_by(step.max(1) as usize), others }
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
