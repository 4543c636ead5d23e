//! The files that the compiler reads: from the root of each target along the `mod` declarations.
//!
//! Cargo names the roots of the targets. From there on the rules are those of the language. `mod
//! name;` in a root or a `mod.rs` means `name.rs` or `name/mod.rs` beside it. In any other file
//! `x.rs` the file is in the folder `x`. Each inline `mod name { … }` around it adds a folder, and
//! `#[path]` names the file itself. Conditions are ignored: a file that is compiled under some
//! `cfg` counts as compiled.
//!
//! A macro of the same file whose body has `mod $name;` declares the identifiers at the top level
//! of its call; our registries list their modules in this way.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use syn::ext::IdentExt;
use syn::{Attribute, Expr, Item, ItemMacro, ItemMod, Lit, Meta};

/// The result of a walk.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    /// Every file that a target consists of.
    pub(crate) reached: BTreeSet<PathBuf>,
    /// Files that cannot be parsed as Rust, and declarations without a file.
    pub(crate) problems: Vec<String>,
}

/// The place of a module declaration, which decides where its file is.
struct Place<'a> {
    /// The file with the declaration.
    file: &'a Path,
    /// The folder for a module that names no path.
    folder: PathBuf,
    /// The folder from which a `#[path]` starts.
    origin: PathBuf,
}

impl Modules {
    /// Reads all targets of the workspaces with these manifests.
    pub(crate) fn of(manifests: &[PathBuf]) -> Self {
        let mut modules = Self::default();
        for root in manifests.iter().flat_map(|manifest| targets(manifest)) {
            modules.walk(&root, true);
        }
        modules
    }

    /// Reads a file; its modules lie in its own folder if it `is_root` of them.
    fn walk(&mut self, path: &Path, is_root: bool) {
        let Ok(file) = path.canonicalize() else {
            return self.problems.push(format!("{}: there is no such file", path.display()));
        };
        if !self.reached.insert(file.clone()) {
            return;
        }
        let parsed = syn::parse_file(&fs::read_to_string(&file).unwrap());
        let items = match parsed {
            Ok(parsed) => parsed.items,
            Err(error) => return self.problems.push(format!("{}: {error}", file.display())),
        };
        let beside = file.parent().unwrap().to_path_buf();
        let folder = if is_root { beside.clone() } else { file.with_extension("") };
        self.items(&items, &Place { file: &file, folder, origin: beside });
    }

    fn items(&mut self, items: &[Item], place: &Place) {
        let macros: Vec<_> = items.iter().filter_map(declares_modules).collect();
        for item in items {
            match item {
                Item::Mod(module) => self.module(module, place),
                Item::Macro(call) if macros.iter().any(|name| call.mac.path.is_ident(name)) => {
                    for token in call.mac.tokens.clone() {
                        if let TokenTree::Ident(name) = token {
                            self.declared(&name.unraw().to_string(), place);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn module(&mut self, module: &ItemMod, place: &Place) {
        let name = module.ident.unraw().to_string();
        let path = module.attrs.iter().find_map(path_of);
        match (&module.content, path) {
            (Some((_, items)), path) => {
                let folder = match path {
                    Some(path) => place.origin.join(path),
                    None => place.folder.join(name),
                };
                self.items(items, &Place { file: place.file, origin: folder.clone(), folder });
            }
            // A file named by `#[path]` may have any name; its own modules lie beside it.
            (None, Some(path)) => self.walk(&place.origin.join(path), true),
            (None, None) => self.declared(&name, place),
        }
    }

    /// `mod name;`
    fn declared(&mut self, name: &str, place: &Place) {
        let file = place.folder.join(format!("{name}.rs"));
        let root = place.folder.join(name).join("mod.rs");
        match (file.exists(), root.exists()) {
            (true, _) => self.walk(&file, false),
            (false, true) => self.walk(&root, true),
            (false, false) => {
                let file = place.file.display();
                self.problems.push(format!("{file}: mod {name} has no file"));
            }
        }
    }
}

/// The roots of all targets of a workspace, from Cargo.
fn targets(manifest: &Path) -> Vec<PathBuf> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1", "--manifest-path"])
        .arg(manifest)
        .output()
        .unwrap();
    let sentence = String::from_utf8_lossy(&metadata.stderr);
    assert!(metadata.status.success(), "{}: {sentence}", manifest.display());
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let targets = packages.iter().flat_map(|package| package["targets"].as_array().unwrap());
    targets.map(|target| target["src_path"].as_str().unwrap().into()).collect()
}

/// The name of a macro that declares the modules in its arguments.
pub(crate) fn declares_modules(item: &Item) -> Option<String> {
    match item {
        Item::Macro(ItemMacro { ident: Some(name), mac, .. }) if says_mod(mac.tokens.clone()) => {
            Some(name.to_string())
        }
        _ => None,
    }
}

/// Whether `mod $name;` is somewhere in the tokens.
fn says_mod(tokens: TokenStream) -> bool {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let is = |token: &TokenTree, text: &str| token.to_string() == text;
    tokens.windows(4).any(|four| is(&four[0], "mod") && is(&four[1], "$") && is(&four[3], ";"))
        || tokens.iter().any(|token| match token {
            TokenTree::Group(group) => says_mod(group.stream()),
            _ => false,
        })
}

/// The text of `#[path = "…"]`.
pub(crate) fn path_of(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The walk on a made-up package: each file is reached by its declaration only.
#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Files and their contents.
    const TREE: &[(&str, &str)] = &[
        ("src/lib.rs", "mod a;\nmod inline {\n    pub mod deep;\n}\nmod folder;\n"),
        (
            "src/a.rs",
            "//! mod ghost;\nconst TEXT: &str = \"mod ghost;\";\n#[cfg(test)]\nmod tests;\n",
        ),
        ("src/a/tests.rs", ""),
        ("src/inline/deep.rs", ""),
        ("src/folder/mod.rs", "#[path = \"elsewhere/odd.rs\"]\nmod renamed;\nmod list;\n"),
        ("src/folder/elsewhere/odd.rs", "mod beside;\n"),
        ("src/folder/elsewhere/beside.rs", ""),
        (
            "src/folder/list.rs",
            "macro_rules! all {\n    ($($name:ident),*) => { $(pub mod $name;)* };\n}\n\
             all! { one, r#static }\n",
        ),
        ("src/folder/list/one.rs", ""),
        ("src/folder/list/static.rs", ""),
        ("src/bin/tool/main.rs", "mod part;\n"),
        ("src/bin/tool/part.rs", ""),
        ("tests/whole/main.rs", "mod case;\n#[path = \"../shared.rs\"]\nmod shared;\n"),
        ("tests/whole/case.rs", ""),
        ("benches/speed.rs", ""),
        ("fuzz_targets/parse.rs", ""),
    ];
    const MANIFEST: &str = "[package]\nname = \"made-up\"\nedition = \"2024\"\n[workspace]\n\
                            [[bin]]\nname = \"parse\"\npath = \"fuzz_targets/parse.rs\"\n";
    /// A file without a declaration, though a comment and a text name it.
    const GHOST: &str = "src/a/ghost.rs";

    fn lay(change: impl Fn(&str, &str) -> String) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let mut files = TREE.to_vec();
        files.extend([("Cargo.toml", MANIFEST), (GHOST, ""), ("tests/shared.rs", "")]);
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, change(name, text)).unwrap();
        }
        (folder, root)
    }

    fn is_reached(root: &Path, name: &str) -> bool {
        let modules = Modules::of(&[root.join("Cargo.toml")]);
        assert!(modules.problems.is_empty(), "{:?}", modules.problems);
        modules.reached.contains(&root.join(name))
    }

    #[test]
    fn declarations_of_every_form_are_followed() {
        let (_folder, root) = lay(|_, text| text.to_owned());
        for (name, _) in TREE {
            assert!(is_reached(&root, name), "{name}");
        }
        assert!(!is_reached(&root, GHOST), "a comment declares nothing");
    }

    /// Without the line that declares it, neither a file nor any file below it is reached.
    #[test]
    fn without_its_declaration_a_file_is_not_reached() {
        let cases = [
            ("src/lib.rs", "mod a;", "src/a/tests.rs"),
            ("src/lib.rs", "pub mod deep;", "src/inline/deep.rs"),
            ("src/lib.rs", "mod folder;", "src/folder/elsewhere/beside.rs"),
            ("src/a.rs", "mod tests;", "src/a/tests.rs"),
            ("src/folder/mod.rs", "mod renamed;", "src/folder/elsewhere/odd.rs"),
            ("src/folder/list.rs", "one, ", "src/folder/list/one.rs"),
            ("src/folder/list.rs", ", r#static", "src/folder/list/static.rs"),
            ("src/bin/tool/main.rs", "mod part;", "src/bin/tool/part.rs"),
            ("tests/whole/main.rs", "mod case;", "tests/whole/case.rs"),
        ];
        for (file, line, lost) in cases {
            let (_folder, root) = lay(|name, text| {
                assert!(name != file || text.contains(line), "{file} has no {line}");
                // An attribute needs an item after it.
                let other = if line.ends_with(';') { "use a as _;" } else { "" };
                if name == file { text.replacen(line, other, 1) } else { text.to_owned() }
            });
            assert!(!is_reached(&root, lost), "{lost} without {line}");
        }
    }

    #[test]
    fn a_declaration_without_a_file_is_a_problem() {
        let (_folder, root) = lay(|_, text| text.to_owned());
        fs::remove_file(root.join("src/inline/deep.rs")).unwrap();
        let modules = Modules::of(&[root.join("Cargo.toml")]);
        assert_eq!(modules.problems.len(), 1, "{:?}", modules.problems);
        assert!(modules.problems[0].ends_with("lib.rs: mod deep has no file"));
    }
}
