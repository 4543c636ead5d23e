//! The commands of `larder-lab`: `larder simulate …` becomes `larder-lab simulate …`.
//!
//! Users type one command and find all commands in its help, its manual pages and its completions.
//! The server is built without the code that only the lab needs.

use clap::Command;
use std::ffi::OsString;

/// Name and help line of each command, in the order of the help.
const COMMANDS: [(&str, &str); 9] = [
    ("simulate", "Simulate every policy at every size, in one pass over a trace"),
    ("curve", "Compute the miss ratio at every size, in one pass over a trace"),
    ("plan", "Divide memory among the tenants of a trace"),
    ("experiment", "The papers' experiments, in virtual time or live"),
    ("top", "Watch a running server: who holds its memory, who waits, and why"),
    ("trace", "Inspect, convert and generate traces"),
    ("capture", "Record the requests to a live Redis, Valkey, memcached or Larder as a trace"),
    ("advise", "Advise what would make clients wait less: another size, a division, or Larder"),
    (
        "attach",
        "Steer a running memcached, Redis or Valkey from outside: watch, plan, and act with --act",
    ),
];

/// Whether the words behind `larder` ask for a command of the lab, or for its help.
pub(crate) fn is_asked(words: &[OsString]) -> bool {
    let word = match words {
        [help, word, ..] if help == "help" => word,
        [word, ..] => word,
        [] => return false,
    };
    COMMANDS.iter().any(|(name, _)| word == name)
}

/// Adds all commands of the lab to the help of `command`.
pub(crate) fn listed(command: Command) -> Command {
    command.subcommands(COMMANDS.map(|(name, about)| Command::new(name).about(about)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_help_has_what_the_lab_has() {
        let lab = lab::cli::Lab::command();
        let own = crate::Cli::command();
        let is_own = |name: &str| own.get_subcommands().any(|known| known.get_name() == name);
        let all: Vec<(String, String)> = lab
            .get_subcommands()
            .map(|known| (known.get_name().into(), known.get_about().unwrap().to_string()))
            .filter(|(name, _): &(String, String)| !is_own(name))
            .collect();
        assert_eq!(all, COMMANDS.map(|(name, about)| (name.to_owned(), about.to_owned())));
    }

    #[test]
    fn the_lab_is_asked_by_name_and_for_help() {
        let asked = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            is_asked(&words)
        };
        for line in ["simulate", "trace --help", "help curve", "advise redis://h x"] {
            assert!(asked(line), "{line}");
        }
        for line in ["", "help", "serve trace", "--version", "help serve", "simulator"] {
            assert!(!asked(line), "{line}");
        }
    }
}
