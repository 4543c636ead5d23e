//! The facts about every command and subcommand by number, found by name.
//!
//! Commands are found by a hash of their name in any case, without allocation. `families.rs`
//! lists all commands, on a higher floor than this file, and fills the table before the server
//! reads its settings.

use super::facts::Facts;
use std::ops::Range;
use std::sync::OnceLock;

/// The facts about every command and subcommand.
#[derive(Debug)]
pub(crate) struct Table {
    /// Each command with the numbers of its subcommands.
    entries: Vec<(&'static Facts, Range<u16>)>,
    /// The number of entries that are commands; the subcommands follow them.
    commands: usize,
    /// A hash table with open addressing: 0 is vacant, any other value is a number plus one.
    slots: Vec<u16>,
}

/// The number of slots: several times the number of commands, so that one probe finds most.
const SLOTS: usize = 1024;

/// Above the number of commands and subcommands.
pub(crate) const NUMBERS_MAX: usize = 512;

static TABLE: OnceLock<Table> = OnceLock::new();

/// Fills the table, once, with each command and its subcommands.
pub(crate) fn fill(all: &[(&'static Facts, Vec<&'static Facts>)]) {
    TABLE.get_or_init(|| Table::new(all));
}

/// The filled table.
#[allow(clippy::inline_always, reason = "of a GET the call alone would be a fiftieth")]
#[inline(always)]
pub(crate) fn table() -> &'static Table {
    #[cfg(test)]
    crate::families::install();
    TABLE.get().expect("families::install fills the table first")
}

/// The slot at which the search for a name begins.
#[inline]
fn slot(name: &[u8]) -> usize {
    let mut word = [0; 8];
    let len = name.len().min(8);
    word[..len].copy_from_slice(&name[..len]);
    // This makes letters lower case. Its effect on other bytes is harmless, because the found name
    // is compared.
    let folded = u64::from_le_bytes(word) | 0x2020_2020_2020_2020;
    let mixed = (folded ^ name.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 54) as usize
}

impl Table {
    fn new(all: &[(&'static Facts, Vec<&'static Facts>)]) -> Self {
        let commands = all.len();
        let mut entries: Vec<(&'static Facts, Range<u16>)> = vec![];
        let mut next = commands as u16;
        for (facts, subcommands) in all {
            let end = next + subcommands.len() as u16;
            entries.push((facts, next..end));
            next = end;
        }
        entries.extend(all.iter().flat_map(|(_, below)| below).map(|facts| (*facts, 0..0)));
        assert!(entries.len() <= NUMBERS_MAX, "more commands than NUMBERS_MAX");
        let mut slots = vec![0; SLOTS];
        for (number, (facts, _)) in all.iter().enumerate() {
            let mut at = slot(facts.name.as_bytes());
            while slots[at] != 0 {
                at = (at + 1) % SLOTS;
            }
            slots[at] = number as u16 + 1;
        }
        Self { entries, commands, slots }
    }

    /// The number of the command with this name, in any case.
    #[allow(clippy::inline_always, reason = "of a GET the call alone would be a fiftieth")]
    #[inline(always)]
    pub(crate) fn find(&self, name: &[u8]) -> Option<u16> {
        let mut at = slot(name);
        loop {
            let number = self.slots[at].checked_sub(1)?;
            if self.entries[number as usize].0.name.as_bytes().eq_ignore_ascii_case(name) {
                return Some(number);
            }
            at = (at + 1) % SLOTS;
        }
    }

    /// The facts about the command with this number.
    #[inline]
    pub(crate) fn get(&self, number: u16) -> &'static Facts {
        self.entries[number as usize].0
    }

    /// The number of a command's subcommand with this name.
    pub(crate) fn find_subcommand(&self, number: u16, name: &[u8]) -> Option<u16> {
        let (facts, range) = &self.entries[number as usize];
        let prefix = facts.name.len() + 1;
        range.clone().find(|&at| {
            self.entries[at as usize].0.name.as_bytes()[prefix..].eq_ignore_ascii_case(name)
        })
    }
}

/// The number of the command with this name, in any case.
#[inline]
pub(crate) fn find(name: &[u8]) -> Option<u16> {
    table().find(name)
}

/// The number of a command's subcommand with this name.
pub(crate) fn find_subcommand(number: u16, name: &[u8]) -> Option<u16> {
    table().find_subcommand(number, name)
}

/// The numbers of the commands that a rule for `command` or `command|subcommand` (in lower case)
/// means.
pub(crate) fn numbers(name: &str) -> Option<impl Iterator<Item = u16> + use<>> {
    let (parent, rest) = name.split_once('|').unwrap_or((name, ""));
    let number = find(parent.as_bytes())?;
    if rest.is_empty() {
        let found = (parent == name).then(|| table().entries[number as usize].1.clone())?;
        return Some(std::iter::once(number).chain(found));
    }
    let number = find_subcommand(number, rest.as_bytes())?;
    Some(std::iter::once(number).chain(0..0))
}

/// The facts about the command with this number.
#[inline]
pub(crate) fn get(number: u16) -> &'static Facts {
    table().get(number)
}

/// The name of the command with this number; `NULL` before a client's first command.
pub(crate) fn name_of(number: u16) -> &'static str {
    table().entries.get(number as usize).map_or("NULL", |entry| entry.0.name)
}

/// The number of commands and subcommands.
pub(crate) fn count() -> usize {
    table().entries.len()
}

/// Every command, without the subcommands.
pub(crate) fn all() -> impl ExactSizeIterator<Item = &'static Facts> {
    table().entries[..table().commands].iter().map(|entry| entry.0)
}

/// The subcommands of a command.
pub(crate) fn subcommands(facts: &Facts) -> impl ExactSizeIterator<Item = &'static Facts> + use<> {
    let number = if facts.has_subcommands { find(facts.name.as_bytes()) } else { None };
    let range = number.map_or(0..0, |number| table().entries[number as usize].1.clone());
    range.map(get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_name_in_any_case() {
        let mut seen = std::collections::BTreeSet::new();
        for command in all() {
            let number = find(command.name.as_bytes()).expect(command.name);
            assert_eq!(get(number).name, command.name);
            assert_eq!(find(command.name.to_ascii_uppercase().as_bytes()), Some(number));
            assert!(seen.insert(command.name), "{} is listed twice", command.name);
            assert!(!command.summary.is_empty(), "{} has no summary", command.name);
            assert_eq!(command.name, command.name.to_ascii_lowercase());
            assert_eq!(subcommands(command).len() > 0, command.has_subcommands);
            for subcommand in subcommands(command) {
                let (parent, name) = subcommand.name.split_once('|').expect(subcommand.name);
                assert_eq!(parent, command.name);
                let found = find_subcommand(number, name.to_ascii_uppercase().as_bytes());
                assert_eq!(get(found.unwrap()).name, subcommand.name);
            }
        }
        for name in [&b""[..], b"ge", b"gett", b"GET\0", b"a name longer than all", b"\xff"] {
            assert_eq!(find(name), None);
        }
        assert!(seen.len() * 4 < SLOTS, "names need room to be found at once");
    }
}
