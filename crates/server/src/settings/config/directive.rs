//! A directive, declared once for the file, the command line, the environment, CONFIG GET, SET and
//! REWRITE, and the documentation.
//!
//! Its shape defines the form of its value, and everything else follows from the shape:
//!
//! ```text
//!   Word    timeout 7                     one word; quoted in a file where it must be
//!   Words   bind 127.0.0.1 -::1           several words, or one text that has several
//!   Lines   listener 7001                 each line adds to those before it
//!   Named   tenant web match db 1         the same, and a line replaces the one of its name
//! ```
//!
//! A value has a type (`Value`): it is parsed once, when it is set. The lists are in `list/`.

use super::settings::Settings;
use super::value::Value;
use super::words::words;
use super::{list, quoted};
use std::collections::BTreeSet;

/// The time at which a directive may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At the start only: in the file, on the command line and in the environment.
    Start,
    /// Also by CONFIG SET.
    Always,
}

/// The form of a directive's value, with the function that sets it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    Word(fn(&mut Settings, &str) -> Result<(), String>),
    Words(Apply),
    Lines(Apply),
    Named(Apply),
}

pub(super) type Apply = fn(&mut Settings, &[String]) -> Result<(), String>;
type Show = fn(&Settings) -> String;

/// A directive.
#[derive(Clone, Copy, Debug)]
pub struct Directive {
    /// The name in lower case, as a file has it.
    pub name: &'static str,
    /// The time at which it may be set.
    pub when: When,
    /// Its meaning. Its default value is that of [`Settings::default`].
    pub doc: &'static str,
    show: Show,
    shape: Shape,
    /// The text for a file, if it is not the shown text; `None` for no line.
    in_file: Option<fn(&Settings) -> Option<String>>,
    /// CONFIG SET of this directive rereads the TLS and slot files, even if its value stays the
    /// same.
    read_anew: bool,
}

impl Directive {
    pub(super) const fn new(
        name: &'static str,
        when: When,
        doc: &'static str,
        show: Show,
        shape: Shape,
    ) -> Self {
        Self { name, when, doc, show, shape, in_file: None, read_anew: false }
    }

    pub(super) const fn in_file(mut self, show: fn(&Settings) -> Option<String>) -> Self {
        self.in_file = Some(show);
        self
    }

    pub(super) const fn read_anew(mut self) -> Self {
        self.read_anew = true;
        self
    }

    /// The directive with this name, in any case.
    pub fn find(name: &str) -> Option<&'static Self> {
        all().find(|directive| directive.name.eq_ignore_ascii_case(name))
    }

    /// The value as CONFIG GET shows it. A directive with several lines shows all of them.
    pub fn show(&self, settings: &Settings) -> String {
        (self.show)(settings)
    }

    /// Whether its lines begin with a name, such as that of a tenant.
    pub(crate) const fn is_named(&self) -> bool {
        matches!(self.shape, Shape::Named(_))
    }

    /// Whether it may have several lines.
    pub(super) const fn has_lines(&self) -> bool {
        matches!(self.shape, Shape::Lines(_) | Shape::Named(_))
    }

    /// Sets the directive to the words of one line. A line of several words may also be one text.
    ///
    /// # Errors
    /// The error in the value.
    pub fn apply(&self, settings: &mut Settings, given: &[String]) -> Result<(), String> {
        let split = match (self.shape, given) {
            (Shape::Word(_), _) => None,
            (_, [text]) => Some(words(text).ok_or("a quote is not closed")?),
            _ => None,
        };
        let given = split.as_deref().unwrap_or(given);
        match (self.shape, given) {
            (Shape::Word(apply), [word]) => apply(settings, word),
            (Shape::Word(_), _) => Err("wrong number of arguments".into()),
            (Shape::Words(apply) | Shape::Lines(apply) | Shape::Named(apply), given) => {
                apply(settings, given)
            }
        }?;
        settings.files_generation += u64::from(self.read_anew);
        Ok(())
    }

    /// Sets the directive to a text. If it may have several lines, each line of the text is a line
    /// of a file.
    ///
    /// # Errors
    /// The error in the value.
    pub fn apply_text(&self, settings: &mut Settings, text: &str) -> Result<(), String> {
        if matches!(self.shape, Shape::Word(_) | Shape::Words(_)) {
            return self.apply(settings, &[text.to_owned()]);
        }
        let mut seen = BTreeSet::new();
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.try_for_each(|line| {
            let given = [line.to_owned()];
            if let Some(name) = self.named(&given)
                && !seen.insert(name.clone())
            {
                return Err(self.twice(&name));
            }
            self.apply(settings, &given)
        })
    }

    /// The name at the beginning of a line, if the directive's lines begin with names.
    pub(super) fn named(&self, given: &[String]) -> Option<String> {
        let first = given.first().filter(|_| self.is_named())?;
        match given {
            // A line of several words may also be one text.
            [_] => words(first)?.into_iter().next(),
            _ => Some(first.clone()),
        }
    }

    /// The error about a name with two lines, in Redis' words.
    pub(super) fn twice(&self, name: &str) -> String {
        format!("Duplicate {} '{name}' found: write all its rules on one line", self.name)
    }

    /// The value in the form of a file, which [`Self::apply_text`] reads back.
    pub(crate) fn written(&self, settings: &Settings) -> String {
        let value = self.in_file.and_then(|show| show(settings));
        value.unwrap_or_else(|| self.show(settings))
    }

    /// The lines of a file that set the current value.
    pub(crate) fn file_lines(&self, settings: &Settings) -> Vec<String> {
        let value = self.in_file.map_or_else(|| Some(self.show(settings)), |show| show(settings));
        let Some(value) = value else { return vec![] };
        match self.shape {
            Shape::Word(_) => vec![format!("{} {}", self.name, quoted(&value))],
            Shape::Words(_) if value.is_empty() => vec![format!("{} \"\"", self.name)],
            Shape::Words(_) => vec![format!("{} {value}", self.name)],
            _ => value.lines().map(|line| format!("{} {line}", self.name)).collect(),
        }
    }
}

/// Every directive, in the order of the documentation.
pub fn all() -> impl Iterator<Item = &'static Directive> {
    list::ALL.iter().copied().flatten()
}

/// A directive of one word that is a field of the settings, with the functions to parse and show
/// it.
macro_rules! field {
    ($name:literal, $when:ident, $field:ident, $doc:literal, $parse:expr) => {
        $crate::settings::config::directive::Directive::new(
            $name,
            $crate::settings::config::directive::When::$when,
            $doc,
            |settings| $crate::settings::config::value::Value::show(&settings.$field),
            $crate::settings::config::directive::Shape::Word(|settings, word| {
                settings.$field = $parse(word)?;
                Ok(())
            }),
        )
        .in_file(|settings| Some($crate::settings::config::value::Value::written(&settings.$field)))
    };
}

/// A field with any value of its type.
macro_rules! word {
    ($name:literal, $when:ident, $field:ident, $doc:literal $(,)?) => {
        $crate::settings::config::directive::field!(
            $name,
            $when,
            $field,
            $doc,
            $crate::settings::config::value::Value::parse
        )
    };
}

/// A field with a number within a range.
macro_rules! number {
    ($name:literal, $when:ident, $field:ident, $range:expr, $doc:literal $(,)?) => {
        $crate::settings::config::directive::field!($name, $when, $field, $doc, |word| {
            $crate::settings::config::value::within(word, $range)
        })
    };
}

/// A field with one of several words.
macro_rules! choice {
    ($name:literal, $when:ident, $field:ident, $known:expr, $doc:literal $(,)?) => {
        $crate::settings::config::directive::field!($name, $when, $field, $doc, |word| {
            $crate::settings::config::value::one_of(&$known, word).map(str::to_owned)
        })
    };
}

pub(super) use {choice, field, number, word};

/// A list as words with blanks between them.
pub(super) fn join<T: Value>(list: &[T]) -> String {
    list.iter().map(Value::show).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_stands_twice() {
        let mut names: Vec<_> = all().map(|directive| directive.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    /// Words and one text set the same value, and the written form reads back.
    #[test]
    fn a_line_may_come_as_words_or_as_one() {
        for (name, text) in [
            ("bind", "127.0.0.1 ::1"),
            ("memcached-bind", "127.0.0.1:11311 notls:[::1]:11312"),
            ("tls-protocols", "TLSv1.2 TLSv1.3"),
            ("client-output-buffer-limit", "normal 1048576 0 0 pubsub 0 0 0"),
            ("latency-tracking-info-percentiles", "50 99"),
            ("tenant", "web match prefix \"a b\" weight 2"),
            ("user", "bob on nopass ~* +@all"),
            ("listener", "7001"),
            ("logfile", "a b"),
        ] {
            let directive = Directive::find(name).unwrap();
            let of = |given: &[String]| {
                let mut settings = Settings::default();
                directive.apply(&mut settings, given).unwrap();
                settings
            };
            let whole = of(&[text.to_owned()]);
            if name != "logfile" {
                let split = of(&words(text).unwrap());
                assert_eq!(directive.show(&whole), directive.show(&split), "{name}");
            }
            let mut again = Settings::default();
            for line in directive.file_lines(&whole) {
                directive.apply(&mut again, &words(&line).unwrap()[1..]).unwrap();
            }
            assert_eq!(directive.show(&again), directive.show(&whole), "{name}");
        }
    }
}
