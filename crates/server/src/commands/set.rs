//! Sets: commands that add, remove, look up, draw and walk members.

use super::collection_steps::{
    change, change_each, count_at, len, look, look_each, remove_each, reply_len, walk,
};
use super::hash_steps::Trace;
use super::list::shows;
use super::random_member::{draw, prng};
use super::scan_options::ScanOptions;
use crate::call::{Call, Command, Done, Failure, SYNTAX, wrong_number};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, FAST, READ, UNTRACED, WRITE};
use crate::facts::{Access, Keys, ONE_KEY, access};
use crate::values::collection::set::{self, Set};
use crate::values::collection::{STEP_ELEMENTS, View};

const GROUP: &str = "set";

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("sadd", -3, WRITE | DENY_OOM | FAST, sadd).keys(ONE_KEY).access(access::ADDS).doc(
        GROUP,
        "1.0.0",
        "Adds members.",
    ),
    Command::new("srem", -3, WRITE | FAST, srem).keys(ONE_KEY).access(access::DROPS).doc(
        GROUP,
        "1.0.0",
        "Removes members.",
    ),
    Command::new("smove", 4, WRITE | FAST, smove)
        .keys(Keys::new(1, 2, 1))
        .accesses(smove_access)
        .doc(GROUP, "1.0.0", "Moves a member from one set to another."),
    Command::new("spop", -2, WRITE | FAST, spop).keys(ONE_KEY).access(access::POPS).doc(
        GROUP,
        "1.0.0",
        "Removes and returns random members.",
    ),
    Command::new("sismember", 3, READ | FAST, sismember).keys(ONE_KEY).access(access::ASKS).doc(
        GROUP,
        "1.0.0",
        "Whether a member exists.",
    ),
    Command::new("smismember", -3, READ | FAST, smismember).keys(ONE_KEY).access(access::ASKS).doc(
        GROUP,
        "6.2.0",
        "Whether members exist.",
    ),
    Command::new("scard", 2, READ | FAST | UNTRACED, reply_len::<Set>)
        .keys(ONE_KEY)
        .access(access::ASKS)
        .doc(GROUP, "1.0.0", "Counts the members."),
    Command::new("smembers", 2, READ, smembers).keys(ONE_KEY).doc(GROUP, "1.0.0", "All members."),
    Command::new("srandmember", -2, READ, srandmember).keys(ONE_KEY).doc(
        GROUP,
        "1.0.0",
        "Random members.",
    ),
    Command::new("sscan", -3, READ, sscan).keys(ONE_KEY).doc(
        GROUP,
        "2.8.0",
        "Iterates over the members, some per call.",
    ),
];

fn smove_access(_: &[&[u8]], at: usize) -> Access {
    if at == 1 { access::POPS } else { access::ADDS }
}

fn sadd(call: &mut Call<'_>) -> Done {
    let mut added = 0;
    let is_new = |view: View<'_>, at| !set::contains(view, call.arg(at));
    change_each::<Set>(call, 2, 1, Some(&is_new), |held, at| {
        let is_new = set::add(held, call.arg(at))?;
        added += i64::from(is_new);
        Ok(is_new)
    })?;
    if added > 0 {
        call.event(event_classes::SET, "sadd", call.arg(1));
    }
    call.out.integer(added);
    Ok(())
}

fn srem(call: &mut Call<'_>) -> Done {
    remove_each::<Set>(call, (event_classes::SET, "srem"), set::remove)
}

fn contains(call: &Call<'_>, at: usize, member: &[u8], trace: Trace) -> Result<bool, Failure> {
    look::<Set, _>(call, &call.key_at(at), trace, |view| set::contains(view, member))
}

fn smove(call: &mut Call<'_>) -> Done {
    let moved = call.alone(|call| move_member(call, call.arg(3)))?;
    call.out.integer(i64::from(moved));
    Ok(())
}

/// Moves a member from one set to another. Returns whether it was there.
fn move_member(call: &Call<'_>, member: &[u8]) -> Result<bool, Failure> {
    let is_there = contains(call, 1, member, Trace::None)?;
    // Checks that the destination is a set, even if nothing is moved.
    if call.server.store.glance(&call.key_at(1), call.now, |_| ()).is_some() {
        len::<Set>(call, &call.key_at(2))?;
    }
    let is_same = call.arg(1) == call.arg(2);
    if is_there && !is_same {
        // First adds it there, then removes it here: a member that finds no room stays in its set.
        let is_new = change::<Set, _>(call, &call.key_at(2), true, |held| {
            let is_new = set::add(held, member)?;
            Ok((is_new, is_new))
        })?;
        change::<Set, _>(call, &call.key_at(1), true, |held| Ok((set::remove(held, member), ())))?;
        call.lost(event_classes::SET, "srem", call.arg(1));
        if is_new {
            call.event(event_classes::SET, "sadd", call.arg(2));
        }
    }
    Ok(is_there)
}

/// Removes `count` members drawn at random, in steps, until `visit` returns false. Returns how many
/// it removed.
fn take(call: &Call<'_>, count: u64, mut visit: impl FnMut(&[u8]) -> bool) -> Result<u64, Failure> {
    let (key, mut chance, mut taken, mut goes_on) = (call.key_at(1), prng(call), 0, true);
    while taken < count && goes_on {
        let step = (count - taken).min(STEP_ELEMENTS as u64);
        let these = change::<Set, _>(call, &key, taken == 0, |held| {
            let mut these = 0;
            while these < step && goes_on {
                let (view, len) = (held.view(), held.view().len::<Set>());
                if len == 0 {
                    break;
                }
                let drawn = view.at::<Set>(chance.below(len)).map(<[u8]>::to_vec);
                let Some(member) = drawn else { break };
                set::remove(held, &member);
                goes_on = visit(&member);
                these += 1;
            }
            Ok((these > 0, these))
        })?;
        taken += these;
        if these < step {
            break;
        }
    }
    if taken > 0 {
        call.lost(event_classes::SET, "spop", call.arg(1));
    }
    Ok(taken)
}

fn spop(call: &mut Call<'_>) -> Done {
    if call.args.len() > 3 {
        return Err(SYNTAX.into());
    }
    let count = if call.args.len() == 3 { Some(count_at(call, 2)?) } else { None };
    let mark = call.out.mark();
    let taken = call.write(|call, out| take(call, count.unwrap_or(1), shows(out)))?;
    match count {
        None if taken == 0 => call.out.null(),
        None => {}
        Some(_) => call.out.before(mark, |out| out.set(taken as usize)),
    }
    Ok(())
}

fn sismember(call: &mut Call<'_>) -> Done {
    let found = contains(call, 1, call.arg(2), Trace::Read)?;
    call.out.integer(i64::from(found));
    Ok(())
}

fn smismember(call: &mut Call<'_>) -> Done {
    let members: Vec<&[u8]> = call.args.iter_from(2).collect();
    let found = look_each::<Set, _, _>(call, &call.key_at(1), &members, set::contains)?;
    call.out.array(found.len());
    for is_there in found {
        call.out.integer(i64::from(is_there));
    }
    Ok(())
}

fn smembers(call: &mut Call<'_>) -> Done {
    let (mark, mut shown) = (call.out.mark(), 0);
    call.write(|call, out| {
        walk::<Set>(call, &call.key_at(1), (0, u64::MAX, false), |member| {
            out.bulk(member);
            shown += 1;
            !out.is_over()
        })
    })?;
    call.out.before(mark, |out| out.set(shown));
    Ok(())
}

fn srandmember(call: &mut Call<'_>) -> Done {
    let count = match call.args.len() {
        2 => None,
        3 => Some(call.integer(2)?),
        _ => return Err(wrong_number("srandmember")),
    };
    let (key, mut trace) = (call.key_at(1), Trace::Read);
    let (mark, mut drawn) = (call.out.mark(), 0);
    call.write(|call, out| {
        draw(&mut prng(call), count.unwrap_or(-1), |draw| {
            let shown = look::<Set, _>(call, &key, trace, |view| {
                draw(view.len::<Set>(), &mut |at| {
                    out.bulk(view.at::<Set>(at)?);
                    drawn += 1;
                    Some(!out.is_over())
                });
            });
            trace = Trace::None;
            shown
        })
    })?;
    if count.is_some() {
        call.out.before(mark, |out| out.array(drawn));
    } else if drawn == 0 {
        call.out.null();
    }
    Ok(())
}

fn sscan(call: &mut Call<'_>) -> Done {
    let options = ScanOptions::of(call, None)?;
    options.reply(call, |call, out, from, most, count| {
        look::<Set, _>(call, &call.key_at(1), Trace::None, |view| {
            view.scan(
                |member| member,
                from,
                most,
                |_, member| {
                    count.looked += 1;
                    if options.wants(member) {
                        out.bulk(member);
                        count.shown += 1;
                    }
                },
            )
        })
    })
}
