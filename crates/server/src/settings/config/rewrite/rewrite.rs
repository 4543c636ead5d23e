//! The new text of the settings' file.

use crate::settings::config::directive::{self, Directive};
use crate::settings::config::{Error, Settings, quoted, words};
use std::collections::BTreeMap;
use std::path::Path;

impl Settings {
    /// The new text of the file at `path`, which holds `text` now, with the current settings.
    ///
    /// # Errors
    /// A line of an included file that no later line can override.
    pub(crate) fn rewrite(&self, path: &Path, text: &str) -> Result<String, Error> {
        let mut lines = self.replaced(text);
        self.restate_ignored(path, &mut lines)?;
        for _ in 0..2 {
            let there = read(path, &lines)?;
            let differ: Vec<_> = self.different(&there).collect();
            if differ.is_empty() {
                lines.push(String::new());
                return Ok(lines.join("\n"));
            }
            for directive in differ {
                let known = directive.file_lines(&there);
                let wanted = directive.file_lines(self);
                lines.extend(wanted.into_iter().filter(|line| !known.contains(line)));
            }
        }
        let there = read(path, &lines)?;
        let Some(directive) = self.different(&there).next() else {
            lines.push(String::new());
            return Ok(lines.join("\n"));
        };
        let wanted = directive.file_lines(self);
        let stays = directive.file_lines(&there).into_iter().find(|line| !wanted.contains(line));
        // The words behind the name may include a password.
        let shown = match stays.as_deref().map(named) {
            Some(Some(name)) if directive.is_named() => format!("{} {name}", directive.name),
            _ => directive.name.to_owned(),
        };
        Err(Error(format!(
            "an included file sets '{shown}', which no line of {} can undo: remove it from the \
             included file",
            path.display()
        )))
    }

    /// The lines of `text`, with the current values in lines that set a directive. Each line stays
    /// in its place, before or behind an include.
    fn replaced(&self, text: &str) -> Vec<String> {
        let all = directive::all().map(|known| (known.name, known.file_lines(self)));
        let mut pending: BTreeMap<&str, Vec<String>> = all.collect();
        let mut out = vec![];
        for line in text.lines() {
            let name = words(line).and_then(|words| words.into_iter().next()).unwrap_or_default();
            let Some(known) = Directive::find(&name) else {
                out.push(line.to_owned());
                continue;
            };
            let left = pending.entry(known.name).or_default();
            if !known.has_lines() {
                out.extend_from_slice(left);
            } else if let Some(at) = left.iter().position(|one| named(one) == named(line)) {
                out.push(left.remove(at));
            }
        }
        out
    }

    /// Writes the current values of ignored directives (OBJECT ENCODING depends on some of them).
    /// Lines with another value are removed, under any name of the directive.
    fn restate_ignored(&self, path: &Path, lines: &mut Vec<String>) -> Result<(), Error> {
        let there = read(path, lines)?;
        for (name, value) in &self.ignored {
            if there.ignored.get(name) == Some(value) {
                continue;
            }
            lines.retain(|line| Self::kept_name(line).as_ref() != Some(name));
            let is_plain = words(value).is_some_and(|words| words.join(" ") == *value);
            let shown = if is_plain && !value.is_empty() { value.clone() } else { quoted(value) };
            lines.push(format!("{name} {shown}"));
        }
        Ok(())
    }

    /// The directives for which the file lines of the two settings differ.
    pub(super) fn different(&self, there: &Self) -> impl Iterator<Item = &'static Directive> {
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            lines
        };
        directive::all()
            .filter(move |known| sorted(known.file_lines(self)) != sorted(known.file_lines(there)))
    }
}

/// The word behind a directive: the name of a tenant or a user, or the number of a port.
fn named(line: &str) -> Option<String> {
    words(line)?.into_iter().nth(1)
}

/// The settings after a start with these lines.
fn read(path: &Path, lines: &[String]) -> Result<Settings, Error> {
    let mut there = Settings::default();
    there.read_text(path, &lines.join("\n"))?;
    Ok(there)
}
