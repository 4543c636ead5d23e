//! Finds a format by its name, by a file's name or by a file's first bytes.

use super::{ALL, FormatSpec, twitter};

/// Finds the format with that name.
///
/// # Errors
/// A sentence that names the known formats.
pub fn find(name: &str) -> Result<&'static FormatSpec, String> {
    ALL.iter().copied().find(|spec| spec.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|spec| spec.name).collect();
        format!("unknown format '{name}': choose one of {}", known.join(", "))
    })
}

/// Detects the format of a file from its name and from `head`, its first uncompressed bytes.
///
/// A name that spells the format out (`web.twitter.csv`) counts most, then the proof in the bytes,
/// then the end of the name.
pub fn detect(file_name: &str, head: &[u8]) -> Option<&'static FormatSpec> {
    let mut name = file_name.to_ascii_lowercase();
    for ending in [".zst", ".zstd", ".gz"] {
        if let Some(stem) = name.strip_suffix(ending) {
            name.truncate(stem.len());
        }
    }
    let ends = |extension: &str| {
        name.strip_suffix(&extension.to_ascii_lowercase()).is_some_and(|stem| stem.ends_with('.'))
    };
    let named = ALL
        .iter()
        .flat_map(|spec| spec.extensions.iter().map(move |extension| (*extension, *spec)))
        .filter(|(extension, _)| ends(extension))
        .max_by_key(|(extension, _)| extension.len());
    if twitter::is_own_name(&name) && twitter::fits(head) {
        return Some(&twitter::SPEC);
    }
    let spelt_out = named.filter(|(extension, _)| extension.contains('.')).map(|(_, spec)| spec);
    let proven = || ALL.iter().copied().find(|spec| (spec.recognises)(head));
    spelt_out.or_else(proven).or(named.map(|(_, spec)| spec))
}
