//! Elements drawn at random: HRANDFIELD, SRANDMEMBER, ZRANDMEMBER.

use super::{Call, Done, Failure};
use crate::hash::STEP_FIELDS;
use base::Prng;
use std::collections::HashSet;

/// Most elements that one command draws with repetition.
const DRAWS_MAX: i64 = 1 << 20;

/// Shows how many elements there are, and each by how many are before it.
pub(super) type Show<'f, T> = &'f mut dyn FnMut(u64, &dyn Fn(u64) -> Option<T>);

/// A source of chance for one call.
pub(super) fn prng(call: &Call<'_>) -> Prng {
    Prng::new(call.now.micros.0 ^ call.session.client.id << 48)
}

/// Draws elements of what `look` shows: for a negative count so many, one maybe more than once;
/// else each once at most.
pub(super) fn draw<T>(
    prng: &mut Prng,
    count: i64,
    look: impl FnMut(Show<'_, T>) -> Done,
) -> Result<Vec<T>, Failure> {
    if count < -DRAWS_MAX {
        return Err(Failure::err(&format!("value is out of range: at most {DRAWS_MAX} draws")));
    }
    if count < 0 {
        draw_again(prng, count.unsigned_abs(), look)
    } else {
        draw_apart(prng, count as u64, look)
    }
}

fn draw_again<T>(
    prng: &mut Prng,
    count: u64,
    mut look: impl FnMut(Show<'_, T>) -> Done,
) -> Result<Vec<T>, Failure> {
    let mut drawn = vec![];
    while (drawn.len() as u64) < count {
        let before = drawn.len();
        look(&mut |len, at| {
            let step = (count - before as u64).min(STEP_FIELDS as u64);
            if len > 0 {
                drawn.extend((0..step).filter_map(|_| at(prng.below(len))));
            }
        })?;
        if drawn.len() == before {
            break;
        }
    }
    Ok(drawn)
}

fn draw_apart<T>(
    prng: &mut Prng,
    count: u64,
    mut look: impl FnMut(Show<'_, T>) -> Done,
) -> Result<Vec<T>, Failure> {
    let mut len = 0;
    look(&mut |all, _| len = all)?;
    let (wanted, is_few) = (count.min(len), len > 2 * count.min(len));
    let mut places: Vec<u64> = vec![];
    if is_few {
        // Few of many: their places are drawn, until so many differ.
        let mut seen = HashSet::new();
        while (places.len() as u64) < wanted {
            let at = prng.below(len);
            if seen.insert(at) {
                places.push(at);
            }
        }
    } else {
        places.extend(0..len);
        for at in 0..wanted {
            let other = at + prng.below(len - at);
            places.swap(at as usize, other as usize);
        }
        places.truncate(wanted as usize);
    }
    let mut drawn = vec![];
    for step in places.chunks(STEP_FIELDS) {
        look(&mut |_, at| drawn.extend(step.iter().filter_map(|&place| at(place))))?;
    }
    Ok(drawn)
}
