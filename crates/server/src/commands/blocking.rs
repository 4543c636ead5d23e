//! Commands that wait until another client writes: BLPOP, BLMOVE, BZPOPMIN and related commands.
//!
//! Each of them tries first, like the command that does not wait. If there is nothing to take, its
//! client is blocked (`services/blocked_clients.rs`), and the client's later commands wait. The
//! wait ends when a write makes one of the keys ready, when the timeout is over, or with CLIENT
//! UNBLOCK. In a transaction none of them waits: the reply is that of an expired timeout.

use super::collection_steps::key_count;
use super::list::{self, End};
use super::list_move::{self, carry, move_access, pop_count};
use super::zset_pop;
use crate::call::{Call, Command, Done, Failure, Handler, SYNTAX};
use crate::facts::flag::{BLOCKING, DENY_OOM, FAST, WRITE};
use crate::facts::{Keys, NO_KEY, access};
use crate::services::blocked_clients::{BlockedCommand, WaitKey};
use crate::values::text_value::{LIST, ZSET};
use std::ops::Range;
use store::TREE;
use wire::resp::{encode_command, parse_double};

/// All arguments except the last one, which is the timeout.
const KEYS: Keys = Keys::new(1, -2, 1);

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    pops(
        "blpop",
        0,
        |call| pop(call, End::Left),
        "LPOP from the first list with elements; it waits for one.",
    ),
    pops(
        "brpop",
        0,
        |call| pop(call, End::Right),
        "RPOP from the first list with elements; it waits for one.",
    ),
    moves("blmove", 6, blmove).doc("list", "6.2.0", "LMOVE that waits for an element."),
    moves("brpoplpush", 4, brpoplpush).doc("list", "2.2.0", "RPOPLPUSH that waits for an element."),
    counts("blmpop", blmpop).doc("list", "7.0.0", "LMPOP that waits for elements."),
    pops("bzpopmin", FAST, |call| zpop(call, zset_pop::End::Min), "ZPOPMIN, which waits.").doc(
        "sorted-set",
        "5.0.0",
        "ZPOPMIN from the first sorted set with members; it waits for one.",
    ),
    pops("bzpopmax", FAST, |call| zpop(call, zset_pop::End::Max), "ZPOPMAX, which waits.").doc(
        "sorted-set",
        "5.0.0",
        "ZPOPMAX from the first sorted set with members; it waits for one.",
    ),
    counts("bzmpop", bzmpop).doc("sorted-set", "7.0.0", "ZMPOP that waits for members."),
];

const fn pops(name: &'static str, flags: u32, run: Handler, summary: &'static str) -> Command {
    let command = Command::new(name, -3, WRITE | BLOCKING | flags, run);
    command.keys(KEYS).access(access::POPS).doc("list", "2.0.0", summary)
}

const fn moves(name: &'static str, arity: i32, run: Handler) -> Command {
    let command = Command::new(name, arity, WRITE | DENY_OOM | BLOCKING, run);
    command.keys(list_move::TWO_KEYS).accesses(move_access)
}

const fn counts(name: &'static str, run: Handler) -> Command {
    let command = Command::new(name, -5, WRITE | BLOCKING, run);
    command.keys(NO_KEY.and_counted(2)).access(access::POPS)
}

/// The value that a command waits for.
struct For {
    /// The kind of value.
    kind: u8,
    /// The range of arguments that are keys.
    keys: Range<usize>,
    /// The end of the wait, in milliseconds of the server's clock.
    until_ms: u64,
}

/// The end of a wait with the timeout at argument `at`.
fn until(call: &Call<'_>, at: usize) -> Result<u64, Failure> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as f64),
        None => text.parse().ok(),
    };
    let text = call.arg(at);
    let seconds = std::str::from_utf8(text).ok().and_then(number);
    let seconds = seconds.filter(|seconds| !seconds.is_nan());
    // A timeout too small for a float still ends: zero would mean to wait for ever.
    let seconds = seconds.map(|seconds| match parse_double(text) {
        None if seconds == 0.0 && !text.starts_with(b"0x") => f64::MIN_POSITIVE,
        _ => seconds,
    });
    let ms = (seconds.ok_or("ERR timeout is not a float or out of range")? * 1_000.0).ceil();
    let now_ms = call.now.micros.0 / 1_000;
    if ms < 0.0 {
        return Err("ERR timeout is negative".into());
    }
    if ms >= i64::MAX as f64 - now_ms as f64 {
        return Err("ERR timeout is out of range".into());
    }
    Ok(if ms > 0.0 { now_ms + ms as u64 } else { u64::MAX })
}

impl Call<'_> {
    /// Tries the command, and blocks the client if there is nothing to take. `attempt` returns
    /// whether it took something; then it has also replied. `denied` replies instead if the client
    /// may not wait.
    fn block(
        &mut self,
        what: &For,
        denied: impl Fn(&mut Self),
        attempt: impl Fn(&mut Self) -> Result<bool, Failure>,
    ) -> Done {
        let (blocked, is_waiting) =
            (&self.server.turns.blocked, self.session.flow.blocked().is_some());
        let may_wait = !self.session.executing && !is_waiting;
        // A key that now holds another type does not end the wait.
        if is_waiting && !self.are_of(what) {
            return Ok(());
        }
        if (!may_wait || !blocked.any()) && attempt(self)? {
            return Ok(());
        }
        if !may_wait {
            if !is_waiting {
                denied(self);
            }
            return Ok(());
        }
        let mut keys: Vec<_> = what.keys.clone().map(|at| WaitKey::new(&self.key_at(at))).collect();
        keys.sort_unstable();
        keys.dedup();
        let (client, place) = (self.session.client.id, self.session.client.place);
        let is_behind = blocked.enter(&keys, client, place, what.kind) && self.are_of(what);
        let taken = if is_behind { Ok(false) } else { attempt(self) };
        if let Ok(false) = taken {
            let (mut command, args) = (vec![], self.args.iter_from(0).collect::<Vec<_>>());
            encode_command(&mut command, &args);
            let wait = BlockedCommand {
                command,
                keys,
                until_ms: what.until_ms,
                is_muted: false,
                took_us: 0,
            };
            self.session.block(wait);
            return Ok(());
        }
        self.end_wait(&keys, client);
        taken.map(|_| ())
    }

    /// Ends a client's wait for these keys, and wakes the next client of each.
    fn end_wait(&self, keys: &[WaitKey], client: u64) {
        let (server, mailboxes) = (self.server, self.server.clients.mailboxes());
        server.turns.end_wait(mailboxes, &server.store, keys, client, self.now);
    }

    /// Whether no key of a command holds another kind of value than the command waits for.
    fn are_of(&self, what: &For) -> bool {
        let kind =
            |at| self.server.store.glance(&self.key_at(at), self.now, |item| item.kind & !TREE);
        what.keys.clone().all(|at| kind(at).is_none_or(|kind| kind == what.kind))
    }

    /// Wakes the first client that waits for this key: it may hold a value now.
    #[inline]
    pub(crate) fn signal_ready(&self, key: &store::Key<'_>) {
        if self.server.turns.blocked.any() {
            let (server, mailboxes) = (self.server, self.server.clients.mailboxes());
            server.turns.wake_first(mailboxes, &server.store, key, self.now);
        }
    }
}

/// Waits for any of the keys before the last argument. `attempt` gets the argument number of a key.
fn pop_any(
    call: &mut Call<'_>,
    kind: u8,
    attempt: impl Fn(&mut Call<'_>, usize) -> Result<bool, Failure>,
) -> Done {
    let last = call.args.len() - 1;
    let what = For { kind, keys: 1..last, until_ms: until(call, last)? };
    call.block(
        &what,
        |call| call.out.null_array(),
        |call| {
            for at in 1..last {
                if attempt(call, at)? {
                    return Ok(true);
                }
            }
            Ok(false)
        },
    )
}

fn pop(call: &mut Call<'_>, end: End) -> Done {
    pop_any(call, LIST, |call, at| {
        let mut element = None;
        list::take(call, &call.key_at(at), (end, 1), |taken| {
            element = Some(taken.to_vec());
            true
        })?;
        if let Some(element) = &element {
            call.out.array(2);
            call.out.bulk(call.arg(at));
            call.out.bulk(element);
        }
        Ok(element.is_some())
    })
}

fn zpop(call: &mut Call<'_>, end: zset_pop::End) -> Done {
    pop_any(call, ZSET, |call, at| {
        let (key, name) = (call.key_at(at), call.arg(at));
        let taken = call.write(|call, out| {
            zset_pop::take(call, &key, (end, 1), |member, score| {
                out.array(3);
                out.bulk(name);
                out.bulk(member);
                out.double(score);
                true
            })
        })?;
        Ok(taken > 0)
    })
}

/// Waits for an element of the list at argument 1, and moves it.
fn move_one(call: &mut Call<'_>, from: End, to: End, until_ms: u64) -> Done {
    let what = For { kind: LIST, keys: 1..2, until_ms };
    call.block(
        &what,
        |call| call.out.null(),
        |call| {
            let element = call.alone(|call| carry(call, from, to))?;
            if let Some(element) = &element {
                call.out.bulk(element);
            }
            Ok(element.is_some())
        },
    )
}

fn blmove(call: &mut Call<'_>) -> Done {
    let (from, to) = (End::at(call, 3)?, End::at(call, 4)?);
    let until_ms = until(call, 5)?;
    move_one(call, from, to, until_ms)
}

fn brpoplpush(call: &mut Call<'_>) -> Done {
    let until_ms = until(call, 3)?;
    move_one(call, End::Right, End::Left, until_ms)
}

/// Waits for any of the keys that argument 2 counts. After the keys follows one of the two words in
/// `ends`.
fn pop_many(
    call: &mut Call<'_>,
    (kind, ends): (u8, [&str; 2]),
    attempt: impl Fn(&mut Call<'_>) -> Result<bool, Failure>,
) -> Done {
    let until_ms = until(call, 1)?;
    let behind = 3 + key_count(call, 2, SYNTAX)?;
    if !ends.iter().any(|end| call.is(behind, end)) {
        return Err(SYNTAX.into());
    }
    pop_count(call, behind + 1)?;
    call.block(&For { kind, keys: 3..behind, until_ms }, |call| call.out.null_array(), attempt)
}

fn blmpop(call: &mut Call<'_>) -> Done {
    pop_many(call, (LIST, ["left", "right"]), |call| list_move::pop_first(call, 2))
}

fn bzmpop(call: &mut Call<'_>) -> Done {
    pop_many(call, (ZSET, ["min", "max"]), |call| zset_pop::pop_first(call, 2))
}
