//! What is told of the commands outside of this crate, for those who write it down.

use super::{Command, all};

/// A command in words.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// In lower case; a subcommand's is `command|subcommand`.
    pub name: &'static str,
    /// Its family, as Redis has it.
    pub group: &'static str,
    /// The version of Redis that had it first.
    pub since: &'static str,
    /// Words of a call, the name included; negative for at least so many.
    pub arity: i32,
    /// What it does, in a sentence.
    pub summary: &'static str,
}

impl From<&'static Command> for About {
    fn from(command: &'static Command) -> Self {
        let &Command { name, group, since, arity, summary, .. } = command;
        Self { name, group, since, arity, summary }
    }
}

/// Every command, its subcommands behind it.
pub fn about() -> impl Iterator<Item = About> {
    let with_below =
        |command: &'static Command| std::iter::once(command).chain(command.subcommands);
    all().flat_map(with_below).map(About::from)
}
