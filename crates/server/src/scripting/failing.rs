//! Errors of functions that scripts call, and the error that ends a script.

use std::sync::Arc;

/// An error of a function.
#[derive(Debug)]
pub(super) enum Oops {
    Text(String),
    /// The script must end.
    Ended(mlua::Error),
}

impl From<String> for Oops {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Oops {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<mlua::Error> for Oops {
    fn from(error: mlua::Error) -> Self {
        if Ended::is_in(&error) { Self::Ended(error) } else { Self::Text(told(&error)) }
    }
}

impl From<Oops> for mlua::Error {
    fn from(oops: Oops) -> Self {
        match oops {
            Oops::Text(text) => Self::RuntimeError(text),
            Oops::Ended(error) => error,
        }
    }
}

/// The text of an error at its root, without the traces of the levels above.
pub(super) fn told(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } | mlua::Error::WithContext { cause, .. } => {
            told(cause)
        }
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        mlua::Error::RuntimeError(text) => text.clone(),
        mlua::Error::MemoryError(_) => NOT_ENOUGH_MEMORY.to_owned(),
        other => other.to_string(),
    }
}

/// The text of Lua's own error.
pub(super) const NOT_ENOUGH_MEMORY: &str = "not enough memory";

/// The reason why a script is ended.
#[derive(Debug)]
pub(super) struct Ended(&'static str);

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Ended {}

impl Ended {
    /// The error that ends a script for this reason.
    pub(super) fn raised(text: &'static str) -> mlua::Error {
        mlua::Error::ExternalError(Arc::new(Self(text)))
    }

    /// Whether an error ends the script.
    pub(super) fn is_in(error: &mlua::Error) -> bool {
        match error {
            mlua::Error::CallbackError { cause, .. } | mlua::Error::WithContext { cause, .. } => {
                Self::is_in(cause)
            }
            mlua::Error::ExternalError(cause) => cause.is::<Self>(),
            _ => false,
        }
    }
}
