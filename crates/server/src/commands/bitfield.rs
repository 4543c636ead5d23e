//! BITFIELD: strings as numbers of any width at any bit.

use super::bits::bit_offset;
use super::string::modify;
use crate::call::{Call, Command, Done, Failure, SYNTAX};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, FAST, READ, WRITE};
use crate::facts::{Access, ONE_KEY, access};
use wire::resp::parse_integer;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("bitfield", -2, WRITE | DENY_OOM, bitfield)
        .keys(ONE_KEY)
        .accesses(bitfield_access)
        .doc("bitmap", "3.2.0", "Reads and writes numbers of any width."),
    Command::new("bitfield_ro", -2, READ | FAST, bitfield_ro).keys(ONE_KEY).doc(
        "bitmap",
        "6.0.0",
        "Reads numbers of any width.",
    ),
];

/// The access of a call: it writes if any of its words is SET or INCRBY.
fn bitfield_access(args: &[&[u8]], _: usize) -> Access {
    let writes =
        |arg: &&[u8]| arg.eq_ignore_ascii_case(b"set") || arg.eq_ignore_ascii_case(b"incrby");
    if args.iter().skip(2).any(writes) { access::BOTH } else { access::READS }
}

/// The rule for a number that does not fit (OVERFLOW).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overflow {
    Wrap,
    Saturate,
    Fail,
}

/// The width of a number, and whether it has a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Width {
    bits: u32,
    signed: bool,
}

impl Width {
    fn parse(word: &[u8]) -> Result<Self, Failure> {
        const WRONG: &str = "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 \
                             is not supported but i64 is.";
        let (first, digits) = word.split_first().ok_or(WRONG)?;
        let signed = match first {
            b'i' | b'I' => true,
            b'u' | b'U' => false,
            _ => return Err(WRONG.into()),
        };
        let bits = parse_integer(digits).filter(|&bits| bits >= 1);
        let bits = bits.filter(|&bits| bits <= if signed { 64 } else { 63 }).ok_or(WRONG)?;
        Ok(Self { bits: bits as u32, signed })
    }

    const fn max(self) -> i128 {
        (1 << (self.bits - self.signed as u32)) - 1
    }

    const fn min(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    /// The number in this width; `None` if it does not fit and must not be written.
    fn fit(self, number: i128, overflow: Overflow) -> Option<i64> {
        if (self.min()..=self.max()).contains(&number) {
            return Some(number as i64);
        }
        match overflow {
            Overflow::Fail => None,
            Overflow::Saturate => Some(number.clamp(self.min(), self.max()) as i64),
            Overflow::Wrap => {
                let low = number & ((1 << self.bits) - 1);
                let wrapped = if low > self.max() { low - (1 << self.bits) } else { low };
                Some(wrapped as i64)
            }
        }
    }

    fn read(self, value: &[u8], offset: u64) -> i64 {
        let mut number = 0i128;
        for at in offset..offset + u64::from(self.bits) {
            let byte = value.get((at / 8) as usize).copied().unwrap_or(0);
            number = number << 1 | i128::from(byte >> (7 - at % 8) & 1);
        }
        if number > self.max() {
            number -= 1 << self.bits;
        }
        number as i64
    }

    fn write(self, value: &mut Vec<u8>, offset: u64, number: i64) {
        let end = offset + u64::from(self.bits);
        let bytes = end.div_ceil(8) as usize;
        if value.len() < bytes {
            value.resize(bytes, 0);
        }
        for (at, shift) in (offset..end).zip((0..self.bits).rev()) {
            let mask = 0x80 >> (at % 8);
            let byte = &mut value[(at / 8) as usize];
            *byte = *byte & !mask | if number >> shift & 1 == 1 { mask } else { 0 };
        }
    }
}

/// One operation of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Get,
    Set(i64, Overflow),
    Add(i64, Overflow),
}

fn steps(call: &Call<'_>, only_get: bool) -> Result<Vec<(Width, u64, Step)>, Failure> {
    let mut steps = vec![];
    let (mut overflow, mut at) = (Overflow::Wrap, 2);
    while at < call.args.len() {
        let left = call.args.len() - 1 - at;
        if call.is(at, "overflow") && left >= 1 {
            overflow = match call.arg(at + 1).to_ascii_lowercase().as_slice() {
                b"wrap" => Overflow::Wrap,
                b"sat" => Overflow::Saturate,
                b"fail" => Overflow::Fail,
                _ => return Err("ERR Invalid OVERFLOW type specified".into()),
            };
            at += 2;
            continue;
        }
        let (is_set, is_add) = (call.is(at, "set"), call.is(at, "incrby"));
        let words = if is_set || is_add { 3 } else { 2 };
        if !(call.is(at, "get") || is_set || is_add) || left < words {
            return Err(SYNTAX.into());
        }
        let width = Width::parse(call.arg(at + 1))?;
        let offset = match call.arg(at + 2) {
            [b'#', index @ ..] => parse_integer(index)
                .and_then(|index| u64::try_from(index).ok()?.checked_mul(width.bits.into())),
            offset => parse_integer(offset).and_then(|offset| u64::try_from(offset).ok()),
        };
        let offset = bit_offset(call, offset)?;
        let step = match (is_set, is_add) {
            (false, false) => Step::Get,
            (true, _) => Step::Set(call.integer(at + 3)?, overflow),
            _ => Step::Add(call.integer(at + 3)?, overflow),
        };
        if step != Step::Get {
            bit_offset(call, offset.checked_add(u64::from(width.bits) - 1))?;
        }
        steps.push((width, offset, step));
        at += words + 1;
    }
    if only_get && steps.iter().any(|(_, _, step)| *step != Step::Get) {
        return Err("ERR BITFIELD_RO only supports the GET subcommand".into());
    }
    Ok(steps)
}

fn run(call: &mut Call<'_>, only_get: bool) -> Done {
    let steps = steps(call, only_get)?;
    let key = call.key_at(1);
    // A write that OVERFLOW FAIL prevents needs no room, but at this point that is unknown.
    let ends = steps.iter().filter(|(_, _, step)| *step != Step::Get);
    let ends = ends.map(|(width, offset, _)| (offset + u64::from(width.bits)).div_ceil(8));
    let long = ends.max().unwrap_or(0) as usize;
    let (changed, answers) = modify(call, &key, long, |value| {
        let mut changed = false;
        let mut answers = vec![];
        for &(width, offset, step) in &steps {
            let old = width.read(value, offset);
            let (new, answer_old) = match step {
                Step::Get => {
                    answers.push(Some(old));
                    continue;
                }
                Step::Set(number, overflow) => (width.fit(number.into(), overflow), true),
                Step::Add(by, overflow) => {
                    (width.fit(i128::from(old) + i128::from(by), overflow), false)
                }
            };
            if let Some(new) = new {
                width.write(value, offset, new);
                changed = true;
            }
            answers.push(new.map(|new| if answer_old { old } else { new }));
        }
        (changed, (changed, answers))
    })?;
    if changed {
        call.event(event_classes::STRING, "setbit", call.arg(1));
    }
    call.out.array(answers.len());
    for answer in answers {
        match answer {
            Some(number) => call.out.integer(number),
            None => call.out.null(),
        }
    }
    Ok(())
}

fn bitfield(call: &mut Call<'_>) -> Done {
    run(call, false)
}

fn bitfield_ro(call: &mut Call<'_>) -> Done {
    run(call, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reads_what_it_writes_and_touches_nothing_else(
            before in prop::collection::vec(any::<u8>(), 0..20), offset in 0u64..100,
            bits in 1u32..64, signed: bool, number: i64,
        ) {
            let width = Width { bits, signed };
            let number = width.fit(number.into(), Overflow::Wrap).unwrap();
            let mut value = before.clone();
            width.write(&mut value, offset, number);
            prop_assert_eq!(width.read(&value, offset), number);
            let one = Width { bits: 1, signed: false };
            for at in (0..200).filter(|at| !(offset..offset + u64::from(bits)).contains(at)) {
                prop_assert_eq!(one.read(&value, at), one.read(&before, at));
            }
        }
    }

    #[test]
    fn what_does_not_fit() {
        let (i8, u8) = (Width { bits: 8, signed: true }, Width { bits: 8, signed: false });
        assert_eq!(i8.fit(128, Overflow::Wrap), Some(-128));
        assert_eq!(i8.fit(128, Overflow::Saturate), Some(127));
        assert_eq!(i8.fit(-129, Overflow::Fail), None);
        assert_eq!(u8.fit(-1, Overflow::Wrap), Some(255));
        assert_eq!(u8.fit(-1, Overflow::Saturate), Some(0));
        let i64 = Width { bits: 64, signed: true };
        assert_eq!(i64.fit(i128::from(i64::MAX) + 1, Overflow::Wrap), Some(i64::MIN));
    }
}
