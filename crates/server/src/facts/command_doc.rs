//! The commands in words, for documentation that other crates write.

use super::facts::Facts;

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

impl From<&'static Facts> for CommandDoc {
    fn from(facts: &'static Facts) -> Self {
        let &Facts { name, group, since, arity, summary, .. } = facts;
        Self { name, group, since, arity, summary }
    }
}
