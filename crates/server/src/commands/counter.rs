//! Counters: strings that hold numbers.

use crate::call::{Call, Command, Done, NOT_AN_INTEGER};
use crate::facts::ONE_KEY;
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, FAST, WRITE};
use crate::text::decimal::Decimal;
use crate::values::text_value::{rewrite, string};
use store::Change;
use wire::resp::parse_integer;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("incr", 2, WRITE | DENY_OOM | FAST, incr).keys(ONE_KEY).doc(
        "string",
        "1.0.0",
        "Adds one to a whole number.",
    ),
    Command::new("decr", 2, WRITE | DENY_OOM | FAST, decr).keys(ONE_KEY).doc(
        "string",
        "1.0.0",
        "Subtracts one from a whole number.",
    ),
    Command::new("incrby", 3, WRITE | DENY_OOM | FAST, incrby).keys(ONE_KEY).doc(
        "string",
        "1.0.0",
        "Adds to a whole number.",
    ),
    Command::new("decrby", 3, WRITE | DENY_OOM | FAST, decrby).keys(ONE_KEY).doc(
        "string",
        "1.0.0",
        "Subtracts from a whole number.",
    ),
    Command::new("incrbyfloat", 3, WRITE | DENY_OOM | FAST, incrbyfloat).keys(ONE_KEY).doc(
        "string",
        "2.6.0",
        "Adds to a number with a fraction.",
    ),
];

fn add(call: &mut Call<'_>, by: i64) -> Done {
    let key = call.key_at(1);
    let sum = call.server.store.update(&key, call.now, |item| {
        let old = match item {
            None => Ok(0),
            Some(item) => string(item).and_then(|value| parse_integer(value).ok_or(NOT_AN_INTEGER)),
        };
        let sum = old
            .and_then(|old| old.checked_add(by).ok_or("ERR increment or decrement would overflow"));
        let change = match sum {
            Ok(sum) => {
                let mut digits = itoa::Buffer::new();
                let value = digits.format(sum).as_bytes().to_vec();
                rewrite(item, value, || call.server.memcached.next_cas())
            }
            Err(_) => Change::Keep,
        };
        (change, sum)
    })?;
    let sum = sum?;
    call.event(event_classes::STRING, "incrby", call.arg(1));
    call.out.integer(sum);
    Ok(())
}

fn incr(call: &mut Call<'_>) -> Done {
    add(call, 1)
}

fn decr(call: &mut Call<'_>) -> Done {
    add(call, -1)
}

fn incrby(call: &mut Call<'_>) -> Done {
    let by = call.integer(2)?;
    add(call, by)
}

fn decrby(call: &mut Call<'_>) -> Done {
    let by = call.integer(2)?;
    let by = by.checked_neg().ok_or("ERR decrement would overflow")?;
    add(call, by)
}

pub(super) const NOT_A_FLOAT: &str = "ERR value is not a valid float";
const WITHOUT_END: &str = "ERR increment would produce NaN or Infinity";

/// The sum of two decimal texts; the error `wrong` if `old` is no number.
pub(super) fn add_texts(
    old: Option<&[u8]>,
    by: &[u8],
    wrong: &'static str,
) -> Result<Vec<u8>, &'static str> {
    let read = |text, wrong| match Decimal::parse(text) {
        None if !Decimal::is_infinite(text) => Err(wrong),
        number => Ok(number),
    };
    let old = old.map_or(Ok(Some(Decimal::default())), |old| read(old, wrong))?;
    let by = read(by, NOT_A_FLOAT)?;
    let (Some(old), Some(by)) = (old, by) else {
        return Err(WITHOUT_END);
    };
    let sum = old.plus(&by);
    if sum.is_beyond() { Err(WITHOUT_END) } else { Ok(sum.to_string().into_bytes()) }
}

fn incrbyfloat(call: &mut Call<'_>) -> Done {
    let key = call.key_at(1);
    let by = call.arg(2);
    let sum = call.server.store.update(&key, call.now, |item| {
        let old = item.map(string).transpose();
        let sum = old.and_then(|old| add_texts(old, by, NOT_A_FLOAT));
        let change = match &sum {
            Ok(sum) => rewrite(item, sum.clone(), || call.server.memcached.next_cas()),
            Err(_) => Change::Keep,
        };
        (change, sum)
    })?;
    let sum = sum?;
    call.event(event_classes::STRING, "incrbyfloat", call.arg(1));
    call.out.bulk(&sum);
    Ok(())
}
