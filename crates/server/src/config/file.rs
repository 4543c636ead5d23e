//! Settings from a file and from the command line, and back to the file.
//!
//! A line is a directive and its words, with quotes as on a typed line; `#` begins a comment;
//! `include PATH` reads another file in place. The command line (`--directive word…`) comes after
//! the file and wins.

use super::directive::{self, Directive};
use super::{Error, Settings, ignored, words};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Files that include each other without end stop here.
const INCLUDE_DEPTH_MAX: usize = 16;

impl Settings {
    /// Reads a file over what is set.
    ///
    /// # Errors
    /// The file and line, what is wrong there and what would mend it.
    pub fn read(&mut self, path: &Path) -> Result<(), Error> {
        self.read_nested(path, 0, &mut BTreeSet::new())
    }

    /// `seen` are the names of tenants and users so far.
    fn read_nested(
        &mut self,
        path: &Path,
        depth: usize,
        seen: &mut BTreeSet<String>,
    ) -> Result<(), Error> {
        if depth > INCLUDE_DEPTH_MAX {
            return Err(Error(format!("{}: included from itself", path.display())));
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error(format!("cannot read {}: {error}", path.display())))?;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let at =
                |what: String| Error(format!("line {} of {}: {what}", number + 1, path.display()));
            let words = words(line).ok_or_else(|| at("a quote is not closed".into()))?;
            let Some((name, rest)) = words.split_first() else { continue };
            if name.eq_ignore_ascii_case("include") {
                let [file] = rest else { return Err(at("include needs one file".into())) };
                self.read_nested(&path.with_file_name(file), depth + 1, seen)?;
            } else {
                let is_named = Directive::find(name).is_some_and(Directive::is_named);
                if let (true, Some(first)) = (is_named, rest.first())
                    && !seen.insert(format!("{name} {first}"))
                {
                    return Err(at(format!(
                        "{name} {first} is there twice: put all of it into one line"
                    )));
                }
                self.apply(name, rest).map_err(at)?;
            }
        }
        Ok(())
    }

    /// Reads `--directive word… --directive word…` over what is set.
    ///
    /// # Errors
    /// The error, and what would mend it.
    pub fn read_arguments(&mut self, arguments: &[String]) -> Result<(), Error> {
        let mut rest = arguments;
        while let Some((flag, tail)) = rest.split_first() {
            let Some(name) = flag.strip_prefix("--") else {
                return Err(Error(format!(
                    "'{flag}' is no directive: write --directive value, such as --port 7000"
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
            self.apply(name, &values).map_err(|error| Error(format!("--{name}: {error}")))?;
            rest = after;
        }
        Ok(())
    }

    /// Reads variables `LARDER_CONFIG_DIRECTIVE=value`, the name in capitals and with `_` for `-`,
    /// over what is set. (`LARDER_PORT` alone would be what Kubernetes sets for a service called
    /// larder.)
    ///
    /// # Errors
    /// The variable, what is wrong with it and what would mend it.
    pub fn read_environment(
        &mut self,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<(), Error> {
        let mut all: Vec<_> = variables.collect();
        all.sort();
        for (variable, value) in all {
            let Some(name) = variable.strip_prefix("LARDER_CONFIG_") else { continue };
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
    /// The error in its value, or that it is not known.
    pub fn apply(&mut self, name: &str, words: &[String]) -> Result<(), String> {
        if let Some(directive) = Directive::find(name) {
            return directive.apply(self, words).map_err(|error| explained(directive, &error));
        }
        let name = name.to_ascii_lowercase();
        if name == "rename-command" {
            return Err("rename-command is not supported, and ignoring it would leave the \
                        command open: take the line out and restrict who may connect"
                .into());
        }
        if ignored::is_ignored(&name) {
            self.ignored.insert(ignored::kept_as(&name), words.join(" "));
            return Ok(());
        }
        Err(format!(
            "unknown directive '{name}': `larder serve --help` names the list of all directives{}",
            near(&name).map(|known| format!("; did you mean {known}?")).unwrap_or_default()
        ))
    }

    /// The text of the file with the present values in it: lines that set a directive are replaced
    /// where they stand, comments stay, and what the file does not mention and differs from the
    /// default is added at the end.
    pub fn rewrite(&self, text: &str) -> String {
        let defaults = Self::default();
        let all = directive::all().map(|known| (known.name, known.file_lines(self)));
        let mut pending: BTreeMap<&str, Vec<String>> = all.collect();
        let mut out = vec![];
        for line in text.lines() {
            let name = line.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            match pending.get_mut(name.as_str()) {
                Some(lines) => out.append(lines),
                None if Directive::find(&name).is_some() => {}
                None => out.push(line.to_owned()),
            }
            if Directive::find(&name).is_some() {
                pending.remove(name.as_str());
            }
        }
        for directive in directive::all() {
            if let Some(lines) = pending.remove(directive.name)
                && directive.show(self) != directive.show(&defaults)
            {
                out.extend(lines);
            }
        }
        out.push(String::new());
        out.join("\n")
    }
}

/// An error with what the directive means.
fn explained(directive: &Directive, error: &str) -> String {
    let Directive { name, doc, .. } = directive;
    format!("{name}: {error}. {name} is: {doc}")
}

/// A known directive within two edits.
fn near(name: &str) -> Option<&'static str> {
    let names = directive::all().map(|directive| directive.name);
    names.map(|known| (edits(name, known), known)).min().filter(|(n, _)| *n <= 2).map(|(_, k)| k)
}

/// Insertions, removals and replacements between two words (Levenshtein).
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
            ("include larder.conf\n", &["included from itself"]),
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

    /// What was written must be read back as what was set.
    #[test]
    fn a_rewritten_file_says_what_is_set() {
        let text = "# mine\nport 7000\n# memory\nmaxmemory 1mb\nsave \"\"\ntenant a match db 1\n";
        let mut settings = read(text).unwrap();
        settings.apply("maxmemory", &["2mb".into()]).unwrap();
        settings.apply("timeout", &["9".into()]).unwrap();
        settings.apply("requirepass", &["a b".into()]).unwrap();
        settings.apply("tenant", &words("b match db 2").unwrap()).unwrap();
        let written = settings.rewrite(text);
        assert!(written.starts_with("# mine\nport 7000\n# memory\nmaxmemory 2097152\nsave \"\"\n"));
        let again = read(&written).unwrap();
        for directive in directive::all() {
            assert_eq!(directive.show(&again), directive.show(&settings), "{}", directive.name);
        }
        assert_eq!(again.rewrite(&written), written);
    }
}
