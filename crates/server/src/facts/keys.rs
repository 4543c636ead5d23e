//! The positions of keys among the arguments of a command.

use std::iter::StepBy;
use std::ops::Range;
use wire::resp::parse_integer;

/// The positions of keys among the arguments. `first`, `last` (negative from the end) and `step`
/// describe a range, all zero for none. `count` is the argument that counts the keys behind it,
/// zero for none. `word` is a word that precedes a key, empty for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) first: i32,
    pub(crate) last: i32,
    pub(crate) step: i32,
    pub(crate) count: usize,
    pub(crate) word: &'static str,
}

impl Keys {
    /// Keys from the first to the last argument, in steps of `step`.
    pub(crate) const fn new(first: i32, last: i32, step: i32) -> Self {
        Self { first, last, step, count: 0, word: "" }
    }

    /// Adds the keys behind the argument `count`, which holds their number.
    pub(crate) const fn and_counted(self, count: usize) -> Self {
        Self { count, ..self }
    }

    /// Adds the key behind the last occurrence of `word`, in any case.
    pub(crate) const fn and_behind(self, word: &'static str) -> Self {
        Self { word, ..self }
    }

    /// Whether the positions depend on the arguments of the call.
    pub(crate) const fn are_movable(self) -> bool {
        self.count > 0 || !self.word.is_empty()
    }

    /// Whether the command has any key.
    pub(crate) const fn is_any(self) -> bool {
        self.first > 0 || self.count > 0
    }
}

/// No key.
pub(crate) const NO_KEY: Keys = Keys::new(0, 0, 0);
/// One key, the first argument.
pub(crate) const ONE_KEY: Keys = Keys::new(1, 1, 1);
/// The second argument is the number of keys, and the keys follow it.
pub(crate) const COUNTED_KEYS: Keys = NO_KEY.and_counted(2);
/// Every argument is a key.
pub(crate) const ALL_KEYS: Keys = Keys::new(1, -1, 1);
/// Every other argument is a key.
pub(crate) const KEY_VALUES: Keys = Keys::new(1, -1, 2);

/// An iterator over the positions of keys among the arguments of a call.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    fixed: StepBy<Range<usize>>,
    /// The counted keys, or the key behind a word.
    others: Range<usize>,
}

impl Iterator for Places {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.fixed.next().or_else(|| self.others.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.fixed.len() + self.others.len();
        (len, Some(len))
    }
}

impl ExactSizeIterator for Places {}

impl Keys {
    /// The positions of keys in a call with `args` arguments; `arg` returns an argument.
    #[inline]
    pub(super) fn places<'a>(self, args: usize, arg: impl Fn(usize) -> Option<&'a [u8]>) -> Places {
        let Self { first, last, step, count, word } = self;
        let last = if last < 0 { args as i32 + last } else { last };
        let fixed = first.max(0) as usize..(last + 1).max(0) as usize;
        let fixed = if first > 0 { fixed } else { 0..0 };
        let mut others = 0..0;
        if count > 0 {
            let keys = arg(count).and_then(parse_integer).unwrap_or(0).max(0);
            let keys = usize::try_from(keys).unwrap_or(usize::MAX);
            others = count + 1..(count + 1).saturating_add(keys).min(args);
        }
        if !word.is_empty() {
            let is_word =
                |at: usize| arg(at).is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()));
            let behind = (1..args.saturating_sub(1)).rev().find(|&at| is_word(at));
            others = behind.map_or(0..0, |at| at + 1..at + 2);
        }
        Places { fixed: fixed.step_by(step.max(1) as usize), others }
    }
}
