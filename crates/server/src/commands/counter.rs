//! Counters: strings that are numbers.

use super::flag::{DENY_OOM, FAST, WRITE};
use super::{Call, Command, Done, Failure, NOT_AN_INTEGER, ONE_KEY};
use crate::decimal::Decimal;
use crate::value::{rewrite, string};
use store::Change;
use wire::resp::parse_integer;

/// This family.
pub(super) const COMMANDS: &[Command] = &[
    Command::new("incr", 2, WRITE | DENY_OOM | FAST, incr).keys(ONE_KEY).doc(
        "string",
        "1.0.0",
        "Adds one to a whole number.",
    ),
    Command::new("decr", 2, WRITE | DENY_OOM | FAST, decr).keys(ONE_KEY).doc(
        "string",
        "1.0.0",
        "Takes one from a whole number.",
    ),
    Command::new("incrby", 3, WRITE | DENY_OOM | FAST, incrby).keys(ONE_KEY).doc(
        "string",
        "1.0.0",
        "Adds to a whole number.",
    ),
    Command::new("decrby", 3, WRITE | DENY_OOM | FAST, decrby).keys(ONE_KEY).doc(
        "string",
        "1.0.0",
        "Takes from a whole number.",
    ),
    Command::new("incrbyfloat", 3, WRITE | DENY_OOM | FAST, incrbyfloat).keys(ONE_KEY).doc(
        "string",
        "2.6.0",
        "Adds to a number with a fraction.",
    ),
];

fn add(call: &mut Call<'_>, by: i64) -> Done {
    let key = call.key_at(1);
    let sum = call.shared.store.update(&key, call.now, |item| {
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
                rewrite(item, value, || call.shared.next_cas())
            }
            Err(_) => Change::Keep,
        };
        (change, sum)
    })?;
    call.out.integer(sum?);
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

fn incrbyfloat(call: &mut Call<'_>) -> Done {
    const NOT_A_FLOAT: &str = "ERR value is not a valid float";
    let key = call.key_at(1);
    let by = call.arg(2);
    let sum = call.shared.store.update(&key, call.now, |item| {
        let sum = (|| {
            let old = match item {
                None => Decimal::default(),
                Some(item) => Decimal::parse(string(item)?).ok_or(NOT_A_FLOAT)?,
            };
            let by = Decimal::parse(by).ok_or(NOT_A_FLOAT)?;
            Ok::<_, Failure>(old.plus(&by).to_string().into_bytes())
        })();
        let change = match &sum {
            Ok(sum) => rewrite(item, sum.clone(), || call.shared.next_cas()),
            Err(_) => Change::Keep,
        };
        (change, sum)
    })?;
    call.out.bulk(&sum?);
    Ok(())
}
