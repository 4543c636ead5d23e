//! The options of HSCAN, SSCAN and ZSCAN: a cursor, a pattern and a count.

use crate::call::{Call, Done, Failure, NOT_AN_INTEGER, SYNTAX};
use crate::text::glob;
use crate::values::hash::STEP_FIELDS;
use wire::resp::{Encoder, parse_integer};

/// The default number of elements in one call.
const COUNT: usize = 10;

/// The options of a walk through a collection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanOptions<'a> {
    /// The place at which to continue; `None` for a cursor that no reply contained, which is behind
    /// the last element.
    pub(super) from: Option<u32>,
    /// The number of elements to visit.
    pub(super) count: usize,
    pub(super) pattern: Option<&'a [u8]>,
    /// Whether the client wants names only.
    pub(super) no_values: bool,
}

/// The elements that a walk has visited, and the replies that it has written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) looked: usize,
    pub(super) shown: usize,
}

impl<'a> ScanOptions<'a> {
    /// Reads the options of a call with the cursor at argument 2. `without` is the word that leaves
    /// values out.
    pub(super) fn of(call: &Call<'a>, without: Option<&str>) -> Result<Self, Failure> {
        let cursor = std::str::from_utf8(call.arg(2)).ok().and_then(|text| text.parse().ok());
        let cursor: u64 = cursor.ok_or("ERR invalid cursor")?;
        let from = u32::try_from(cursor).ok();
        let mut found = Self { from, count: COUNT, pattern: None, no_values: false };
        let mut at = 3;
        while at < call.args.len() {
            if without.is_some_and(|word| call.is(at, word)) {
                found.no_values = true;
                at += 1;
                continue;
            }
            let value = call.args.get(at + 1).ok_or(SYNTAX)?;
            if call.is(at, "match") {
                found.pattern = Some(value);
            } else if call.is(at, "count") {
                let count = parse_integer(value).ok_or(NOT_AN_INTEGER)?;
                found.count = usize::try_from(count).ok().filter(|&n| n > 0).ok_or(SYNTAX)?;
            } else {
                return Err(SYNTAX.into());
            }
            at += 2;
        }
        Ok(found)
    }

    /// Runs `step` until enough elements were visited or the reply is long enough. A step gets a
    /// place and a number of elements; it writes the wanted ones and returns the place at which to
    /// continue.
    pub(super) fn reply<'c>(
        &self,
        call: &mut Call<'c>,
        mut step: impl FnMut(
            &Call<'c>,
            &mut Encoder<'_>,
            u32,
            usize,
            &mut Count,
        ) -> Result<Option<u32>, Failure>,
    ) -> Done {
        let (mark, mut next, mut count) = (call.out.mark(), self.from, Count::default());
        call.write(|call, out| {
            while let Some(from) = next
                && count.looked < self.count
                && !out.is_over()
            {
                let most = (self.count - count.looked).min(STEP_FIELDS);
                next = step(call, out, from, most, &mut count)?;
            }
            Ok(())
        })?;
        call.out.before(mark, |out| {
            out.array(2);
            out.bulk(next.unwrap_or(0).to_string().as_bytes());
            out.array(count.shown);
        });
        Ok(())
    }

    /// Whether the walk shows an element with this name.
    pub(super) fn wants(&self, name: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob::matches(pattern, name))
    }
}
