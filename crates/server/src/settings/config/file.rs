//! Settings from a file, from the command line and from the environment.
//!
//! A line is a directive and its words, with quotes as in a shell; `#` begins a comment. The line
//! `include PATH` reads another file in place, and `include conf.d/*.conf` reads all matching files
//! in the order of their names. The command line (`--directive word…`) comes after the file and
//! wins.
//!
//! A tenant or a user has one line, so that no line is overlooked. Only a file that includes
//! another may repeat a name behind the include. This is how CONFIG REWRITE overrides an included
//! file.

use super::directive::{self, Directive};
use super::error::Error;
use super::ignored;
use super::settings::Settings;
use super::words::words;
use crate::text::glob;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The tenants and users so far, each with the include depth of its line.
type NamedLines = BTreeMap<(&'static str, String), usize>;

/// The largest depth of includes, which stops files that include each other.
const INCLUDE_DEPTH_MAX: usize = 16;

impl Settings {
    /// Reads a file into the settings.
    ///
    /// # Errors
    /// The file and line, the error there and its remedy.
    pub fn read(&mut self, path: &Path) -> Result<(), Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error(format!("cannot read {}: {error}", path.display())))?;
        self.read_text(path, &text)
    }

    /// Reads a text as if it were the content of the file.
    ///
    /// # Errors
    /// The line, the error there and its remedy.
    pub(crate) fn read_text(&mut self, path: &Path, text: &str) -> Result<(), Error> {
        self.read_nested(path, text, 0, &mut BTreeMap::new())
    }

    fn read_nested(
        &mut self,
        path: &Path,
        text: &str,
        depth: usize,
        seen: &mut NamedLines,
    ) -> Result<(), Error> {
        if depth > INCLUDE_DEPTH_MAX {
            return Err(Error(format!("{} includes itself: remove one include", path.display())));
        }
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let at =
                |what: String| Error(format!("line {} of {}: {what}", number + 1, path.display()));
            let words = words(line).ok_or_else(|| at("a quote is not closed".into()))?;
            let Some((name, rest)) = words.split_first() else {
                continue;
            };
            if name.eq_ignore_ascii_case("include") {
                let [file] = rest else {
                    return Err(at("include needs one file".into()));
                };
                for file in included(path, file) {
                    let cannot = |error| at(format!("cannot read {}: {error}", file.display()));
                    let text = std::fs::read_to_string(&file).map_err(cannot)?;
                    self.read_nested(&file, &text, depth + 1, seen)?;
                }
                continue;
            }
            if let Some((directive, named)) = named(name, rest)
                && let key = (directive.name, named.clone())
                && seen.insert(key, depth).is_some_and(|before| before <= depth)
            {
                return Err(at(directive.twice(&named)));
            }
            self.apply(name, rest).map_err(at)?;
        }
        Ok(())
    }

    /// The name under which a line's directive is kept if Larder ignores it.
    pub(super) fn kept_name(line: &str) -> Option<String> {
        let name = words(line)?.into_iter().next()?;
        Some(ignored::kept_as(&name.to_ascii_lowercase()))
    }

    /// Reads `--directive word… --directive word…` into the settings.
    ///
    /// # Errors
    /// The error and its remedy.
    pub fn read_arguments(&mut self, arguments: &[String]) -> Result<(), Error> {
        let (mut rest, mut seen) = (arguments, NamedLines::new());
        while let Some((flag, tail)) = rest.split_first() {
            let Some(name) = flag.strip_prefix("--") else {
                return Err(Error(format!(
                    "'{flag}' is not a directive: write --directive value, such as --port 7000"
                )));
            };
            let (name, first) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (name, None),
            };
            let end = tail.iter().position(|word| word.starts_with("--")).unwrap_or(tail.len());
            let (mut values, after) = (tail[..end].to_vec(), &tail[end..]);
            if let Some(first) = first {
                values.insert(0, first);
            }
            let wrong = |error| Error(format!("--{name}: {error}"));
            if let Some((directive, named)) = named(name, &values)
                && seen.insert((directive.name, named.clone()), 0).is_some()
            {
                return Err(wrong(directive.twice(&named)));
            }
            self.apply(name, &values).map_err(wrong)?;
            rest = after;
        }
        Ok(())
    }

    /// Reads variables `LARDER_CONFIG_DIRECTIVE=value` into the settings. The name is in capitals,
    /// with `_` for `-`. (Kubernetes itself sets `LARDER_PORT` for a service called larder.)
    ///
    /// # Errors
    /// The variable, the error in it and its remedy.
    pub fn read_environment(
        &mut self,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<(), Error> {
        let mut all: Vec<_> = variables.collect();
        all.sort();
        for (variable, value) in all {
            let Some(name) = variable.strip_prefix("LARDER_CONFIG_") else {
                continue;
            };
            let name = name.to_ascii_lowercase().replace('_', "-");
            let at = |what: String| Error(format!("environment variable {variable}: {what}"));
            let set = match Directive::find(&name) {
                Some(directive) => {
                    directive.apply_text(self, &value).map_err(|error| explained(directive, &error))
                }
                None => self.apply(&name, &[value]),
            };
            set.map_err(at)?;
        }
        Ok(())
    }

    /// Sets one directive.
    ///
    /// # Errors
    /// The error in its value, or that it is unknown.
    pub fn apply(&mut self, name: &str, words: &[String]) -> Result<(), String> {
        if let Some(directive) = Directive::find(name) {
            return directive.apply(self, words).map_err(|error| explained(directive, &error));
        }
        let name = name.to_ascii_lowercase();
        if name == "rename-command" {
            return Err(
                "rename-command is not supported, and ignoring it would leave the command open: \
                 remove the line, and restrict users with ACL rules"
                    .into(),
            );
        }
        if ignored::is_ignored(&name) {
            self.ignored.insert(ignored::kept_as(&name), words.join(" "));
            return Ok(());
        }
        Err(format!(
            "unknown directive '{name}': `larder serve --directives` lists all directives{}",
            near(&name).map(|known| format!("; did you mean {known}?")).unwrap_or_default()
        ))
    }
}

/// The directive with this name and the name in its line, if its lines begin with names.
fn named(name: &str, given: &[String]) -> Option<(&'static Directive, String)> {
    let directive = Directive::find(name)?;
    Some((directive, directive.named(given)?))
}

/// The files that an include in the file at `path` means: one file, or all files that match a
/// pattern, in the order of their names.
fn included(path: &Path, named: &str) -> Vec<PathBuf> {
    let is_pattern = |part: &str| part.contains(['*', '?', '[']);
    let named = path.with_file_name(named);
    if !is_pattern(&named.to_string_lossy()) {
        return vec![named];
    }
    let mut found = vec![PathBuf::new()];
    for part in named.components() {
        let pattern = part.as_os_str().to_string_lossy();
        if !is_pattern(&pattern) {
            for path in &mut found {
                path.push(part);
            }
            continue;
        }
        found = found.iter().flat_map(|folder| matching(folder, &pattern)).collect();
    }
    found.retain(|path| path.exists());
    found.sort();
    found
}

/// The files of a folder that match a pattern. Hidden files match only if the pattern begins with a
/// dot.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = std::fs::read_dir(folder) else {
        return vec![];
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter(|name| pattern.starts_with('.') || !name.starts_with('.'))
        .filter(|name| glob::matches(pattern.as_bytes(), name.as_bytes()))
        .map(|name| folder.join(name))
        .collect()
}

/// An error followed by the meaning of the directive.
fn explained(directive: &Directive, error: &str) -> String {
    let Directive { name, doc, .. } = directive;
    format!("{name}: {error}. Meaning of {name}: {doc}")
}

/// The known directive nearest to a name, within two edits.
fn near(name: &str) -> Option<&'static str> {
    let names = directive::all().map(|directive| directive.name);
    names.map(|known| (edits(name, known), known)).min().filter(|(n, _)| *n <= 2).map(|(_, k)| k)
}

/// The edit distance of two words: insertions, removals and replacements (Levenshtein).
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let cost = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Bytes;

    fn read(text: &str) -> Result<Settings, Error> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("larder.conf");
        std::fs::write(&path, text).unwrap();
        std::fs::write(dir.path().join("more.conf"), "timeout 7\n").unwrap();
        let mut settings = Settings::default();
        settings.read(&path)?;
        Ok(settings)
    }

    #[test]
    fn a_file_of_redis_starts_the_server() {
        let settings = read(
            "# a comment\n\nport 7000\nbind 127.0.0.1 -::1\nsave 3600 1 300 100\nappendonly no\n\
             maxmemory 100mb\nMAXMEMORY-POLICY allkeys-lru\nrequirepass \"two words\"\n\
             include more.conf\ntenant a match db 1 min 1mb\ntenant b match prefix b:\n",
        )
        .unwrap();
        assert_eq!((settings.port, settings.timeout), (7000, 7));
        assert_eq!(settings.maxmemory, Bytes(100 << 20));
        assert_eq!(settings.tenants.len(), 2);
        assert_eq!(settings.ignored.keys().collect::<Vec<_>>(), ["appendonly", "save"]);
        assert!(settings.user("default").unwrap().admits(b"two words"));
    }

    #[test]
    fn an_error_names_the_line_and_the_fix() {
        for (text, parts) in [
            ("port 1\nmaxmemmory 1gb\n", &["line 2", "maxmemmory", "did you mean maxmemory?"][..]),
            ("port high\n", &["line 1", "port", "integer"]),
            ("port 70000\n", &["between 0 and 65535"]),
            ("maxmemory 1pint\n", &["line 1", "memory value"]),
            ("maxmemory-policy volatile-lhd\n", &["allkeys-lru", "noeviction"]),
            ("logfile \"open\n", &["line 1", "quote"]),
            ("tenant a match colour red\n", &["line 1", "write tenant"]),
            ("rename-command FLUSHALL \"\"\n", &["rename-command"]),
            ("include larder.conf\n", &["includes itself"]),
        ] {
            let error = read(text).unwrap_err().to_string();
            for part in parts {
                assert!(error.contains(part), "{text}: {error}");
            }
        }
    }

    #[test]
    fn the_command_line_wins_and_takes_a_line_as_one_word_or_several() {
        let mut settings = read("port 7000\n").unwrap();
        let arguments = "--port 7001 --tenant a match db 1 --maxmemory=5mb --bind 0.0.0.0 ::";
        let mut arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        arguments.extend(["--tenant".into(), "b match prefix \"b \" weight 2".into()]);
        settings.read_arguments(&arguments).unwrap();
        assert_eq!(settings.port, 7001);
        assert_eq!(settings.maxmemory, Bytes(5 << 20));
        assert_eq!(settings.bind, ["0.0.0.0", "::"]);
        assert_eq!(settings.tenants[1].to_string(), "b match prefix \"b \" weight 2");
        assert!(settings.read_arguments(&["port".into()]).is_err());
    }

    /// A second line for a name would silently replace the first.
    #[test]
    fn a_name_has_one_line_on_the_command_line_and_in_a_text() {
        for line in [
            "--user foo --user foo",
            "--user default on --USER default off",
            "--tenant a match db 1 --timeout 7 --tenant a match db 2",
            "--tenant=a match db 1 --tenant 'a match db 2'",
        ] {
            let error = Settings::default().read_arguments(&words(line).unwrap()).unwrap_err();
            assert!(
                error.to_string().contains("write all its rules on one line"),
                "{line}: {error}"
            );
        }
        // The command line wins over the file.
        let mut settings = read("tenant a match db 1\n").unwrap();
        settings.read_arguments(&words("--tenant a match db 2").unwrap()).unwrap();
        let tenant = Directive::find("tenant").unwrap();
        let error = tenant.apply_text(&mut settings, "b match db 3\nb match db 4").unwrap_err();
        assert!(error.contains("Duplicate tenant 'b' found"), "{error}");
        let twice = ("LARDER_CONFIG_USER".into(), "bob on nopass\nbob off".into());
        let error = Settings::default().read_environment(std::iter::once(twice)).unwrap_err();
        assert!(error.to_string().contains("Duplicate user 'bob' found"), "{error}");
    }

    #[test]
    fn a_pattern_includes_files_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("conf.d/sub")).unwrap();
        for (name, text) in [
            ("conf.d/20.conf", "timeout 2\ntenant web match db 2\n"),
            ("conf.d/10.conf", "timeout 1\nmaxclients 77\n"),
            ("conf.d/.30.conf", "timeout 3\n"),
            ("conf.d/note.txt", "no directive\n"),
            ("conf.d/sub/x.conf", "port 7009\n"),
        ] {
            std::fs::write(at(name), text).unwrap();
        }
        let read = |text: &str| {
            let mut settings = Settings::default();
            settings.read_text(&at("larder.conf"), text).map(|()| settings)
        };
        let settings = read("include conf.d/*.conf\ninclude conf.d/*/?.conf\n").unwrap();
        assert_eq!((settings.timeout, settings.maxclients, settings.port), (2, 77, 7009));
        assert_eq!(read("include nothing.d/*.conf\n").unwrap().timeout, 0);
        let error = read("include nothing.conf\n").err().unwrap().to_string();
        assert!(error.contains("line 1") && error.contains("cannot read"), "{error}");
        // Only a file that includes another may repeat its names.
        let anew = "include conf.d/20.conf\ntenant web match db 3\n";
        assert_eq!(read(anew).unwrap().tenants[0].to_string(), "web match db 3");
        for twice in [
            "tenant web match db 3\ninclude conf.d/20.conf\n",
            "include conf.d/20.conf\ninclude conf.d/20.conf\n",
            "tenant web match db 3\nTENANT web match db 3\n",
            "tenant web match db 3\ntenant 'web match db 3'\n",
        ] {
            let error = read(twice).err().unwrap().to_string();
            assert!(error.contains("Duplicate tenant 'web' found"), "{error}");
        }
    }
}
