//! Sorted sets: ranges of members by position, by score or by name.

use super::budget::Budget;
use super::collection_steps::{change, len, look, replace, together, walk};
use super::hash_steps::Trace;
use super::zset::{GROUP, pair, pairs_begin};
use crate::call::{Call, Command, Done, Failure, SYNTAX};
use crate::facts::event_classes;
use crate::facts::flag::{DENY_OOM, FAST, READ, WRITE};
use crate::facts::{Access, Keys, ONE_KEY, access};
use crate::values::collection::View;
use crate::values::collection::zset::{self, Edge, Zset};
use store::Key;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[
    reads("zrange", -4, |call| zrange(call, None, false), "Members from one place to another."),
    reads("zrevrange", -4, |call| zrange(call, Some(By::Position), true), "ZRANGE … REV."),
    reads("zrangebyscore", -4, |call| zrange(call, Some(By::Score), false), "ZRANGE BYSCORE."),
    reads("zrevrangebyscore", -4, |call| zrange(call, Some(By::Score), true), "The same REV."),
    reads("zrangebylex", -4, |call| zrange(call, Some(By::Name), false), "ZRANGE … BYLEX."),
    reads("zrevrangebylex", -4, |call| zrange(call, Some(By::Name), true), "The same, REV."),
    Command::new("zrangestore", -5, WRITE | DENY_OOM, zrangestore)
        .keys(Keys::new(1, 2, 1))
        .accesses(store_access)
        .doc(GROUP, "6.2.0", "Stores members from one place to another."),
    counts("zcount", |call| count(call, By::Score), "Counts members between scores."),
    counts("zlexcount", |call| count(call, By::Name), "Counts members between names."),
    drops("zremrangebyrank", |call| remove(call, By::Position), "Removes members by position."),
    drops("zremrangebyscore", |call| remove(call, By::Score), "Removes members by score."),
    drops("zremrangebylex", |call| remove(call, By::Name), "Removes members by name."),
];

const fn reads(
    name: &'static str,
    arity: i32,
    run: crate::call::Handler,
    summary: &'static str,
) -> Command {
    Command::new(name, arity, READ, run).keys(ONE_KEY).doc(GROUP, "1.2.0", summary)
}

const fn counts(name: &'static str, run: crate::call::Handler, summary: &'static str) -> Command {
    Command::new(name, 4, READ | FAST, run).keys(ONE_KEY).doc(GROUP, "2.0.0", summary)
}

const fn drops(name: &'static str, run: crate::call::Handler, summary: &'static str) -> Command {
    let command = Command::new(name, 4, WRITE, run).keys(ONE_KEY).access(access::DROPS);
    command.doc(GROUP, "2.0.0", summary)
}

fn store_access(_: &[&[u8]], at: usize) -> Access {
    if at == 1 { access::SETS } else { access::READS }
}

/// The unit in which the ends of a range are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Position,
    Score,
    Name,
}

/// A range as the call gives it.
#[derive(Clone, Copy, Debug)]
enum Range<'a> {
    Positions(i64, i64),
    Edges(Edge<'a>, Edge<'a>),
}

impl<'a> Range<'a> {
    /// Reads the range with its ends at arguments `at` and `at + 1`. If it is reversed, the higher
    /// end comes first.
    fn of(call: &Call<'a>, at: usize, by: By, reversed: bool) -> Result<Self, Failure> {
        if by == By::Position {
            return Ok(Self::Positions(call.integer(at)?, call.integer(at + 1)?));
        }
        let (low, high) = if reversed { (at + 1, at) } else { (at, at + 1) };
        let (low, high) = (call.arg(low), call.arg(high));
        let edges = if by == By::Score {
            score_edge(low, false).zip(score_edge(high, true))
        } else {
            name_edge(low, false).zip(name_edge(high, true))
        };
        let (low, high) = edges.ok_or(if by == By::Score {
            "ERR min or max is not a float"
        } else {
            "ERR min or max not valid string range item"
        })?;
        Ok(Self::Edges(low, high))
    }

    /// The position of the range's first member, counted from the start of the sorted set, and the
    /// number of members.
    fn span(self, view: View<'_>, reversed: bool) -> (u64, u64) {
        match self {
            Self::Positions(start, stop) => {
                let len = view.len::<Zset>();
                let (from, count) = super::list::range(start, stop, len);
                (if reversed { len - from - count } else { from }, count)
            }
            Self::Edges(low, high) => {
                let from = zset::before(view, low);
                (from, zset::before(view, high).saturating_sub(from))
            }
        }
    }
}

/// Reads an end of a range by score, such as `5`, `(5` or `-inf`. `upper` is true for the upper
/// end.
fn score_edge(text: &[u8], upper: bool) -> Option<Edge<'static>> {
    let (is_open, text) = text.strip_prefix(b"(").map_or((false, text), |rest| (true, rest));
    // An end may be larger than all floats, as in Redis and Valkey.
    let score: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    if score.is_nan() {
        return None;
    }
    Some(if is_open == upper { Edge::Score(score) } else { Edge::BehindScore(score) })
}

/// Reads an end of a range by name, such as `[name`, `(name`, `-` or `+`. `upper` is true for the
/// upper end.
fn name_edge(text: &[u8], upper: bool) -> Option<Edge<'_>> {
    match text.split_first()? {
        (b'-', []) => Some(Edge::Start),
        (b'+', []) => Some(Edge::End),
        (b'(', name) if upper => Some(Edge::Member(name)),
        (b'(', name) => Some(Edge::BehindMember(name)),
        (b'[', name) if upper => Some(Edge::BehindMember(name)),
        (b'[', name) => Some(Edge::Member(name)),
        _ => None,
    }
}

/// A range of a call, and its options.
struct Asked<'a> {
    range: Range<'a>,
    reversed: bool,
    with_scores: bool,
    limit: Option<(i64, i64)>,
}

impl<'a> Asked<'a> {
    /// Reads a call with its source at argument `key`. `said` is the unit if the command fixes it.
    fn of(
        call: &Call<'a>,
        key: usize,
        said: Option<By>,
        mut reversed: bool,
        stores: bool,
    ) -> Result<Self, Failure> {
        let (mut by, mut with_scores, mut limit) = (said, false, None);
        let mut at = key + 3;
        while at < call.args.len() {
            if call.is(at, "withscores") && !stores {
                with_scores = true;
            } else if call.is(at, "limit") && at + 2 < call.args.len() {
                limit = Some((call.integer(at + 1)?, call.integer(at + 2)?));
                at += 2;
            } else if said.is_none() && call.is(at, "rev") {
                reversed = true;
            } else if said.is_none() && call.is(at, "byscore") {
                by = Some(By::Score);
            } else if said.is_none() && call.is(at, "bylex") {
                by = Some(By::Name);
            } else {
                return Err(SYNTAX.into());
            }
            at += 1;
        }
        let by = by.unwrap_or(By::Position);
        if limit.is_some() && by == By::Position {
            return Err("ERR syntax error, LIMIT is only supported in combination with either \
                        BYSCORE or BYLEX"
                .into());
        }
        if with_scores && by == By::Name {
            return Err(
                "ERR syntax error, WITHSCORES not supported in combination with BYLEX".into()
            );
        }
        let range = Range::of(call, key + 1, by, reversed)?;
        Ok(Self { range, reversed, with_scores, limit })
    }

    /// The position at which a walk begins, the number of members that it shows, and whether it
    /// goes backwards.
    fn walk(&self, view: View<'_>) -> (u64, u64, bool) {
        let (mut from, mut count) = self.range.span(view, self.reversed);
        if let Some((offset, most)) = self.limit {
            let offset = u64::try_from(offset).unwrap_or(u64::MAX).min(count);
            let most = u64::try_from(most).unwrap_or(u64::MAX).min(count - offset);
            from += if self.reversed { count - offset - most } else { offset };
            count = most;
        }
        let last = (from + count).saturating_sub(1);
        (if self.reversed { last } else { from }, count, self.reversed)
    }

    /// Shows the members with their scores, until `visit` returns false.
    fn each(
        &self,
        call: &Call<'_>,
        key: &Key<'_>,
        mut visit: impl FnMut(&[u8], f64) -> bool,
    ) -> Done {
        let way = look::<Zset, _>(call, key, Trace::None, |view| self.walk(view))?;
        walk::<Zset>(call, key, way, |body| {
            let (member, score) = zset::pair(body);
            visit(member, score)
        })
    }
}

fn zrange(call: &mut Call<'_>, by: Option<By>, reversed: bool) -> Done {
    let asked = Asked::of(call, 1, by, reversed, false)?;
    let (mark, mut shown) = (call.out.mark(), 0);
    call.write(|call, out| {
        asked.each(call, &call.key_at(1), |member, score| {
            pair(out, member, score, asked.with_scores);
            shown += 1;
            !out.is_over()
        })
    })?;
    call.out.before(mark, |out| pairs_begin(out, shown, asked.with_scores));
    Ok(())
}

fn zrangestore(call: &mut Call<'_>) -> Done {
    let asked = Asked::of(call, 2, None, false, true)?;
    let count = len::<Zset>(call, &call.key_at(2))?;
    let stored = together(call, count, |call| {
        let (mut bodies, mut budget) = (vec![], Budget::store(call, &call.key_at(1)));
        asked.each(call, &call.key_at(2), |member, score| {
            let takes = budget.takes(member.len());
            if takes {
                bodies.push(zset::body(member, score));
            }
            takes
        })?;
        budget.check()?;
        bodies.sort_unstable();
        replace::<Zset>(call, call.arg(1), &bodies, (event_classes::ZSET, "zrangestore"))?;
        Ok(bodies.len())
    })?;
    call.out.integer(stored as i64);
    Ok(())
}

fn count(call: &mut Call<'_>, by: By) -> Done {
    let range = Range::of(call, 2, by, false)?;
    let key = call.key_at(1);
    let found = look::<Zset, _>(call, &key, Trace::Read, |view| range.span(view, false).1)?;
    call.out.integer(found as i64);
    Ok(())
}

fn remove(call: &mut Call<'_>, by: By) -> Done {
    let (range, key) = (Range::of(call, 2, by, false)?, call.key_at(1));
    len::<Zset>(call, &key)?;
    let (from, mut left) =
        look::<Zset, _>(call, &key, Trace::None, |view| range.span(view, false))?;
    let mut removed = 0;
    while left > 0 {
        let gone = change::<Zset, _>(call, &key, removed == 0, |held| {
            let gone = zset::remove_span(held, from, left);
            Ok((gone > 0, gone))
        })?;
        if gone == 0 {
            break;
        }
        (removed, left) = (removed + gone, left - gone);
    }
    if removed > 0 {
        let event = match by {
            By::Position => "zremrangebyrank",
            By::Score => "zremrangebyscore",
            By::Name => "zremrangebylex",
        };
        call.lost(event_classes::ZSET, event, call.arg(1));
    }
    call.out.integer(removed as i64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_read_as_redis_does() {
        assert_eq!(score_edge(b"1.5", false), Some(Edge::Score(1.5)));
        assert_eq!(score_edge(b"(1.5", false), Some(Edge::BehindScore(1.5)));
        assert_eq!(score_edge(b"1.5", true), Some(Edge::BehindScore(1.5)));
        assert_eq!(score_edge(b"(+inf", true), Some(Edge::Score(f64::INFINITY)));
        assert_eq!(score_edge(b"nan", true), None);
        assert_eq!(name_edge(b"[a", false), Some(Edge::Member(b"a")));
        assert_eq!(name_edge(b"(", true), Some(Edge::Member(b"")));
        assert_eq!(name_edge(b"-x", true), None);
        assert_eq!(name_edge(b"", true), None);
    }
}
