//! The properties that a script declares in its first line, or a function at its registration.
//!
//! ```text
//!   #!lua flags=no-writes,allow-oom          a script for EVAL
//!   #!lua name=mylib                         a library for FUNCTION LOAD
//! ```

/// The flags of a script or a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u8);

impl Flags {
    /// The script writes nothing.
    pub(crate) const NO_WRITES: Self = Self(1);
    /// The script may run while memory is full.
    pub(crate) const ALLOW_OOM: Self = Self(1 << 1);
    /// The script may run on a stale replica. Larder has no replicas.
    pub(crate) const ALLOW_STALE: Self = Self(1 << 2);
    /// The script must not run in a cluster.
    pub(crate) const NO_CLUSTER: Self = Self(1 << 3);
    /// The keys of the script may be in several slots.
    pub(crate) const ALLOW_CROSS_SLOT: Self = Self(1 << 4);
    /// The script has no first line with flags, so the older rules apply.
    pub(crate) const UNSAID: Self = Self(1 << 7);

    const NAMES: [(&str, Self); 5] = [
        ("no-writes", Self::NO_WRITES),
        ("allow-oom", Self::ALLOW_OOM),
        ("allow-stale", Self::ALLOW_STALE),
        ("no-cluster", Self::NO_CLUSTER),
        ("allow-cross-slot-keys", Self::ALLOW_CROSS_SLOT),
    ];

    /// The flag with this name.
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, flag)| *flag)
    }

    /// The names of the flags that are set.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(_, flag)| self.has(*flag)).map(|(name, _)| name)
    }

    pub(crate) const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    pub(crate) const fn with(self, flag: Self) -> Self {
        Self(self.0 | flag.0)
    }
}

/// The words of the first line, and the place where the code begins; `None` if the line does not
/// begin with `#!`.
fn first_line(text: &[u8]) -> Option<(impl Iterator<Item = &[u8]>, Option<usize>)> {
    if !text.starts_with(b"#!") {
        return None;
    }
    let end = text.iter().position(|byte| *byte == b'\n');
    let line = &text[..end.unwrap_or(text.len())];
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    Some((words, end))
}

fn shown(word: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(word)
}

/// The flags of a script, and its code without the first line. The end of that line stays.
pub(super) fn of_script(text: &[u8]) -> Result<(Flags, &[u8]), String> {
    let Some((mut words, end)) = first_line(text) else {
        return Ok((Flags::UNSAID, text));
    };
    let code = &text[end.ok_or("Invalid script shebang")?..];
    let engine = words.next().unwrap_or_default();
    if engine != b"#!lua" {
        return Err(format!("Unexpected engine in script shebang: {}", shown(engine)));
    }
    let mut flags = Flags::default();
    for word in words {
        let Some(list) = word.strip_prefix(b"flags=") else {
            return Err(format!("Unknown lua shebang option: {}", shown(word)));
        };
        for name in list.split(|byte| *byte == b',').filter(|name| !name.is_empty()) {
            let flag = Flags::named(name);
            let unknown = || format!("Unexpected flag in script shebang: {}", shown(name));
            flags = flags.with(flag.ok_or_else(unknown)?);
        }
    }
    Ok((flags, code))
}

/// The name of a library, and its code without the first line.
pub(super) fn of_library(text: &[u8]) -> Result<(String, &[u8]), String> {
    let (mut words, end) = first_line(text).ok_or("Missing library metadata")?;
    let code = &text[end.ok_or("Invalid library metadata")?..];
    let engine = words.next().unwrap_or_default();
    let engine = engine.strip_prefix(b"#!").unwrap_or(engine);
    let mut name = None;
    for word in words {
        let Some(value) = word.strip_prefix(b"name=") else {
            return Err(format!("Invalid metadata value given: {}", shown(word)));
        };
        if name.replace(value).is_some() {
            let text = "Invalid metadata value, name argument was given multiple times";
            return Err(text.into());
        }
    }
    let name = name.ok_or("Library name was not given")?;
    if !is_name(name) {
        return Err(format!("Library names {NAMES}"));
    }
    if !engine.eq_ignore_ascii_case(b"lua") {
        return Err(format!("Engine '{}' not found", shown(engine)));
    }
    Ok((shown(name).into_owned(), code))
}

/// The rule for names, as the end of an error text.
pub(super) const NAMES: &str = "can only contain letters, numbers, or underscores(_) and must be \
                                at least one character long";

/// Whether a library or a function may have this name.
pub(super) fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_keeps_its_end_so_that_lines_are_counted() {
        let flags = Flags::NO_WRITES.with(Flags::ALLOW_OOM);
        let text = b"#!lua flags=no-writes,allow-oom\nreturn 1";
        assert_eq!(of_script(text), Ok((flags, &b"\nreturn 1"[..])));
        assert_eq!(of_script(b"return 1"), Ok((Flags::UNSAID, &b"return 1"[..])));
        assert_eq!(of_library(b"#!lua name=l\nx"), Ok(("l".into(), &b"\nx"[..])));
        assert_eq!(flags.names().collect::<Vec<_>>(), ["no-writes", "allow-oom"]);
    }
}
