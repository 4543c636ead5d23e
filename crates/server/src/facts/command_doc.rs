//! The commands in words, for documentation that other crates write.

use crate::commands::{Command, all};

/// A command in words.
#[derive(Clone, Copy, Debug)]
pub struct CommandDoc {
    /// The name in lower case; for a subcommand `command|subcommand`.
    pub name: &'static str,
    /// The group that Redis puts it in.
    pub group: &'static str,
    /// The version of Redis that introduced it.
    pub since: &'static str,
    /// The number of words in a call, with the name; -N for N or more.
    pub arity: i32,
    /// A sentence that says what it does.
    pub summary: &'static str,
}

impl From<&'static Command> for CommandDoc {
    fn from(command: &'static Command) -> Self {
        let &Command { name, group, since, arity, summary, .. } = command;
        Self { name, group, since, arity, summary }
    }
}

/// Every command, each followed by its subcommands.
pub fn about() -> impl Iterator<Item = CommandDoc> {
    let with_below =
        |command: &'static Command| std::iter::once(command).chain(command.subcommands);
    all().flat_map(with_below).map(CommandDoc::from)
}
