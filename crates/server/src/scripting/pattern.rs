//! Lua patterns, matched in counted steps.
//!
//! The functions of Lua's own library try every way in which a pattern may match, and cannot be
//! stopped meanwhile. A short pattern with a few `*` keeps a long text busy for years. Nor do they
//! bound their stack, which has a frame for every item of a pattern. The prelude gives them only
//! work of some milliseconds ([`weigh`]); everything else comes here. Here the untried ways are a
//! list, and a [`Work`] looks from time to time whether the script must end.
//!
//! ```text
//!   find(text, pattern, from, is_plain)   first, last, captures
//!   match(text, pattern, from)            captures
//!   next(text, pattern, from)             where the next search begins, captures
//!   search(text, pattern, from, is_one)   first, behind the last, captures or the first of them
//!   replace(text, pattern, by, most)      the new text, how often
//! ```
//!
//! A pattern ends at its first zero byte, like a C string.

use super::answer::{Answer, Args, answering};
use super::failing::Oops;
use super::look::{Made, Work};
use mlua::{Lua, Result, Table, Value};

/// The largest number of captures in a pattern.
const CAPTURES_MAX: usize = 32;
/// The largest number of untried ways. Each is an item of the pattern.
const WAYS_MAX: usize = 1 << 20;
/// The largest number of steps for a function of Lua's own library, and the longest pattern that it
/// gets.
const STEPS_MAX: f64 = 1e6;
const PATTERN_MAX: usize = 200;

type Done<T> = std::result::Result<T, Oops>;

/// The table with the functions.
pub(super) fn table(lua: &Lua) -> Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("weigh", answering(lua, |_, args| Ok(weigh(args).into()))?)?;
    table.raw_set("find", answering(lua, find)?)?;
    table.raw_set("match", answering(lua, first_match)?)?;
    table.raw_set("next", answering(lua, next)?)?;
    table.raw_set("search", answering(lua, search)?)?;
    table.raw_set("replace", answering(lua, replace)?)?;
    Ok(table)
}

/// The longest text in which Lua's own library may look for a pattern. It is -1 for a pattern that
/// the library must not get: one that is long, refers to captures, or may be malformed.
fn weigh(args: Args<'_>) -> Value {
    let Value::String(pattern) = args.value(0) else {
        return Value::Integer(-1);
    };
    Value::Integer(longest(until_zero(&pattern.as_bytes())).unwrap_or(-1))
}

fn longest(pattern: &[u8]) -> Option<i64> {
    if pattern.len() > PATTERN_MAX {
        return None;
    }
    let (mut at, mut open, mut repeats, mut captures) = (0, 0, 0, 0);
    while let Some(&byte) = pattern.get(at) {
        match (byte, pattern.get(at + 1)) {
            (b'(', _) => (open, captures) = (open + 1, captures + 1),
            (b')', _) => open -= 1,
            (b'%', None | Some(b'b' | b'f' | b'0'..=b'9')) => return None,
            _ => {
                at = class_end(pattern, at).ok()?;
                if matches!(pattern.get(at), Some(b'*' | b'+' | b'-' | b'?')) {
                    repeats += 1;
                    at += 1;
                }
                continue;
            }
        }
        if open < 0 || captures > CAPTURES_MAX {
            return None;
        }
        at += 1;
    }
    // Each repeated item may end at every byte, and the match may begin at every byte.
    let steps = STEPS_MAX / (pattern.len() + 1) as f64;
    (open == 0).then(|| steps.powf(1.0 / f64::from(repeats + 1)) as i64)
}

/// A capture: its beginning, and the state of its length.
#[derive(Clone, Copy, Debug)]
struct Capture {
    start: usize,
    len: Len,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Len {
    Open,
    Position,
    Bytes(usize),
}

/// A way to continue when everything after it fails to match.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Continue at this place in the text and the pattern.
    Other {
        at: usize,
        item: usize,
    },
    /// Try one repetition less of `count` from `at`.
    Fewer {
        at: usize,
        count: usize,
        item: usize,
    },
    /// Try one repetition more of the item that ends at `end`.
    More {
        at: usize,
        item: usize,
        end: usize,
    },
    /// Take back the opening or closing of a capture.
    Unopen,
    Unclose(usize),
}

/// The state of matching one pattern with one text.
struct Matcher<'a, 'w> {
    text: &'a [u8],
    pattern: &'a [u8],
    captures: [Capture; CAPTURES_MAX],
    level: usize,
    ways: Vec<Way>,
    work: &'w mut Work<'a>,
}

impl<'a, 'w> Matcher<'a, 'w> {
    fn new(text: &'a [u8], pattern: &'a [u8], work: &'w mut Work<'a>) -> Self {
        let captures = [Capture { start: 0, len: Len::Open }; CAPTURES_MAX];
        Self { text, pattern: until_zero(pattern), captures, level: 0, ways: vec![], work }
    }

    fn item(&self, at: usize) -> u8 {
        self.pattern.get(at).copied().unwrap_or(0)
    }

    /// The first match from a place on: its beginning and end. With `is_bound` it must begin at
    /// that place.
    fn search(&mut self, from: usize, item: usize, is_bound: bool) -> Done<Option<(usize, usize)>> {
        for at in from..=self.text.len() {
            if let Some(end) = self.matches(at, item)? {
                return Ok(Some((at, end)));
            }
            if is_bound {
                break;
            }
        }
        Ok(None)
    }

    /// The end of a match that begins at `at`.
    fn matches(&mut self, at: usize, item: usize) -> Done<Option<usize>> {
        self.level = 0;
        self.ways.clear();
        let (mut at, mut item) = (at, item);
        loop {
            self.work.step(1)?;
            match self.forward(at, item)? {
                Step::Matched => return Ok(Some(at)),
                Step::To(next, following) => (at, item) = (next, following),
                Step::Failed => match self.back()? {
                    Some((next, following)) => (at, item) = (next, following),
                    None => return Ok(None),
                },
            }
        }
    }

    fn may_also(&mut self, way: Way) -> Done<()> {
        if self.ways.len() >= WAYS_MAX {
            return Err("pattern too complex".into());
        }
        self.ways.push(way);
        Ok(())
    }

    /// Matches one item of the pattern.
    fn forward(&mut self, at: usize, item: usize) -> Done<Step> {
        match (self.item(item), self.item(item + 1)) {
            _ if item >= self.pattern.len() => return Ok(Step::Matched),
            (b'(', b')') => return self.open(at, item + 2, Len::Position),
            (b'(', _) => return self.open(at, item + 1, Len::Open),
            (b')', _) => return self.close(at, item + 1),
            (b'%', b'b') => return self.balanced(at, item + 2),
            (b'%', b'f') => return self.frontier(at, item + 2),
            (b'%', digit @ b'0'..=b'9') => return self.again(at, item + 2, digit),
            (b'$', _) if item + 1 == self.pattern.len() => {
                return Ok(if at == self.text.len() { Step::Matched } else { Step::Failed });
            }
            _ => {}
        }
        let end = class_end(self.pattern, item)?;
        let behind = end + 1;
        match self.item(end) {
            b'?' => {
                if !self.is_one(at, item, end) {
                    return Ok(Step::To(at, behind));
                }
                self.may_also(Way::Other { at, item: behind })?;
                Ok(Step::To(at + 1, behind))
            }
            b'*' => self.most(at, 0, (item, end)),
            b'+' => self.most(at, 1, (item, end)),
            b'-' => {
                self.may_also(Way::More { at, item, end })?;
                Ok(Step::To(at, behind))
            }
            _ if self.is_one(at, item, end) => Ok(Step::To(at + 1, end)),
            _ => Ok(Step::Failed),
        }
    }

    /// Matches as many repetitions as possible, and at least `least`. Fewer are tried later.
    fn most(&mut self, at: usize, least: usize, (item, end): (usize, usize)) -> Done<Step> {
        let mut count = 0;
        while self.is_one(at + count, item, end) {
            count += 1;
        }
        self.work.step(count * (end - item))?;
        if count < least {
            return Ok(Step::Failed);
        }
        let (start, behind) = (at + least, end + 1);
        self.may_also(Way::Fewer { at: start, count: count - least, item: behind })?;
        Ok(Step::To(at + count, behind))
    }

    /// Takes the last untried way.
    fn back(&mut self) -> Done<Option<(usize, usize)>> {
        while let Some(way) = self.ways.pop() {
            match way {
                Way::Other { at, item } => return Ok(Some((at, item))),
                Way::Fewer { count: 0, .. } => {}
                Way::Fewer { at, count, item } => {
                    self.may_also(Way::Fewer { at, count: count - 1, item })?;
                    return Ok(Some((at + count - 1, item)));
                }
                Way::More { at, item, end } if self.is_one(at, item, end) => {
                    self.may_also(Way::More { at: at + 1, item, end })?;
                    return Ok(Some((at + 1, end + 1)));
                }
                Way::More { .. } => {}
                Way::Unopen => self.level -= 1,
                Way::Unclose(at) => self.captures[at].len = Len::Open,
            }
        }
        Ok(None)
    }

    fn is_one(&self, at: usize, item: usize, end: usize) -> bool {
        let Some(&byte) = self.text.get(at) else {
            return false;
        };
        match self.item(item) {
            b'.' => true,
            b'%' => is_of_class(byte, self.item(item + 1)),
            b'[' => self.is_of_set(byte, item, end - 1),
            plain => plain == byte,
        }
    }

    /// Whether a byte is in the set between the brackets at these places.
    fn is_of_set(&self, byte: u8, item: usize, bracket: usize) -> bool {
        let is_negated = self.item(item + 1) == b'^';
        let mut at = item + usize::from(is_negated) + 1;
        while at < bracket {
            let found = if self.item(at) == b'%' {
                at += 1;
                is_of_class(byte, self.item(at))
            } else if self.item(at + 1) == b'-' && at + 2 < bracket {
                at += 2;
                (self.item(at - 2)..=self.item(at)).contains(&byte)
            } else {
                self.item(at) == byte
            };
            if found {
                return !is_negated;
            }
            at += 1;
        }
        is_negated
    }

    fn open(&mut self, at: usize, item: usize, len: Len) -> Done<Step> {
        if self.level >= CAPTURES_MAX {
            return Err("too many captures".into());
        }
        self.captures[self.level] = Capture { start: at, len };
        self.level += 1;
        self.may_also(Way::Unopen)?;
        Ok(Step::To(at, item))
    }

    fn close(&mut self, at: usize, item: usize) -> Done<Step> {
        let open = self.captures[..self.level].iter().rposition(|one| one.len == Len::Open);
        let open = open.ok_or("invalid pattern capture")?;
        self.captures[open].len = Len::Bytes(at - self.captures[open].start);
        self.may_also(Way::Unclose(open))?;
        Ok(Step::To(at, item))
    }

    /// Matches `%bxy`: from an x to the y that balances it.
    fn balanced(&mut self, at: usize, item: usize) -> Done<Step> {
        let (begin, end) = (self.item(item), self.item(item + 1));
        if begin == 0 || end == 0 {
            return Err("unbalanced pattern".into());
        }
        if self.text.get(at).copied().unwrap_or(0) != begin {
            return Ok(Step::Failed);
        }
        let mut depth = 1;
        for (more, &byte) in self.text[at..].iter().enumerate().skip(1) {
            if byte == end {
                depth -= 1;
                if depth == 0 {
                    self.work.step(more)?;
                    return Ok(Step::To(at + more + 1, item + 2));
                }
            } else if byte == begin {
                depth += 1;
            }
        }
        self.work.step(self.text.len() - at)?;
        Ok(Step::Failed)
    }

    /// Matches `%f[set]`: the border between a byte outside of the set and one in it.
    fn frontier(&self, at: usize, item: usize) -> Done<Step> {
        if self.item(item) != b'[' {
            return Err("missing '[' after '%f' in pattern".into());
        }
        let end = class_end(self.pattern, item)?;
        let byte = |at: Option<usize>| at.and_then(|at| self.text.get(at)).copied().unwrap_or(0);
        let is_before = self.is_of_set(byte(at.checked_sub(1)), item, end - 1);
        let is_here = self.is_of_set(byte(Some(at)), item, end - 1);
        Ok(if !is_before && is_here { Step::To(at, end) } else { Step::Failed })
    }

    /// Matches `%1`: the bytes of an earlier capture.
    fn again(&mut self, at: usize, item: usize, digit: u8) -> Done<Step> {
        let number = usize::from(digit).wrapping_sub(usize::from(b'1'));
        let capture = self.captures[..self.level].get(number);
        let capture = capture.filter(|one| one.len != Len::Open);
        let Capture { start, len } = *capture.ok_or("invalid capture index")?;
        let Len::Bytes(len) = len else {
            return Ok(Step::Failed);
        };
        self.work.step(len / 16)?;
        let is_same = self.text[at..].starts_with(&self.text[start..start + len]);
        Ok(if is_same { Step::To(at + len, item) } else { Step::Failed })
    }

    /// A capture of a match between these places. Without captures, the first is the whole match.
    fn capture(&self, at: usize, (start, end): (usize, usize)) -> Done<Captured<'a>> {
        let Some(capture) = self.captures[..self.level].get(at) else {
            let whole = (at == 0).then(|| Captured::Bytes(&self.text[start..end]));
            return whole.ok_or_else(|| "invalid capture index".into());
        };
        match capture.len {
            Len::Open => Err("unfinished capture".into()),
            Len::Position => Ok(Captured::Position(capture.start + 1)),
            Len::Bytes(len) => Ok(Captured::Bytes(&self.text[capture.start..capture.start + len])),
        }
    }

    /// All captures of a match; with `or_whole` the whole match if there are none.
    fn values(
        &self,
        lua: &Lua,
        place: (usize, usize),
        or_whole: bool,
        values: &mut Vec<Value>,
    ) -> Done<()> {
        let least = usize::from(or_whole);
        for at in 0..self.level.max(least) {
            values.push(match self.capture(at, place)? {
                Captured::Position(at) => Value::Integer(at as i64),
                Captured::Bytes(bytes) => Value::String(lua.create_string(bytes)?),
            });
        }
        Ok(())
    }
}

/// The result of matching an item.
enum Step {
    To(usize, usize),
    Matched,
    Failed,
}

/// The value of a capture.
enum Captured<'a> {
    Position(usize),
    Bytes(&'a [u8]),
}

fn until_zero(pattern: &[u8]) -> &[u8] {
    &pattern[..memchr::memchr(0, pattern).unwrap_or(pattern.len())]
}

/// The end of an item that begins here, without its repetition.
fn class_end(pattern: &[u8], item: usize) -> Done<usize> {
    let byte = |at: usize| pattern.get(at).copied().unwrap_or(0);
    let mut at = item + 1;
    match byte(item) {
        b'%' if byte(at) == 0 => Err("malformed pattern (ends with '%')".into()),
        b'%' => Ok(at + 1),
        b'[' => {
            at += usize::from(byte(at) == b'^');
            loop {
                let first = byte(at);
                if first == 0 {
                    return Err("malformed pattern (missing ']')".into());
                }
                at += 1;
                at += usize::from(first == b'%' && byte(at) != 0);
                if byte(at) == b']' {
                    return Ok(at + 1);
                }
            }
        }
        _ => Ok(at),
    }
}

/// Whether a byte is in a class such as `%a`. A capital letter negates the class.
fn is_of_class(byte: u8, class: u8) -> bool {
    let is = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte == 0x0b || byte.is_ascii_whitespace(),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    is == class.is_ascii_lowercase()
}

/// The place at which a search begins: argument 2, counted from 1, or from the end if negative.
fn begin(args: Args<'_>, name: &str, len: usize) -> Done<usize> {
    if matches!(args.value(2), Value::Nil) {
        return Ok(0);
    }
    let from = args.number(2, name)? as i64;
    let from = if from < 0 { from.saturating_add(len as i64 + 1) } else { from };
    Ok((from.max(1) - 1).min(len as i64) as usize)
}

/// The place behind a leading `^`, and whether there is one.
fn bound(pattern: &[u8]) -> (usize, bool) {
    let is_bound = pattern.first() == Some(&b'^');
    (usize::from(is_bound), is_bound)
}

fn find(lua: &Lua, args: Args<'_>) -> Done<Answer> {
    let (text, pattern) = (args.string(lua, 0, "find")?, args.string(lua, 1, "find")?);
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let from = begin(args, "find", text.len())?;
    let mut work = Work::new(lua);
    let is_plain = !matches!(args.value(3), Value::Nil | Value::Boolean(false));
    let place = |first: usize, behind: usize| {
        vec![Value::Integer(first as i64 + 1), Value::Integer(behind as i64)]
    };
    if is_plain || !until_zero(&pattern).iter().any(|byte| b"^$*+?.([%-".contains(byte)) {
        work.step(text.len() / 16)?;
        let found = memchr::memmem::find(&text[from..], &pattern).map(|at| at + from);
        return Ok(found.map_or(Answer::One(Value::Nil), |first| {
            Answer::Many(place(first, first + pattern.len()))
        }));
    }
    let (item, is_bound) = bound(&pattern);
    let mut matcher = Matcher::new(&text, &pattern, &mut work);
    let Some((first, behind)) = matcher.search(from, item, is_bound)? else {
        return Ok(Answer::One(Value::Nil));
    };
    let mut values = place(first, behind);
    matcher.values(lua, (first, behind), false, &mut values)?;
    Ok(Answer::Many(values))
}

fn first_match(lua: &Lua, args: Args<'_>) -> Done<Answer> {
    let (text, pattern) = (args.string(lua, 0, "match")?, args.string(lua, 1, "match")?);
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let from = begin(args, "match", text.len())?;
    let (item, is_bound) = bound(&pattern);
    let mut work = Work::new(lua);
    let mut matcher = Matcher::new(&text, &pattern, &mut work);
    let mut values = vec![];
    match matcher.search(from, item, is_bound)? {
        Some(place) => matcher.values(lua, place, true, &mut values)?,
        None => values.push(Value::Nil),
    }
    Ok(Answer::Many(values))
}

/// Serves `gmatch`, in which `^` has no special meaning.
fn next(lua: &Lua, args: Args<'_>) -> Done<Answer> {
    let (text, pattern) = (args.string(lua, 0, "gmatch")?, args.string(lua, 1, "gmatch")?);
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let from = args.number(2, "gmatch")? as usize;
    let mut work = Work::new(lua);
    let mut matcher = Matcher::new(&text, &pattern, &mut work);
    let Some((first, behind)) = matcher.search(from, 0, false)? else {
        return Ok(Answer::None);
    };
    let next = behind + usize::from(first == behind);
    let mut values = vec![Value::Integer(next as i64)];
    matcher.values(lua, (first, behind), true, &mut values)?;
    Ok(Answer::Many(values))
}

/// Serves `gsub` with a function or a table, which Lua looks up itself.
fn search(lua: &Lua, args: Args<'_>) -> Done<Answer> {
    let (text, pattern) = (args.string(lua, 0, "gsub")?, args.string(lua, 1, "gsub")?);
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let from = args.number(2, "gsub")? as usize;
    let (item, is_bound) = bound(&pattern);
    let mut work = Work::new(lua);
    let mut matcher = Matcher::new(&text, &pattern, &mut work);
    let Some((first, behind)) = matcher.search(from, item, is_bound)? else {
        return Ok(Answer::None);
    };
    let mut values = vec![Value::Integer(first as i64), Value::Integer(behind as i64)];
    if args.value(3) == &Value::Boolean(true) {
        // A table is indexed only by the first capture, so errors in the others do not matter.
        matcher.level = matcher.level.min(1);
    }
    matcher.values(lua, (first, behind), true, &mut values)?;
    Ok(Answer::Many(values))
}

/// Serves `gsub` with a string.
fn replace(lua: &Lua, args: Args<'_>) -> Done<Answer> {
    let (text, pattern) = (args.string(lua, 0, "gsub")?, args.string(lua, 1, "gsub")?);
    let (text, pattern, by) = (text.as_bytes(), pattern.as_bytes(), args.string(lua, 2, "gsub")?);
    let by = by.as_bytes();
    let most = match args.value(3) {
        Value::Nil => i64::MAX,
        _ => args.number(3, "gsub")? as i64,
    };
    let (item, is_bound) = bound(&pattern);
    let mut work = Work::new(lua);
    let mut matcher = Matcher::new(&text, &pattern, &mut work);
    let (mut out, mut count, mut at) = (Made::new(lua), 0, 0);
    while count < most {
        let found = matcher.search(at, item, is_bound)?;
        let Some((first, behind)) = found else { break };
        count += 1;
        out.extend(&text[at..first])?;
        put(&mut out, &by, &matcher, (first, behind))?;
        at = behind;
        if first == behind {
            if at == text.len() {
                break;
            }
            out.push(text[at])?;
            at += 1;
        }
        if is_bound {
            break;
        }
    }
    out.extend(&text[at..])?;
    Ok(Answer::Many(vec![out.string()?, Value::Integer(count)]))
}

/// Writes the replacement of a match: a text in which `%1` stands for a capture.
fn put(
    out: &mut Made<'_>,
    by: &[u8],
    matcher: &Matcher<'_, '_>,
    place: (usize, usize),
) -> Done<()> {
    let mut rest = by;
    while let Some(at) = memchr::memchr(b'%', rest) {
        out.extend(&rest[..at])?;
        match rest.get(at + 1).copied().unwrap_or(0) {
            b'0' => out.extend(&matcher.text[place.0..place.1])?,
            digit @ b'1'..=b'9' => match matcher.capture(usize::from(digit - b'1'), place)? {
                Captured::Position(at) => out.extend(at.to_string().as_bytes())?,
                Captured::Bytes(bytes) => out.extend(bytes)?,
            },
            other => out.push(other)?,
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    out.extend(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs Lua's own functions and the ones here, and returns both results. Errors lose their
    /// line.
    const BOTH: &str = "
        local mine, text, pattern = ...
        local function shown(ok, ...)
          local words = {tostring(ok)}
          for at = 1, select('#', ...) do
            local word = tostring((select(at, ...))):match('^[^\\n]*')
            words[#words + 1] = word:gsub('^runtime error: ', '')
          end
          return (table.concat(words, '|'):gsub('[^|]-:%d+: ', ''))
        end
        local function all(next)
          local words = {}
          for a, b in next do words[#words + 1] = a .. ',' .. tostring(b) end
          return table.concat(words, ';')
        end
        local at = 0
        local function step(following, ...)
          at = following
          return ...
        end
        local function next()
          if at then return step(mine.next(text, pattern, at)) end
        end
        local both = {
          {string.find, mine.find, text, pattern},
          {string.find, mine.find, text, pattern, 2},
          {string.find, mine.find, text, pattern, -2, true},
          {string.match, mine.match, text, pattern},
          {string.match, mine.match, text, pattern, 3},
          {string.gsub, mine.replace, text, pattern, '<%0>'},
          {string.gsub, mine.replace, text, pattern, '%1%%x%', 2},
          {function() return all(string.gmatch(text, pattern)) end,
           function() return all(next) end},
        }
        local theirs, ours = {}, {}
        for at, one in ipairs(both) do
          theirs[at] = shown(pcall(one[1], unpack(one, 3, 6)))
          ours[at] = shown(pcall(one[2], unpack(one, 3, 6)))
        end
        return table.concat(theirs, '\\n'), table.concat(ours, '\\n')";

    fn both(text: &str, pattern: &str) -> (String, String) {
        let lua = Lua::new();
        let mine = table(&lua).unwrap();
        lua.load(BOTH).call((mine, text, pattern)).unwrap()
    }

    #[test]
    fn some_patterns_match_as_luas_own_do() {
        for (text, pattern) in [
            ("key = value", "^(%w+)%s*=%s*(%w+)$"),
            ("a,b,,c", "([^,]*)"),
            ("THE (quick) fox", "%((%a+)%)"),
            ("THE (quick) fox", "%f[%a]%a+%f[%A]"),
            ("(()", "%b()"),
            ("x(a(b)c)y", "%b()"),
            ("abcabc", "(abc)%1"),
            ("abc", "()b()"),
            ("abc", "%1"),
            ("abc", "(%1)"),
            ("abc", "%"),
            ("abc", "[a"),
            ("abc", "[]"),
            ("a]c", "[]]"),
            ("a]c", "[^]]*"),
            ("a-c", "[a-]"),
            ("abc", "("),
            ("abc", ")"),
            ("abc", "%f"),
            ("abc", "%b"),
            ("abc", "%bx"),
            ("", ""),
            ("", ".-"),
            ("hello world", "o.-o"),
            ("a\u{b}b", "%s"),
            ("x^y", "x^"),
            ("$a$", "$a$"),
        ] {
            let (theirs, ours) = both(text, pattern);
            assert_eq!(ours, theirs, "{text:?} {pattern:?}");
        }
    }

    #[test]
    fn the_longest_text_is_short_where_much_is_repeated() {
        let longest = |pattern: &str| longest(pattern.as_bytes());
        assert!(longest("abc").unwrap() > 100_000);
        assert!((300..1_000).contains(&longest("[^,]+").unwrap()));
        assert!(longest("a*b*c*d*e*f*").unwrap() < 10);
        for other in ["%b()", "%f[a]", "(a)%1", "(", ")", ")(", "[a", "%", &"a".repeat(201)] {
            assert_eq!(longest(other), None, "{other}");
        }
    }

    /// One piece of a random pattern.
    const PIECE: &str = r"(\(|\)|%[abdfsw1.(]|\[[\^]?[ab%\-]{0,3}\]|[ab.^$%\[\]])";

    proptest! {
        #[test]
        fn patterns_match_as_luas_own_do(
            text in "[ab(). ]{0,12}",
            (first, again) in (PIECE, "[*+?-]?"),
            (second, last) in (r"(\(|\)|%[bw]|[ab.]|\[ab\])?", r"[*+?-]?[ab.)$]{0,3}"),
        ) {
            let pattern = [first, again, second, last].concat();
            let (theirs, ours) = both(&text, &pattern);
            prop_assert_eq!(ours, theirs, "{:?} {:?}", text, pattern);
        }
    }
}
