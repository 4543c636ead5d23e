//! What a user may do: commands, keys, channels, databases.
//!
//! Commands are a bit for each, worked out from the rules when those are given, in their order:
//! `-@all +@read -keys`. The rules themselves are kept as well, to be shown.

use super::category;
use crate::commands::{self, Command, flag};
use crate::glob;
use std::fmt;

/// Keys a user may read, write or both.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    text: String,
    read: bool,
    write: bool,
}

/// Why a command is refused: the later ones say more, so of several the last is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Denied {
    /// It may not be called.
    Command,
    /// Not in this database.
    Database,
    /// Not with the key at this place.
    Key(usize),
    /// Not with the channel at this place.
    Channel(usize),
}

/// The rules of a selector as they are shown.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) commands: String,
    pub(crate) keys: String,
    pub(crate) channels: String,
    /// Where not all of them are allowed.
    pub(crate) databases: Option<String>,
}

/// A set of permissions. A user has one, and may have more: each allows for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selector {
    /// A bit for each command and subcommand, by number.
    allowed: Vec<u64>,
    /// Commands allowed with this first argument only.
    first_args: Vec<(u16, String)>,
    rules: Vec<String>,
    all_keys: bool,
    keys: Vec<Pattern>,
    all_channels: bool,
    channels: Vec<String>,
    /// `None` for all.
    databases: Option<Vec<u32>>,
}

const SYNTAX: &str = "Syntax error";
const UNKNOWN: &str = "Unknown command or category name in ACL";
const AFTER_ALL_KEYS: &str = "Adding a pattern after the * pattern (or the 'allkeys' flag) is not \
    valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns";
const AFTER_ALL_CHANNELS: &str = "Adding a pattern after the * pattern (or the 'allchannels' \
    flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty \
    list of channels";

impl Selector {
    /// Allows nothing.
    pub(super) fn nothing() -> Self {
        Self {
            allowed: vec![0; commands::count().div_ceil(64)],
            first_args: vec![],
            rules: vec!["-@all".into()],
            all_keys: false,
            keys: vec![],
            all_channels: false,
            channels: vec![],
            databases: None,
        }
    }

    /// Allows everything.
    pub(super) fn everything() -> Self {
        let mut all = Self::nothing();
        for word in ["+@all", "~*", "&*"] {
            // None of the three can fail.
            let _ = all.apply(word);
        }
        all
    }

    pub(super) fn is_unlimited(&self) -> bool {
        self.rules == ["+@all"] && self.all_keys && self.all_channels && self.databases.is_none()
    }

    /// Heeds one word of a rule.
    pub(super) fn apply(&mut self, word: &str) -> Result<(), &'static str> {
        match word.to_ascii_lowercase().as_str() {
            "allkeys" | "~*" => {
                self.all_keys = true;
                self.keys.clear();
            }
            "resetkeys" => {
                self.all_keys = false;
                self.keys.clear();
            }
            "allchannels" | "&*" => {
                self.all_channels = true;
                self.channels.clear();
            }
            "resetchannels" => {
                self.all_channels = false;
                self.channels.clear();
            }
            "alldbs" => self.databases = None,
            "resetdbs" => self.databases = Some(vec![]),
            "allcommands" | "+@all" => self.set_all(true),
            "nocommands" | "-@all" => self.set_all(false),
            _ => return self.apply_part(word),
        }
        Ok(())
    }

    fn apply_part(&mut self, word: &str) -> Result<(), &'static str> {
        if let Some(numbers) = word.strip_prefix("db=") {
            let numbers: Result<Vec<u32>, _> = numbers.split(',').map(str::parse).collect();
            let known = self.databases.get_or_insert_default();
            known.extend(numbers.map_err(|_| SYNTAX)?);
            known.sort_unstable();
            known.dedup();
            return Ok(());
        }
        match word.split_at_checked(1) {
            Some(("~", text)) => self.add_keys(text, true, true),
            Some(("%", rest)) => {
                let (access, text) = rest.split_once('~').ok_or(SYNTAX)?;
                let access = access.to_ascii_uppercase();
                let (read, write) = (access.contains('R'), access.contains('W'));
                if access.is_empty() || !access.chars().all(|c| matches!(c, 'R' | 'W')) {
                    return Err(SYNTAX);
                }
                self.add_keys(text, read, write)
            }
            Some(("&", text)) if self.all_channels => {
                let _ = text;
                Err(AFTER_ALL_CHANNELS)
            }
            Some(("&", text)) => {
                if !self.channels.iter().any(|known| known == text) {
                    self.channels.push(text.to_owned());
                }
                Ok(())
            }
            Some(("+", name)) => self.set(name, true),
            Some(("-", name)) => self.set(name, false),
            _ => Err(SYNTAX),
        }
    }

    fn add_keys(&mut self, text: &str, read: bool, write: bool) -> Result<(), &'static str> {
        if self.all_keys {
            return Err(AFTER_ALL_KEYS);
        }
        match self.keys.iter_mut().find(|known| known.text == text) {
            Some(known) => (known.read, known.write) = (known.read | read, known.write | write),
            None => self.keys.push(Pattern { text: text.to_owned(), read, write }),
        }
        Ok(())
    }

    fn set_all(&mut self, on: bool) {
        self.allowed.fill(if on { u64::MAX } else { 0 });
        self.first_args.clear();
        self.rules = vec![if on { "+@all" } else { "-@all" }.to_owned()];
    }

    fn set_one(&mut self, number: u16, on: bool) {
        let (at, bit) = (usize::from(number) / 64, 1 << (number % 64));
        if on {
            self.allowed[at] |= bit;
        } else {
            self.allowed[at] &= !bit;
        }
        self.first_args.retain(|(known, _)| *known != number);
    }

    /// Allows or forbids a category, a command, or a subcommand.
    fn set(&mut self, name: &str, on: bool) -> Result<(), &'static str> {
        let name = name.to_ascii_lowercase();
        if let Some(wanted) = name.strip_prefix('@') {
            if !category::NAMES.contains(&wanted) {
                return Err(UNKNOWN);
            }
            for number in 0..commands::count() as u16 {
                if category::of(commands::get(number)).contains(&wanted) {
                    self.set_one(number, on);
                }
            }
        } else if let Some(numbers) = commands::numbers(&name) {
            for number in numbers {
                self.set_one(number, on);
            }
        } else {
            // A command with this first argument: it can be allowed alone, not forbidden alone.
            let (command, argument) = name.split_once('|').ok_or(UNKNOWN)?;
            let number = commands::find(command.as_bytes()).ok_or(UNKNOWN)?;
            let has_subcommands = !commands::get(number).subcommands.is_empty();
            if !on || has_subcommands || argument.is_empty() || argument.contains('|') {
                return Err(UNKNOWN);
            }
            self.first_args.push((number, argument.to_owned()));
        }
        // A later rule for the same thing, or for all of a command, takes the place of an earlier.
        let part = format!("{name}|");
        self.rules.retain(|rule| {
            rule == "+@all" || rule == "-@all" || {
                rule[1..] != name && !rule[1..].starts_with(&part)
            }
        });
        self.rules.push(format!("{}{name}", if on { '+' } else { '-' }));
        Ok(())
    }

    /// Whether the command may be called with these arguments, its name the first, in a database.
    pub(super) fn check(&self, number: u16, args: &[&[u8]], db: u8) -> Result<(), Denied> {
        let command = commands::get(number);
        let allowed = self.allowed[usize::from(number) / 64] & (1 << (number % 64)) != 0;
        if !allowed && !command.has(flag::NO_AUTH) && !self.allows_first(number, args) {
            return Err(Denied::Command);
        }
        if let Some(known) = &self.databases
            && !allows_database(known, command, args, db)
        {
            return Err(Denied::Database);
        }
        if !self.all_keys {
            for at in command.key_places(args.len()) {
                let (read, write) = needs(command, args, at);
                let fits = |pattern: &Pattern| {
                    pattern.read >= read
                        && pattern.write >= write
                        && glob::matches(pattern.text.as_bytes(), args[at])
                };
                if !self.keys.iter().any(fits) {
                    return Err(Denied::Key(at));
                }
            }
        }
        if !self.all_channels {
            let end = match command.name {
                "publish" | "spublish" => 2,
                "subscribe" | "ssubscribe" | "psubscribe" => args.len(),
                _ => 0,
            };
            for (at, name) in args.iter().enumerate().take(end).skip(1) {
                if !self.allows_channel(name, command.name == "psubscribe") {
                    return Err(Denied::Channel(at));
                }
            }
        }
        Ok(())
    }

    fn allows_first(&self, number: u16, args: &[&[u8]]) -> bool {
        let first = args.get(1).copied().unwrap_or_default();
        self.first_args
            .iter()
            .any(|(known, text)| *known == number && first.eq_ignore_ascii_case(text.as_bytes()))
    }

    /// Whether a channel may be heard or spoken in. A pattern must be allowed as it stands.
    pub(super) fn allows_channel(&self, name: &[u8], is_pattern: bool) -> bool {
        self.all_channels
            || self.channels.iter().any(|known| {
                if is_pattern {
                    known.as_bytes() == name
                } else {
                    glob::matches(known.as_bytes(), name)
                }
            })
    }

    fn keys(&self) -> String {
        if self.all_keys {
            return "~*".into();
        }
        let shown = self.keys.iter().map(|pattern| {
            let access = match (pattern.read, pattern.write) {
                (true, true) => "",
                (true, false) => "%R",
                _ => "%W",
            };
            format!("{access}~{}", pattern.text)
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    fn channels(&self) -> String {
        if self.all_channels {
            return "&*".into();
        }
        let shown: Vec<_> = self.channels.iter().map(|name| format!("&{name}")).collect();
        shown.join(" ")
    }

    fn commands(&self) -> String {
        self.rules.join(" ")
    }

    /// All of it as ACL GETUSER shows it.
    pub(super) fn rules(&self) -> Rules {
        Rules {
            commands: self.commands(),
            keys: self.keys(),
            channels: self.channels(),
            databases: self.databases(),
        }
    }

    /// The databases, where not all of them are allowed.
    fn databases(&self) -> Option<String> {
        let numbers: Vec<_> = self.databases.as_ref()?.iter().map(u32::to_string).collect();
        Some(if numbers.is_empty() {
            "resetdbs".into()
        } else {
            format!("db={}", numbers.join(","))
        })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.keys();
        if !keys.is_empty() {
            write!(f, "{keys} ")?;
        }
        if self.all_channels {
            f.write_str("&* ")?;
        } else {
            f.write_str("resetchannels ")?;
            if !self.channels.is_empty() {
                write!(f, "{} ", self.channels())?;
            }
        }
        if let Some(databases) = self.databases() {
            write!(f, "{databases} ")?;
        }
        f.write_str(&self.commands())
    }
}

/// Commands that tell nothing of what a key holds.
const ASKS_NOTHING: &[&str] = &[
    "exists",
    "hexists",
    "hlen",
    "hstrlen",
    "memory|usage",
    "object|encoding",
    "object|freq",
    "object|idletime",
    "object|refcount",
    "strlen",
    "touch",
    "type",
    "watch",
];

/// Writes that tell nothing of what a key held.
const ONLY_WRITES: &[&str] = &[
    "append",
    "del",
    "expire",
    "expireat",
    "hdel",
    "hexpire",
    "hexpireat",
    "hmset",
    "hpersist",
    "hpexpire",
    "hpexpireat",
    "hset",
    "hsetex",
    "hsetnx",
    "mset",
    "msetnx",
    "persist",
    "pexpire",
    "pexpireat",
    "psetex",
    "setex",
    "setnx",
    "setrange",
    "unlink",
];

/// Whether a command reads, and writes, the key at a place.
fn needs(command: &Command, args: &[&[u8]], at: usize) -> (bool, bool) {
    let writes = command.has(flag::WRITE);
    match command.name {
        "bitop" => (at > 2, at == 2),
        "copy" => (at == 1, at == 2),
        "rename" | "renamenx" => (at == 1, true),
        "set" => (args.iter().skip(3).any(|arg| arg.eq_ignore_ascii_case(b"get")), true),
        name if ASKS_NOTHING.contains(&name) => (false, false),
        name if ONLY_WRITES.contains(&name) => (false, true),
        _ => (true, writes),
    }
}

/// Whether a command stays within these databases.
fn allows_database(known: &[u32], command: &Command, args: &[&[u8]], db: u8) -> bool {
    let allows = |arg: Option<&&[u8]>| {
        let number = arg.and_then(|arg| std::str::from_utf8(arg).ok()?.parse().ok());
        number.is_none_or(|number| known.contains(&number))
    };
    let is_of_keys = || command.keys.first > 0 || category::of(command).contains(&"keyspace");
    match command.name {
        "flushall" => return false,
        "select" => return allows(args.get(1)),
        _ if is_of_keys() && !known.contains(&u32::from(db)) => return false,
        _ => {}
    }
    // Of these another database is the destination.
    match command.name {
        "move" => allows(args.get(2)),
        "copy" => {
            let option = args.iter().skip(3).position(|arg| arg.eq_ignore_ascii_case(b"db"));
            option.is_none_or(|at| allows(args.get(at + 4)))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that is misspelt in these lists would be asked for too much.
    #[test]
    fn every_command_of_the_lists_exists() {
        for name in ASKS_NOTHING.iter().chain(ONLY_WRITES) {
            let numbers = commands::numbers(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(numbers.count(), 1);
        }
    }

    #[test]
    fn rules_are_heeded_in_their_order() {
        let number = |name: &str| commands::numbers(name).unwrap().next().unwrap();
        let mut selector = Selector::nothing();
        let may = |selector: &Selector, name: &str| {
            selector.check(number(name), &[b"x", b"y"], 0) != Err(Denied::Command)
        };
        for (word, allowed, refused) in [
            ("+@read", &["get", "keys"][..], &["set", "config|get"][..]),
            ("-@dangerous", &["get"], &["keys"]),
            ("+config", &["config|get", "config|set"], &["keys"]),
            ("-config|set", &["config|get"], &["config|set"]),
            ("+@all", &["config|set", "flushall"], &[]),
            ("-@all", &["auth", "hello"], &["get", "ping"]),
            ("+get", &["get"], &["mget"]),
        ] {
            selector.apply(word).unwrap();
            assert!(allowed.iter().all(|name| may(&selector, name)), "{word}");
            assert!(!refused.iter().any(|name| may(&selector, name)), "{word}");
        }
        selector.apply("-config|set").unwrap();
        selector.apply("+config").unwrap();
        selector.apply("-get").unwrap();
        assert_eq!(selector.commands(), "-@all +config -get", "what is overruled goes");
    }
}
