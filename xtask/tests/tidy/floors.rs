//! The floors of the two large crates: a request goes down them, and its answer comes up once.
//!
//! A file imports from lower floors, or from a leaf of its own floor, which is a file that imports
//! nothing from that floor. Each floor has its folders, and a file that mixes floors is on the
//! floor of its larger part.

use crate::imports::Imports;
use std::path::Path;

/// Floor, its folder, and the beginnings of paths below `src`; the longest that fits decides.
type Floors = &'static [(u32, &'static str, &'static [&'static str])];

pub(crate) const SERVER: Floors = &[
    (9, "process", &["lib.rs", "process/"]),
    (8, "net", &["net/"]),
    (7, "background", &["background/"]),
    (7, "families", &["families.rs"]),
    (6, "commands", &["commands/"]),
    (6, "memcached", &["memcached/"]),
    (6, "scripting", &["scripting/"]),
    (5, "execute", &["execute/"]),
    (4, "call", &["call/"]),
    (4, "observe", &["observe/"]),
    (3, "server", &["server/"]),
    (3, "session", &["session/"]),
    (2, "services", &["services/"]),
    (1, "settings", &["settings/"]),
    (1, "facts", &["facts/"]),
    (0, "values", &["values/"]),
    (0, "text", &["text/"]),
];

pub(crate) const STORE: Floors = &[
    (11, "lib", &["lib.rs"]),
    (10, "store", &["store/"]),
    (9, "shard", &["shard/"]),
    (8, "room", &["room/"]),
    (7, "victims", &["victims/"]),
    (6, "contents", &["contents/"]),
    (5, "tenant", &["tenant/"]),
    (4, "learning", &["learning/"]),
    (3, "items", &["items/"]),
    (3, "compression", &["compression/"]),
    (2, "codec", &["compression/codec.rs"]),
    (2, "item", &["items/item.rs"]),
    (1, "sizes", &["items/sizes/"]),
    (1, "dictionary", &["compression/dictionary.rs"]),
    (0, "form", &["compression/form.rs", "compression/decision.rs"]),
    (0, "sync", &["sync/"]),
    (0, "bytes", &["bytes/"]),
];

/// The floor of a file.
pub(crate) fn floor(floors: Floors, file: &Path) -> Option<u32> {
    let file = file.to_string_lossy();
    let places = floors.iter().flat_map(|(floor, _, starts)| starts.iter().map(|s| (*floor, *s)));
    let fits = places.filter(|(_, start)| file.starts_with(start));
    fits.max_by_key(|(_, start)| start.len()).map(|(floor, _)| floor)
}

/// Imports against the floors.
#[derive(Debug, Default)]
pub(crate) struct Against {
    /// Imports that point to a higher floor.
    pub(crate) upwards: Vec<String>,
    /// Imports of a file of the same floor that is no leaf.
    pub(crate) beside: Vec<String>,
    /// Files that have no floor, and places where no file is.
    pub(crate) problems: Vec<String>,
}

/// Holds a crate's imports against its floors.
pub(crate) fn against(floors: Floors, imports: &Imports) -> Against {
    let mut found = Against::default();
    let on: Vec<_> = imports.files.iter().map(|file| floor(floors, file)).collect();
    for (file, _) in imports.files.iter().zip(&on).filter(|(_, floor)| floor.is_none()) {
        found.problems.push(format!("{}: give it a floor", file.display()));
    }
    for start in floors.iter().flat_map(|(_, _, starts)| *starts) {
        if !imports.files.iter().any(|file| file.to_string_lossy().starts_with(start)) {
            found.problems.push(format!("{start}: a floor is given to a file that is not there"));
        }
    }
    let is_leaf = |file: usize| {
        let own = imports.edges.range((file, 0)..(file + 1, 0));
        own.clone().all(|((_, to), _)| on[*to] != on[file])
    };
    for ((from, to), names) in &imports.edges {
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let (user, owner) = (imports.files[*from].display(), imports.files[*to].display());
        let line = format!("{user} → {owner}: {}", names.join(", "));
        match (on[*from], on[*to]) {
            (Some(low), Some(high)) if low < high => found.upwards.push(line),
            (Some(one), Some(other)) if one == other && !is_leaf(*to) => found.beside.push(line),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    const MADE_UP: Floors =
        &[(2, "top", &["a.rs"]), (1, "low", &["b/", "c.rs"]), (0, "deep", &["b/d.rs"])];

    fn imports(edges: &[(usize, usize)]) -> Against {
        let files = ["a.rs", "b/x.rs", "c.rs", "b/d.rs"].map(PathBuf::from).to_vec();
        let edges =
            edges.iter().map(|edge| (*edge, ["N".to_owned()].into())).collect::<BTreeMap<_, _>>();
        against(MADE_UP, &Imports { files, edges })
    }

    #[test]
    fn only_downwards_or_to_a_leaf() {
        assert_eq!(floor(MADE_UP, Path::new("b/d.rs")), Some(0), "the longest beginning decides");
        let down = imports(&[(0, 1), (1, 3), (1, 2)]);
        assert!(down.upwards.is_empty() && down.beside.is_empty() && down.problems.is_empty());
        assert_eq!(imports(&[(3, 2)]).upwards, ["b/d.rs → c.rs: N"]);
        assert_eq!(imports(&[(1, 2), (2, 1)]).beside.len(), 2, "neither is a leaf");
    }

    #[test]
    fn a_file_without_a_floor_and_a_floor_without_a_file_are_found() {
        let files = vec![PathBuf::from("a.rs"), PathBuf::from("new.rs")];
        let found = against(MADE_UP, &Imports { files, ..Imports::default() });
        assert_eq!(found.problems.len(), 4, "{:?}", found.problems);
    }
}
