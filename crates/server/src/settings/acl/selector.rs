//! Permissions of a user: commands, keys, channels and databases.
//!
//! Commands are a bit each, computed from the rules when these are set. The order of rules matters:
//! `-@all +@read -keys`. The rules themselves are kept as well, to show them.

use super::category;
use crate::facts::Facts;
use crate::facts::table;
use crate::facts::unsupported;
use crate::facts::{Channels, Databases, flag};
use crate::text::glob;
use std::fmt;
use wire::resp::parse_integer;

/// A pattern of keys that a user may read, write or both.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    text: String,
    read: bool,
    write: bool,
}

/// The reason for a refusal. Later variants say more: of several reasons the last variant is
/// reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Denied {
    /// This database is not allowed.
    Database(u32),
    /// The command is not allowed.
    Command,
    /// The key in this argument is not allowed.
    Key(usize),
    /// The channel in this argument is not allowed.
    Channel(usize),
}

/// The rules of a selector in the form of ACL GETUSER.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) commands: String,
    pub(crate) keys: String,
    pub(crate) channels: String,
    /// The allowed databases; `None` if all of them are allowed.
    pub(crate) databases: Option<String>,
}

/// A set of permissions. A user has one and may have more; each of them allows calls by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selector {
    /// A bit for each command and subcommand, by number.
    allowed: Vec<u64>,
    /// Commands that are allowed only with this first argument.
    first_args: Vec<(u16, String)>,
    rules: Vec<String>,
    all_keys: bool,
    keys: Vec<Pattern>,
    all_channels: bool,
    channels: Vec<String>,
    /// The allowed databases; `None` for all.
    databases: Option<Vec<u32>>,
}

const SYNTAX: &str = "Syntax error";
const UNKNOWN: &str = "Unknown command or category name in ACL";
const NO_DATABASE: &str = "The provided database ID is out of range";
const FIRST_ARG: &str = "Allowing first-arg of a subcommand is not supported";
const AFTER_ALL_KEYS: &str = "Adding a pattern after the * pattern (or the 'allkeys' flag) is not \
    valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns";
const AFTER_ALL_CHANNELS: &str = "Adding a pattern after the * pattern (or the 'allchannels' \
    flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty \
    list of channels";

impl Selector {
    /// A selector that allows nothing.
    pub(super) fn nothing() -> Self {
        Self {
            allowed: vec![0; table::NUMBERS_MAX / 64],
            first_args: vec![],
            rules: vec!["-@all".into()],
            all_keys: false,
            keys: vec![],
            all_channels: false,
            channels: vec![],
            databases: None,
        }
    }

    /// A selector that allows everything.
    pub(super) fn everything() -> Self {
        let mut all = Self::nothing();
        for word in ["+@all", "~*", "&*"] {
            // None of the three can fail.
            let _ = all.apply(word);
        }
        all
    }

    pub(super) fn is_unlimited(&self) -> bool {
        let all_commands = self.allowed.iter().all(|&bits| bits == u64::MAX);
        all_commands && self.all_keys && self.all_channels && self.databases.is_none()
    }

    /// Applies one word of a rule.
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
            let number = |text: &str| {
                let is_number = text.trim_start_matches('-').bytes().all(|c| c.is_ascii_digit());
                let wrong = if is_number && !text.is_empty() { NO_DATABASE } else { SYNTAX };
                text.parse::<i32>().ok().and_then(|db| u32::try_from(db).ok()).ok_or(wrong)
            };
            let numbers: Result<Vec<u32>, _> = numbers.split(',').map(number).collect();
            // The last such rule wins, as in Valkey.
            let mut known = numbers?;
            known.sort_unstable();
            known.dedup();
            self.databases = Some(known);
            return Ok(());
        }
        match word.split_at_checked(1) {
            Some(("~", text)) => self.add_keys(text, true, true),
            Some(("%", rest)) => {
                // Without a pattern the rule is about the empty key, as in Redis.
                let (access, text) = rest.split_once('~').unwrap_or((rest, ""));
                let (read, write) = match access.to_ascii_uppercase().as_str() {
                    "R" => (true, false),
                    "W" => (false, true),
                    "RW" | "WR" => (true, true),
                    _ => return Err(SYNTAX),
                };
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

    /// Allows or forbids a category, a command or a subcommand.
    fn set(&mut self, name: &str, on: bool) -> Result<(), &'static str> {
        let name = name.to_ascii_lowercase();
        if let Some(wanted) = name.strip_prefix('@') {
            if !category::NAMES.contains(&wanted) {
                return Err(UNKNOWN);
            }
            for number in 0..table::count() as u16 {
                if category::of(table::get(number)).contains(&wanted) {
                    self.set_one(number, on);
                }
            }
        } else if let Some(numbers) = table::numbers(&name) {
            for number in numbers {
                self.set_one(number, on);
            }
        } else if !is_absent(&name) {
            // A command with this first argument: rules can allow it, but not forbid it.
            let (command, argument) = name.split_once('|').ok_or(UNKNOWN)?;
            let number = table::find(command.as_bytes()).ok_or(UNKNOWN)?;
            let has_subcommands = table::get(number).has_subcommands;
            if has_subcommands && argument.contains('|') {
                return Err(FIRST_ARG);
            }
            if !on || has_subcommands || argument.is_empty() || argument.contains('|') {
                return Err(UNKNOWN);
            }
            self.first_args.push((number, argument.to_owned()));
        }
        // A later rule for the same name, or for the whole command, replaces an earlier one.
        let part = format!("{name}|");
        self.rules.retain(|rule| {
            rule == "+@all" || rule == "-@all" || {
                rule[1..] != name && !rule[1..].starts_with(&part)
            }
        });
        self.rules.push(format!("{}{name}", if on { '+' } else { '-' }));
        Ok(())
    }

    /// Checks a call of a command in a database. The first of `args` is the command's name.
    pub(super) fn check(&self, number: u16, args: &[&[u8]], db: u8) -> Result<(), Denied> {
        let command = table::get(number);
        if let Some(known) = &self.databases {
            let outside = databases(command, args, db).into_iter().find(|db| !known.contains(db));
            if let Some(db) = outside {
                return Err(Denied::Database(db));
            }
        }
        let allowed = self.allowed[usize::from(number) / 64] & (1 << (number % 64)) != 0;
        if !allowed && !command.has(flag::NO_AUTH) && !self.allows_first(number, args) {
            return Err(Denied::Command);
        }
        if !self.all_keys {
            for at in command.key_places(args.len(), |at| args.get(at).copied()) {
                let (read, write) = command.access_at(args, at).needs();
                if !self.allows_key(args[at], read, write) {
                    return Err(Denied::Key(at));
                }
            }
        }
        if !self.all_channels {
            for at in command.channel_places(args.len()) {
                if !self.allows_channel(args[at], command.channels == Channels::Patterns) {
                    return Err(Denied::Channel(at));
                }
            }
        }
        Ok(())
    }

    /// Whether every key may be read.
    pub(super) fn reads_all(&self) -> bool {
        self.all_keys || self.keys.iter().any(|pattern| pattern.read && pattern.text == "*")
    }

    /// Whether a key may be read, written or both.
    pub(super) fn allows_key(&self, key: &[u8], read: bool, write: bool) -> bool {
        self.all_keys
            || self.keys.iter().any(|pattern| {
                pattern.read >= read
                    && pattern.write >= write
                    && glob::matches(pattern.text.as_bytes(), key)
            })
    }

    fn allows_first(&self, number: u16, args: &[&[u8]]) -> bool {
        let first = args.get(1).copied().unwrap_or_default();
        self.first_args
            .iter()
            .any(|(known, text)| *known == number && first.eq_ignore_ascii_case(text.as_bytes()))
    }

    /// Whether the user may subscribe or publish to a channel. A pattern must be allowed word by
    /// word.
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

    /// All rules as ACL GETUSER shows them.
    pub(super) fn rules(&self) -> Rules {
        Rules {
            commands: self.commands(),
            keys: self.keys(),
            channels: self.channels(),
            databases: self.databases(),
        }
    }

    /// The rule about databases; `None` if all of them are allowed.
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

/// Whether a rule names a command of Redis that Larder does not have. Such a rule is accepted, but
/// allows nothing.
fn is_absent(name: &str) -> bool {
    let (parent, part) = name.split_once('|').unwrap_or((name, ""));
    unsupported::is_absent(parent)
        || ABSENT_PARTS
            .iter()
            .any(|(known, parts)| *known == parent && parts.split(' ').any(|known| known == part))
}

/// Subcommands of Redis and Valkey that are missing here, although their commands exist.
const ABSENT_PARTS: &[(&str, &str)] = &[
    ("client", "capa import-source"),
    ("latency", "graph"),
    ("module", "load loadex unload"),
    (
        "cluster",
        "addslots addslotsrange bumpepoch cancel-slot-migrations count-failure-reports \
         countkeysinslot delslots delslotsrange failover flushslots forget getkeysinslot \
         getslotmigrations help info keyslot links meet migrateslots myid myshardid nodes \
         replicas replicate reset saveconfig set-config-epoch setslot shards slaves slot-stats \
         slots",
    ),
];

/// The databases that a call in database `db` accesses.
fn databases(command: &Facts, args: &[&[u8]], db: u8) -> Vec<u32> {
    let named = |at: usize| {
        let number = args.get(at).and_then(|arg| parse_integer(arg));
        number.and_then(|number| u32::try_from(number).ok())
    };
    match command.databases {
        Databases::Nothing => vec![],
        Databases::Current => vec![db.into()],
        Databases::All => (0..256).collect(),
        // The command itself refuses an argument that is no number.
        Databases::Enters(at) => named(at).into_iter().collect(),
        Databases::Also(find) => {
            std::iter::once(db.into()).chain(find(args).and_then(named)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_heeded_in_their_order() {
        let number = |name: &str| table::numbers(name).unwrap().next().unwrap();
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
