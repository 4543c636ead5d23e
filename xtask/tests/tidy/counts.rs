//! Counts of what reads badly: long files, names that many types share, openings of comments.

use crate::imports::{attributes, is_test};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Fields, Item, Signature, TraitItem, Visibility};

/// Lines of a source file that is long.
const LONG: usize = 400;
/// Lines of a list of modules that holds more than a list.
const LONG_LIST: usize = 60;

/// Files of `src` folders above 400 lines, with their lines.
pub(crate) fn long_files(sources: &[PathBuf]) -> Vec<String> {
    longer(sources.iter(), LONG)
}

/// Lists of modules above 60 lines, with their lines.
pub(crate) fn long_lists(sources: &[PathBuf]) -> Vec<String> {
    longer(sources.iter().filter(|path| path.ends_with("mod.rs")), LONG_LIST)
}

fn longer<'a>(paths: impl Iterator<Item = &'a PathBuf>, most: usize) -> Vec<String> {
    let lines = paths.map(|path| (fs::read_to_string(path).unwrap().lines().count(), path));
    let long = lines.filter(|(lines, _)| *lines > most);
    long.map(|(lines, path)| format!("{}: {lines} lines", path.display())).collect()
}

/// Files `x.rs` beside a folder `x`, whose place is `x/mod.rs`.
pub(crate) fn beside_their_folder(sources: &[PathBuf]) -> Vec<String> {
    let beside = sources.iter().filter(|path| path.with_extension("").is_dir());
    beside.map(|path| path.display().to_string()).collect()
}

/// The items of a file that are compiled outside of unit tests, those of inner modules as well.
pub(crate) fn items(path: &Path) -> Vec<Item> {
    let parsed = syn::parse_file(&fs::read_to_string(path).unwrap());
    let mut open = parsed.unwrap_or_else(|e| panic!("{}: {e}", path.display())).items;
    let mut found = vec![];
    while let Some(item) = open.pop() {
        match item {
            item if is_test(attributes(&item)) => {}
            Item::Mod(module) => open.extend(module.content.into_iter().flat_map(|(_, i)| i)),
            item => found.push(item),
        }
    }
    found
}

/// Names that five types or more have.
pub(crate) fn shared_names<'a>(files: impl Iterator<Item = &'a Vec<Item>>) -> Vec<String> {
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for item in files.flatten() {
        let name = match item {
            Item::Enum(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Union(item) => &item.ident,
            _ => continue,
        };
        *times.entry(name.to_string()).or_default() += 1;
    }
    let often = times.into_iter().filter(|(_, times)| *times >= 5);
    often.map(|(name, times)| format!("{name}: {times}")).collect()
}

/// Fields of a struct that others can reach.
pub(crate) fn open_fields(items: &[Item], name: &str) -> Vec<String> {
    let structs = items.iter().filter_map(|item| match item {
        Item::Struct(item) if item.ident == name => Some(&item.fields),
        _ => None,
    });
    let fields = structs.flat_map(|fields| match fields {
        Fields::Named(fields) => fields.named.iter().collect(),
        Fields::Unnamed(fields) => fields.unnamed.iter().collect(),
        Fields::Unit => vec![],
    });
    let open = fields.filter(|field| !matches!(field.vis, Visibility::Inherited));
    open.map(|field| field.ident.as_ref().map_or("?".to_owned(), ToString::to_string)).collect()
}

/// Functions that take a reference to a type of that name.
pub(crate) fn takers(items: &[Item], name: &str) -> Vec<String> {
    let mut found = vec![];
    for item in items {
        let signatures: Vec<&Signature> = match item {
            Item::Fn(item) => vec![&item.sig],
            Item::Impl(item) => {
                let functions = item.items.iter().filter_map(|item| match item {
                    syn::ImplItem::Fn(item) if !is_test(&item.attrs) => Some(&item.sig),
                    _ => None,
                });
                functions.collect()
            }
            Item::Trait(item) => {
                let functions = item.items.iter().filter_map(|item| match item {
                    TraitItem::Fn(item) => Some(&item.sig),
                    _ => None,
                });
                functions.collect()
            }
            _ => vec![],
        };
        let takes = |signature: &&Signature| {
            let tokens: Vec<_> = signature.inputs.to_token_stream().into_iter().collect();
            tokens.iter().enumerate().any(|(at, token)| {
                let is_name = matches!(token, TokenTree::Ident(word) if word == name);
                let before = tokens[..at].iter().rev().find(|token| {
                    // A lifetime, and whether it may be changed, stand between.
                    !matches!(token, TokenTree::Ident(_)) && token.to_string() != "'"
                });
                is_name && before.is_some_and(|token| token.to_string() == "&")
            })
        };
        found.extend(signatures.into_iter().filter(takes).map(|taker| taker.ident.to_string()));
    }
    found
}

/// How often a variant of an enum is named.
pub(crate) fn branches(items: &[Item], name: &str) -> usize {
    items.iter().map(|item| named(item.to_token_stream(), name)).sum()
}

fn named(tokens: TokenStream, name: &str) -> usize {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let here = tokens.windows(4).filter(|four| {
        let is_name = matches!(&four[0], TokenTree::Ident(word) if word == name);
        let variant = matches!(&four[3], TokenTree::Ident(word)
            if word.to_string().starts_with(char::is_uppercase));
        is_name && four[1].to_string() == ":" && four[2].to_string() == ":" && variant
    });
    let within = tokens.iter().map(|token| match token {
        TokenTree::Group(group) => named(group.stream(), name),
        _ => 0,
    });
    here.count() + within.sum::<usize>()
}

/// The first line of each documentation comment of a file, with its number.
pub(crate) fn openings(text: &str) -> Vec<(usize, &str)> {
    let mut found = vec![];
    let mut was = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let kind = ["//!", "///"].into_iter().find(|kind| line.starts_with(kind));
        let kind = kind.filter(|_| !line.starts_with("////"));
        if let Some(kind) = kind
            && was != Some(kind)
        {
            found.push((at + 1, line[3..].trim()));
        }
        was = kind;
    }
    found
}

/// Comments that open with one of the words.
pub(crate) fn opening_with(paths: &[PathBuf], words: &[&str]) -> Vec<String> {
    let mut found = vec![];
    for path in paths {
        let text = fs::read_to_string(path).unwrap();
        for (line, opening) in openings(&text) {
            let opens = |word: &&str| {
                let rest = opening.strip_prefix(word);
                rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
            };
            if words.iter().any(opens) {
                found.push(format!("{}:{line}: {opening}", path.display()));
            }
        }
    }
    found
}
