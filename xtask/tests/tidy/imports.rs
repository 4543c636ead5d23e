//! Imports between the files of one crate: file A imports file B if A uses a name that B defines.
//!
//! A name is resolved as by the compiler: along the module tree, through `use` and re-exports, to
//! the file that defines it. A re-export itself does not use the name. A registry, which is the
//! call of a macro that declares modules, uses every module that it lists. Methods are not
//! followed, because their receiver's type is unknown here; but a file that calls one has named the
//! type somewhere. Unit tests do not count.

use crate::modules::{declares_modules, path_of};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::ext::IdentExt;
use syn::{Attribute, Item, UseTree, Visibility};

/// The files of a crate, and the names that each uses of the others.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    /// Paths below the crate's `src`.
    pub(crate) files: Vec<PathBuf>,
    /// The used names, for each pair of using and defining file.
    pub(crate) edges: BTreeMap<(usize, usize), BTreeSet<String>>,
}

/// A module: a file, or a `mod name { … }` within one.
#[derive(Debug, Default)]
struct Module {
    file: usize,
    parent: usize,
    defined: BTreeSet<String>,
    children: BTreeMap<String, usize>,
    aliases: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// Everything in the module that may use names.
    text: Vec<TokenStream>,
    /// Calls of macros that declare modules.
    registries: Vec<TokenStream>,
}

/// The target of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Module(usize),
    /// A name that this file defines.
    Name(usize),
}

/// A crate while it is read.
#[derive(Debug, Default)]
struct Reader {
    src: PathBuf,
    files: Vec<PathBuf>,
    modules: Vec<Module>,
    /// The name of the library for other targets of the package, and its root module.
    library: Option<(String, usize)>,
}

impl Imports {
    /// Reads the crate with the sources in `src`; `name` is the name of its library.
    pub(crate) fn of(src: &Path, name: &str) -> Self {
        let mut reader = Reader { src: src.to_path_buf(), ..Reader::default() };
        for root in ["lib.rs", "main.rs"] {
            if src.join(root).exists() {
                let module = reader.file(&src.join(root), None, true);
                if root == "lib.rs" {
                    reader.library = Some((name.to_owned(), module));
                }
            }
        }
        let mut edges: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (at, module) in reader.modules.iter().enumerate() {
            for (found, name) in reader.uses(at) {
                if found != module.file {
                    edges.entry((module.file, found)).or_default().insert(name);
                }
            }
        }
        Self { files: reader.files, edges }
    }

    /// The largest set of files that all import each other, directly or over others.
    pub(crate) fn largest_circle(&self) -> Vec<&Path> {
        let reached: Vec<_> = (0..self.files.len()).map(|from| self.reach(from)).collect();
        let mut largest = vec![];
        for (from, members) in reached.iter().enumerate() {
            let circle: Vec<_> =
                members.iter().filter(|to| reached[**to].contains(&from)).collect();
            if circle.len() > largest.len() {
                largest = circle;
            }
        }
        largest.into_iter().map(|file| self.files[*file].as_path()).collect()
    }

    /// Every file that a file imports, directly or over others.
    fn reach(&self, from: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(file) = open.pop() {
            for (_, to) in self.edges.range((file, 0)..(file + 1, 0)).map(|(edge, _)| *edge) {
                if reached.insert(to) {
                    open.push(to);
                }
            }
        }
        reached
    }
}

impl Reader {
    /// Reads a file as a module; its modules lie in its own folder if it `is_root` of them.
    fn file(&mut self, path: &Path, parent: Option<usize>, is_root: bool) -> usize {
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        self.files.push(path.strip_prefix(&self.src).unwrap_or(path).to_path_buf());
        let file = self.files.len() - 1;
        let beside = path.parent().unwrap_or(path).to_path_buf();
        let folder = if is_root { beside.clone() } else { path.with_extension("") };
        self.module(parsed.items, file, parent, &folder, &beside)
    }

    fn module(
        &mut self,
        items: Vec<Item>,
        file: usize,
        parent: Option<usize>,
        folder: &Path,
        origin: &Path,
    ) -> usize {
        let at = self.modules.len();
        let parent = parent.unwrap_or(at);
        self.modules.push(Module { file, parent, ..Module::default() });
        let declaring: Vec<_> = items.iter().filter_map(declares_modules).collect();
        for item in items.into_iter().filter(|item| !is_test(attributes(item))) {
            match item {
                Item::Mod(module) => {
                    let name = module.ident.unraw().to_string();
                    let path = module.attrs.iter().find_map(path_of);
                    let child = match (module.content, path) {
                        (Some((_, items)), path) => {
                            let inner = path.map_or_else(|| folder.join(&name), |p| origin.join(p));
                            self.module(items, file, Some(at), &inner, &inner)
                        }
                        (None, Some(path)) => self.file(&origin.join(path), Some(at), true),
                        (None, None) => self.declared(&name, at, folder),
                    };
                    self.modules[at].children.insert(name, child);
                }
                Item::Macro(call) if declaring.iter().any(|name| call.mac.path.is_ident(name)) => {
                    for token in call.mac.tokens.clone() {
                        if let TokenTree::Ident(name) = token {
                            let name = name.unraw().to_string();
                            let child = self.declared(&name, at, folder);
                            self.modules[at].children.insert(name, child);
                        }
                    }
                    self.modules[at].registries.push(call.mac.tokens);
                }
                Item::Use(import) => {
                    self.alias(at, vec![], &import.tree);
                    if matches!(import.vis, Visibility::Inherited) {
                        self.modules[at].text.push(import.to_token_stream());
                    }
                }
                item => {
                    if let Some(name) = name_of(&item) {
                        self.modules[at].defined.insert(name);
                    }
                    self.inner_aliases(at, item.to_token_stream());
                    self.modules[at].text.push(item.to_token_stream());
                }
            }
        }
        at
    }

    fn declared(&mut self, name: &str, parent: usize, folder: &Path) -> usize {
        let file = folder.join(format!("{name}.rs"));
        let root = folder.join(name).join("mod.rs");
        if file.exists() {
            self.file(&file, Some(parent), false)
        } else {
            self.file(&root, Some(parent), true)
        }
    }

    /// The names that a `use` brings into a module.
    fn alias(&mut self, at: usize, mut path: Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(part) => {
                path.push(part.ident.unraw().to_string());
                self.alias(at, path, &part.tree);
            }
            UseTree::Name(name) => {
                let name = name.ident.unraw().to_string();
                if name == "self" {
                    let last = path.last().cloned().unwrap_or_default();
                    self.modules[at].aliases.insert(last, path);
                } else {
                    path.push(name.clone());
                    self.modules[at].aliases.insert(name, path);
                }
            }
            UseTree::Rename(both) => {
                let name = both.ident.unraw().to_string();
                if name != "self" {
                    path.push(name);
                }
                self.modules[at].aliases.insert(both.rename.unraw().to_string(), path);
            }
            UseTree::Glob(_) => self.modules[at].globs.push(path),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.alias(at, path.clone(), tree);
                }
            }
        }
    }

    /// A `use` within a function counts as one of its module.
    fn inner_aliases(&mut self, at: usize, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for (start, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.inner_aliases(at, group.stream()),
                TokenTree::Ident(word) if word == "use" => {
                    let end = tokens[start..].iter().position(|token| is(token, ';'));
                    let import: TokenStream =
                        tokens[start..].iter().take(end.unwrap_or(0) + 1).cloned().collect();
                    if let Ok(import) = syn::parse2::<syn::ItemUse>(import) {
                        self.alias(at, vec![], &import.tree);
                    }
                }
                _ => {}
            }
        }
    }

    /// The files whose names a module uses, with the names.
    fn uses(&self, at: usize) -> Vec<(usize, String)> {
        let module = &self.modules[at];
        let mut paths = vec![];
        for tokens in &module.text {
            paths_in(tokens.clone(), &[], &mut paths);
        }
        let named = paths.iter().filter_map(|path| {
            let name = path.last()?.clone();
            match self.resolve(at, path, 0)? {
                (Found::Name(file), _) => Some((file, name)),
                // A name that a macro made.
                (Found::Module(module), 1..) => Some((self.modules[module].file, name)),
                (Found::Module(_), 0) => None,
            }
        });
        let mut listed = vec![];
        for tokens in &module.registries {
            paths_in(tokens.clone(), &[], &mut listed);
            let whole = tokens.clone().into_iter();
            listed.extend(whole.filter_map(|token| match token {
                TokenTree::Ident(name) => Some(vec![name.unraw().to_string()]),
                _ => None,
            }));
        }
        let listed = listed.iter().filter_map(|path| match self.resolve(at, path, 0)? {
            (Found::Module(module), 0) if path.len() > 1 || !self.is_family(module, &listed) => {
                Some((self.modules[module].file, path.last()?.clone()))
            }
            _ => None,
        });
        named.chain(listed).collect()
    }

    /// Whether a registry lists the members of this module, and not the module itself.
    fn is_family(&self, module: usize, listed: &[Vec<String>]) -> bool {
        let parent = &self.modules[self.modules[module].parent];
        let names = parent.children.iter().filter(|(_, child)| **child == module);
        names.clone().any(|(name, _)| listed.iter().any(|path| path.len() > 1 && path[0] == *name))
    }

    /// The target of a path, and the number of its last words that no module defines.
    fn resolve(&self, from: usize, path: &[String], depth: u32) -> Option<(Found, usize)> {
        if depth > 16 {
            return None;
        }
        let (first, rest) = path.split_first()?;
        let mut found = match first.as_str() {
            "crate" => Found::Module(self.root(from)),
            "self" => Found::Module(from),
            "super" => Found::Module(self.modules[from].parent),
            name => self.within(from, name, depth).or_else(|| match &self.library {
                Some((library, root)) if library == name => Some(Found::Module(*root)),
                _ => None,
            })?,
        };
        for (at, word) in rest.iter().enumerate() {
            let Found::Module(module) = found else { break };
            let next = match word.as_str() {
                "super" => Some(Found::Module(self.modules[module].parent)),
                "self" => Some(found),
                word => self.within(module, word, depth),
            };
            match next {
                Some(next) => found = next,
                None => return Some((found, rest.len() - at)),
            }
        }
        Some((found, 0))
    }

    fn root(&self, mut module: usize) -> usize {
        while self.modules[module].parent != module {
            module = self.modules[module].parent;
        }
        module
    }

    /// Looks up a name within a module.
    fn within(&self, at: usize, name: &str, depth: u32) -> Option<Found> {
        let module = &self.modules[at];
        if module.defined.contains(name) {
            return Some(Found::Name(module.file));
        }
        if let Some(child) = module.children.get(name) {
            return Some(Found::Module(*child));
        }
        let complete = |found: (Found, usize)| match found {
            (found, 0) => Some(found),
            (Found::Module(module), _) => Some(Found::Name(self.modules[module].file)),
            (Found::Name(_), _) => None,
        };
        if let Some(path) = module.aliases.get(name) {
            // `use x::x`, and a crate with the name of one of our modules.
            if path.first().is_some_and(|first| first == name)
                && !module.children.contains_key(name)
            {
                return None;
            }
            return complete(self.resolve(at, path, depth + 1)?);
        }
        module.globs.iter().find_map(|glob| match self.resolve(at, glob, depth + 1)? {
            (Found::Module(inner), 0) if inner != at && depth < 16 => {
                self.within(inner, name, depth + 1)
            }
            _ => None,
        })
    }
}

/// The paths that a piece of code names: all paths of several words, and single words that look
/// like a type, a constant, a macro or a call.
fn paths_in(tokens: TokenStream, prefix: &[String], found: &mut Vec<Vec<String>>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                if let Some(TokenTree::Group(group)) = tokens.get(at + 1)
                    && says_test(&group.stream().to_string())
                {
                    at += 1;
                    while at < tokens.len() && !ends_item(&tokens[at]) {
                        at += 1;
                    }
                }
                at += 1;
            }
            TokenTree::Group(group) => {
                paths_in(group.stream(), &[], found);
                at += 1;
            }
            TokenTree::Ident(_) => at = path_at(&tokens, at, prefix, found),
            _ => at += 1,
        }
    }
}

/// Reads the path that begins with the word at `at`; returns the index after it.
fn path_at(
    tokens: &[TokenTree],
    at: usize,
    prefix: &[String],
    found: &mut Vec<Vec<String>>,
) -> usize {
    let mut path = prefix.to_vec();
    let is_member = at > 0 && is(&tokens[at - 1], '.') && !(at > 1 && is(&tokens[at - 2], '.'));
    let is_lifetime = at > 0 && is(&tokens[at - 1], '\'');
    let is_defined = at > 0
        && matches!(&tokens[at - 1], TokenTree::Ident(word) if word == "fn" || word == "let");
    let mut end = at;
    while let Some(TokenTree::Ident(word)) = tokens.get(end) {
        path.push(word.unraw().to_string());
        end += 1;
        if !(tokens.get(end).is_some_and(|token| is(token, ':'))
            && tokens.get(end + 1).is_some_and(|token| is(token, ':')))
        {
            break;
        }
        match tokens.get(end + 2) {
            Some(TokenTree::Ident(_)) => end += 2,
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                for part in group.stream().into_iter().collect::<Vec<_>>().split(|t| is(t, ',')) {
                    if let Some(TokenTree::Ident(_)) = part.first() {
                        path_at(part, 0, &path, found);
                    }
                }
                return end + 3;
            }
            // A glob, or the arguments of a generic.
            _ => break,
        }
    }
    let next = tokens.get(end);
    let single = path.len() == 1 && {
        let is_upper = path[0].starts_with(char::is_uppercase);
        let calls = matches!(next, Some(TokenTree::Group(group))
            if group.delimiter() == Delimiter::Parenthesis);
        !(is_upper || calls || next.is_some_and(|token| is(token, '!')))
    };
    if !is_member && !is_lifetime && !is_defined && !single {
        found.push(path);
    }
    end
}

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn ends_item(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
        || is(token, ';')
        || is(token, ',')
}

/// Whether an attribute's text is `cfg(test)`, alone or with further conditions.
fn says_test(text: &str) -> bool {
    let text: String = text.split_whitespace().collect();
    text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

/// Whether an item is compiled only for unit tests.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| says_test(&attribute.meta.to_token_stream().to_string()))
}

/// The attributes of an item of any kind.
pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The name that an item defines in its module.
fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.unraw().to_string())
}

/// The rules on a made-up crate.
#[cfg(test)]
mod tests {
    use super::*;

    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let read = Imports::of(folder.path(), "made_up");
        let name = |file: usize| read.files[file].display().to_string();
        read.edges.keys().map(|(from, to)| format!("{}>{}", name(*from), name(*to))).collect()
    }

    /// Whether `a.rs` with this text imports `b.rs`, which defines `B` and `b`.
    fn imports(text: &str) -> bool {
        let lib = "mod a;\nmod b;\npub use b::B;\n";
        let b = "pub struct B;\npub enum E { One }\npub fn b() {}\nmacro_rules! m { () => {} }\n";
        let edges = edges(&[("lib.rs", lib), ("a.rs", text), ("b.rs", b)]);
        assert!(edges.iter().all(|edge| edge == "a.rs>b.rs"), "{edges:?}");
        !edges.is_empty()
    }

    #[test]
    fn a_name_leads_to_the_file_that_defines_it() {
        for text in [
            "use crate::b::B;",
            "use super::b::{self, b};",
            // Through a re-export.
            "use crate::B;",
            "fn f() { super::b::b() }",
            "use crate::b; fn f() { b::b() }",
            "fn f() { use crate::b::E::One; }",
            "use crate::b::*; fn f(x: B) {}",
            "use crate::b as c; fn f() { vec![c::E::One] }",
            // A name that a macro in that module may have made.
            "fn f() { crate::b::made() }",
        ] {
            assert!(imports(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_use_does_not_count() {
        for text in [
            "pub use crate::b::B;",
            "use crate::b;",
            "#[cfg(test)] mod tests { use crate::b::B; }",
            "struct A; impl A { #[cfg(test)] fn f(x: crate::b::B) {} fn g() {} }",
            "/// [`crate::b::B`]\nfn f() { \"crate::b::B\" }",
            "struct B; fn f(x: B) {}",
            "fn f(x: u8) { x.b(); let b = 1; }",
        ] {
            assert!(!imports(text), "{text}");
        }
    }

    #[test]
    fn a_registry_uses_all_that_it_lists() {
        let list = "macro_rules! all { ($($f:ident::{ $($n:ident),* })*) => { $(mod $f;)* } }\n\
                    all! { f::{ one, two } }\npub struct Spec;\n";
        let one = "use crate::Spec;";
        let files = [("lib.rs", list), ("f/mod.rs", "pub mod one; pub mod two;")];
        let found = edges(&[&files[..], &[("f/one.rs", one), ("f/two.rs", "")]].concat());
        assert_eq!(found, ["lib.rs>f/one.rs", "lib.rs>f/two.rs", "f/one.rs>lib.rs"]);
    }

    #[test]
    fn a_circle_leads_back() {
        let file = |name: &str| PathBuf::from(name);
        let edge = |from: usize, to: usize| ((from, to), BTreeSet::new());
        let files = ["a", "b", "c", "d"].map(file).to_vec();
        let edges = BTreeMap::from([edge(0, 1), edge(1, 2), edge(2, 0), edge(2, 3)]);
        let read = Imports { files, edges };
        assert_eq!(read.largest_circle(), [file("a"), file("b"), file("c")]);
    }
}
