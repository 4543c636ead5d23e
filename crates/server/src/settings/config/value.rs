//! Values of directives: parsed from a word, and shown as a word.
//!
//! Errors have Redis' words, because clients of CONFIG SET know them.

use super::policy::Policy;
use base::Bytes;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use tune::Recipe;
use wire::resp::parse_double;

/// A typed value of a directive.
pub(crate) trait Value: Sized {
    fn parse(word: &str) -> Result<Self, String>;
    fn show(&self) -> String;

    /// The value in the form of a file.
    fn written(&self) -> String {
        self.show()
    }
}

const NO_NUMBER: &str = "argument couldn't be parsed into an integer";

/// A whole number within a range.
pub(super) fn within<N: TryFrom<u64>>(word: &str, range: RangeInclusive<u64>) -> Result<N, String> {
    let number = i64::parse(word)?;
    match u64::try_from(number) {
        Ok(number) if range.contains(&number) => N::try_from(number).map_err(|_| NO_NUMBER.into()),
        _ => {
            let (min, max) = range.into_inner();
            Err(format!("argument must be between {min} and {max} inclusive"))
        }
    }
}

/// The known word that equals this one, in any case.
pub(super) fn one_of<'a>(known: &[&'a str], word: &str) -> Result<&'a str, String> {
    let found = known.iter().find(|known| known.eq_ignore_ascii_case(word));
    found
        .copied()
        .ok_or_else(|| format!("argument(s) must be one of the following: {}", known.join(", ")))
}

/// A number, perhaps with a fraction, within a range.
pub(super) fn ratio(word: &str, range: RangeInclusive<f64>, wrong: &str) -> Result<f64, String> {
    let number = parse_double(word.as_bytes()).filter(|number| range.contains(number));
    number.ok_or_else(|| wrong.to_owned())
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl Value for $type {
            fn parse(word: &str) -> Result<Self, String> {
                word.parse().map_err(|_| NO_NUMBER.into())
            }

            fn show(&self) -> String {
                self.to_string()
            }
        })*
    };
}

integers!(i64, u64, u32, u16, u8, i32, usize);

impl Value for bool {
    fn parse(word: &str) -> Result<Self, String> {
        match one_of(&["yes", "no"], word) {
            Ok(word) => Ok(word == "yes"),
            Err(_) => Err("argument must be 'yes' or 'no'".into()),
        }
    }

    fn show(&self) -> String {
        if *self { "yes" } else { "no" }.into()
    }
}

impl Value for Bytes {
    fn parse(word: &str) -> Result<Self, String> {
        Self::parse(word).map_err(|_| "argument must be a memory value".into())
    }

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn written(&self) -> String {
        Self::written(*self)
    }
}

impl Value for String {
    fn parse(word: &str) -> Result<Self, String> {
        Ok(word.into())
    }

    fn show(&self) -> String {
        self.clone()
    }
}

impl Value for PathBuf {
    fn parse(word: &str) -> Result<Self, String> {
        Ok(word.into())
    }

    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl Value for Recipe {
    fn parse(word: &str) -> Result<Self, String> {
        tune::recipe::parse(&word.to_ascii_lowercase())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for IpAddr {
    fn parse(word: &str) -> Result<Self, String> {
        word.parse().map_err(|_| "argument must be an IP address".into())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for f64 {
    fn parse(word: &str) -> Result<Self, String> {
        word.parse().map_err(|_| "argument must be a number".into())
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

/// The lowest level that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words are Redis'")]
pub enum Level {
    Debug,
    Verbose,
    Notice,
    Warning,
    Nothing,
}

/// Implements [`Value`] for a type by words and the values that they stand for.
macro_rules! named_values {
    ($type:ty: $($name:literal $value:expr),* $(,)?) => {
        impl Value for $type {
            fn parse(word: &str) -> Result<Self, String> {
                let found = one_of(&[$($name),*], word)?;
                Ok([$(($name, $value)),*].into_iter().find(|(name, _)| *name == found)
                    .expect("it is one of them").1)
            }

            fn show(&self) -> String {
                let all = [$(($name, $value)),*];
                let name = all.into_iter().find(|(_, value)| value == self);
                name.map_or_else(String::new, |(name, _)| name.to_owned())
            }
        }
    };
}

named_values! {
    Level:
    "debug" Self::Debug,
    "verbose" Self::Verbose,
    "notice" Self::Notice,
    "warning" Self::Warning,
    "nothing" Self::Nothing,
}

/// The layout of the log's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// A line of text for people.
    Text,
    /// A JSON document for each line.
    Json,
    /// `name=value` pairs for each line, as Valkey writes them.
    Logfmt,
}

named_values! {
    LogFormat:
    "text" Self::Text,
    "json" Self::Json,
    "logfmt" Self::Logfmt,
    "legacy" Self::Text,
}

/// Whether io_uring serves the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoUring {
    /// Use io_uring if the kernel allows it, otherwise epoll.
    Auto,
    /// Like [`IoUring::Auto`], but with a warning if the kernel does not allow io_uring.
    Yes,
    /// Use epoll.
    No,
}

named_values! {
    IoUring:
    "auto" Self::Auto,
    "yes" Self::Yes,
    "no" Self::No,
}

named_values! {
    store::Compression:
    "no" Self::No,
    "auto" Self::Auto,
    "always" Self::Always,
}

impl Value for Policy {
    fn parse(word: &str) -> Result<Self, String> {
        Self::parse(word)
    }

    fn show(&self) -> String {
        self.name()
    }
}
