//! Functions of scripts that are written in Rust.
//!
//! Their errors name the line of the script, like Lua's own errors. An error passes through Lua as
//! a value that scripts cannot inspect. If a script catches it, the prelude translates it
//! ([`translated`]).

use super::failing::{Ended, Oops, told};
use mlua::{Function, Lua, MultiValue, Result, String as LuaString, Value};
use std::sync::Arc;

/// The name of the prelude among chunks.
pub(super) const PRELUDE: &str = "=prelude";

/// The values that a function returns.
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

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Args<'a>(&'a [Value]);

impl<'a> Args<'a> {
    pub(super) const fn len(self) -> usize {
        self.0.len()
    }

    /// The value at `at`; nil if there is none.
    pub(super) fn value(self, at: usize) -> &'a Value {
        self.0.get(at).unwrap_or(&Value::Nil)
    }

    /// Lua's error text for an argument of a wrong type.
    pub(super) fn bad(self, at: usize, name: &str, wanted: &str) -> Oops {
        let got = self.0.get(at).map_or("no value", type_name);
        format!("bad argument #{} to '{name}' ({wanted} expected, got {got})", at + 1).into()
    }

    /// The number in an argument, or in a string that reads as a number.
    pub(super) fn number(self, at: usize, name: &str) -> std::result::Result<f64, Oops> {
        let read = match self.value(at) {
            Value::Integer(number) => Some(*number as f64),
            Value::Number(number) => Some(*number),
            Value::String(text) => text.to_str().ok().and_then(|text| read_number(&text)),
            _ => None,
        };
        read.ok_or_else(|| self.bad(at, name, "number"))
    }

    /// The string in an argument; a number is converted to one.
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

/// The number in a value; 0 for any other type.
pub(super) fn as_f64(value: &Value) -> f64 {
    match value {
        Value::Integer(number) => *number as f64,
        Value::Number(number) => *number,
        _ => 0.0,
    }
}

/// Reads a number in the way Lua reads a string where it needs a number.
fn read_number(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok().map(|number| number as f64);
    }
    text.parse().ok()
}

/// Lua's name for the type of a value.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::LightUserData(_) => "userdata",
        other => other.type_name(),
    }
}

/// Makes a Lua function from a Rust function that returns an [`Answer`].
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

/// The largest number of prelude frames between a script and a function that it calls.
const BETWEEN_MAX: usize = 4;

/// An error text with the line of the script that called the running function, if a script did.
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

/// An error of the server. A script sees it as a table with these fields.
#[derive(Clone, Debug)]
pub(super) struct Wrong {
    pub(super) text: Vec<u8>,
    /// The error has been counted where it arose.
    pub(super) is_counted: bool,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.text))
    }
}

impl std::error::Error for Wrong {}

impl Wrong {
    /// An error with the code `ERR`.
    pub(super) fn new(text: &str) -> Self {
        Self { text: format!("ERR {text}").into_bytes(), is_counted: false }
    }

    /// The error as a Lua error.
    pub(super) fn raised(self) -> mlua::Error {
        mlua::Error::ExternalError(Arc::new(self))
    }

    /// The error as a Lua table.
    pub(super) fn table(&self, lua: &Lua) -> Result<mlua::Table> {
        let table = lua.create_table_with_capacity(0, 4)?;
        table.raw_set("err", lua.create_string(&self.text)?)?;
        if self.is_counted {
            table.raw_set(IS_COUNTED, true)?;
        }
        Ok(table)
    }

    /// The server's error at the root of a Lua error.
    fn of(error: &mlua::Error) -> Option<&Self> {
        match error {
            mlua::Error::CallbackError { cause, .. } => Self::of(cause),
            mlua::Error::ExternalError(cause) => cause.downcast_ref(),
            _ => None,
        }
    }
}

/// The field of an error table that tells that the error was counted.
pub(super) const IS_COUNTED: &str = "ignore_error_stats_update";

/// The form of an error for a script: a table for an error of the server, otherwise a text. Also
/// returns whether the error ends the script, which then does not see it.
pub(super) fn translated(lua: &Lua, error: &Value) -> Result<(Value, bool)> {
    let Value::Error(error) = error else {
        return Ok((error.clone(), false));
    };
    let shown = match Wrong::of(error) {
        Some(wrong) => Value::Table(wrong.table(lua)?),
        None => Value::String(lua.create_string(told(error))?),
    };
    Ok((shown, Ended::is_in(error)))
}
