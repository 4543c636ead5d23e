//! A page of the reference, and its text in lines.

use std::path::PathBuf;

/// The path of a page, from the project's root, and its text.
pub(super) type Page = (PathBuf, String);

/// A page from its path and its text.
pub(super) fn page(path: &str, text: impl Into<String>) -> Page {
    (path.into(), text.into())
}

/// Breaks text into lines of at most `width` columns, each behind `before`.
pub(super) fn wrapped(text: &str, before: &str, width: usize) -> String {
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
