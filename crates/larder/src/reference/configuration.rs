//! Every directive with its meaning and default: a file to start from, and a page to read.

use super::page::{Page, page, wrapped};
use server::Settings;
use server::config::directive::{self, Directive, When};

const FILE_HEAD: &str = "\
# Settings of Larder, in the format of redis.conf. A line behind a single # shows a default: remove
# the # to set another value. This file sets only maxmemory. `larder serve PATH` reads the file;
# `--NAME VALUE` and LARDER_CONFIG_NAME set single values. CONFIG SET changes a running server,
# except for the settings marked *Only at start*.
";

const PAGE_HEAD: &str = "\
# Directives

The code writes this page. Set a directive in a file (`larder serve PATH`), on the command line
(`--maxmemory 1gb`) or in the environment (`LARDER_CONFIG_MAXMEMORY=1gb`). `CONFIG SET` changes it
in a running server, unless the page says *only at start*.
";

/// The only line of the file that is in force: a package must not start a cache that fills the
/// machine.
const MEMORY: &str = "\
## A service starts with a limit: 80% of the memory of the machine or the container.
maxmemory auto
";

/// Words for defaults that depend on the machine.
const OF_THE_MACHINE: &[(&str, &str)] = &[("io-threads", "the number of cores")];

pub(super) fn pages() -> Vec<Page> {
    vec![page("packaging/larder.conf", file()), page("docs/configuration.md", text())]
}

fn default_of(directive: &Directive) -> String {
    match OF_THE_MACHINE.iter().find(|(name, _)| *name == directive.name) {
        Some((_, words)) => (*words).to_owned(),
        None => directive.show(&Settings::default()),
    }
}

fn file() -> String {
    let mut text = FILE_HEAD.to_owned();
    for directive in directive::all() {
        text.push('\n');
        text.push_str(&wrapped(directive.doc, "## ", 93));
        if directive.when == When::Start {
            text.push_str("## Only at start.\n");
        }
        let default = default_of(directive);
        let mut lines = default.lines().peekable();
        if lines.peek().is_none() {
            text.extend(["# ", directive.name, " \"\"\n"]);
        }
        for line in lines {
            text.extend(["# ", directive.name, " ", line, "\n"]);
        }
        if directive.name == "maxmemory" {
            text.push_str(MEMORY);
        }
    }
    text
}

fn text() -> String {
    let mut text = PAGE_HEAD.to_owned();
    for directive in directive::all() {
        let default = default_of(directive);
        let default = match default.as_str() {
            "" => "nothing".to_owned(),
            _ => format!("`{}`", default.replace('\n', "`, `")),
        };
        let when = if directive.when == When::Start { ", only at start" } else { "" };
        text.extend(["\n**`", directive.name, "`** (default ", &default, when, ")  \n"]);
        text.push_str(&wrapped(directive.doc, "", 98));
    }
    text
}

/// A freshly installed service evicts before the machine is full.
#[test]
fn the_file_sets_a_memory_limit_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("larder.conf");
    std::fs::write(&path, file()).unwrap();
    let mut settings = Settings::default();
    settings.read(&path).unwrap();
    let share = settings.maxmemory_share;
    assert!(share == Some(0.8) && settings.maxmemory.0 > 0, "{share:?}");
    settings.apply("maxmemory", &["0".into()]).unwrap();
    let defaults = Settings::default();
    assert!(directive::all().all(|one| one.show(&settings) == one.show(&defaults)));
}

/// A line of the file without its # sets the default.
#[test]
fn the_file_says_the_defaults() {
    let defaults = Settings::default();
    for directive in directive::all() {
        let mut settings = Settings::default();
        let default = directive.show(&defaults);
        if !default.is_empty() {
            directive.apply_text(&mut settings, &default).unwrap();
        }
        assert_eq!(directive.show(&settings), default, "{}", directive.name);
    }
}
