//! The targets of documents: files, sections of files, and paths that prose and comments name.

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Folders of the repository: a word that starts with one of them is a path.
const FOLDERS: &[&str] =
    &[".ci/", "bench/", "crates/", "docs/", "fuzz/", "packaging/", "testdata/", "xtask/"];

/// The titles, sections and links of a document.
#[derive(Debug, Default)]
struct Document {
    titles: usize,
    /// The names by which links refer to its sections.
    sections: BTreeSet<String>,
    links: Vec<String>,
}

impl Document {
    fn read(text: &str) -> Self {
        let mut document = Self::default();
        let mut times = BTreeMap::<String, usize>::new();
        let mut heading: Option<String> = None;
        for event in Parser::new(text) {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    document.titles += usize::from(level == HeadingLevel::H1);
                    heading = Some(String::new());
                }
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                Event::End(TagEnd::Heading(_)) => {
                    let name = section(&heading.take().unwrap_or_default());
                    let times = times.entry(name.clone()).or_default();
                    let numbered = if *times == 0 { name } else { format!("{name}-{times}") };
                    *times += 1;
                    document.sections.insert(numbered);
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    document.links.push(dest_url.into_string());
                }
                _ => {}
            }
        }
        document
    }
}

/// The name of a section, as code hosts derive it from its heading.
fn section(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// The problems of a document: its titles, and links without a target.
pub(crate) fn problems_of_document(path: &Path) -> Vec<String> {
    let document = Document::read(&fs::read_to_string(path).unwrap());
    let mut problems = vec![];
    // The parts of a book are titles.
    if document.titles != 1 && !path.ends_with("SUMMARY.md") {
        problems.push(format!("{} titles instead of one", document.titles));
    }
    for link in document.links.iter().filter(|link| !link.contains(':')) {
        let (target, name) = link.split_once('#').unwrap_or((link, ""));
        let file =
            if target.is_empty() { path.into() } else { path.parent().unwrap().join(target) };
        if !file.exists() {
            problems.push(format!("links to {target}, absent"));
        } else if !name.is_empty() {
            let text = fs::read_to_string(&file).unwrap_or_default();
            if !Document::read(&text).sections.contains(name) {
                problems.push(format!("links to {link}: {target} has no section '{name}'"));
            }
        }
    }
    problems.into_iter().map(|problem| format!("{}: {problem}", path.display())).collect()
}

/// Paths of the repository that a text names and that do not exist.
pub(crate) fn absent_paths<'a>(root: &Path, text: &'a str) -> Vec<&'a str> {
    let is_part = |c: char| c.is_alphanumeric() || "/._-*{},$".contains(c);
    let words = text.split(|c| !is_part(c)).map(|word| word.trim_end_matches(['.', ',']));
    let paths = words.filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)));
    let plain = paths.filter(|path| !path.contains(['*', '{', '}', ',', '$']));
    plain.filter(|path| !root.join(path).exists()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_absent_files_and_sections_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        write("there.md", "# There\n\n## What `it` is, twice\n\n## What it is, twice\n");
        let good = "# One\n\n[a](there.md#what-it-is-twice-1) [b](#one) [c][d] [e](https://f.g)\n\n\
                    ```\n# no title, [no](link)\n```\n\n[d]: there.md\n";
        assert_eq!(problems_of_document(&write("good.md", good)), [""; 0]);
        let bad = "# One\n\n# Two\n\n[a](absent.md) [b](there.md#what) [c][d]\n\n[d]: absent.md\n";
        let problems = problems_of_document(&write("bad.md", bad));
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert!(problems[0].ends_with("2 titles instead of one"));
        assert!(problems[2].ends_with("there.md has no section 'what'"));
    }

    #[test]
    fn paths_that_are_not_there_are_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("docs/results")).unwrap();
        fs::write(folder.path().join("docs/results/a.md"), "").unwrap();
        let text = "see docs/results/a.md, `docs/results` and docs/results/*.md; not docs/b.md.";
        assert_eq!(absent_paths(folder.path(), text), ["docs/b.md"]);
    }
}
