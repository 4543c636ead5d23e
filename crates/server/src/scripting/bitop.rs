//! `bit`: operations on 32-bit numbers.
//!
//! A number is rounded to an integer and taken modulo 2³²; results are signed.

use super::answer::{Answer, Args, answering};
use super::failing::Oops;
use mlua::{Lua, Result, Table, Value};

/// Adding this to a number moves its integer part into the low bits of the mantissa.
const MAGIC: f64 = 6_755_399_441_055_744.0;

type Bits = std::result::Result<i32, Oops>;

fn bits(args: Args<'_>, at: usize, name: &str) -> Bits {
    Ok((args.number(at, name)? + MAGIC).to_bits() as u32 as i32)
}

fn value(bits: i32) -> Answer {
    Value::Integer(bits.into()).into()
}

/// The table with the functions.
pub(super) fn table(lua: &Lua) -> Result<Table> {
    let table = lua.create_table()?;
    let add = |name: &'static str, f: fn(Args<'_>, &str) -> Bits| {
        table.raw_set(name, answering(lua, move |_, args| f(args, name).map(value))?)
    };
    add("tobit", |args, name| bits(args, 0, name))?;
    add("bnot", |args, name| Ok(!bits(args, 0, name)?))?;
    add("bswap", |args, name| Ok(bits(args, 0, name)?.swap_bytes()))?;
    add("band", |args, name| fold(args, name, |a, b| a & b))?;
    add("bor", |args, name| fold(args, name, |a, b| a | b))?;
    add("bxor", |args, name| fold(args, name, |a, b| a ^ b))?;
    add("lshift", |args, name| shift(args, name, |a, by| ((a as u32) << by) as i32))?;
    add("rshift", |args, name| shift(args, name, |a, by| ((a as u32) >> by) as i32))?;
    add("arshift", |args, name| shift(args, name, |a, by| a >> by))?;
    add("rol", |args, name| shift(args, name, i32::rotate_left))?;
    add("ror", |args, name| shift(args, name, i32::rotate_right))?;
    let hex = answering(lua, |lua, args| {
        let digits = if args.len() > 1 { bits(args, 1, "tohex")? } else { 8 };
        let text = hexadecimal(bits(args, 0, "tohex")?, digits);
        Ok(Value::String(lua.create_string(text)?).into())
    })?;
    table.raw_set("tohex", hex)?;
    Ok(table)
}

fn fold(args: Args<'_>, name: &str, by: fn(i32, i32) -> i32) -> Bits {
    (1..args.len())
        .try_fold(bits(args, 0, name)?, |so_far, at| Ok(by(so_far, bits(args, at, name)?)))
}

fn shift(args: Args<'_>, name: &str, by: fn(i32, u32) -> i32) -> Bits {
    Ok(by(bits(args, 0, name)?, bits(args, 1, name)? as u32 & 31))
}

/// The last digits of the hexadecimal form; capitals if `digits` is negative.
fn hexadecimal(bits: i32, digits: i32) -> String {
    let count = digits.unsigned_abs().min(8) as usize;
    let text = if digits < 0 { format!("{bits:08X}") } else { format!("{bits:08x}") };
    text[8 - count..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_the_last() {
        assert_eq!(hexadecimal(-1, 8), "ffffffff");
        assert_eq!(hexadecimal(0x1234_abcd, -4), "ABCD");
        assert_eq!(hexadecimal(1, 0), "");
        assert_eq!(hexadecimal(1, 99), "00000001");
    }
}
