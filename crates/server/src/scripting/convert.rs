//! Converts replies to Lua values, and Lua values to replies.
//!
//! ```text
//!   reply              value                       value               reply
//!   number             number                      number              number, without fraction
//!   string             string                      string              string
//!   status             {ok = text}                 {ok = text}         status
//!   error              {err = text}                {err = text}        error
//!   array              table from 1 on             table               array, up to the first nil
//!   nothing            false (nil in version 3)    false, nil          nothing
//!   map, set           {map = t}, {set = t}        the same            map, set
//!   fraction           {double = number}           the same            fraction
//! ```

use super::answer::as_f64;
use super::failing::Oops;
use super::look::Work;
use super::number::shortest;
use mlua::{BString, Either, Function, IntoLua, Lua, MultiValue, Result, Table, Value};
use wire::resp::{Encoder, Protocol, Reply};

/// The deepest nesting of tables in a script's reply.
const DEPTH_MAX: usize = 256;

/// Bytes for Lua. Valid UTF-8, the common case, is passed without a copy.
pub(super) fn word(bytes: &[u8]) -> Either<&str, BString> {
    std::str::from_utf8(bytes).map_or_else(|_| Either::Right(bytes.into()), Either::Left)
}

/// A table with one field.
fn only(lua: &Lua, name: &str, value: impl IntoLua) -> Result<Value> {
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set(name, value)?;
    Ok(Value::Table(table))
}

/// A reply as the script sees it.
pub(super) fn to_lua(lua: &Lua, reply: &Reply<'_>, protocol: Protocol) -> Result<Value> {
    let many = |all: &[Reply<'_>]| {
        let table = lua.create_table_with_capacity(all.len(), 0)?;
        for (at, reply) in all.iter().enumerate() {
            match reply {
                Reply::Bulk(bytes) => table.raw_set(at + 1, word(bytes))?,
                other => table.raw_set(at + 1, to_lua(lua, other, protocol)?)?,
            }
        }
        Ok(Value::Table(table))
    };
    match reply {
        Reply::Simple(status) => only(lua, "ok", word(status)),
        Reply::Error(wrong) => only(lua, "err", word(wrong)),
        Reply::Integer(number) => Ok(Value::Integer(*number)),
        Reply::Bulk(bytes) => lua.create_string(bytes).map(Value::String),
        Reply::Null if protocol == Protocol::Resp3 => Ok(Value::Nil),
        Reply::Null => Ok(Value::Boolean(false)),
        Reply::Double(number) => only(lua, "double", *number),
        Reply::Boolean(on) => Ok(Value::Boolean(*on)),
        Reply::Verbatim(bytes) => {
            let table = lua.create_table_with_capacity(0, 2)?;
            table.raw_set("format", "txt")?;
            table.raw_set("string", word(bytes))?;
            only(lua, "verbatim_string", table)
        }
        Reply::Array(all) | Reply::Push(all) => many(all),
        Reply::Map(pairs) => {
            let table = lua.create_table_with_capacity(0, pairs.len())?;
            for (key, value) in pairs {
                table.raw_set(to_lua(lua, key, protocol)?, to_lua(lua, value, protocol)?)?;
            }
            only(lua, "map", table)
        }
        Reply::Set(all) => {
            let table = lua.create_table_with_capacity(0, all.len())?;
            for member in all {
                table.raw_set(to_lua(lua, member, protocol)?, true)?;
            }
            only(lua, "set", table)
        }
    }
}

/// A reply as the script sees it, element by element. [`Reply::holds`] describes its kind and
/// elements.
pub(super) fn elements_to_lua(
    lua: &Lua,
    reply: &[u8],
    (kind, len, mut at): (u8, usize, usize),
    protocol: Protocol,
) -> Result<Value> {
    let mut work = Work::asking(lua);
    let mut next = || {
        work.step(64)?;
        let rest = reply.get(at..).unwrap_or_default();
        let Ok(Some((element, used))) = Reply::decode(rest) else {
            return Err(mlua::Error::runtime("the reply is cut"));
        };
        at += used;
        to_lua(lua, &element, protocol)
    };
    match kind {
        b'%' => {
            let table = lua.create_table_with_capacity(0, len)?;
            for _ in 0..len {
                table.raw_set(next()?, next()?)?;
            }
            only(lua, "map", table)
        }
        b'~' => {
            let table = lua.create_table_with_capacity(0, len)?;
            for _ in 0..len {
                table.raw_set(next()?, true)?;
            }
            only(lua, "set", table)
        }
        _ => {
            let table = lua.create_table_with_capacity(len, 0)?;
            for element in 1..=len {
                table.raw_set(element, next()?)?;
            }
            Ok(Value::Table(table))
        }
    }
}

/// The RESP version that a script chose, and the function that takes arrays apart.
type How<'a> = (Protocol, &'a Function);

type Written = std::result::Result<(), Oops>;

/// The largest number of bytes in a reply beside its text.
const HEAD: usize = 24;

/// Writes a script's result; an error if it exceeds the memory of the interpreter.
pub(super) fn reply(
    out: &mut Encoder<'_>,
    value: &Value,
    how: How<'_>,
    work: &mut Work<'_>,
    depth: usize,
) -> Written {
    if depth > DEPTH_MAX {
        out.error(b"ERR reached lua stack limit");
        return Ok(());
    }
    work.take(HEAD)?;
    match value {
        Value::String(text) => {
            let text = text.as_bytes();
            work.take(text.len())?;
            out.bulk(&text);
        }
        Value::Integer(_) | Value::Number(_) => out.integer(whole(as_f64(value))),
        Value::Boolean(on) if how.0 == Protocol::Resp3 => out.boolean(*on),
        Value::Boolean(true) => out.integer(1),
        Value::Table(table) => {
            let (len, values): (Option<usize>, MultiValue) = how.1.call(table)?;
            let Some(len) = len else {
                return reply_table(out, table, how, work, depth);
            };
            out.array(len);
            return values.iter().try_for_each(|value| reply(out, value, how, work, depth + 1));
        }
        _ => out.null(),
    }
    Ok(())
}

/// A number without its fraction; the least integer for numbers out of range.
fn whole(number: f64) -> i64 {
    if number.is_nan() || number >= 9_223_372_036_854_775_808.0 { i64::MIN } else { number as i64 }
}

fn reply_table(
    out: &mut Encoder<'_>,
    table: &Table,
    how: How<'_>,
    work: &mut Work<'_>,
    depth: usize,
) -> Written {
    if let Value::String(text) = table.raw_get::<Value>("err")? {
        work.take(text.as_bytes().len())?;
        out.error(&text.as_bytes());
        return Ok(());
    }
    if let Value::String(text) = table.raw_get::<Value>("ok")? {
        work.take(text.as_bytes().len())?;
        out.simple(&one_line(&text.as_bytes()));
        return Ok(());
    }
    let double = table.raw_get::<Value>("double")?;
    if matches!(double, Value::Integer(_) | Value::Number(_)) {
        reply_double(out, as_f64(&double));
        return Ok(());
    }
    if let Value::Table(map) = table.raw_get::<Value>("map")? {
        out.map(map.pairs::<Value, Value>().count());
        for pair in map.pairs::<Value, Value>() {
            let (key, value) = pair?;
            reply(out, &key, how, work, depth + 1)?;
            reply(out, &value, how, work, depth + 1)?;
        }
        return Ok(());
    }
    if let Value::Table(set) = table.raw_get::<Value>("set")? {
        out.set(set.pairs::<Value, Value>().count());
        for pair in set.pairs::<Value, Value>() {
            reply(out, &pair?.0, how, work, depth + 1)?;
        }
        return Ok(());
    }
    if let Value::String(number) = table.raw_get::<Value>("big_number")? {
        work.take(number.as_bytes().len())?;
        let number = one_line(&number.as_bytes());
        match out.protocol() {
            Protocol::Resp2 => out.bulk(number.as_bytes()),
            Protocol::Resp3 => out.raw(format!("({number}\r\n").as_bytes()),
        }
        return Ok(());
    }
    if let Value::Table(verbatim) = table.raw_get::<Value>("verbatim_string")? {
        let format = verbatim.raw_get::<Value>("format")?;
        let string = verbatim.raw_get::<Value>("string")?;
        if let (Value::String(format), Value::String(string)) = (format, string) {
            work.take(string.as_bytes().len())?;
            reply_verbatim(out, &format.as_bytes(), &string.as_bytes());
            return Ok(());
        }
    }
    // Values are taken one at a time: Lua allows only a limited number of references.
    let mut len = 0;
    while !table.raw_get::<Value>(len + 1)?.is_nil() {
        len += 1;
        work.step(1)?;
    }
    out.array(len);
    for at in 1..=len {
        reply(out, &table.raw_get::<Value>(at)?, how, work, depth + 1)?;
    }
    Ok(())
}

fn one_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace(['\r', '\n'], " ")
}

fn reply_double(out: &mut Encoder<'_>, number: f64) {
    let text = if number.is_nan() { "nan".into() } else { shortest(number) };
    match out.protocol() {
        Protocol::Resp2 => out.bulk(text.as_bytes()),
        Protocol::Resp3 => out.raw(format!(",{text}\r\n").as_bytes()),
    }
}

/// A format has three letters: a shorter one is filled, a longer one cut.
fn reply_verbatim(out: &mut Encoder<'_>, format: &[u8], string: &[u8]) {
    if out.protocol() == Protocol::Resp2 {
        out.bulk(string);
        return;
    }
    let letter = |at: usize| format.get(at).copied().unwrap_or(b' ');
    out.raw(format!("={}\r\n", string.len() + 4).as_bytes());
    out.raw(&[letter(0), letter(1), letter(2), b':']);
    out.raw(string);
    out.raw(b"\r\n");
}
