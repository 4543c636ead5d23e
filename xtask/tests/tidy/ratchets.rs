//! Numbers that may only fall: `xtask/ratchets.toml` has them, this counts anew.
//!
//! A higher count fails and lists what was counted. A lower one fails, too, until it is written
//! down in the same change: `cargo x ratchet` does that. What no longer counts can so never return.

use crate::imports::Imports;
use crate::{counts, files, floors, root};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use syn::Item;

/// Values of `LARDER_WRITE`: falls alone, or whatever was counted.
const FALLS: &str = "1";
const ALL: &str = "anew";

/// A count: its name, how many, and which.
struct Count {
    name: String,
    now: u64,
    which: Vec<String>,
}

impl Count {
    fn of(name: impl Into<String>, which: Vec<String>) -> Self {
        Self { name: name.into(), now: which.len() as u64, which }
    }
}

/// All that is counted, and what is wrong apart from numbers.
fn counted() -> (Vec<Count>, Vec<String>) {
    let root = root();
    let mut problems = vec![];
    let mut found = vec![];
    let mut crates: Vec<_> = fs::read_dir(root.join("crates")).unwrap().flatten().collect();
    crates.sort_by_key(fs::DirEntry::file_name);
    let mut imports = BTreeMap::new();
    for entry in crates {
        let name = entry.file_name().into_string().unwrap();
        let read = Imports::of(&entry.path().join("src"), &name.replace('-', "_"));
        let circle = read.largest_circle();
        let circle = circle.iter().map(|file| file.display().to_string()).collect();
        found.push(Count::of(format!("circle {name}"), circle));
        imports.insert(name, read);
    }
    for (name, map) in [("server", floors::SERVER), ("store", floors::STORE)] {
        let against = floors::against(map, &imports[name]);
        found.push(Count::of(format!("upwards {name}"), against.upwards));
        found.push(Count::of(format!("beside {name}"), against.beside));
        problems.extend(against.problems.into_iter().map(|why| format!("{name}: {why}")));
    }
    found.push(Count::of("server files that see Shared or Server", wholes(&imports["server"])));

    let all = files(&root, ".rs");
    let below = root.iter().count();
    let is_source = |path: &&PathBuf| path.iter().skip(below).any(|part| part == "src");
    let sources: Vec<_> = all.iter().filter(is_source).cloned().collect();
    let own = sources.iter().filter(|path| path.starts_with(root.join("crates")));
    let items: BTreeMap<_, _> = own.map(|path| (path.clone(), counts::items(path))).collect();
    let store = root.join("crates/store/src");
    let shard = counts::open_fields(&items[&store.join("shard/shard.rs")], "Shard");
    found.push(Count::of("open fields of Shard", shard));
    found.push(Count::of("takers of &Store below the store", takers(&items, &store)));
    found.push(Count::of("files above 400 lines", counts::long_files(&sources)));
    found.push(Count::of("mod.rs above 60 lines", counts::long_lists(&sources)));
    found.push(Count::of("x.rs beside x/", counts::beside_their_folder(&sources)));
    found.push(branches(&items));
    let shared = counts::shared_names(items.values());
    found.push(Count::of("type names that are defined five times", shared));
    found.push(Count::of("crates of larder", crates_of_larder()));
    for (name, words) in [
        ("openings What, Of, Who, So many, Those", OPENINGS),
        ("openings The same", &["The same"]),
        ("openings Where", &["Where"]),
    ] {
        found.push(Count::of(name, counts::opening_with(&all, words)));
    }
    (found, problems)
}

const OPENINGS: &[&str] = &["What", "Of", "Who", "Whose", "Whom", "So many", "Those"];

/// The server's files that use the struct of everything.
fn wholes(imports: &Imports) -> Vec<String> {
    let whole = |(_, names): &(_, &std::collections::BTreeSet<String>)| {
        names.contains("Shared") || names.contains("Server")
    };
    let users = imports.edges.iter().filter(whole).map(|((user, _), _)| *user);
    let mut users: Vec<_> = users.collect();
    users.dedup();
    users.into_iter().map(|user| imports.files[user].display().to_string()).collect()
}

/// Functions below the store's topmost floor that are handed the whole store.
fn takers(items: &BTreeMap<PathBuf, Vec<Item>>, store: &Path) -> Vec<String> {
    let below = items.iter().filter_map(|(path, items)| {
        let file = path.strip_prefix(store).ok()?;
        (floors::floor(floors::STORE, file)? < 10).then_some((file, items))
    });
    let taken = below.flat_map(|(file, items)| {
        counts::takers(items, "Store")
            .into_iter()
            .map(move |name| format!("{}: {name}", file.display()))
    });
    taken.collect()
}

/// Branches on how a recipe divides memory, outside of the recipes.
fn branches(items: &BTreeMap<PathBuf, Vec<Item>>) -> Count {
    let recipes = root().join("crates/tune/src/recipe");
    let outside = items.iter().filter(|(path, _)| !path.starts_with(&recipes));
    let named = outside.map(|(path, items)| (path, counts::branches(items, "Pools")));
    let named: Vec<_> = named.filter(|(_, times)| *times > 0).collect();
    let now = named.iter().map(|(_, times)| *times as u64).sum();
    let which = named.iter().map(|(path, times)| format!("{}: {times}", path.display())).collect();
    Count { name: "branches on Pools outside of recipes".to_owned(), now, which }
}

/// Every crate that is linked into the command.
fn crates_of_larder() -> Vec<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "-p", "larder", "-e", "normal", "--prefix", "none"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let text = String::from_utf8(tree.stdout).unwrap();
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)").to_owned());
    let mut crates: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    crates.sort();
    crates.dedup();
    crates
}

/// The lines of the file that hold a number: name, number.
fn written(text: &str) -> BTreeMap<String, u64> {
    let lines = text.lines().filter_map(|line| line.split_once(" = "));
    let pair = |(name, number): (&str, &str)| {
        let number = number.split('#').next()?.trim().parse().ok()?;
        Some((name.trim_matches('"').to_owned(), number))
    };
    lines.filter_map(pair).collect()
}

/// The file with other numbers; a count that it lacks comes last.
fn rewritten(text: &str, numbers: &BTreeMap<String, u64>) -> String {
    let mut out = String::new();
    let mut left = numbers.clone();
    for line in text.lines() {
        let name = line.split_once(" = ").map(|(name, _)| name.trim_matches('"'));
        match name.and_then(|name| Some((name, left.remove(name)?))) {
            Some((name, number)) => {
                let _ = writeln!(out, "\"{name}\" = {number}");
            }
            // A crate that is gone takes its number along.
            None if name.is_some() => {}
            None => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
    for (name, number) in left {
        let _ = writeln!(out, "\"{name}\" = {number}");
    }
    out
}

/// The complaints about the counts, and the numbers to be written.
fn judged(
    counts: &[Count],
    old: &BTreeMap<String, u64>,
    mode: &str,
) -> (Vec<String>, BTreeMap<String, u64>) {
    let mut problems = vec![];
    let mut numbers = BTreeMap::new();
    for Count { name, now, which } in counts {
        let number = match old.get(name) {
            Some(old) if now > old && mode != ALL => {
                problems.push(format!(
                    "{name}: {now}, and at most {old} are allowed:\n    {}",
                    which.join("\n    ")
                ));
                *old
            }
            Some(old) if now < old && mode.is_empty() => {
                problems.push(format!("{name}: {now} is lower than {old}: `cargo x ratchet`"));
                *old
            }
            None if mode.is_empty() => {
                problems.push(format!("{name}: {now} is new: `cargo x ratchet`"));
                continue;
            }
            _ => *now,
        };
        numbers.insert(name.clone(), number);
    }
    for name in old.keys().filter(|name| mode.is_empty() && !numbers.contains_key(*name)) {
        if !counts.iter().any(|count| count.name == **name) {
            problems.push(format!("{name}: nothing of that name is counted: `cargo x ratchet`"));
        }
    }
    (problems, numbers)
}

#[test]
fn numbers_only_fall() {
    let path = root().join("xtask/ratchets.toml");
    let text = fs::read_to_string(&path).unwrap();
    let mode = std::env::var("LARDER_WRITE").unwrap_or_default();
    assert!(["", FALLS, ALL].contains(&mode.as_str()), "LARDER_WRITE is {FALLS} or {ALL}");
    let (counts, mut problems) = counted();
    let (more, numbers) = judged(&counts, &written(&text), &mode);
    problems.extend(more);
    if !mode.is_empty() {
        fs::write(&path, rewritten(&text, &numbers)).unwrap();
    }
    for count in &counts {
        println!("{}: {}", count.name, count.now);
    }
    crate::complain(&problems);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(now: u64, mode: &str) -> (usize, u64) {
        let old = BTreeMap::from([("long".to_owned(), 5)]);
        let count = Count { name: "long".to_owned(), now, which: vec![] };
        let (problems, numbers) = judged(&[count], &old, mode);
        (problems.len(), numbers["long"])
    }

    #[test]
    fn a_rise_fails_and_a_fall_is_written() {
        assert_eq!(judge(5, ""), (0, 5));
        assert_eq!(judge(6, ""), (1, 5), "more than were there");
        assert_eq!(judge(6, FALLS), (1, 5), "a rise is not written");
        assert_eq!(judge(4, ""), (1, 5), "a fall wants to be written down");
        assert_eq!(judge(4, FALLS), (0, 4));
        assert_eq!(judge(6, ALL), (0, 6));
    }

    #[test]
    fn a_name_without_a_count_and_a_count_without_a_number_fail() {
        let old = BTreeMap::from([("gone".to_owned(), 5)]);
        let count = Count { name: "new".to_owned(), now: 1, which: vec![] };
        assert_eq!(judged(&[count], &old, "").0.len(), 2);
    }

    #[test]
    fn comments_stay_where_numbers_change() {
        let text = "# Head.\n\"a b\" = 3\n\n# Of c.\n\"c\" = 1\n";
        let numbers = BTreeMap::from([("a b".to_owned(), 2), ("c".to_owned(), 1)]);
        assert_eq!(rewritten(text, &numbers), text.replace('3', "2"));
        assert_eq!(written(text)["a b"], 3);
    }
}
