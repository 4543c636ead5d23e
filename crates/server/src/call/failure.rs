//! The error reply of a command, and the texts that several commands share.

use std::borrow::Cow;
use std::fmt::Display;

/// The error reply of a command that fails, with its code in front.
#[derive(Debug)]
pub(crate) struct Failure(Cow<'static, [u8]>);

impl Failure {
    /// An error with the code `ERR`.
    pub(crate) fn err(text: &str) -> Self {
        Self(format!("ERR {text}").into_bytes().into())
    }

    /// An error in Redis' words, with its code in front, and the setting that causes it behind.
    pub(crate) fn limit(text: &str, setting: &str, value: impl Display) -> Self {
        Self(format!("{text} ({setting} {value})").into_bytes().into())
    }

    /// The error of a transaction that this error ends.
    pub(crate) fn of_exec(self) -> Self {
        let text = self.text().strip_prefix(b"ERR ").unwrap_or(self.text());
        [b"EXECABORT Transaction discarded because of: ", text].concat().into()
    }

    /// The text of the error, with its code in front.
    pub(crate) fn text(&self) -> &[u8] {
        &self.0
    }
}

impl From<&'static str> for Failure {
    fn from(text: &'static str) -> Self {
        Self(text.as_bytes().into())
    }
}

impl From<Vec<u8>> for Failure {
    fn from(text: Vec<u8>) -> Self {
        Self(text.into())
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Full => OUT_OF_MEMORY.into(),
            store::Error::TooLarge { .. } => Self(format!("OOM {error}").into_bytes().into()),
            store::Error::TooLong { .. } => Self::err(&error.to_string()),
        }
    }
}

/// The result of a handler: it has written its one reply, or it failed.
pub(crate) type Done = Result<(), Failure>;

pub(crate) const SYNTAX: &str = "ERR syntax error";
pub(crate) const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
pub(crate) const NO_AUTH: &str = "NOAUTH Authentication required.";
/// The reply exceeds the memory that its client may use: the client is disconnected.
pub(crate) const OVERFLOW: &str = "ERR the reply is above client-output-buffer-limit";
pub(crate) const OUT_OF_MEMORY: &str = "OOM command not allowed when used memory > 'maxmemory'.";

pub(crate) fn wrong_number(name: &str) -> Failure {
    // No manual of another server has this family.
    let help = if name.starts_with("larder|") { ": LARDER HELP shows its arguments" } else { "" };
    Failure::err(&format!("wrong number of arguments for '{name}' command{help}"))
}
