//! The reference, made from the code. Each page has a file here, and an entry in the list below.
//!
//! The test fails for a page that differs from the code; `LARDER_WRITE=1 cargo test -p larder
//! reference` writes all pages anew.

mod commands;
mod configuration;
mod formats;
mod manual;
mod page;

use page::Page;
use std::fs;
use std::path::Path;

/// The functions that make the pages.
const MAKERS: &[fn() -> Vec<Page>] = &[commands::pages, configuration::pages, formats::pages];

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
