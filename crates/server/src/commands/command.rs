//! The facts of a command, said once, where the command stands.
//!
//! Rights, pauses, transactions, MONITOR, client side caches and COMMAND all ask these facts, and
//! none of them knows a command by its name. Where a command says nothing the strictest is assumed:
//! it reads and writes its keys, in the client's database.

use super::{Call, Done, only_subcommands};
use std::iter::StepBy;
use std::ops::Range;
use wire::resp::parse_integer;

/// Carries a command out.
pub(crate) type Handler = fn(&mut Call<'_>) -> Done;

/// Where the keys stand among the arguments: the first, the last (negative from the end), the
/// distance, all zero for none; the argument that says how many keys stand behind it, zero where
/// none does; and the word behind which another stands, empty where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) first: i32,
    pub(crate) last: i32,
    pub(crate) step: i32,
    pub(crate) count: usize,
    pub(crate) word: &'static str,
}

impl Keys {
    /// Keys from the first argument to the last, at this distance.
    pub(crate) const fn new(first: i32, last: i32, step: i32) -> Self {
        Self { first, last, step, count: 0, word: "" }
    }

    /// The same, and as many more as the argument at `count` says, behind it.
    pub(crate) const fn and_counted(self, count: usize) -> Self {
        Self { count, ..self }
    }

    /// The same, and the one behind the last such word, in any case.
    pub(crate) const fn and_behind(self, word: &'static str) -> Self {
        Self { word, ..self }
    }

    /// Whether they stand elsewhere in one call than in another.
    pub(crate) const fn are_movable(self) -> bool {
        self.count > 0 || !self.word.is_empty()
    }

    /// Whether there is any.
    pub(crate) const fn is_any(self) -> bool {
        self.first > 0 || self.count > 0
    }
}

/// No key.
pub(crate) const NO_KEY: Keys = Keys::new(0, 0, 0);
/// One key, the first argument.
pub(crate) const ONE_KEY: Keys = Keys::new(1, 1, 1);
/// As many keys as the second argument says, behind it.
pub(crate) const COUNTED_KEYS: Keys = NO_KEY.and_counted(2);
/// Every argument is a key.
pub(crate) const ALL_KEYS: Keys = Keys::new(1, -1, 1);
/// Every other argument is a key.
pub(crate) const KEY_VALUES: Keys = Keys::new(1, -1, 2);

/// The places of the keys among the arguments of a call.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    fixed: StepBy<Range<usize>>,
    /// Those whose number is said, or the one behind a word.
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

/// Facts that are there or not: some are shown by COMMAND, all are heeded by the dispatcher.
pub(crate) mod flag {
    /// May write.
    pub(crate) const WRITE: u32 = 1;
    /// Only reads.
    pub(crate) const READ: u32 = 1 << 1;
    /// Refused when memory is full.
    pub(crate) const DENY_OOM: u32 = 1 << 2;
    /// For operators.
    pub(crate) const ADMIN: u32 = 1 << 3;
    /// Concerns channels.
    pub(crate) const PUBSUB: u32 = 1 << 4;
    /// Takes constant time, or the logarithm of a size.
    pub(crate) const FAST: u32 = 1 << 5;
    /// Needs no authentication.
    pub(crate) const NO_AUTH: u32 = 1 << 6;
    /// Is carried out at once even between MULTI and EXEC.
    pub(crate) const UNQUEUED: u32 = 1 << 7;
    /// Allowed to a version 2 client that listens.
    pub(crate) const LISTENING: u32 = 1 << 8;
    /// Not allowed between MULTI and EXEC.
    pub(crate) const NO_MULTI: u32 = 1 << 9;
    /// Takes a step or two though it is not called fast: timed only in a sample.
    pub(crate) const BRIEF: u32 = 1 << 10;
    /// May be queued, but EXEC does not carry it out.
    pub(crate) const NO_EXEC: u32 = 1 << 11;
    /// Answers with no reply or with several, not always with one.
    pub(crate) const UNEVEN: u32 = 1 << 12;
    /// Where it is refused between MULTI and EXEC, the transaction is over.
    pub(crate) const ABORTS: u32 = 1 << 13;
    /// Waits while writes are paused, though it writes no key.
    pub(crate) const MAY_REPLICATE: u32 = 1 << 14;
    /// Never waits.
    pub(crate) const UNPAUSED: u32 = 1 << 15;
    /// Arguments may be secrets: neither MONITOR nor the slow log shows it.
    pub(crate) const SECRET: u32 = 1 << 16;
    /// Asks about keys and is no workload: it leaves no trace in models.
    pub(crate) const UNTRACED: u32 = 1 << 17;
    /// Its channels belong to slots, as keys do.
    pub(crate) const SLOTTED: u32 = 1 << 18;
    /// Carried out while a script keeps all others waiting: it touches no key.
    pub(crate) const ALLOW_BUSY: u32 = 1 << 19;
    /// May wait for what others write.
    pub(crate) const BLOCKING: u32 = 1 << 20;
    /// Not allowed in a script; neither are its subcommands.
    pub(crate) const NO_SCRIPT: u32 = 1 << 22;
    /// Its keys are only named: what it carries out reads and writes them.
    pub(crate) const CARRIES: u32 = 1 << 23;

    /// Commands with any of these wait while writes are paused.
    pub(crate) const PAUSED: u32 = WRITE | MAY_REPLICATE;

    /// The names COMMAND gives to flags.
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

/// The access of a command to a key. The words are those of COMMAND GETKEYSANDFLAGS; the rights to
/// keys follow from them: `access` needs the right to read, the other three the right to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// `RO`, `RW`, `OW` (the old value is overwritten unseen) or `RM`.
    pub(crate) mode: &'static str,
    /// Whether the reply or another key tells something of the value.
    pub(crate) tells: bool,
    /// `update`, `insert`, `delete`, or nothing.
    pub(crate) change: Option<&'static str>,
    /// Whether the key itself goes.
    pub(crate) removes: bool,
}

impl Access {
    const fn new(mode: &'static str, tells: bool, change: Option<&'static str>) -> Self {
        Self { mode, tells, change, removes: false }
    }

    const fn removing(self) -> Self {
        Self { removes: true, ..self }
    }

    /// Whether the right to read the key is needed, and that to write it.
    pub(crate) const fn needs(self) -> (bool, bool) {
        (self.tells, self.change.is_some())
    }
}

/// Every access there is.
pub(crate) mod access {
    use super::Access;

    /// Asks whether or how a key is, and tells nothing of its value.
    pub(crate) const ASKS: Access = Access::new("RO", false, None);
    /// Tells of the value.
    pub(crate) const READS: Access = Access::new("RO", true, None);
    /// Puts a value in the place of whatever was there.
    pub(crate) const SETS: Access = Access::new("OW", false, Some("update"));
    /// The same where nothing was there.
    pub(crate) const INSERTS: Access = Access::new("OW", false, Some("insert"));
    /// Adds to a value.
    pub(crate) const ADDS: Access = Access::new("RW", false, Some("insert"));
    /// Changes part of a value, or its life.
    pub(crate) const CHANGES: Access = Access::new("RW", false, Some("update"));
    /// Takes fields away.
    pub(crate) const DROPS: Access = Access::new("RW", false, Some("delete"));
    /// Changes a value and tells of it.
    pub(crate) const BOTH: Access = Access::new("RW", true, Some("update"));
    /// Takes elements away and tells of them.
    pub(crate) const POPS: Access = Access::new("RW", true, Some("delete"));
    /// Tells of a value and removes its key.
    pub(crate) const TAKES: Access = POPS.removing();
    /// Removes a key.
    pub(crate) const REMOVES: Access = Access::new("RM", false, Some("delete")).removing();
}

/// The access to each key of a call, the command's name at 0.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Accesses {
    Same(Access),
    /// To the key at a place among the arguments.
    Each(fn(&[&[u8]], usize) -> Access),
}

/// The databases a command is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Databases {
    /// None.
    Nothing,
    /// The client's.
    Current,
    /// Every one.
    All,
    /// The one named at this place, which is the client's from then on.
    Enters(usize),
    /// The client's, and the one named at the place this finds among the arguments.
    Also(fn(&[&[u8]]) -> Option<usize>),
}

/// Which arguments are channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channels {
    /// None.
    Nothing,
    /// The first.
    First,
    /// All.
    All,
    /// All, and they are patterns.
    Patterns,
}

/// One command, or one subcommand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    /// Lower case; a subcommand's is `command|subcommand`.
    pub(crate) name: &'static str,
    /// Arguments, the name included; negative for at least so many.
    pub(crate) arity: i32,
    pub(crate) flags: u32,
    pub(crate) keys: Keys,
    accesses: Accesses,
    pub(crate) databases: Databases,
    pub(crate) channels: Channels,
    /// Categories of it and its subcommands, in the place of what its group says.
    pub(crate) categories: Option<&'static [&'static str]>,
    /// How many arguments behind its key a value stands that is written.
    pub(crate) value: Option<usize>,
    pub(crate) run: Handler,
    pub(crate) group: &'static str,
    /// The version of Redis that had it first.
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

    /// A command that is only its subcommands.
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

    /// Whether it is timed only in a sample.
    pub(crate) const fn is_brief(&self) -> bool {
        self.flags & (flag::FAST | flag::BRIEF) != 0 && self.flags & flag::BLOCKING == 0
    }

    /// Where the keys of a call stand that has so many arguments, which `arg` shows.
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

    /// The access of a call to the key at a place among its arguments.
    pub(crate) fn access_at(&self, args: &[&[u8]], at: usize) -> Access {
        match self.accesses {
            Accesses::Same(access) => access,
            Accesses::Each(each) => each(args, at),
        }
    }

    /// The arguments that are channels.
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
