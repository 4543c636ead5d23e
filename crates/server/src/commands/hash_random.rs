//! HRANDFIELD: fields of a hash drawn at random.

use super::hash_steps::{Trace, look};
use super::random_member::{draw, prng};
use crate::call::{Call, Done, SYNTAX};
use wire::resp::Protocol;

pub(super) fn hrandfield(call: &mut Call<'_>) -> Done {
    let with_values = match call.args.len() {
        2 | 3 => false,
        4 if call.is(3, "withvalues") => true,
        _ => return Err(SYNTAX.into()),
    };
    let count = if call.args.len() > 2 { Some(call.integer(2)?) } else { None };
    let (now_ms, mut trace) = (call.now.unix_ms, Trace::Read);
    let nested = with_values && call.out.protocol() == Protocol::Resp3;
    let (mark, mut drawn) = (call.out.mark(), 0);
    call.write(|call, out| {
        draw(&mut prng(call), count.unwrap_or(-1), |draw| {
            let shown = look(call, trace, |hash| {
                draw(hash.len(now_ms), &mut |at| {
                    let (name, value, _) = hash.at(at, now_ms)?;
                    if nested {
                        out.array(2);
                    }
                    out.bulk(name);
                    if with_values {
                        out.bulk(value);
                    }
                    drawn += 1;
                    Some(!out.is_over())
                });
            });
            trace = Trace::None;
            shown
        })
    })?;
    if count.is_some() {
        let len = if with_values && !nested { 2 * drawn } else { drawn };
        call.out.before(mark, |out| out.array(len));
    } else if drawn == 0 {
        call.out.null();
    }
    Ok(())
}
