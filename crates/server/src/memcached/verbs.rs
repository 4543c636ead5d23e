//! The verbs, each declared once: its number of words, its keys, the permission that it needs,
//! whether `noreply` silences it, and for meta commands its flags.
//!
//! A verb cannot be declared without its permission, and a limited user is denied any request that
//! is not in the list. A flag that is not in a verb's table is refused.

use super::meta_flags::{self as flags, Flag};
use super::request::{Ask, Done};
use super::write::Mode;
use super::{admin, dump, lru, meta_get, meta_number, meta_set, number};
use super::{retrieve, stats, storage, watch};
use crate::facts::table;
use std::sync::OnceLock;

/// The words of a request that are keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    None,
    /// The word at this position.
    At(usize),
    /// All words from this position on.
    From(usize),
}

/// The command of Redis (or a subcommand such as `config|set`) that a user must be allowed to call
/// for a request: one that does or reveals the same.
#[derive(Clone, Copy, Debug)]
enum Rights {
    Anyone,
    Command(&'static str),
    /// It depends on the word behind the verb; an empty word stands for none. A word that is not
    /// listed is denied.
    ByWord(&'static [(&'static str, &'static str)]),
}

/// The commands of Redis that a verb and its flags need, by their numbers.
#[derive(Debug)]
pub(super) struct Needs {
    pub(super) verb: VerbNeeds,
    /// The letters of the flags that need a command of their own.
    pub(super) flags: Vec<(u8, u16)>,
}

/// [`Rights`], with numbers instead of names.
#[derive(Debug)]
pub(super) enum VerbNeeds {
    Nothing,
    Command(u16),
    ByWord(Vec<(&'static str, u16)>),
}

impl Needs {
    fn of(verb: &Verb) -> Self {
        let number = |name| {
            let found = table::numbers(name).and_then(|mut numbers| numbers.next());
            found.expect("a verb needs a command that exists")
        };
        let flags = verb.flags.iter().filter_map(|flag| Some((flag.letter, number(flag.needs?))));
        let flags = flags.collect();
        let verb = match verb.rights {
            Anyone => VerbNeeds::Nothing,
            Command(name) => VerbNeeds::Command(number(name)),
            ByWord(words) => {
                VerbNeeds::ByWord(words.iter().map(|(word, name)| (*word, number(name))).collect())
            }
        };
        Self { verb, flags }
    }
}

/// Finds the commands that all verbs need.
pub(crate) fn install() {
    for verb in &ALL {
        verb.needs();
    }
}

/// A verb of the protocol.
#[derive(Debug)]
pub(crate) struct Verb {
    pub(super) name: &'static str,
    /// The least number of words, with its name. A request with fewer is an error, and the rest of
    /// one with more is ignored.
    pub(super) words: usize,
    pub(super) keys: Keys,
    rights: Rights,
    needs: OnceLock<Needs>,
    /// Whether `noreply` as the last word silences it.
    pub(super) noreply: bool,
    pub(super) flags: &'static [Flag],
    pub(super) run: fn(&mut Ask<'_>) -> Done,
}

/// A verb without keys and flags, which `noreply` does not silence.
const fn verb(
    name: &'static str,
    words: usize,
    rights: Rights,
    run: fn(&mut Ask<'_>) -> Done,
) -> Verb {
    Verb {
        name,
        words,
        keys: Keys::None,
        rights,
        needs: OnceLock::new(),
        noreply: false,
        flags: &[],
        run,
    }
}

impl Verb {
    const fn with_keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    /// The verb with `noreply`, which silences errors as well.
    const fn silenced(mut self) -> Self {
        self.noreply = true;
        self
    }

    const fn with_flags(mut self, flags: &'static [Flag]) -> Self {
        self.flags = flags;
        self
    }

    /// The commands that a user of the verb must be allowed to call.
    pub(super) fn needs(&self) -> &Needs {
        self.needs.get_or_init(|| Needs::of(self))
    }

    /// Whether a request asks for no reply.
    pub(super) fn is_silenced(&self, ask: &Ask<'_>) -> bool {
        self.noreply && ask.asks_for_silence()
    }

    /// The verb with this name.
    #[inline]
    pub(super) fn find(name: &[u8]) -> Option<&'static Self> {
        ALL.iter().find(|verb| verb.name.as_bytes() == name)
    }
}

use Keys::{At, From};
use Rights::{Anyone, ByWord, Command};

/// Every verb. The frequent ones come first, because the list is searched from its beginning.
pub(super) static ALL: [Verb; 32] = [
    verb("get", 2, Command("mget"), |ask| retrieve::get(ask, false)).with_keys(From(1)),
    verb("set", 5, Command("set"), |ask| storage::store(ask, Mode::Set))
        .with_keys(At(1))
        .silenced(),
    verb("mg", 2, Command("get"), meta_get::get).with_keys(At(1)).with_flags(flags::MG),
    verb("ms", 3, Command("set"), meta_set::set).with_keys(At(1)).with_flags(flags::MS),
    verb("gets", 2, Command("mget"), |ask| retrieve::get(ask, true)).with_keys(From(1)),
    verb("md", 2, Command("del"), meta_set::delete).with_keys(At(1)).with_flags(flags::MD),
    verb("ma", 2, Command("incrby"), meta_number::arithmetic)
        .with_keys(At(1))
        .with_flags(flags::MA),
    verb("mn", 1, Anyone, |ask| ask.line("MN")),
    verb("add", 5, Command("set"), |ask| storage::store(ask, Mode::Add))
        .with_keys(At(1))
        .silenced(),
    verb("replace", 5, Command("set"), |ask| storage::store(ask, Mode::Replace))
        .with_keys(At(1))
        .silenced(),
    verb("append", 5, Command("append"), |ask| storage::store(ask, Mode::Append))
        .with_keys(At(1))
        .silenced(),
    verb("prepend", 5, Command("append"), |ask| storage::store(ask, Mode::Prepend))
        .with_keys(At(1))
        .silenced(),
    verb("cas", 6, Command("set"), storage::compare_and_store).with_keys(At(1)).silenced(),
    verb("delete", 2, Command("del"), storage::delete).with_keys(At(1)).silenced(),
    verb("incr", 3, Command("incrby"), |ask| number::add(ask, true)).with_keys(At(1)).silenced(),
    verb("decr", 3, Command("decrby"), |ask| number::add(ask, false)).with_keys(At(1)).silenced(),
    verb("touch", 3, Command("expire"), storage::touch).with_keys(At(1)).silenced(),
    verb("gat", 3, Command("getex"), |ask| retrieve::get_and_touch(ask, false)).with_keys(From(2)),
    verb("gats", 3, Command("getex"), |ask| retrieve::get_and_touch(ask, true)).with_keys(From(2)),
    verb("me", 2, Command("get"), dump::debug).with_keys(At(1)),
    verb("version", 1, Anyone, admin::version),
    verb("quit", 1, Anyone, admin::quit),
    verb("stats", 1, ByWord(STATS), stats::stats),
    verb("flush_all", 1, Command("flushall"), admin::flush_all).silenced(),
    verb("verbosity", 2, Command("config|set"), admin::verbosity).silenced(),
    verb("cache_memlimit", 1, Command("config|set"), admin::cache_memlimit).silenced(),
    verb("refresh_certs", 1, Command("config|set"), admin::refresh_certs).silenced(),
    verb("shutdown", 1, Command("shutdown"), admin::shutdown),
    verb("slabs", 1, Command("config|set"), lru::slabs).silenced(),
    verb("lru", 1, Command("config|set"), lru::lru).silenced(),
    verb("lru_crawler", 1, ByWord(CRAWLER), dump::crawler).silenced(),
    verb("watch", 1, Command("monitor"), watch::watch),
];

/// Reports with names of keys, or parts of them, need the permission to list keys.
const STATS: &[(&str, &str)] = &[
    ("", "info"),
    ("items", "info"),
    ("slabs", "info"),
    ("sizes", "info"),
    ("sizes_enable", "info"),
    ("sizes_disable", "info"),
    ("settings", "info"),
    ("conns", "client|list"),
    ("detail", "keys"),
    ("cachedump", "keys"),
    ("reset", "config|resetstat"),
];

const CRAWLER: &[(&str, &str)] = &[
    ("metadump", "keys"),
    ("mgdump", "keys"),
    ("enable", "config|set"),
    ("disable", "config|set"),
    ("crawl", "config|set"),
    ("sleep", "config|set"),
    ("tocrawl", "config|set"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A verb that needs an unknown command would end the server at its start.
    #[test]
    fn every_needed_command_exists() {
        install();
    }

    #[test]
    fn no_verb_and_no_flag_stands_twice() {
        for (at, verb) in ALL.iter().enumerate() {
            assert!(ALL[..at].iter().all(|other| other.name != verb.name), "{}", verb.name);
            for (at, flag) in verb.flags.iter().enumerate() {
                let twice = verb.flags[..at].iter().any(|other| other.letter == flag.letter);
                assert!(!twice, "{} {}", verb.name, char::from(flag.letter));
            }
        }
    }
}
