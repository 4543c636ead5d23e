//! Strings as rows of bits. The highest bit of a byte is the first.

use super::string::{room, splice};
use crate::call::{Call, Command, Done, Failure, SYNTAX};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, FAST, READ, WRITE};
use crate::facts::{Keys, ONE_KEY, access};
use crate::values::text_value::string;
use store::Item;
use wire::resp::parse_integer;

const GROUP: &str = "bitmap";

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("setbit", 4, WRITE | DENY_OOM, setbit).keys(ONE_KEY).doc(
        GROUP,
        "2.2.0",
        "Sets a bit.",
    ),
    Command::new("getbit", 3, READ | FAST, getbit).keys(ONE_KEY).doc(GROUP, "2.2.0", "A bit."),
    Command::new("bitcount", -2, READ, bitcount).keys(ONE_KEY).doc(
        GROUP,
        "2.6.0",
        "Counts the bits that are set.",
    ),
    Command::new("bitpos", -3, READ, bitpos).keys(ONE_KEY).doc(
        GROUP,
        "2.8.7",
        "The first bit that is set, or not.",
    ),
    Command::new("bitop", -4, WRITE | DENY_OOM, bitop)
        .keys(Keys::new(2, -1, 1))
        .accesses(|_, at| if at == 2 { access::SETS } else { access::READS })
        .doc(GROUP, "2.6.0", "Combines the bits of several strings."),
];

/// Checks the position of a bit, which must be within the longest allowed value.
pub(super) fn bit_offset(call: &Call<'_>, offset: Option<u64>) -> Result<u64, Failure> {
    const TEXT: &str = "ERR bit offset is not an integer or out of range";
    let max = call.view.settings.proto_max_bulk_len.0;
    match offset {
        Some(offset) if offset < max.saturating_mul(8) => Ok(offset),
        Some(_) => Err(Failure::limit(TEXT, "proto-max-bulk-len", max)),
        None => Err(TEXT.into()),
    }
}

fn offset_at(call: &Call<'_>, at: usize) -> Result<u64, Failure> {
    let offset = parse_integer(call.arg(at)).and_then(|offset| u64::try_from(offset).ok());
    bit_offset(call, offset)
}

/// Shows the bytes of a string to `f`, or `None` if the key does not exist. It counts as a read.
fn look<R>(call: &Call<'_>, key: &[u8], f: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
    let mut f = Some(f);
    let show = |item: &Item<'_>| string(item).map(|value| f.take().map(|f| f(Some(value))));
    let found = call.server.store.get(&call.key(key), call.now, show).transpose()?.flatten();
    match (found, f) {
        (Some(result), _) => Ok(result),
        (None, Some(f)) => Ok(f(None)),
        (None, None) => Err(SYNTAX.into()),
    }
}

/// Shows the bytes of a string to `f`; a missing key has no bytes.
fn read<R>(call: &Call<'_>, key: &[u8], f: impl FnOnce(&[u8]) -> R) -> Result<R, Failure> {
    look(call, key, |value| f(value.unwrap_or_default()))
}

fn setbit(call: &mut Call<'_>) -> Done {
    let offset = offset_at(call, 2)?;
    let on = match call.arg(3) {
        b"0" => false,
        b"1" => true,
        _ => return Err("ERR bit is not an integer or out of range".into()),
    };
    let (byte, mask) = ((offset / 8) as usize, 0x80 >> (offset % 8));
    let key = call.key_at(1);
    let (old, _) = splice(call, &key, byte..byte + 1, |part| {
        let old = part[0] & mask != 0;
        part[0] = part[0] & !mask | if on { mask } else { 0 };
        old
    })?;
    call.event(event_classes::STRING, "setbit", call.arg(1));
    call.out.integer(i64::from(old));
    Ok(())
}

fn getbit(call: &mut Call<'_>) -> Done {
    let offset = offset_at(call, 2)?;
    let bit = read(call, call.arg(1), |value| {
        let byte = value.get((offset / 8) as usize).copied().unwrap_or(0);
        byte >> (7 - offset % 8) & 1
    })?;
    call.out.integer(i64::from(bit));
    Ok(())
}

/// A range of positions within `len`; negative positions count from the end. `None` if the range is
/// empty.
fn range(start: i64, end: i64, len: i64) -> Option<(i64, i64)> {
    if start < 0 && end < 0 && start > end {
        return None;
    }
    let clamp = |at: i64| {
        if at < 0 { len.saturating_add(at).max(0) } else { at }
    };
    let (start, end) = (clamp(start), clamp(end).min(len - 1));
    (start <= end).then_some((start, end))
}

/// Whether the word at argument `at` says BIT (positions of bits) rather than BYTE.
fn by_bits(call: &Call<'_>, at: usize) -> Result<bool, Failure> {
    match call.args.get(at) {
        None => Ok(false),
        Some(_) if call.is(at, "bit") => Ok(true),
        Some(_) if call.is(at, "byte") => Ok(false),
        Some(_) => Err(SYNTAX.into()),
    }
}

fn bit(value: &[u8], at: i64) -> bool {
    value[(at / 8) as usize] >> (7 - at % 8) & 1 == 1
}

fn bitcount(call: &mut Call<'_>) -> Done {
    let bounds = match call.args.len() {
        2 => (0, -1),
        3 => (call.integer(2)?, -1),
        4 | 5 => (call.integer(2)?, call.integer(3)?),
        _ => return Err(SYNTAX.into()),
    };
    let bits = by_bits(call, 4)?;
    let count = read(call, call.arg(1), |value| {
        let ones =
            |bytes: &[u8]| -> i64 { bytes.iter().map(|byte| i64::from(byte.count_ones())).sum() };
        let len = value.len() as i64 * if bits { 8 } else { 1 };
        let Some((start, end)) = range(bounds.0, bounds.1, len) else {
            return 0;
        };
        if !bits {
            return ones(&value[start as usize..=end as usize]);
        }
        let (first, last) = ((start / 8) as usize, (end / 8) as usize);
        let before = value[first] & !(0xff >> (start % 8));
        let after = value[last] & (0xff_u8.checked_shr(end as u32 % 8 + 1).unwrap_or(0));
        ones(&value[first..=last]) - ones(&[before]) - ones(&[after])
    })?;
    call.out.integer(count);
    Ok(())
}

fn bitpos(call: &mut Call<'_>) -> Done {
    let wanted = match call.arg(2) {
        b"0" => false,
        b"1" => true,
        _ => {
            parse_integer(call.arg(2)).ok_or(crate::call::NOT_AN_INTEGER)?;
            return Err("ERR The bit argument must be 1 or 0.".into());
        }
    };
    let bits = by_bits(call, 5)?;
    if call.args.len() > 6 {
        return Err(SYNTAX.into());
    }
    let start = if call.args.len() > 3 { call.integer(3)? } else { 0 };
    let end = if call.args.len() > 4 { Some(call.integer(4)?) } else { None };
    let found = look(call, call.arg(1), |value| {
        // A missing key counts as endless zeros. An existing string without bytes has neither bit.
        let Some(value) = value else {
            return if wanted { -1 } else { 0 };
        };
        if value.is_empty() {
            return -1;
        }
        let len = value.len() as i64 * if bits { 8 } else { 1 };
        let Some((first, last)) = range(start, end.unwrap_or(-1), len) else {
            return -1;
        };
        let (first, last) = if bits { (first, last) } else { (first * 8, last * 8 + 7) };
        let dull = if wanted { 0 } else { 0xff };
        let mut at = first;
        while at <= last {
            if at % 8 == 0 && at + 7 <= last && value[(at / 8) as usize] == dull {
                at += 8;
                continue;
            }
            if bit(value, at) == wanted {
                return at;
            }
            at += 1;
        }
        // Without an end in the call, the string continues with zeros behind its last byte.
        if !wanted && end.is_none() { value.len() as i64 * 8 } else { -1 }
    })?;
    call.out.integer(found);
    Ok(())
}

fn bitop(call: &mut Call<'_>) -> Done {
    type Combine = fn(u8, u8) -> u8;
    let (combine, negate): (Combine, bool) = match call.arg(1).to_ascii_lowercase().as_slice() {
        b"and" => (|a, b| a & b, false),
        b"or" => (|a, b| a | b, false),
        b"xor" => (|a, b| a ^ b, false),
        b"not" => (|a, _| a, true),
        _ => return Err(SYNTAX.into()),
    };
    if negate && call.args.len() != 4 {
        return Err("ERR BITOP NOT must be called with a single source key.".into());
    }
    let longest = call.args.iter_from(3).filter_map(|key| {
        let len = |item: &Item<'_>| string(item).map_or(0, <[u8]>::len);
        call.server.store.peek(&call.key(key), call.now, len)
    });
    let longest = longest.max().unwrap_or(0);
    room(call, &call.key_at(2), longest).check(0, longest)?;
    let mut result: Option<Vec<u8>> = None;
    let mut len = 0;
    for key in call.args.iter_from(3) {
        let mut value = read(call, key, <[u8]>::to_vec)?;
        len = len.max(value.len());
        result = Some(match result {
            None => value,
            Some(mut sum) => {
                let longest = sum.len().max(value.len());
                sum.resize(longest, 0);
                value.resize(longest, 0);
                sum.iter_mut().zip(value).for_each(|(a, b)| *a = combine(*a, b));
                sum
            }
        });
    }
    let mut result = result.unwrap_or_default();
    if negate {
        for byte in &mut result {
            *byte = !*byte;
        }
    }
    let key = call.key_at(2);
    if result.is_empty() {
        if call.server.store.delete(&key, call.now) {
            call.event(event_classes::GENERIC, "del", call.arg(2));
        }
    } else {
        call.server.store.set(&key, &result, None, call.now)?;
        call.event(event_classes::STRING, "set", call.arg(2));
    }
    call.out.integer(len as i64);
    Ok(())
}
