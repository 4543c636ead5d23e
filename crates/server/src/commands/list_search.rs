//! Lists: commands that find elements by value.

use super::collection_steps::{change, len, look};
use super::hash_steps::Trace;
use super::string::room;
use crate::call::{Call, Command, Done, Failure, SYNTAX};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, READ, WRITE};
use crate::facts::{ONE_KEY, access};
use crate::values::collection::list::{self, List};
use crate::values::collection::{STEP_ELEMENTS, View};

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("linsert", 5, WRITE | DENY_OOM, linsert).keys(ONE_KEY).access(access::ADDS).doc(
        "list",
        "2.2.0",
        "Inserts an element before or after another.",
    ),
    Command::new("lrem", 4, WRITE, lrem).keys(ONE_KEY).access(access::DROPS).doc(
        "list",
        "1.0.0",
        "Removes the elements equal to a value.",
    ),
    Command::new("lpos", -3, READ, lpos).keys(ONE_KEY).doc(
        "list",
        "6.0.6",
        "The positions of the elements equal to a value.",
    ),
];

/// The number of elements compared under one lock. They are compared, not copied.
const STEP: u64 = 4 * STEP_ELEMENTS as u64;

/// Finds an equal element from position `from` on. Also returns how many elements it compared.
fn find(view: View<'_>, from: u64, element: &[u8]) -> (Option<u64>, u64) {
    let mut found = None;
    let looked = view.walk::<List>(from, STEP, |other| {
        found = (other == element).then_some(());
        found.is_none()
    });
    (found.map(|()| from + looked - 1), looked)
}

fn linsert(call: &mut Call<'_>) -> Done {
    let behind = if call.is(2, "before") {
        0
    } else if call.is(2, "after") {
        1
    } else {
        return Err(SYNTAX.into());
    };
    let (key, pivot, element) = (call.key_at(1), call.arg(3), call.arg(4));
    room(call, &key, element.len()).check(0, element.len())?;
    let (mut from, is_list) = (0, len::<List>(call, &key)? > 0);
    loop {
        // The find and the change happen under the same lock: no other command runs between.
        let (done, looked) = change::<List, _>(call, &key, true, |held| {
            let (found, looked) = find(held.view(), from, pivot);
            let Some(at) = found else {
                return Ok((false, (None, looked)));
            };
            list::insert(held, at + behind, element)?;
            Ok((true, (Some(held.view().len::<List>()), looked)))
        })?;
        from += looked;
        if let Some(len) = done {
            call.event(event_classes::LIST, "linsert", call.arg(1));
            call.out.integer(len as i64);
            return Ok(());
        }
        if looked == 0 {
            call.out.integer(if is_list { -1 } else { 0 });
            return Ok(());
        }
    }
}

fn lrem(call: &mut Call<'_>) -> Done {
    let (count, key, element) = (call.integer(2)?, call.key_at(1), call.arg(3));
    let most = if count == 0 { u64::MAX } else { count.unsigned_abs() };
    let (mut removed, mut at) = (0, if count < 0 { len::<List>(call, &key)? } else { 0 });
    while removed < most {
        // A window of elements: the equal ones are removed, the last of them first.
        let (gone, looked) = change::<List, _>(call, &key, removed == 0, |held| {
            let (mut found, left) = (vec![], (most - removed) as usize);
            let (view, mut place) = (held.view(), at);
            let looked = if count < 0 {
                view.walk_back::<List>(at.wrapping_sub(1), if at > 0 { STEP } else { 0 }, |other| {
                    place -= 1;
                    if other == element {
                        found.push(place);
                    }
                    found.len() < left
                })
            } else {
                view.walk::<List>(at, STEP, |other| {
                    if other == element {
                        found.push(place);
                    }
                    place += 1;
                    found.len() < left
                })
            };
            found.sort_unstable();
            for &place in found.iter().rev() {
                held.remove_span::<List>(place, 1);
            }
            Ok((!found.is_empty(), (found.len() as u64, looked)))
        })?;
        removed += gone;
        if looked == 0 {
            break;
        }
        at = if count < 0 { at - looked } else { at + looked - gone };
    }
    if removed > 0 {
        call.lost(event_classes::LIST, "lrem", call.arg(1));
    }
    call.out.integer(removed as i64);
    Ok(())
}

/// The options of LPOS.
struct Wanted {
    /// The rank of the first match to report, counted from the end if negative.
    rank: i64,
    count: Option<u64>,
    most: u64,
}

fn wanted(call: &Call<'_>) -> Result<Wanted, Failure> {
    let mut wanted = Wanted { rank: 1, count: None, most: u64::MAX };
    let mut at = 3;
    while at < call.args.len() {
        if at + 1 >= call.args.len() {
            return Err(SYNTAX.into());
        }
        let number = |text: &'static str| {
            let number = call.integer(at + 1).ok().and_then(|number| u64::try_from(number).ok());
            let number = number.ok_or_else(|| Failure::from(text))?;
            Ok::<u64, Failure>(if number == 0 { u64::MAX } else { number })
        };
        if call.is(at, "rank") {
            wanted.rank = call.integer(at + 1)?;
            if wanted.rank == 0 {
                return Err("ERR RANK can't be zero: use 1 to start from the first match, 2 from \
                            the second ... or use negative to start from the end of the list"
                    .into());
            }
            if wanted.rank == i64::MIN {
                return Err("ERR value is out of range, value must between \
                            -9223372036854775807 and 9223372036854775807"
                    .into());
            }
        } else if call.is(at, "count") {
            wanted.count = Some(number("ERR COUNT can't be negative")?);
        } else if call.is(at, "maxlen") {
            wanted.most = number("ERR MAXLEN can't be negative")?;
        } else {
            return Err(SYNTAX.into());
        }
        at += 2;
    }
    Ok(wanted)
}

fn lpos(call: &mut Call<'_>) -> Done {
    let (wanted, key, element) = (wanted(call)?, call.key_at(1), call.arg(2));
    let len = len::<List>(call, &key)?;
    let (back, mut skip) = (wanted.rank < 0, wanted.rank.unsigned_abs() - 1);
    let (count, mut left) = (wanted.count.unwrap_or(1), wanted.most.min(len));
    let (mut found, mut trace) = (vec![], Trace::Read);
    // Positions from the end refer to the list's length at the beginning.
    let mut seen = 0;
    while (found.len() as u64) < count && left > 0 {
        let (most, from) = (left.min(STEP), if back { len - seen - 1 } else { seen });
        let looked = look::<List, _>(call, &key, trace, |view| {
            let mut visit = |other: &[u8]| {
                seen += 1;
                if other == element {
                    if skip == 0 {
                        found.push(if back { len.saturating_sub(seen) } else { seen - 1 });
                    } else {
                        skip -= 1;
                    }
                }
                (found.len() as u64) < count
            };
            if back {
                view.walk_back::<List>(from, most, &mut visit)
            } else {
                view.walk::<List>(from, most, &mut visit)
            }
        })?;
        if looked == 0 {
            break;
        }
        (left, trace) = (left - looked, Trace::None);
    }
    if wanted.count.is_some() {
        call.out.array(found.len());
        for at in found {
            call.out.integer(at as i64);
        }
        return Ok(());
    }
    match found.first() {
        Some(&at) => call.out.integer(at as i64),
        None => call.out.null(),
    }
    Ok(())
}
