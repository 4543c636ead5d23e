//! `cmsgpack`: writes Lua values as MessagePack, each in its shortest form.
//!
//! A table with the keys 1 to n is an array, also the empty one; every other table is a map. A
//! value without a form (a function, a table nested too deeply) is written as nil.

use super::answer::{Answer, Args, answering, as_f64};
use super::failing::Oops;
use super::look::{Made, Work};
use mlua::{Lua, Result, Table, Value};

/// The deepest nesting of tables that is written.
const DEPTH_MAX: usize = 16;
/// The deepest nesting of tables that is read.
const READ_DEPTH_MAX: usize = 1_000;
/// The largest number of values in one result, because Lua's stack is limited.
const VALUES_MAX: usize = 7_000;
const MISSING: &str = "Missing bytes in input.";

type Done<T> = std::result::Result<T, Oops>;

/// The table with the functions.
pub(super) fn table(lua: &Lua) -> Result<Table> {
    let table = lua.create_table()?;
    let pack = answering(lua, |lua, args| {
        if args.len() == 0 {
            return Err("bad argument #0 to 'pack' (MessagePack pack needs input.)".into());
        }
        let mut out = Made::new(lua);
        for at in 0..args.len() {
            pack(&mut out, args.value(at), 0)?;
        }
        Ok(out.string()?.into())
    })?;
    table.raw_set("pack", pack)?;
    let unpack = answering(lua, |lua, args| {
        let text = args.string(lua, 0, "unpack")?;
        Ok(Answer::Many(unpack(lua, &text.as_bytes(), 0, 0)?.0))
    })?;
    table.raw_set("unpack", unpack)?;
    let one = answering(lua, |lua, args| {
        let offset = if args.len() > 1 { args.number(1, "unpack_one")? as i64 } else { 0 };
        unpack_some(lua, args, "unpack_one", 1, offset)
    })?;
    table.raw_set("unpack_one", one)?;
    let limit = answering(lua, |lua, args| {
        let limit = args.number(1, "unpack_limit")? as i64;
        let offset = if args.len() > 2 { args.number(2, "unpack_limit")? as i64 } else { 0 };
        unpack_some(lua, args, "unpack_limit", limit, offset)
    })?;
    table.raw_set("unpack_limit", limit)?;
    Ok(table)
}

/// Returns up to `limit` values from `offset` on, with the place of the next value before them; -1
/// at the end.
fn unpack_some(lua: &Lua, args: Args<'_>, name: &str, limit: i64, offset: i64) -> Done<Answer> {
    let text = args.string(lua, 0, name)?;
    let text = text.as_bytes();
    let len = text.len() as i64;
    if limit < 0 || offset < 0 {
        let text = "Invalid request to unpack with offset of";
        return Err(format!("{text} {offset} and limit of {len}.").into());
    }
    if offset > len {
        return Err(format!("Start offset {offset} greater than input length {len}.").into());
    }
    let (mut values, end) = unpack(lua, &text, offset as usize, limit as usize)?;
    if limit > 0 {
        let next = if end < text.len() { end as i64 } else { -1 };
        values.insert(0, Value::Integer(next));
    }
    Ok(Answer::Many(values))
}

fn pack(out: &mut Made<'_>, value: &Value, depth: usize) -> Done<()> {
    match value {
        Value::Boolean(on) => out.push(if *on { 0xc3 } else { 0xc2 }),
        Value::Integer(number) => pack_integer(out, *number),
        Value::Number(number) => pack_number(out, *number),
        Value::String(text) => pack_string(out, &text.as_bytes()),
        Value::Table(table) if depth < DEPTH_MAX => pack_table(out, table, depth),
        _ => out.push(0xc0),
    }
}

fn pack_number(out: &mut Made<'_>, number: f64) -> Done<()> {
    let whole = number as i64;
    if whole as f64 == number && whole < i64::MAX {
        pack_integer(out, whole)
    } else if f64::from(number as f32) == number {
        pack_long(out, 0xca, &(number as f32).to_be_bytes())
    } else {
        pack_long(out, 0xcb, &number.to_be_bytes())
    }
}

fn pack_integer(out: &mut Made<'_>, number: i64) -> Done<()> {
    match number {
        -32..=0x7f => out.push(number as u8),
        0x80..=0xff => out.extend(&[0xcc, number as u8]),
        0x100..=0xffff => pack_long(out, 0xcd, &(number as u16).to_be_bytes()),
        0x1_0000..=0xffff_ffff => pack_long(out, 0xce, &(number as u32).to_be_bytes()),
        0x1_0000_0000.. => pack_long(out, 0xcf, &number.to_be_bytes()),
        -128..=-33 => out.extend(&[0xd0, number as u8]),
        -0x8000..=-129 => pack_long(out, 0xd1, &(number as i16).to_be_bytes()),
        -0x8000_0000..=-0x8001 => pack_long(out, 0xd2, &(number as i32).to_be_bytes()),
        _ => pack_long(out, 0xd3, &number.to_be_bytes()),
    }
}

fn pack_long(out: &mut Made<'_>, code: u8, bytes: &[u8]) -> Done<()> {
    out.push(code)?;
    out.extend(bytes)
}

fn pack_string(out: &mut Made<'_>, text: &[u8]) -> Done<()> {
    match text.len() {
        len @ 0..32 => out.push(0xa0 | len as u8),
        len @ 32..=0xff => out.extend(&[0xd9, len as u8]),
        len @ 0x100..=0xffff => pack_long(out, 0xda, &(len as u16).to_be_bytes()),
        len => pack_long(out, 0xdb, &(len as u32).to_be_bytes()),
    }?;
    out.extend(text)
}

fn pack_table(out: &mut Made<'_>, table: &Table, depth: usize) -> Done<()> {
    let (mut count, mut last, mut is_array) = (0_u32, 0, true);
    for pair in table.pairs::<Value, Value>() {
        out.work().step(16)?;
        count += 1;
        match pair?.0 {
            Value::Integer(at) if at > 0 => last = last.max(at),
            _ => is_array = false,
        }
    }
    let is_array = is_array && last == i64::from(count);
    let (few, codes) = if is_array { (0x90, [0xdc, 0xdd]) } else { (0x80, [0xde, 0xdf]) };
    match count {
        0..16 => out.push(few | count as u8),
        16..=0xffff => pack_long(out, codes[0], &(count as u16).to_be_bytes()),
        _ => pack_long(out, codes[1], &count.to_be_bytes()),
    }?;
    if is_array {
        for at in 1..=count {
            pack(out, &table.raw_get::<Value>(at)?, depth + 1)?;
        }
        return Ok(());
    }
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair?;
        match key {
            // A key that is no integer keeps its fraction.
            Value::Number(_) => pack_number(out, as_f64(&key)),
            key => pack(out, &key, depth + 1),
        }?;
        pack(out, &value, depth + 1)?;
    }
    Ok(())
}

/// The values from `offset` on (all of them for a limit of 0), and the place where reading ended.
fn unpack(lua: &Lua, text: &[u8], offset: usize, limit: usize) -> Done<(Vec<Value>, usize)> {
    let mut reader = Reader { lua, text, at: offset, work: Work::new(lua) };
    let mut values = vec![];
    while reader.at < text.len() && (limit == 0 || values.len() < limit) {
        if values.len() == VALUES_MAX {
            return Err("too many results to unpack".into());
        }
        values.push(reader.value(0)?);
    }
    Ok((values, reader.at))
}

struct Reader<'a> {
    lua: &'a Lua,
    text: &'a [u8],
    at: usize,
    work: Work<'a>,
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, len: usize) -> Done<&'a [u8]> {
        let bytes = self.text.get(self.at..).and_then(|rest| rest.get(..len)).ok_or(MISSING)?;
        self.at += len;
        Ok(bytes)
    }

    fn fixed<const N: usize>(&mut self) -> Done<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.bytes(N)?);
        Ok(bytes)
    }

    /// A length of one, two or four bytes.
    fn len(&mut self, width: usize) -> Done<usize> {
        Ok(self.bytes(width)?.iter().fold(0, |len, byte| len << 8 | usize::from(*byte)))
    }

    fn value(&mut self, depth: usize) -> Done<Value> {
        self.work.step(16)?;
        let code = self.bytes(1)?[0];
        Ok(match code {
            0..=0x7f => Value::Integer(code.into()),
            0xe0.. => Value::Integer((code as i8).into()),
            0xc0 => Value::Nil,
            0xc2 => Value::Boolean(false),
            0xc3 => Value::Boolean(true),
            0xca => Value::Number(f32::from_be_bytes(self.fixed()?).into()),
            0xcb => Value::Number(f64::from_be_bytes(self.fixed()?)),
            0xcc => Value::Integer(self.fixed::<1>()?[0].into()),
            0xcd => Value::Integer(u16::from_be_bytes(self.fixed()?).into()),
            0xce => Value::Integer(u32::from_be_bytes(self.fixed()?).into()),
            0xcf | 0xd3 => Value::Integer(i64::from_be_bytes(self.fixed()?)),
            0xd0 => Value::Integer(i8::from_be_bytes(self.fixed()?).into()),
            0xd1 => Value::Integer(i16::from_be_bytes(self.fixed()?).into()),
            0xd2 => Value::Integer(i32::from_be_bytes(self.fixed()?).into()),
            0xa0..=0xbf => self.string(usize::from(code & 0x1f))?,
            0xd9..=0xdb => {
                let len = self.len(1 << (code - 0xd9))?;
                self.string(len)?
            }
            0x90..=0x9f => self.array(usize::from(code & 0xf), depth)?,
            0xdc | 0xdd => {
                let len = self.len(2 << (code - 0xdc))?;
                self.array(len, depth)?
            }
            0x80..=0x8f => self.map(usize::from(code & 0xf), depth)?,
            0xde | 0xdf => {
                let len = self.len(2 << (code - 0xde))?;
                self.map(len, depth)?
            }
            _ => return Err("Bad data format in input.".into()),
        })
    }

    fn string(&mut self, len: usize) -> Done<Value> {
        Ok(Value::String(self.lua.create_string(self.bytes(len)?)?))
    }

    fn array(&mut self, len: usize, depth: usize) -> Done<Value> {
        let table = self.deeper(depth)?;
        for at in 1..=len {
            table.raw_set(at, self.value(depth + 1)?)?;
        }
        Ok(Value::Table(table))
    }

    fn map(&mut self, len: usize, depth: usize) -> Done<Value> {
        let table = self.deeper(depth)?;
        for _ in 0..len {
            let (key, value) = (self.value(depth + 1)?, self.value(depth + 1)?);
            table.raw_set(key, value)?;
        }
        Ok(Value::Table(table))
    }

    fn deeper(&self, depth: usize) -> Done<Table> {
        if depth >= READ_DEPTH_MAX {
            return Err("Bad data format in input.".into());
        }
        Ok(self.lua.create_table()?)
    }
}
