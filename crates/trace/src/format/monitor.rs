//! The output of `MONITOR` of Redis and Valkey.
//!
//! ```text
//! 1339518083.107412 [0 127.0.0.1:60866] "set" "x" "6"
//! 1339518096.506257 [0 127.0.0.1:60866] "get" "x"
//! ```
//!
//! Commands on keys are requests, one for each key that they name. All other commands are skipped,
//! and so are lines of the client (`OK`). The database is the tenant. MONITOR reports neither hits
//! nor sizes. So a value has the size of its last write in the trace, else the size of
//! `--value-size`, else one byte. A command that changes part of a value (APPEND, HSET, LPUSH, …)
//! is a write with the size of its arguments.

use super::FormatSpec;
use crate::ReadOptions;
use crate::command::{KeyArgs, Life, Meaning, find};
use crate::error::excerpt;
use crate::lines::whole_number;
use crate::tenants::tenant;
use crate::text::{self, Batch, LineFormat, LineRequest, scaled, unquote};
use base::{Micros, Op, TenantId, hash};
use std::collections::HashMap;
use std::ops::Range;

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "monitor",
    about: "seconds [db address] \"command\" \"key\" … (MONITOR of Redis and Valkey)",
    units: "Unix times in seconds, times to live as in each command",
    extensions: &["monitor", "monitor.log"],
    recognises: |head| head.split(|byte| *byte == b'\n').take(2).any(|line| prefix(line).is_some()),
    open: |reader, options| Ok(text::open(reader, options, MonitorLines::new(options))),
    create: None,
    looks_ahead: false,
    loses: &[],
};

struct MonitorLines {
    unknown_size: u64,
    /// Size of the last write, by the hash of the key and its database.
    sizes: HashMap<u64, u64>,
    text: Vec<u8>,
    args: Vec<Range<usize>>,
}

impl MonitorLines {
    fn new(options: &ReadOptions) -> Self {
        let unknown_size = options.unknown_size();
        Self { unknown_size, sizes: HashMap::new(), text: vec![], args: vec![] }
    }

    /// Splits the quoted arguments.
    fn split(&mut self, mut rest: &[u8]) -> Option<()> {
        self.text.clear();
        self.args.clear();
        while !rest.is_empty() {
            let start = self.text.len();
            unquote(&mut rest, &mut self.text)?;
            self.args.push(start..self.text.len());
            rest = rest.strip_prefix(b" ").unwrap_or(rest);
        }
        (!self.args.is_empty()).then_some(())
    }

    fn arg(&self, at: usize) -> Option<&[u8]> {
        self.args.get(at).map(|range| &self.text[range.clone()])
    }

    /// Bytes of the arguments from `from` up to, but without, `to`.
    fn bytes(&self, from: usize, to: usize) -> u64 {
        let args = self.args.get(from..to.min(self.args.len())).unwrap_or_default();
        let bytes: usize = args.iter().map(Range::len).sum();
        bytes as u64
    }

    fn life(&self, life: Life, now_us: u64) -> Micros {
        let number = |at: usize| self.arg(at).and_then(whole_number).unwrap_or(0);
        let us = match life {
            Life::None => 0,
            Life::Second(unit) => number(2).saturating_mul(unit),
            Life::Options => {
                let word = |at: usize| self.arg(at).unwrap_or_default().to_ascii_lowercase();
                (3..self.args.len())
                    .find_map(|at| match &*word(at) {
                        b"ex" => Some(number(at + 1).saturating_mul(1_000_000)),
                        b"px" => Some(number(at + 1).saturating_mul(1_000)),
                        b"exat" => {
                            Some(number(at + 1).saturating_mul(1_000_000).saturating_sub(now_us))
                        }
                        b"pxat" => {
                            Some(number(at + 1).saturating_mul(1_000).saturating_sub(now_us))
                        }
                        _ => None,
                    })
                    .unwrap_or(0)
            }
        };
        Micros(us)
    }

    /// The indexes of the arguments that are keys, each with the bytes of its value.
    fn keys(&self, meaning: &Meaning) -> Vec<(usize, u64)> {
        let all = self.args.len();
        // The value of SET ends where its options begin.
        let value_to = if meaning.life == Life::Options { 3 } else { all };
        match meaning.keys {
            KeyArgs::First => vec![(1, self.bytes(meaning.value_from.max(1), value_to))],
            KeyArgs::All => (1..all).map(|at| (at, 0)).collect(),
            KeyArgs::Pairs => {
                (1..all).step_by(2).map(|at| (at, self.bytes(at + 1, at + 2))).collect()
            }
            KeyArgs::Numbered => {
                let keys = self.arg(1).and_then(whole_number).unwrap_or(0);
                let keys = usize::try_from(keys).unwrap_or(usize::MAX);
                (2..all.min(keys.saturating_add(2))).map(|at| (at, 0)).collect()
            }
        }
    }
}

impl LineFormat for MonitorLines {
    fn read(&mut self, _: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        if line.is_empty() || line == b"OK" || line == b"+OK" {
            return Ok(());
        }
        let wrong = || format!("expected {}, and found '{}'", SPEC.about, excerpt(line));
        let (micros, database, rest) = prefix(line).ok_or_else(wrong)?;
        self.split(rest).ok_or_else(wrong)?;
        let Some(meaning) = self.arg(0).and_then(find) else { return Ok(()) };
        let ttl = self.life(meaning.life, micros);
        for (at, bytes) in self.keys(&meaning) {
            let Some(key) = self.args.get(at).map(|range| &self.text[range.clone()]) else {
                continue;
            };
            let known = hash::bytes(u64::from(database), key);
            let value_size = match meaning.op {
                Op::Set => {
                    self.sizes.insert(known, bytes);
                    bytes
                }
                Op::Get => self.sizes.get(&known).copied().unwrap_or(self.unknown_size),
                Op::Delete => self.sizes.remove(&known).unwrap_or(self.unknown_size),
            };
            let request = LineRequest {
                op: meaning.op,
                tenant: database,
                ttl,
                ..LineRequest::get(micros, value_size)
            };
            batch.push(key, request);
        }
        Ok(())
    }
}

/// Time, database and arguments of a line. Scripts have no address and no database.
fn prefix(line: &[u8]) -> Option<(u64, TenantId, &[u8])> {
    let line = line.strip_prefix(b"+").unwrap_or(line).trim_ascii_end();
    let blank = memchr::memchr(b' ', line)?;
    let micros = scaled(&line[..blank], 1_000_000)?;
    let rest = line[blank..].strip_prefix(b" [")?;
    let close = memchr::memmem::find(rest, b"] \"")?;
    let database = rest[..close].split(|byte| *byte == b' ').next().and_then(whole_number)?;
    Some((micros, tenant(database), &rest[close + 2..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn commands_become_requests_for_their_keys() {
        let text = concat!(
            "OK\n",
            "100.000000 [0 127.0.0.1:60866] \"keys\" \"*\"\n",
            "100.000010 [0 127.0.0.1:60866] \"SET\" \"x\\x00\" \"sixsix\" \"EX\" \"60\"\n",
            "+100.000020 [3 [::1]:60866] \"mget\" \"a\" \"b\"\n",
            "100.000030 [0 lua] \"get\" \"x\\x00\"\n",
            "100.000040 [0 unix:/tmp/s] \"mset\" \"p\" \"12\" \"q\" \"1234\"\n",
            "100.000050 [0 127.0.0.1:60866] \"unlink\" \"p\"\n",
        );
        let options = ReadOptions { value_size: Some(9), ..ReadOptions::default() };
        let mut source = (SPEC.open)(Box::new(Cursor::new(text)), &options).unwrap();
        let mut found = vec![];
        while let Some(access) = source.next() {
            let a = access.unwrap();
            found.push((a.time.0, a.tenant, a.op, source.key().to_vec(), a.value_size, a.ttl.0));
        }
        let expected = [
            (0, 0, Op::Set, b"x\0".to_vec(), 6, 60_000_000),
            (10, 3, Op::Get, b"a".to_vec(), 9, 0),
            (10, 3, Op::Get, b"b".to_vec(), 9, 0),
            (20, 0, Op::Get, b"x\0".to_vec(), 6, 0),
            (30, 0, Op::Set, b"p".to_vec(), 2, 0),
            (30, 0, Op::Set, b"q".to_vec(), 4, 0),
            (40, 0, Op::Delete, b"p".to_vec(), 2, 0),
        ];
        assert_eq!(found, expected);
    }
}
