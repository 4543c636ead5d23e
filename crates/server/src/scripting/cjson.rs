//! `cjson`: writes Lua values as JSON, with its settings. `json.rs` reads JSON.
//!
//! A table with only positive integers as keys is an array. Every other table, also the empty one,
//! is an object.

use super::answer::{Answer, Args, answering, as_f64, type_name};
use super::failing::Oops;
use super::json;
use super::json_settings::{DEPTH_MAX, Invalid, JsonSettings};
use super::look::Made;
use super::number::general;
use mlua::{Lua, Result, Table, Value};
use std::sync::{Arc, Mutex, PoisonError};

type SharedSettings = Arc<Mutex<JsonSettings>>;

fn with<R>(settings: &SharedSettings, f: impl FnOnce(&mut JsonSettings) -> R) -> R {
    f(&mut settings.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The table with the functions, which has its own settings.
pub(super) fn table(lua: &Lua) -> Result<Table> {
    let (table, settings) = (lua.create_table()?, SharedSettings::default());
    let add = |name: &'static str, f: fn(&Lua, Args<'_>, &SharedSettings) -> Told| {
        let settings = Arc::clone(&settings);
        table.raw_set(name, answering(lua, move |lua, args| f(lua, args, &settings))?)
    };
    add("encode", |lua, args, settings| {
        if args.len() != 1 {
            return Err("bad argument #1 to 'encode' (expected 1 argument)".into());
        }
        let mut out = Writer { out: Made::new(lua), settings: with(settings, |known| *known) };
        out.value(args.value(0), 0)?;
        Ok(out.out.string()?.into())
    })?;
    add("decode", |lua, args, settings| {
        if args.len() != 1 {
            return Err("bad argument #1 to 'decode' (expected 1 argument)".into());
        }
        let text = args.string(lua, 0, "decode")?;
        let settings = with(settings, |known| *known);
        Ok(json::decode(lua, &text.as_bytes(), &settings)?.into())
    })?;
    add("encode_sparse_array", |_, args, settings| {
        with(settings, |known| {
            most(args, "encode_sparse_array", 3)?;
            let (converts, ratio, safe) = &mut known.sparse;
            *converts = switch(args, "encode_sparse_array", 0, *converts)?;
            *ratio = whole(args, "encode_sparse_array", 1, *ratio, 0, i64::from(i32::MAX))?;
            *safe = whole(args, "encode_sparse_array", 2, *safe, 0, i64::from(i32::MAX))?;
            let numbers = [*ratio, *safe].map(Value::Integer);
            Ok(Answer::Many([Value::Boolean(*converts)].into_iter().chain(numbers).collect()))
        })
    })?;
    add("encode_max_depth", |_, args, settings| {
        with(settings, |known| {
            number(args, "encode_max_depth", &mut known.encode_depth, 1, i64::from(i32::MAX))
        })
    })?;
    add("decode_max_depth", |_, args, settings| {
        with(settings, |known| {
            number(args, "decode_max_depth", &mut known.decode_depth, 1, i64::from(i32::MAX))
        })
    })?;
    add("encode_number_precision", |_, args, settings| {
        with(settings, |known| number(args, "encode_number_precision", &mut known.digits, 1, 14))
    })?;
    add("encode_keep_buffer", |_, args, settings| {
        most(args, "encode_keep_buffer", 1)?;
        with(settings, |known| {
            known.keeps_buffer = switch(args, "encode_keep_buffer", 0, known.keeps_buffer)?;
            Ok(Value::Boolean(known.keeps_buffer).into())
        })
    })?;
    add("decode_invalid_numbers", |_, args, settings| {
        most(args, "decode_invalid_numbers", 1)?;
        with(settings, |known| {
            known.decode_invalid = switch(args, "decode_invalid_numbers", 0, known.decode_invalid)?;
            Ok(Value::Boolean(known.decode_invalid).into())
        })
    })?;
    add("encode_invalid_numbers", |lua, args, settings| {
        most(args, "encode_invalid_numbers", 1)?;
        let null = matches!(args.value(0), Value::String(word) if word == "null");
        with(settings, |known| {
            known.encode_invalid = match known.encode_invalid {
                _ if null => Invalid::Null,
                before if args.len() == 0 => before,
                before
                    if switch(args, "encode_invalid_numbers", 0, before != Invalid::Refused)? =>
                {
                    Invalid::Written
                }
                _ => Invalid::Refused,
            };
            Ok(Answer::One(match known.encode_invalid {
                Invalid::Null => Value::String(lua.create_string("null")?),
                set => Value::Boolean(set == Invalid::Written),
            }))
        })
    })?;
    Ok(table)
}

type Told = std::result::Result<Answer, Oops>;
type Written = std::result::Result<(), Oops>;

fn most(args: Args<'_>, name: &str, count: usize) -> std::result::Result<(), Oops> {
    if args.len() > count {
        let at = count + 1;
        return Err(format!("bad argument #{at} to '{name}' (found too many arguments)").into());
    }
    Ok(())
}

/// Sets a number if the call has one.
fn number(args: Args<'_>, name: &str, setting: &mut i64, min: i64, max: i64) -> Told {
    most(args, name, 1)?;
    *setting = whole(args, name, 0, *setting, min, max)?;
    Ok(Value::Integer(*setting).into())
}

fn whole(
    args: Args<'_>,
    name: &str,
    at: usize,
    before: i64,
    min: i64,
    max: i64,
) -> std::result::Result<i64, Oops> {
    if matches!(args.value(at), Value::Nil) {
        return Ok(before);
    }
    let value = args.number(at, name)? as i64;
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    Err(format!("bad argument #{} to '{name}' (expected integer between {min} and {max})", at + 1)
        .into())
}

fn switch(args: Args<'_>, name: &str, at: usize, before: bool) -> std::result::Result<bool, Oops> {
    match args.value(at) {
        Value::Nil => Ok(before),
        Value::Boolean(on) => Ok(*on),
        Value::String(word) if word == "on" => Ok(true),
        Value::String(word) if word == "off" => Ok(false),
        Value::String(word) => {
            let word = word.to_string_lossy();
            Err(format!("bad argument #{} to '{name}' (invalid option '{word}')", at + 1).into())
        }
        _ => Err(args.bad(at, name, "string")),
    }
}

struct Writer<'a> {
    out: Made<'a>,
    settings: JsonSettings,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: i64) -> Written {
        match value {
            Value::Nil => self.out.extend(b"null"),
            Value::LightUserData(pointer) if pointer.0.is_null() => self.out.extend(b"null"),
            Value::Boolean(on) => self.out.extend(if *on { b"true" } else { b"false" }),
            Value::Integer(_) | Value::Number(_) => self.number(as_f64(value)),
            Value::String(text) => self.string(&text.as_bytes()),
            Value::Table(table) => self.table(table, depth + 1),
            other => {
                let name = type_name(other);
                Err(format!("Cannot serialise {name}: type not supported").into())
            }
        }
    }

    fn number(&mut self, value: f64) -> Written {
        if !value.is_finite() {
            match self.settings.encode_invalid {
                Invalid::Refused => {
                    return Err("Cannot serialise number: must not be NaN or Inf".into());
                }
                Invalid::Null => return self.out.extend(b"null"),
                Invalid::Written if value.is_nan() => return self.out.extend(b"nan"),
                Invalid::Written => {}
            }
        }
        self.out.extend(general(value, self.settings.digits as usize).as_bytes())
    }

    fn string(&mut self, text: &[u8]) -> Written {
        self.out.push(b'"')?;
        let mut plain = 0;
        for (at, &byte) in text.iter().enumerate() {
            let short = match byte {
                b'"' | b'\\' | b'/' => byte,
                0x08 => b'b',
                0x0c => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                0..0x20 | 0x7f => 0,
                _ => continue,
            };
            self.out.extend(&text[plain..at])?;
            plain = at + 1;
            if short == 0 {
                self.out.extend(format!("\\u{byte:04x}").as_bytes())?;
            } else {
                self.out.extend(&[b'\\', short])?;
            }
        }
        self.out.extend(&text[plain..])?;
        self.out.push(b'"')
    }

    fn table(&mut self, table: &Table, depth: i64) -> Written {
        if depth > self.settings.encode_depth.min(DEPTH_MAX) {
            return Err(format!("Cannot serialise, excessive nesting ({depth})").into());
        }
        match self.length(table)? {
            0 => self.object(table, depth),
            len => self.array(table, len, depth),
        }
    }

    /// The length of an array; 0 for an object.
    fn length(&mut self, table: &Table) -> std::result::Result<i64, Oops> {
        let (mut last, mut items) = (0, 0);
        for pair in table.pairs::<Value, Value>() {
            self.out.work().step(16)?;
            match pair?.0 {
                Value::Integer(at) if at > 0 => (last, items) = (last.max(at), items + 1),
                _ => return Ok(0),
            }
        }
        let (converts, ratio, safe) = self.settings.sparse;
        if ratio > 0 && last > items * ratio && last > safe {
            if !converts {
                return Err("Cannot serialise table: excessively sparse array".into());
            }
            return Ok(0);
        }
        Ok(last)
    }

    fn array(&mut self, table: &Table, len: i64, depth: i64) -> Written {
        self.out.push(b'[')?;
        for at in 1..=len {
            if at > 1 {
                self.out.push(b',')?;
            }
            self.value(&table.raw_get::<Value>(at)?, depth)?;
        }
        self.out.push(b']')
    }

    fn object(&mut self, table: &Table, depth: i64) -> Written {
        self.out.push(b'{')?;
        let mut is_first = true;
        for pair in table.pairs::<Value, Value>() {
            let (key, value) = pair?;
            if !std::mem::take(&mut is_first) {
                self.out.push(b',')?;
            }
            match &key {
                Value::String(name) => self.string(&name.as_bytes())?,
                Value::Integer(_) | Value::Number(_) => {
                    self.out.push(b'"')?;
                    self.number(as_f64(&key))?;
                    self.out.push(b'"')?;
                }
                other => {
                    let name = type_name(other);
                    let text = "table key must be a number or string";
                    return Err(format!("Cannot serialise {name}: {text}").into());
                }
            }
            self.out.push(b':')?;
            self.value(&value, depth)?;
        }
        self.out.push(b'}')
    }
}
