//! Manual pages of all commands, and completions for three shells.
//!
//! Packages contain them and the repository does not: `cargo x dist` and `cargo x deb` run the test
//! below with a folder in `LARDER_PAGES`, and the test writes them there. The commands of the lab
//! are included as if this program had them.

use super::page::Page;
use crate::Cli;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use std::fs;
use std::path::Path;

/// `larder` with the commands of the lab.
fn whole() -> Command {
    let own = Cli::command();
    let is_own = |name: &str| own.get_subcommands().any(|known| known.get_name() == name);
    let lab = lab::cli::Lab::command();
    let more = lab.get_subcommands().filter(|known| !is_own(known.get_name())).cloned();
    own.clone().subcommands(more.collect::<Vec<_>>())
}

fn pages() -> Vec<Page> {
    let mut command = whole();
    command.build();
    let mut pages = vec![];
    manual("larder", &command, &mut pages);
    for (shell, name) in
        [(Shell::Bash, "larder.bash"), (Shell::Zsh, "_larder"), (Shell::Fish, "larder.fish")]
    {
        let mut text = vec![];
        clap_complete::generate(shell, &mut whole(), "larder", &mut text);
        pages.push((Path::new("completions").join(name), utf8(text)));
    }
    pages
}

/// Renders the page of a command, and the pages of its subcommands.
fn manual(name: &str, command: &Command, pages: &mut Vec<Page>) {
    let mut text = vec![];
    let titled = command.clone().display_name(name.to_owned());
    Man::new(titled).render(&mut text).expect("a vector takes all that is written to it");
    pages.push((Path::new("man").join(format!("{name}.1")), utf8(text)));
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        manual(&format!("{name}-{}", below.get_name()), below, pages);
    }
}

fn utf8(text: Vec<u8>) -> String {
    String::from_utf8(text).expect("the help is text")
}

#[test]
fn manual_pages_and_completions_have_all_commands() {
    let pages = pages();
    let page = |path: &str| {
        let found = pages.iter().find(|(known, _)| known == Path::new(path));
        &found.unwrap_or_else(|| panic!("there is no {path}")).1
    };
    assert!(page("man/larder-serve.1").contains("maxmemory"));
    assert!(page("man/larder-trace-convert.1").contains("trace convert"));
    for path in ["man/larder.1", "completions/_larder", "completions/larder.fish"] {
        for command in ["serve", "demo", "replay", "simulate", "attach"] {
            assert!(page(path).contains(command), "{path} lacks {command}");
        }
    }
    assert!(page("completions/larder.bash").contains("--policy"), "no arguments of the lab");
    assert!(pages.len() > 30, "{}", pages.len());
    let Some(folder) = std::env::var_os("LARDER_PAGES") else { return };
    for (path, text) in &pages {
        let place = Path::new(&folder).join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
}
