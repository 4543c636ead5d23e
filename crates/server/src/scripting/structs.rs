//! `struct`: values as bytes in a fixed layout, like C structs.
//!
//! ```text
//!   > < !n   big or little end first, aligned to n bytes at most
//!   b h i l  whole numbers of 1, 2, 4 and 8 bytes; in capitals without a sign; in for n bytes
//!   T        a size of 8 bytes          f d   floats
//!   s        text up to a zero          cn    n bytes; c0 as many as the number before says
//!   x        a byte of nothing
//! ```

use super::answer::{Answer, Args, answering};
use super::failing::Oops;
use super::look::{Made, Work};
use mlua::{Lua, Result, Table, Value};

/// The size of the largest integer, in bytes.
const INTEGER_MAX: usize = 32;
/// The alignment that `!` without a number means.
const ALIGNMENT: usize = 8;
/// The largest number of values in one result, because Lua's stack is limited.
const VALUES_MAX: usize = 7_000;

type Done<T> = std::result::Result<T, Oops>;

/// The table with the functions.
pub(super) fn table(lua: &Lua) -> Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("pack", answering(lua, pack)?)?;
    table.raw_set("unpack", answering(lua, unpack)?)?;
    table.raw_set("size", answering(lua, size)?)?;
    Ok(table)
}

/// One letter of a format, and the bytes that it takes.
#[derive(Clone, Copy, Debug)]
struct Field {
    letter: u8,
    size: usize,
    /// The zeros before it.
    gap: usize,
    is_big: bool,
}

/// A format that is being read.
struct Format<'a> {
    text: &'a [u8],
    at: usize,
    is_big: bool,
    alignment: usize,
}

impl<'a> Format<'a> {
    const fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, is_big: cfg!(target_endian = "big"), alignment: 1 }
    }

    /// The number that follows in the format; `default` if there is none.
    fn number(&mut self, default: usize) -> Done<usize> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if start == self.at {
            return Ok(default);
        }
        let digits = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        let read = digits.parse::<i32>().ok().filter(|number| *number < i32::MAX);
        Ok(read.ok_or("integral size overflow")? as usize)
    }

    /// The next field, for data that has `len` bytes so far; `None` at the end.
    fn next(&mut self, len: usize) -> Done<Option<Field>> {
        while let Some(&letter) = self.text.get(self.at) {
            self.at += 1;
            let size = match letter {
                b'b' | b'B' | b'x' => 1,
                b'h' | b'H' => 2,
                b'l' | b'L' | b'T' | b'd' => 8,
                b'f' => 4,
                b'c' => self.number(1)?,
                b'i' | b'I' => {
                    let size = self.number(4)?;
                    if size > INTEGER_MAX {
                        let text = format!("integral size {size} is larger than limit of");
                        return Err(format!("{text} {INTEGER_MAX}").into());
                    }
                    size
                }
                _ => 0,
            };
            match letter {
                b' ' => {}
                b'>' => self.is_big = true,
                b'<' => self.is_big = false,
                b'!' => {
                    let alignment = self.number(ALIGNMENT)?;
                    if !alignment.is_power_of_two() {
                        let text = format!("alignment {alignment} is not a power of 2");
                        return Err(text.into());
                    }
                    self.alignment = alignment;
                }
                _ => {
                    let gap = self.gap(letter, size, len);
                    return Ok(Some(Field { letter, size, gap, is_big: self.is_big }));
                }
            }
        }
        Ok(None)
    }

    /// The number of zeros before a field.
    const fn gap(&self, letter: u8, size: usize, len: usize) -> usize {
        let align = if size < self.alignment { size } else { self.alignment };
        if align <= 1 || letter == b'c' {
            return 0;
        }
        (align - (len & (align - 1))) & (align - 1)
    }
}

fn bad_option(name: &str, letter: u8) -> Oops {
    let letter = char::from(letter);
    format!("bad argument #1 to '{name}' (invalid format option '{letter}')").into()
}

/// The error for a value of another type than the field wants. A missing value counts as nil.
fn wanted(args: Args<'_>, at: usize, what: &str) -> Oops {
    let got = super::answer::type_name(args.value(at));
    format!("bad argument #{} to 'pack' ({what} expected, got {got})", at + 1).into()
}

fn pack(lua: &Lua, args: Args<'_>) -> Done<Answer> {
    let format = args.string(lua, 0, "pack")?;
    let format = format.as_bytes();
    let (mut format, mut out, mut at) = (Format::new(&format), Made::new(lua), 1);
    while let Some(field) = format.next(out.len())? {
        out.extend(&[0; INTEGER_MAX][..field.gap])?;
        let number = |at| args.number(at, "pack").map_err(|_| wanted(args, at, "number"));
        match field.letter {
            b'x' => out.push(0)?,
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                pack_integer(&mut out, number(at)?, field)?;
                at += 1;
            }
            b'f' | b'd' => {
                let value = number(at)?;
                let mut bytes = match field.letter {
                    b'f' => (value as f32).to_be_bytes().to_vec(),
                    _ => value.to_be_bytes().to_vec(),
                };
                if !field.is_big {
                    bytes.reverse();
                }
                out.extend(&bytes)?;
                at += 1;
            }
            b's' | b'c' => {
                let text = args.string(lua, at, "pack").map_err(|_| wanted(args, at, "string"))?;
                let text = text.as_bytes();
                let is_text = field.letter == b's';
                let len = if field.size == 0 { text.len() } else { field.size };
                at += 1;
                let Some(bytes) = text.get(..len) else {
                    let text = format!("bad argument #{} to 'pack' (string too short)", at + 1);
                    return Err(text.into());
                };
                out.extend(bytes)?;
                if is_text {
                    out.push(0)?;
                }
            }
            letter => return Err(bad_option("pack", letter)),
        }
    }
    Ok(out.string()?.into())
}

fn pack_integer(out: &mut Made<'_>, value: f64, field: Field) -> Done<()> {
    let bits = if value < 0.0 { value as i64 as u64 } else { value as u64 };
    let fill = if value < 0.0 { 0xff } else { 0 };
    let mut bytes = [fill; INTEGER_MAX];
    bytes[..8].copy_from_slice(&bits.to_le_bytes());
    let bytes = &mut bytes[..field.size];
    if field.is_big {
        bytes.reverse();
    }
    out.extend(bytes)
}

fn unpack(lua: &Lua, args: Args<'_>) -> Done<Answer> {
    let format = args.string(lua, 0, "unpack")?;
    let text = args.string(lua, 1, "unpack")?;
    let (format, text) = (format.as_bytes(), text.as_bytes());
    let from = if args.len() > 2 { args.number(2, "unpack")? } else { 1.0 };
    if from < 1.0 {
        return Err("bad argument #3 to 'unpack' (offset must be 1 or greater)".into());
    }
    let too_short = || Oops::from("bad argument #2 to 'unpack' (data string too short)");
    let (mut format, mut at, mut values) = (Format::new(&format), from as usize - 1, vec![]);
    let mut work = Work::new(lua);
    while let Some(field) = format.next(at)? {
        work.step(16)?;
        if values.len() >= VALUES_MAX {
            return Err("too many results".into());
        }
        at = at.checked_add(field.gap).ok_or_else(too_short)?;
        let rest = text.get(at..).ok_or_else(too_short)?;
        let bytes = rest.get(..field.size).ok_or_else(too_short)?;
        let mut used = field.size;
        match field.letter {
            b'x' => {}
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                values.push(Value::Number(unpack_integer(bytes, field)));
            }
            b'f' | b'd' => {
                let mut bytes = bytes.to_vec();
                if !field.is_big {
                    bytes.reverse();
                }
                let value = match field.letter {
                    b'f' => bytes.try_into().map(f32::from_be_bytes).map(f64::from),
                    _ => bytes.try_into().map(f64::from_be_bytes),
                };
                values.push(Value::Number(value.unwrap_or_default()));
            }
            b'c' => {
                let len = match (field.size, values.last()) {
                    (0, Some(Value::Number(len))) => *len as usize,
                    (0, _) => return Err("format 'c0' needs a previous size".into()),
                    (size, _) => size,
                };
                if field.size == 0 {
                    values.pop();
                }
                let bytes = rest.get(..len).ok_or_else(too_short)?;
                values.push(Value::String(lua.create_string(bytes)?));
                used = len;
            }
            b's' => {
                let end = rest.iter().position(|byte| *byte == 0);
                let end = end.ok_or("unfinished string in data")?;
                values.push(Value::String(lua.create_string(&rest[..end])?));
                used = end + 1;
            }
            letter => return Err(bad_option("unpack", letter)),
        }
        at += used;
    }
    values.push(Value::Integer(at as i64 + 1));
    Ok(Answer::Many(values))
}

fn unpack_integer(bytes: &[u8], field: Field) -> f64 {
    let lowest = |at: &usize| {
        if field.is_big { bytes[bytes.len() - 1 - at] } else { bytes[*at] }
    };
    let bits =
        (0..bytes.len().min(8)).rev().fold(0_u64, |bits, at| bits << 8 | u64::from(lowest(&at)));
    if !field.letter.is_ascii_lowercase() {
        return bits as f64;
    }
    let unused = 64 - 8 * bytes.len().min(8) as u32;
    if unused == 64 { 0.0 } else { ((bits << unused) as i64 >> unused) as f64 }
}

fn size(lua: &Lua, args: Args<'_>) -> Done<Answer> {
    let format = args.string(lua, 0, "size")?;
    let format = format.as_bytes();
    let (mut format, mut len) = (Format::new(&format), 0);
    while let Some(field) = format.next(len)? {
        let name = match (field.letter, field.size) {
            (b's', _) => "s",
            (b'c', 0) => "c0",
            _ => {
                len += field.gap + field.size;
                continue;
            }
        };
        return Err(format!("bad argument #1 to 'size' (option '{name}' has no fixed size)").into());
    }
    Ok(Value::Integer(len as i64).into())
}
