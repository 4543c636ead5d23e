//! Functions of scripts that are written in Rust.
//!
//! An error of theirs names the line of the script that is to blame, as an error of Lua's own does.
//! It passes through Lua as a value that scripts cannot look into: where a script catches it, the
//! prelude asks what it is ([`translated`]).

use super::look::Ended;
use super::vm::PRELUDE;
use mlua::{Function, Lua, MultiValue, Result, String as LuaString, Value};
use std::sync::Arc;

/// The values of an answer.
#[derive(Debug)]
pub(super) enum Answer {
    None,
    One(Value),
    Many(Vec<Value>),
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self::One(value)
    }
}

/// What is wrong.
#[derive(Debug)]
pub(super) enum Oops {
    Text(String),
    /// The script is to end.
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

/// The text of an error at its root, without the traces of what it went through.
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

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Args<'a>(&'a [Value]);

impl<'a> Args<'a> {
    pub(super) const fn len(self) -> usize {
        self.0.len()
    }

    /// The value at `at`; nil where there is none.
    pub(super) fn value(self, at: usize) -> &'a Value {
        self.0.get(at).unwrap_or(&Value::Nil)
    }

    /// What Lua says of an argument that is not of the type it should be.
    pub(super) fn bad(self, at: usize, name: &str, wanted: &str) -> Oops {
        let got = self.0.get(at).map_or("no value", type_name);
        format!("bad argument #{} to '{name}' ({wanted} expected, got {got})", at + 1).into()
    }

    /// A number, or a string that reads as one.
    pub(super) fn number(self, at: usize, name: &str) -> std::result::Result<f64, Oops> {
        let read = match self.value(at) {
            Value::Integer(number) => Some(*number as f64),
            Value::Number(number) => Some(*number),
            Value::String(text) => text.to_str().ok().and_then(|text| read_number(&text)),
            _ => None,
        };
        read.ok_or_else(|| self.bad(at, name, "number"))
    }

    /// A string, or a number as one.
    pub(super) fn string(
        self,
        lua: &Lua,
        at: usize,
        name: &str,
    ) -> std::result::Result<LuaString, Oops> {
        match self.value(at) {
            Value::String(text) => Ok(text.clone()),
            number @ (Value::Integer(_) | Value::Number(_)) => {
                Ok(lua.create_string(super::number::general(as_f64(number), 14))?)
            }
            _ => Err(self.bad(at, name, "string")),
        }
    }
}

/// A number of Lua; 0 for anything else.
pub(super) fn as_f64(value: &Value) -> f64 {
    match value {
        Value::Integer(number) => *number as f64,
        Value::Number(number) => *number,
        _ => 0.0,
    }
}

/// Reads a number as Lua reads a string where it wants one.
fn read_number(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok().map(|number| number as f64);
    }
    text.parse().ok()
}

/// What Lua calls the type of a value.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::LightUserData(_) => "userdata",
        other => other.type_name(),
    }
}

/// Makes a function of Lua out of one that answers.
pub(super) fn answering<F>(lua: &Lua, f: F) -> Result<Function>
where
    F: Fn(&Lua, Args<'_>) -> std::result::Result<Answer, Oops> + Send + 'static,
{
    lua.create_function(move |lua, args: MultiValue| {
        let args: Vec<Value> = args.into_iter().collect();
        match f(lua, Args(&args)) {
            Ok(Answer::None) => Ok(MultiValue::new()),
            Ok(Answer::One(value)) => Ok(MultiValue::from_vec(vec![value])),
            Ok(Answer::Many(values)) => Ok(MultiValue::from_vec(values)),
            Err(Oops::Text(text)) => Err(mlua::Error::RuntimeError(blaming(lua, &text))),
            Err(Oops::Ended(error)) => Err(error),
        }
    })
}

/// Frames of the prelude that may stand between a script and a function that it calls.
const BETWEEN_MAX: usize = 4;

/// An error text behind the line that called the function which runs, where a script did.
fn blaming(lua: &Lua, text: &str) -> String {
    for level in 1..=BETWEEN_MAX {
        let caller = lua.inspect_stack(level, |debug| {
            let source = debug.source();
            if source.what == "tail" || source.source.as_deref() == Some(PRELUDE) {
                return None;
            }
            let line = debug.current_line().filter(|_| source.what != "C");
            Some(line.map(|line| format!("{}:{line}: ", source.short_src.unwrap_or_default())))
        });
        match caller {
            Some(None) => {}
            Some(Some(Some(place))) => return place + text,
            Some(Some(None)) | None => break,
        }
    }
    text.to_owned()
}

/// An error of the server: what a script sees as a table with these fields.
#[derive(Clone, Debug)]
pub(super) struct Wrong {
    pub(super) text: Vec<u8>,
    /// It was counted where it was made.
    pub(super) is_counted: bool,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.text))
    }
}

impl std::error::Error for Wrong {}

impl Wrong {
    /// `ERR` and a text.
    pub(super) fn new(text: &str) -> Self {
        Self { text: format!("ERR {text}").into_bytes(), is_counted: false }
    }

    /// As an error that is raised.
    pub(super) fn raised(self) -> mlua::Error {
        mlua::Error::ExternalError(Arc::new(self))
    }

    /// As a table.
    pub(super) fn table(&self, lua: &Lua) -> Result<mlua::Table> {
        let table = lua.create_table_with_capacity(0, 4)?;
        table.raw_set("err", lua.create_string(&self.text)?)?;
        if self.is_counted {
            table.raw_set(IS_COUNTED, true)?;
        }
        Ok(table)
    }

    /// The one at the root of an error.
    fn of(error: &mlua::Error) -> Option<&Self> {
        match error {
            mlua::Error::CallbackError { cause, .. } => Self::of(cause),
            mlua::Error::ExternalError(cause) => cause.downcast_ref(),
            _ => None,
        }
    }
}

/// Says of an error table that it was counted.
pub(super) const IS_COUNTED: &str = "ignore_error_stats_update";

/// An error as a script sees it: a table for one of the server, else a text. With it whether the
/// error ends the script, which then does not see it.
pub(super) fn translated(lua: &Lua, error: &Value) -> Result<(Value, bool)> {
    let Value::Error(error) = error else { return Ok((error.clone(), false)) };
    let shown = match Wrong::of(error) {
        Some(wrong) => Value::Table(wrong.table(lua)?),
        None => Value::String(lua.create_string(told(error))?),
    };
    Ok((shown, Ended::is_in(error)))
}
