//! HRANDFIELD: fields of a hash drawn at random.

use super::draw::{draw, prng};
use super::hash_steps::{Trace, look};
use super::{Call, Done, SYNTAX};
use crate::hash::Field;
use wire::resp::Protocol;

/// A field's name and its value.
type Pair = (Vec<u8>, Vec<u8>);

fn pair((name, value, _): Field<'_>) -> Pair {
    (name.to_vec(), value.to_vec())
}

pub(super) fn hrandfield(call: &mut Call<'_>) -> Done {
    let with_values = match call.args.len() {
        2 | 3 => false,
        4 if call.is(3, "withvalues") => true,
        _ => return Err(SYNTAX.into()),
    };
    let count = if call.args.len() > 2 { Some(call.integer(2)?) } else { None };
    let (now_ms, mut trace) = (call.now.unix_ms, Trace::Read);
    let drawn = draw(&mut prng(call), count.unwrap_or(-1), |show| {
        let shown = look(call, trace, |hash| {
            show(hash.len(now_ms), &|at| hash.at(at, now_ms).map(pair));
        });
        trace = Trace::None;
        shown
    })?;
    if count.is_none() {
        match drawn.first() {
            None => call.out.null(),
            Some((name, _)) => call.out.bulk(name),
        }
        return Ok(());
    }
    let nested = with_values && call.out.protocol() == Protocol::Resp3;
    call.out.array(if with_values && !nested { 2 * drawn.len() } else { drawn.len() });
    for (name, value) in drawn {
        if nested {
            call.out.array(2);
        }
        call.out.bulk(&name);
        if with_values {
            call.out.bulk(&value);
        }
    }
    Ok(())
}
