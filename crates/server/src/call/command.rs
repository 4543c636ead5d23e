//! A command: its facts, and the function that runs it.

use super::call::Call;
use super::failure::{Done, SYNTAX};
use crate::facts::{Access, Accesses, Channels, Databases, Facts, Keys};
use std::sync::OnceLock;

/// The function that runs a command.
pub(crate) type Handler = fn(&mut Call<'_>) -> Done;

/// A command, or a subcommand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    pub(crate) facts: Facts,
    run: Handler,
    subcommands: &'static [Self],
}

impl Command {
    pub(crate) const fn new(name: &'static str, arity: i32, flags: u32, run: Handler) -> Self {
        Self { facts: Facts::new(name, arity, flags), run, subcommands: &[] }
    }

    /// A command that consists only of its subcommands.
    pub(crate) const fn container(
        name: &'static str,
        flags: u32,
        subcommands: &'static [Self],
    ) -> Self {
        Self::new(name, -2, flags, only_subcommands).subcommands(subcommands)
    }

    pub(crate) const fn subcommands(self, subcommands: &'static [Self]) -> Self {
        let has_subcommands = !subcommands.is_empty();
        Self { facts: Facts { has_subcommands, ..self.facts }, subcommands, ..self }
    }

    pub(crate) const fn keys(self, keys: Keys) -> Self {
        Self { facts: Facts { keys, databases: Databases::Current, ..self.facts }, ..self }
    }

    pub(crate) const fn access(self, access: Access) -> Self {
        Self { facts: Facts { accesses: Accesses::Same(access), ..self.facts }, ..self }
    }

    pub(crate) const fn accesses(self, each: fn(&[&[u8]], usize) -> Access) -> Self {
        Self { facts: Facts { accesses: Accesses::Each(each), ..self.facts }, ..self }
    }

    pub(crate) const fn databases(self, databases: Databases) -> Self {
        Self { facts: Facts { databases, ..self.facts }, ..self }
    }

    pub(crate) const fn channels(self, channels: Channels) -> Self {
        Self { facts: Facts { channels, ..self.facts }, ..self }
    }

    pub(crate) const fn categories(self, categories: &'static [&'static str]) -> Self {
        Self { facts: Facts { categories: Some(categories), ..self.facts }, ..self }
    }

    pub(crate) const fn value(self, behind: usize) -> Self {
        Self { facts: Facts { value: Some(behind), ..self.facts }, ..self }
    }

    pub(crate) const fn doc(
        self,
        group: &'static str,
        since: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { facts: Facts { group, since, summary, ..self.facts }, ..self }
    }

    /// The facts about the subcommands.
    pub(crate) fn below(&'static self) -> Vec<&'static Facts> {
        self.subcommands.iter().map(|command| &command.facts).collect()
    }
}

/// The handler of a container. It would run only for a container without a subcommand, which the
/// arity forbids.
fn only_subcommands(_: &mut Call<'_>) -> Done {
    Err(SYNTAX.into())
}

/// The handlers of all commands, by the numbers of the table of facts.
static HANDLERS: OnceLock<Vec<Handler>> = OnceLock::new();

/// Keeps the handlers of all commands, in the order of the table: commands first, then the
/// subcommands of each.
pub(crate) fn install(all: &[&'static Command]) {
    HANDLERS.get_or_init(|| {
        let below = all.iter().flat_map(|command| command.subcommands);
        all.iter().copied().chain(below).map(|command| command.run).collect()
    });
}

/// The handler of the command with this number.
#[inline]
pub(crate) fn handler(number: u16) -> Handler {
    HANDLERS.get().expect("families::install keeps the handlers first")[usize::from(number)]
}
