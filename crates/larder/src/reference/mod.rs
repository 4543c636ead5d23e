//! The reference, made from the code: a file for each page, and its name in the list below.
//!
//! A page that is not as the code has it fails the test; `LARDER_WRITE=1 cargo test -p larder
//! reference` writes all of them anew.

mod commands;
mod configuration;
mod formats;
mod manual;

use std::fs;
use std::path::{Path, PathBuf};

/// Where a page lies, from the project's root, and what it says.
type Page = (PathBuf, String);

/// What makes pages.
const MAKERS: &[fn() -> Vec<Page>] = &[commands::pages, configuration::pages, formats::pages];

fn page(path: &str, text: impl Into<String>) -> Page {
    (path.into(), text.into())
}

/// Text in lines of at most `width` columns, each behind `before`.
fn wrapped(text: &str, before: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let fits = |line: &String| line.is_empty() || line.len() + 1 + word.len() <= width;
        match lines.last_mut().filter(|line| fits(line)) {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines.iter().flat_map(|line| [before, line, "\n"]).collect()
}

#[test]
fn pages_are_as_the_code_has_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_update = std::env::var_os("LARDER_WRITE").is_some();
    let mut stale = vec![];
    for (path, text) in MAKERS.iter().flat_map(|make| make()) {
        let place = root.join(&path);
        if fs::read_to_string(&place).is_ok_and(|there| there == text) {
            continue;
        }
        if is_update {
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        } else {
            stale.push(path);
        }
    }
    assert!(
        stale.is_empty(),
        "{stale:?} are not what the code makes: LARDER_WRITE=1 cargo test -p larder reference"
    );
}
