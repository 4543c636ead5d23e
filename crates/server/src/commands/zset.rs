//! Sorted sets: members and their scores.

use super::collection_steps::{change, change_each, look, look_each, remove_each, reply_len};
use super::hash_steps::Trace;
use super::random_member::{draw, prng};
use super::scan_options::ScanOptions;
use crate::call::{Call, Command, Done, Failure, SYNTAX, wrong_number};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, FAST, READ, UNTRACED, WRITE};
use crate::facts::{ONE_KEY, access};
use crate::values::collection::zset::{self, Zset};
use crate::values::collection::{Held, View};
use wire::resp::{Encoder, Protocol, format_double, parse_double};

pub(super) const GROUP: &str = "sorted-set";
pub(super) const NOT_A_FLOAT: &str = "ERR value is not a valid float";

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    Command::new("zadd", -4, WRITE | DENY_OOM | FAST, zadd)
        .keys(ONE_KEY)
        .access(access::CHANGES)
        .doc(GROUP, "1.2.0", "Adds members, or changes their scores."),
    Command::new("zincrby", 4, WRITE | DENY_OOM | FAST, zincrby).keys(ONE_KEY).doc(
        GROUP,
        "1.2.0",
        "Adds to the score of a member.",
    ),
    Command::new("zrem", -3, WRITE | FAST, zrem).keys(ONE_KEY).access(access::DROPS).doc(
        GROUP,
        "1.2.0",
        "Removes members.",
    ),
    Command::new("zcard", 2, READ | FAST | UNTRACED, reply_len::<Zset>)
        .keys(ONE_KEY)
        .access(access::ASKS)
        .doc(GROUP, "1.2.0", "Counts the members."),
    reads("zscore", 3, zscore, "1.2.0", "The score of a member."),
    reads("zmscore", -3, zmscore, "6.2.0", "The scores of members."),
    reads(
        "zrank",
        -3,
        |call| rank(call, false),
        "2.0.0",
        "The number of members with lower scores.",
    ),
    reads(
        "zrevrank",
        -3,
        |call| rank(call, true),
        "2.0.0",
        "The number of members with higher scores.",
    ),
    Command::new("zrandmember", -2, READ, zrandmember).keys(ONE_KEY).doc(
        GROUP,
        "6.2.0",
        "Random members.",
    ),
    Command::new("zscan", -3, READ, zscan).keys(ONE_KEY).doc(
        GROUP,
        "2.8.0",
        "Iterates over the members and their scores.",
    ),
];

const fn reads(
    name: &'static str,
    arity: i32,
    run: crate::call::Handler,
    since: &'static str,
    summary: &'static str,
) -> Command {
    Command::new(name, arity, READ | FAST, run).keys(ONE_KEY).doc(GROUP, since, summary)
}

/// The options of ZADD.
#[derive(Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a word of the command")]
struct Options {
    if_absent: bool,
    if_present: bool,
    if_greater: bool,
    if_less: bool,
    count_changed: bool,
    increments: bool,
}

impl Options {
    /// Reads the options from argument 2 on. Also returns the argument at which the scores begin.
    fn of(call: &Call<'_>) -> (Self, usize) {
        let (mut found, mut at) = (Self::default(), 2);
        while at < call.args.len() {
            let flag = if call.is(at, "nx") {
                &mut found.if_absent
            } else if call.is(at, "xx") {
                &mut found.if_present
            } else if call.is(at, "gt") {
                &mut found.if_greater
            } else if call.is(at, "lt") {
                &mut found.if_less
            } else if call.is(at, "ch") {
                &mut found.count_changed
            } else if call.is(at, "incr") {
                &mut found.increments
            } else {
                break;
            };
            *flag = true;
            at += 1;
        }
        (found, at)
    }

    fn check(self) -> Done {
        if self.if_absent && self.if_present {
            return Err("ERR XX and NX options at the same time are not compatible".into());
        }
        let ways = [self.if_absent, self.if_greater, self.if_less];
        if ways.iter().filter(|&&way| way).count() > 1 {
            return Err("ERR GT, LT, and/or NX options at the same time are not compatible".into());
        }
        Ok(())
    }

    /// The new score of a member; `None` if nothing is written.
    fn choose(self, old: Option<f64>, given: f64) -> Result<Option<f64>, Failure> {
        let Some(old) = old else {
            return Ok((!self.if_present).then_some(given));
        };
        if self.if_absent {
            return Ok(None);
        }
        let new = if self.increments { old + given } else { given };
        if new.is_nan() {
            return Err("ERR resulting score is not a number (NaN)".into());
        }
        let is_kept = self.if_greater && new <= old || self.if_less && new >= old;
        Ok((!is_kept).then_some(new))
    }
}

/// The result of setting a score.
#[derive(Clone, Copy)]
struct Outcome {
    is_new: bool,
    is_changed: bool,
    score: Option<f64>,
}

fn put(
    held: &mut Held<'_, '_, '_>,
    options: Options,
    member: &[u8],
    given: f64,
) -> Result<Outcome, Failure> {
    let found = zset::find(held.view(), member);
    let old = found.map(|found| found.score);
    let score = options.choose(old, given)?;
    let is_changed = score.is_some() && score != old;
    if let Some(score) = score
        && is_changed
    {
        zset::put(held, member, score, found)?;
    }
    Ok(Outcome { is_new: is_changed && old.is_none(), is_changed, score })
}

fn zadd(call: &mut Call<'_>) -> Done {
    let (options, first) = Options::of(call);
    let rest = call.args.len() - first;
    if rest == 0 || !rest.is_multiple_of(2) {
        return Err(SYNTAX.into());
    }
    options.check()?;
    if options.increments && rest > 2 {
        return Err("ERR INCR option supports a single increment-element pair".into());
    }
    // All scores must be numbers, or nothing is done.
    let scores = (first..call.args.len()).step_by(2).map(|at| parse_double(call.arg(at)));
    let scores: Vec<f64> = scores.collect::<Option<_>>().ok_or(NOT_A_FLOAT)?;
    let (mut added, mut changed, mut last) = (0, 0, None);
    let is_new = |view: View<'_>, at| zset::score(view, call.arg(at + 1)).is_none();
    change_each::<Zset>(call, first, 2, Some(&is_new), |held, at| {
        let given = scores[(at - first) / 2];
        let outcome = put(held, options, call.arg(at + 1), given)?;
        added += i64::from(outcome.is_new);
        changed += i64::from(outcome.is_changed);
        last = outcome.score;
        Ok(outcome.is_changed)
    })?;
    if changed > 0 {
        let event = if options.increments { "zincr" } else { "zadd" };
        call.event(event_classes::ZSET, event, call.arg(1));
    }
    match (options.increments, last) {
        (true, Some(score)) => call.out.double(score),
        (true, None) => call.out.null(),
        (false, _) => call.out.integer(if options.count_changed { changed } else { added }),
    }
    Ok(())
}

fn zincrby(call: &mut Call<'_>) -> Done {
    let (by, member) = (parse_double(call.arg(2)).ok_or(NOT_A_FLOAT)?, call.arg(3));
    let options = Options { increments: true, ..Options::default() };
    let key = call.key_at(1);
    let outcome = change::<Zset, _>(call, &key, true, |held| {
        let outcome = put(held, options, member, by)?;
        Ok((outcome.is_changed, outcome))
    })?;
    call.event(event_classes::ZSET, "zincr", call.arg(1));
    call.out.double(outcome.score.unwrap_or(by));
    Ok(())
}

fn zrem(call: &mut Call<'_>) -> Done {
    remove_each::<Zset>(call, (event_classes::ZSET, "zrem"), zset::remove)
}

fn reply_score(call: &mut Call<'_>, score: Option<f64>) {
    match score {
        Some(score) => call.out.double(score),
        None => call.out.null(),
    }
}

fn zscore(call: &mut Call<'_>) -> Done {
    let member = call.arg(2);
    let found =
        look::<Zset, _>(call, &call.key_at(1), Trace::Read, |view| zset::score(view, member))?;
    reply_score(call, found);
    Ok(())
}

fn zmscore(call: &mut Call<'_>) -> Done {
    let members: Vec<&[u8]> = call.args.iter_from(2).collect();
    let found = look_each::<Zset, _, _>(call, &call.key_at(1), &members, zset::score)?;
    call.out.array(found.len());
    for score in found {
        reply_score(call, score);
    }
    Ok(())
}

fn rank(call: &mut Call<'_>, reversed: bool) -> Done {
    let with_score = match call.args.len() {
        3 => false,
        4 if call.is(3, "withscore") => true,
        4 => return Err(SYNTAX.into()),
        _ => return Err(wrong_number(if reversed { "zrevrank" } else { "zrank" })),
    };
    let member = call.arg(2);
    let found = look::<Zset, _>(call, &call.key_at(1), Trace::Read, |view| {
        let (before, score) = zset::position(view, member)?;
        Some((if reversed { view.len::<Zset>() - 1 - before } else { before }, score))
    })?;
    match found {
        Some((before, score)) if with_score => {
            call.out.array(2);
            call.out.integer(before as i64);
            call.out.double(score);
        }
        Some((before, _)) => call.out.integer(before as i64),
        None if with_score => call.out.null_array(),
        None => call.out.null(),
    }
    Ok(())
}

/// A member and its score.
pub(super) type Pair = (Vec<u8>, f64);

/// Replies with members and, if `with_scores`, their scores: as pairs for a RESP3 client.
pub(super) fn reply_pairs(call: &mut Call<'_>, pairs: &[Pair], with_scores: bool) {
    pairs_begin(&mut call.out, pairs.len(), with_scores);
    for (member, score) in pairs {
        pair(&mut call.out, member, *score, with_scores);
    }
}

/// Writes the start of such a reply.
pub(super) fn pairs_begin(out: &mut Encoder<'_>, len: usize, with_scores: bool) {
    let is_flat = with_scores && out.protocol() == Protocol::Resp2;
    out.array(if is_flat { 2 * len } else { len });
}

/// Writes one member of such a reply.
pub(super) fn pair(out: &mut Encoder<'_>, member: &[u8], score: f64, with_scores: bool) {
    if with_scores && out.protocol() == Protocol::Resp3 {
        out.array(2);
    }
    out.bulk(member);
    if with_scores {
        out.double(score);
    }
}

fn zrandmember(call: &mut Call<'_>) -> Done {
    let with_scores = match call.args.len() {
        2 | 3 => false,
        4 if call.is(3, "withscores") => true,
        _ => return Err(SYNTAX.into()),
    };
    let count = if call.args.len() > 2 { Some(call.integer(2)?) } else { None };
    let (key, mut trace) = (call.key_at(1), Trace::Read);
    let (mark, mut drawn) = (call.out.mark(), 0);
    call.write(|call, out| {
        draw(&mut prng(call), count.unwrap_or(-1), |draw| {
            let shown = look::<Zset, _>(call, &key, trace, |view| {
                draw(view.len::<Zset>(), &mut |at| {
                    let (member, score) = view.at::<Zset>(at).map(zset::pair)?;
                    pair(out, member, score, with_scores);
                    drawn += 1;
                    Some(!out.is_over())
                });
            });
            trace = Trace::None;
            shown
        })
    })?;
    if count.is_some() {
        call.out.before(mark, |out| pairs_begin(out, drawn, with_scores));
    } else if drawn == 0 {
        call.out.null();
    }
    Ok(())
}

fn zscan(call: &mut Call<'_>) -> Done {
    let options = ScanOptions::of(call, Some("noscores"))?;
    options.reply(call, |call, out, from, most, count| {
        look::<Zset, _>(call, &call.key_at(1), Trace::None, |view| {
            zset::scan(view, from, most, |member, score| {
                count.looked += 1;
                if options.wants(member) {
                    out.bulk(member);
                    count.shown += 1;
                    if !options.no_values {
                        out.bulk(format_double(score).as_bytes());
                        count.shown += 1;
                    }
                }
            })
        })
    })
}
