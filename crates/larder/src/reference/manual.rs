//! Manual pages of the commands, and completions for three shells.

use super::Page;
use crate::Cli;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use std::path::Path;

pub(super) fn pages() -> Vec<Page> {
    let mut command = Cli::command();
    command.build();
    let mut pages = vec![];
    manual("larder", &command, &mut pages);
    for (shell, name) in
        [(Shell::Bash, "larder.bash"), (Shell::Zsh, "_larder"), (Shell::Fish, "larder.fish")]
    {
        let mut text = vec![];
        clap_complete::generate(shell, &mut Cli::command(), "larder", &mut text);
        pages.push((Path::new("packaging/completions").join(name), utf8(text)));
    }
    pages
}

/// The page of a command, and those of the commands below it.
fn manual(name: &str, command: &Command, pages: &mut Vec<Page>) {
    let mut text = vec![];
    let titled = command.clone().display_name(name.to_owned());
    Man::new(titled).render(&mut text).expect("a vector takes all that is written to it");
    pages.push((Path::new("packaging/man").join(format!("{name}.1")), utf8(text)));
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        manual(&format!("{name}-{}", below.get_name()), below, pages);
    }
}

fn utf8(text: Vec<u8>) -> String {
    String::from_utf8(text).expect("the help is text")
}
