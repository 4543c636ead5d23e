//! LCS: the longest sequence that two strings have in common.
//!
//! It fills a table of all pairs of prefixes, so time and memory are the product of the two
//! lengths. The size of the table is limited by proto-max-bulk-len, as in Redis.

use crate::call::{Call, Command, Done, Failure, SYNTAX};
use crate::facts::Keys;
use crate::facts::flag::READ;
use crate::values::text_value::string;

/// The commands of this file.
pub(crate) const COMMANDS: &[Command] = &[Command::new("lcs", -3, READ, lcs)
    .keys(Keys::new(1, 2, 1))
    .doc("string", "7.0.0", "The longest common subsequence of two values.")];

#[derive(Clone, Copy, Debug, Default)]
struct Options {
    len: bool,
    idx: bool,
    with_match_len: bool,
    min_match_len: usize,
}

/// The place of a common run of bytes in both strings; both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    a: (usize, usize),
    b: (usize, usize),
}

impl Run {
    const fn len(self) -> usize {
        self.a.1 - self.a.0 + 1
    }
}

fn lcs(call: &mut Call<'_>) -> Done {
    let mut options = Options::default();
    let mut at = 3;
    while at < call.args.len() {
        if call.is(at, "len") {
            options.len = true;
        } else if call.is(at, "idx") {
            options.idx = true;
        } else if call.is(at, "withmatchlen") {
            options.with_match_len = true;
        } else if call.is(at, "minmatchlen") && at + 1 < call.args.len() {
            at += 1;
            options.min_match_len = call.integer(at)?.max(0) as usize;
        } else {
            return Err(SYNTAX.into());
        }
        at += 1;
    }
    if options.len && options.idx {
        let text = "If you want both the length and indexes, please just use IDX.";
        return Err(Failure::err(text));
    }
    let (a, b) = (value(call, 1)?, value(call, 2)?);
    let cells = (a.len() as u64 + 1).saturating_mul(b.len() as u64 + 1);
    if cells.saturating_mul(4) > call.view.settings.proto_max_bulk_len.0 {
        return Err(Failure::err(
            "Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
        ));
    }
    let table = Table::new(&a, &b);
    let total = table.get(a.len(), b.len());
    if options.len {
        call.out.integer(i64::from(total));
        return Ok(());
    }
    let runs = table.runs(&a, &b);
    if !options.idx {
        let pieces: Vec<&[u8]> = runs.iter().rev().map(|run| &a[run.a.0..=run.a.1]).collect();
        call.out.bulk(&pieces.concat());
        return Ok(());
    }
    let runs: Vec<_> = runs.into_iter().filter(|run| run.len() >= options.min_match_len).collect();
    let out = &mut call.out;
    out.map(2);
    out.bulk(b"matches");
    out.array(runs.len());
    for run in runs {
        out.array(2 + usize::from(options.with_match_len));
        for (from, to) in [run.a, run.b] {
            out.array(2);
            out.integer(from as i64);
            out.integer(to as i64);
        }
        if options.with_match_len {
            out.integer(run.len() as i64);
        }
    }
    out.bulk(b"len");
    out.integer(i64::from(total));
    Ok(())
}

/// The string of a key; empty if the key does not exist.
fn value(call: &Call<'_>, at: usize) -> Result<Vec<u8>, Failure> {
    let found =
        call.server.store.get(&call.key_at(at), call.now, |item| string(item).map(<[u8]>::to_vec));
    let found = found.unwrap_or(Ok(vec![]));
    found.map_err(|_| Failure::err("The specified keys must contain string values"))
}

/// The longest length for each pair of prefixes.
struct Table {
    width: usize,
    cells: Vec<u32>,
}

impl Table {
    fn new(a: &[u8], b: &[u8]) -> Self {
        let width = b.len() + 1;
        let mut cells = vec![0; (a.len() + 1) * width];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                let above = i * width + j;
                cells[above + width + 1] = if x == y {
                    cells[above] + 1
                } else {
                    cells[above + 1].max(cells[above + width])
                };
            }
        }
        Self { width, cells }
    }

    /// The length for the first `i` bytes of one string and the first `j` of the other.
    fn get(&self, i: usize, j: usize) -> u32 {
        self.cells[i * self.width + j]
    }

    /// The runs of one longest common sequence, the last run first.
    fn runs(&self, a: &[u8], b: &[u8]) -> Vec<Run> {
        let (mut i, mut j) = (a.len(), b.len());
        let mut runs: Vec<Run> = vec![];
        while i > 0 && j > 0 {
            if a[i - 1] == b[j - 1] {
                (i, j) = (i - 1, j - 1);
                match runs.last_mut() {
                    Some(run) if run.a.0 == i + 1 && run.b.0 == j + 1 => {
                        (run.a.0, run.b.0) = (i, j);
                    }
                    _ => runs.push(Run { a: (i, i), b: (j, j) }),
                }
            } else if self.get(i - 1, j) > self.get(i, j - 1) {
                i -= 1;
            } else {
                j -= 1;
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Tries every subsequence of `a`.
    fn longest(a: &[u8], b: &[u8]) -> u32 {
        let is_within = |mask: u32| {
            let mut rest = b.iter();
            (0..a.len()).filter(|at| mask >> at & 1 == 1).all(|at| rest.any(|byte| *byte == a[at]))
        };
        (0..1u32 << a.len()).filter(|mask| is_within(*mask)).map(u32::count_ones).max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn no_sequence_is_longer(
            a in proptest::collection::vec(0u8..3, 0..9),
            b in proptest::collection::vec(0u8..3, 0..9),
        ) {
            let table = Table::new(&a, &b);
            let total = table.get(a.len(), b.len());
            prop_assert_eq!(total, longest(&a, &b));
            let runs = table.runs(&a, &b);
            prop_assert_eq!(runs.iter().map(|run| run.len() as u32).sum::<u32>(), total);
            for run in runs {
                prop_assert_eq!(&a[run.a.0..=run.a.1], &b[run.b.0..=run.b.1]);
            }
        }
    }
}
