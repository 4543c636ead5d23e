//! The reference, made from the code. Each page has a file here, and an entry in the list below.
//!
//! The test fails for a page that differs from the code; `LARDER_WRITE=1 cargo test -p larder
//! reference` writes all pages anew.

mod commands;
mod configuration;
mod formats;
mod manual;

use std::fs;
use std::path::{Path, PathBuf};

/// The path of a page, from the project's root, and its text.
type Page = (PathBuf, String);

/// The functions that make the pages.
const MAKERS: &[fn() -> Vec<Page>] = &[commands::pages, configuration::pages, formats::pages];

fn page(path: &str, text: impl Into<String>) -> Page {
    (path.into(), text.into())
}

/// Breaks text into lines of at most `width` columns, each behind `before`.
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
