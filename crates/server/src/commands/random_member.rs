//! Elements drawn at random: HRANDFIELD, SRANDMEMBER, ZRANDMEMBER.
//!
//! Each element is shown when it is drawn, and none is kept. So a reply of a million draws costs
//! only its own bytes, and ends at its limit.

use crate::call::{Call, Done, Failure};
use crate::values::hash::STEP_FIELDS;
use base::Prng;
use std::collections::HashSet;

/// The largest number of elements that one command draws with repetition.
const DRAWS_MAX: i64 = 1 << 20;
/// The largest number of positions that a draw without repetition remembers.
const PLACES_MAX: u64 = 1 << 20;

/// Shows the element at a position; `None` if there is none. Returns whether more are wanted.
pub(super) type Show<'f> = &'f mut dyn FnMut(u64) -> Option<bool>;
/// Takes the number of elements and a [`Show`], and shows some of the elements.
pub(super) type Draw<'f> = &'f mut dyn FnMut(u64, Show<'_>);

/// The random number generator of one call.
pub(super) fn prng(call: &Call<'_>) -> Prng {
    Prng::new(call.now.micros.0 ^ call.session.client.id << 48)
}

/// Draws elements from the collection that `look` shows. A negative count draws that many, with
/// repetition; otherwise each element is drawn at most once.
pub(super) fn draw(
    prng: &mut Prng,
    count: i64,
    look: impl FnMut(Draw<'_>) -> Done,
) -> Result<(), Failure> {
    if count < -DRAWS_MAX {
        return Err(Failure::err(&format!("value is out of range: at most {DRAWS_MAX} draws")));
    }
    if count < 0 {
        draw_again(prng, count.unsigned_abs(), look)
    } else {
        draw_apart(prng, count as u64, look)
    }
}

fn draw_again(prng: &mut Prng, count: u64, mut look: impl FnMut(Draw<'_>) -> Done) -> Done {
    let (mut drawn, mut goes_on) = (0, true);
    while drawn < count && goes_on {
        let before = drawn;
        look(&mut |len, show| {
            for _ in 0..(count - before).min(STEP_FIELDS as u64) {
                if len == 0 || !goes_on {
                    break;
                }
                if let Some(wants_more) = show(prng.below(len)) {
                    (drawn, goes_on) = (drawn + 1, wants_more);
                }
            }
        })?;
        if drawn == before {
            break;
        }
    }
    Ok(())
}

fn draw_apart(prng: &mut Prng, count: u64, mut look: impl FnMut(Draw<'_>) -> Done) -> Done {
    let mut len = 0;
    look(&mut |all, _| len = all)?;
    let wanted = count.min(len);
    if wanted > PLACES_MAX || len <= 2 * wanted {
        return draw_in_order(prng, wanted, len, look);
    }
    // Few of many: draws positions until enough of them differ.
    let (mut places, mut seen) = (vec![], HashSet::new());
    while (places.len() as u64) < wanted {
        let at = prng.below(len);
        if seen.insert(at) {
            places.push(at);
        }
    }
    let mut goes_on = true;
    for step in places.chunks(STEP_FIELDS) {
        look(&mut |_, show| {
            for &place in step {
                if goes_on {
                    goes_on = show(place).unwrap_or(true);
                }
            }
        })?;
    }
    Ok(())
}

/// Walks through all positions in order. Takes each with the probability of the positions still
/// wanted among the positions left.
fn draw_in_order(
    prng: &mut Prng,
    wanted: u64,
    len: u64,
    mut look: impl FnMut(Draw<'_>) -> Done,
) -> Done {
    let (mut at, mut left, mut goes_on) = (0, wanted, true);
    while left > 0 && at < len && goes_on {
        look(&mut |_, show| {
            let mut shown = 0;
            while left > 0 && at < len && shown < STEP_FIELDS && goes_on {
                if prng.below(len - at) < left {
                    goes_on = show(at).unwrap_or(true);
                    (left, shown) = (left - 1, shown + 1);
                }
                at += 1;
            }
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(count: i64, len: u64) -> Vec<u64> {
        let mut shown = vec![];
        draw(&mut Prng::new(7), count, |look| {
            look(len, &mut |at| {
                shown.push(at);
                Some(true)
            });
            Ok(())
        })
        .unwrap();
        shown
    }

    /// Each position is equally likely, for small and large counts, and is drawn once.
    #[test]
    fn draws_are_even() {
        for (count, len) in [(1, 10), (3, 10), (6, 10), (10, 10), (99, 10), (-7, 10), (2, 0)] {
            let wanted = if count < 0 { -count } else { count.min(len) } as usize;
            let mut times = vec![0; len as usize];
            let mut prng = Prng::new(7);
            for _ in 0..20_000 {
                let mut shown = vec![];
                let look = |look: Draw<'_>| {
                    look(len as u64, &mut |at| {
                        shown.push(at as usize);
                        Some(true)
                    });
                    Ok(())
                };
                draw(&mut prng, count, look).unwrap();
                assert_eq!(shown.len(), wanted);
                for &at in &shown {
                    times[at] += 1;
                }
                shown.sort_unstable();
                shown.dedup();
                assert!(count < 0 || shown.len() == wanted, "{count}: {shown:?}");
            }
            let even = 20_000 * wanted / len.max(1) as usize;
            assert!(times.iter().all(|&n: &usize| n.abs_diff(even) * 10 <= even), "{times:?}");
        }
        assert!(drawn(0, 10).is_empty());
    }

    #[test]
    fn draws_end_where_no_more_are_wanted() {
        for count in [-1_000_000, 3, 9_000] {
            let mut shown = 0;
            draw(&mut Prng::new(7), count, |look| {
                look(10_000, &mut |_| {
                    shown += 1;
                    Some(shown < 3)
                });
                Ok(())
            })
            .unwrap();
            assert_eq!(shown, 3);
        }
    }
}
