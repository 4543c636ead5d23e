//! The part of `redis` in scripts that needs no client: log, own replies, digests.
//!
//! `host.rs` has `redis.call` and related functions.

use super::answer::{Wrong, as_f64};
use super::digest::digest;
use crate::facts::REDIS_VERSION;
use mlua::{Lua, MultiValue, Result, Table, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The longest word in the log, and the length of a line from which on no word is added.
const LOG_MAX: usize = 1_024;

fn wrong(text: &str) -> mlua::Error {
    Wrong::new(text).raised()
}

/// The table `redis`. `is_three` holds whether the script chose RESP3 for its replies.
pub(super) fn table(lua: &Lua, is_three: &Arc<AtomicBool>) -> Result<Table> {
    let api = lua.create_table()?;
    for (name, level) in [("DEBUG", 0), ("VERBOSE", 1), ("NOTICE", 2), ("WARNING", 3)] {
        api.raw_set(format!("LOG_{name}"), level)?;
    }
    for (name, flags) in [("NONE", 0), ("AOF", 1), ("SLAVE", 2), ("REPLICA", 2), ("ALL", 3)] {
        api.raw_set(format!("REPL_{name}"), flags)?;
    }
    let parts = REDIS_VERSION.split('.').filter_map(|part| part.parse::<u32>().ok());
    api.raw_set("REDIS_VERSION", REDIS_VERSION)?;
    api.raw_set("REDIS_VERSION_NUM", parts.fold(0, |number, part| number << 8 | part))?;
    api.raw_set("log", lua.create_function(|_, args| log(&args))?)?;
    api.raw_set("sha1hex", lua.create_function(|lua, args| sha1hex(lua, &args))?)?;
    api.raw_set("error_reply", lua.create_function(|lua, args| one_field(lua, &args, "err"))?)?;
    api.raw_set("status_reply", lua.create_function(|lua, args| one_field(lua, &args, "ok"))?)?;
    api.raw_set("set_repl", lua.create_function(|_, args| set_repl(&args))?)?;
    let chosen = Arc::clone(is_three);
    let setresp = move |_: &Lua, args: MultiValue| {
        if args.len() != 1 {
            return Err(wrong("redis.setresp() requires one argument."));
        }
        match args.front().and_then(number) {
            Some(2.0) => chosen.store(false, Relaxed),
            Some(3.0) => chosen.store(true, Relaxed),
            _ => return Err(wrong("RESP version must be 2 or 3.")),
        }
        Ok(())
    };
    api.raw_set("setresp", lua.create_function(setresp)?)?;
    Ok(api)
}

/// Adds the functions that only scripts of EVAL have.
pub(super) fn add_eval(lua: &Lua, api: &Table) -> Result<()> {
    api.raw_set("replicate_commands", lua.create_function(|_, _: MultiValue| Ok(true))?)?;
    api.raw_set("breakpoint", lua.create_function(|_, _: MultiValue| Ok(false))?)?;
    api.raw_set("debug", lua.create_function(|_, _: MultiValue| Ok(()))?)
}

/// The number in a value, or in a text that reads as a number.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(_) | Value::Number(_) => Some(as_f64(value)),
        Value::String(text) => text.to_str().ok()?.trim().parse().ok(),
        _ => None,
    }
}

fn log(args: &MultiValue) -> Result<()> {
    if args.len() < 2 {
        return Err(wrong("redis.log() requires two arguments or more."));
    }
    let Some(level @ (Value::Integer(_) | Value::Number(_))) = args.front() else {
        return Err(wrong("First argument must be a number (log level)."));
    };
    let mut text = String::new();
    for word in args.iter().skip(1) {
        let is_text = matches!(word, Value::String(_) | Value::Integer(_) | Value::Number(_));
        if is_text && text.len() < LOG_MAX {
            let blank = if text.is_empty() { "" } else { " " };
            text.push_str(blank);
            text.push_str(&start_of(word)?);
        }
    }
    match as_f64(level) as i64 {
        0 => tracing::debug!("script: {text}"),
        1 | 2 => tracing::info!("script: {text}"),
        3 => tracing::warn!("script: {text}"),
        _ => return Err(wrong("Invalid debug level.")),
    }
    Ok(())
}

/// A word of a log line, cut to the longest allowed length.
fn start_of(word: &Value) -> Result<String> {
    let Value::String(text) = word else {
        return word.to_string();
    };
    let text = text.as_bytes();
    Ok(String::from_utf8_lossy(&text[..text.len().min(LOG_MAX)]).into_owned())
}

fn sha1hex(lua: &Lua, args: &MultiValue) -> Result<mlua::String> {
    if args.len() != 1 {
        return Err(wrong("wrong number of arguments"));
    }
    let digest = match args.front() {
        Some(Value::String(text)) => digest(&text.as_bytes()),
        Some(number @ (Value::Integer(_) | Value::Number(_))) => {
            digest(number.to_string()?.as_bytes())
        }
        _ => digest(b""),
    };
    lua.create_string(digest)
}

/// A table that stands for an error or a status.
fn one_field(lua: &Lua, args: &MultiValue, name: &str) -> Result<Table> {
    let text = args.front().filter(|_| args.len() == 1);
    let Some(Value::String(text)) = text else {
        return Wrong::new("wrong number or type of arguments").table(lua);
    };
    let table = lua.create_table_with_capacity(0, 1)?;
    if name == "err" {
        table.raw_set(name, lua.create_string(error_text(&text.as_bytes()))?)?;
    } else {
        table.raw_set(name, text)?;
    }
    Ok(table)
}

/// The text of the error that `redis.error_reply` makes: the first of several words is the code,
/// with or without a `-`.
fn error_text(text: &[u8]) -> Vec<u8> {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let end = text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
    let text = &text[..end.map_or(0, |at| at + 1)];
    if text.contains(&b' ') { text.to_vec() } else { [b"ERR ", text].concat() }
}

fn set_repl(args: &MultiValue) -> Result<()> {
    if args.len() != 1 {
        return Err(wrong("redis.set_repl() requires one argument."));
    }
    let flags = args.front().map_or(0.0, as_f64);
    if (0.0..=3.0).contains(&flags) {
        return Ok(());
    }
    Err(wrong("Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_ones_own_has_a_code() {
        for (given, shown) in [
            ("no", "ERR no"),
            ("-CODE no", "CODE no"),
            ("-no", "ERR no"),
            ("CODE no\r\n", "CODE no"),
            ("", "ERR "),
        ] {
            assert_eq!(error_text(given.as_bytes()), shown.as_bytes(), "{given}");
        }
    }
}
