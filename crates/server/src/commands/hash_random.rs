//! HRANDFIELD: fields of a hash drawn at random.

use super::hash_steps::{Trace, look, walk};
use super::{Call, Done, Failure, SYNTAX};
use crate::hash::{Field, STEP_FIELDS};
use base::Prng;
use std::collections::HashSet;
use wire::resp::Protocol;

/// Most fields that one HRANDFIELD draws with repetition.
const DRAWS_MAX: i64 = 1 << 20;

/// A field's name and its value.
type Pair = (Vec<u8>, Vec<u8>);

fn pair((name, value, _): Field<'_>) -> Pair {
    (name.to_vec(), value.to_vec())
}

/// Draws fields, one maybe more than once.
fn draw(call: &Call<'_>, prng: &mut Prng, count: u64) -> Result<Vec<Pair>, Failure> {
    let (mut drawn, now_ms, mut trace) = (vec![], call.now.unix_ms, Trace::Read);
    while (drawn.len() as u64) < count {
        let before = drawn.len();
        look(call, trace, |hash| {
            let (len, step) = (hash.len(now_ms), count - before as u64);
            if len > 0 {
                let places = (0..step.min(STEP_FIELDS as u64)).map(|_| prng.below(len));
                drawn.extend(places.filter_map(|at| hash.at(at, now_ms)).map(pair));
            }
        })?;
        if drawn.len() == before {
            break;
        }
        trace = Trace::None;
    }
    Ok(drawn)
}

/// Draws fields, each once at most.
fn draw_apart(call: &Call<'_>, prng: &mut Prng, count: u64) -> Result<Vec<Pair>, Failure> {
    let now_ms = call.now.unix_ms;
    let len = look(call, Trace::Read, |hash| hash.len(now_ms))?;
    let (mut drawn, wanted) = (vec![], count.min(len));
    if len > 2 * wanted {
        // Few of many: their places are drawn, until so many differ.
        let (mut seen, mut places) = (HashSet::new(), vec![]);
        while (places.len() as u64) < wanted {
            let at = prng.below(len);
            if seen.insert(at) {
                places.push(at);
            }
        }
        for step in places.chunks(STEP_FIELDS) {
            look(call, Trace::None, |hash| {
                drawn.extend(step.iter().filter_map(|&at| hash.at(at, now_ms)).map(pair));
            })?;
        }
        return Ok(drawn);
    }
    walk(call, Trace::None, |field| drawn.push(pair(field)))?;
    let wanted = (wanted as usize).min(drawn.len());
    for at in 0..wanted {
        let other = at + prng.below((drawn.len() - at) as u64) as usize;
        drawn.swap(at, other);
    }
    drawn.truncate(wanted);
    Ok(drawn)
}

pub(super) fn hrandfield(call: &mut Call<'_>) -> Done {
    let with_values = match call.args.len() {
        2 | 3 => false,
        4 if call.is(3, "withvalues") => true,
        _ => return Err(SYNTAX.into()),
    };
    let count = if call.args.len() > 2 { Some(call.integer(2)?) } else { None };
    if count.is_some_and(|count| count < -DRAWS_MAX) {
        return Err(Failure::err(&format!("value is out of range: at most {DRAWS_MAX} draws")));
    }
    let mut prng = Prng::new(call.now.micros.0 ^ call.session.client.id << 48);
    let Some(count) = count else {
        match draw(call, &mut prng, 1)?.first() {
            None => call.out.null(),
            Some((name, _)) => call.out.bulk(name),
        }
        return Ok(());
    };
    let drawn = if count < 0 {
        draw(call, &mut prng, count.unsigned_abs())?
    } else {
        draw_apart(call, &mut prng, count as u64)?
    };
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
