//! The output of memcached's `watch fetchers mutations deletions evictions`.
//!
//! ```text
//! ts=1786477627.620824 gid=4 type=item_get key=foo%3Abar status=found clsid=1 cfd=28 size=5
//! ts=1786477627.620830 gid=5 type=item_store key=foo%3Abar status=stored cmd=set ttl=0 ... size=5
//! ```
//!
//! Fetches are reads, stores that succeed are writes, deletions are removals; evictions and
//! connections are no requests. A store looks its item up first, and logs the look-up as a fetch of
//! its own. So a fetch is dropped if the next line is a store of the same key by the same
//! connection. Keys are decoded from their URL form.
//!
//! memcached drops lines if a watcher is too slow. The lines are numbered (`gid`), so numbers
//! missing between the lowest and the highest count as lost.

use super::FormatSpec;
use crate::error::excerpt;
use crate::lines::whole_number;
use crate::text::{self, Batch, LineFormat, LineRequest, hex_pair, size};
use base::{Micros, Op};

/// The registry entry.
pub const SPEC: FormatSpec = FormatSpec {
    name: "memcached-watch",
    about: "ts=… gid=… type=item_get|item_store|deleted key=… (memcached's watch)",
    units: "Unix times in seconds, times to live in seconds",
    extensions: &["watch", "watch.log"],
    recognises: |head| {
        let mut lines = head.split(|byte| *byte == b'\n');
        lines.any(|line| line.starts_with(b"ts=") && line.windows(5).any(|part| part == b" gid="))
    },
    open: |reader, options| {
        Ok(text::open(
            reader,
            options,
            WatchLines { size: options.value_size, ..WatchLines::default() },
        ))
    },
    create: None,
    looks_ahead: false,
    loses: &[],
};

#[derive(Default)]
struct WatchLines {
    size: Option<u64>,
    /// A fetch that may turn out to be part of a store: its key, its connection, the request.
    held: Option<(Vec<u8>, Vec<u8>, LineRequest)>,
    gids: Option<(u64, u64)>,
    lines: u64,
    /// Number of lines that memcached itself reports as skipped.
    told: u64,
}

/// The fields of a line, not yet decoded.
#[derive(Default)]
pub(crate) struct WatchFields<'a> {
    pub(crate) ts: &'a [u8],
    pub(crate) gid: &'a [u8],
    pub(crate) kind: &'a [u8],
    pub(crate) key: &'a [u8],
    pub(crate) status: &'a [u8],
    pub(crate) cmd: &'a [u8],
    pub(crate) ttl: &'a [u8],
    pub(crate) cfd: &'a [u8],
    pub(crate) size: &'a [u8],
    pub(crate) clsid: &'a [u8],
}

impl<'a> WatchFields<'a> {
    pub(crate) fn of(line: &'a [u8]) -> Self {
        let mut fields = Self::default();
        for field in line.split(|byte| *byte == b' ') {
            let Some(at) = memchr::memchr(b'=', field) else { continue };
            let (name, value) = (&field[..at], &field[at + 1..]);
            match name {
                b"ts" => fields.ts = value,
                b"gid" => fields.gid = value,
                b"type" => fields.kind = value,
                b"key" => fields.key = value,
                b"status" => fields.status = value,
                b"cmd" => fields.cmd = value,
                b"ttl" => fields.ttl = value,
                b"cfd" => fields.cfd = value,
                b"size" => fields.size = value,
                b"clsid" => fields.clsid = value,
                _ => {}
            }
        }
        fields
    }
}

impl LineFormat for WatchLines {
    fn read(&mut self, _: u64, line: &[u8], batch: &mut Batch) -> Result<(), String> {
        let line = line.trim_ascii();
        if line.is_empty() || line == b"OK" {
            return Ok(());
        }
        if let Some(skipped) = line.strip_prefix(b"skipped=") {
            self.told = self.told.saturating_add(whole_number(skipped).unwrap_or(0));
            return Ok(());
        }
        let fields = WatchFields::of(line);
        let problem = |what: &str| format!("{what} is missing or wrong in '{}'", excerpt(line));
        let micros = micros(fields.ts).ok_or_else(|| problem("ts"))?;
        let gid = whole_number(fields.gid).ok_or_else(|| problem("gid"))?;
        if fields.kind.is_empty() {
            return Err(problem("type"));
        }
        self.count(gid);
        let op = match fields.kind {
            b"item_get" => Op::Get,
            b"item_store" => Op::Set,
            b"deleted" => Op::Delete,
            _ => return Ok(()),
        };
        let mut key = vec![];
        decode(fields.key, &mut key).ok_or_else(|| problem("key"))?;
        if key.is_empty() {
            return Err(problem("key"));
        }
        let held = self.held.take();
        match held {
            Some((text, cfd, _)) if op == Op::Set && text == key && cfd == fields.cfd => {}
            Some((text, _, request)) => batch.push(&text, request),
            None => {}
        }
        if op == Op::Set && fields.status != b"stored" {
            return Ok(());
        }
        let value_size = size(fields.size).or(self.size).unwrap_or(0);
        let ttl = life(whole_number(fields.ttl).unwrap_or(0), micros);
        let request = LineRequest { op, ttl, ..LineRequest::get(micros, value_size) };
        if op == Op::Get {
            self.held = Some((key, fields.cfd.to_vec(), request));
        } else {
            batch.push(&key, request);
        }
        Ok(())
    }

    fn end(&mut self, batch: &mut Batch) {
        if let Some((key, _, request)) = self.held.take() {
            batch.push(&key, request);
        }
    }

    fn lost(&self) -> u64 {
        let (low, high) = self.gids.unwrap_or((1, 0));
        let span = high.saturating_sub(low).saturating_add(u64::from(self.gids.is_some()));
        span.saturating_sub(self.lines).max(self.told)
    }
}

impl WatchLines {
    fn count(&mut self, gid: u64) {
        self.lines += 1;
        let (low, high) = self.gids.unwrap_or((gid, gid));
        self.gids = Some((low.min(gid), high.max(gid)));
    }
}

/// The time of a line: seconds, and after the point microseconds, which memcached writes without
/// leading zeros.
pub(crate) fn micros(ts: &[u8]) -> Option<u64> {
    let point = memchr::memchr(b'.', ts)?;
    let (seconds, micros) = (whole_number(&ts[..point])?, whole_number(&ts[point + 1..])?);
    (micros < 1_000_000).then_some(())?;
    seconds.checked_mul(1_000_000)?.checked_add(micros)
}

/// A time to live in seconds. More than thirty days is a date, as in memcached's protocol.
pub(crate) fn life(ttl: u64, now_us: u64) -> Micros {
    let now = now_us / 1_000_000;
    let ttl = if ttl > 30 * 86_400 { ttl.saturating_sub(now).max(1) } else { ttl };
    Micros(ttl.saturating_mul(1_000_000))
}

/// Decodes the URL form of a key.
pub(crate) fn decode(text: &[u8], to: &mut Vec<u8>) -> Option<()> {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'%', rest) {
        to.extend_from_slice(&rest[..at]);
        to.push(hex_pair(&rest[at + 1..])?);
        rest = &rest[at + 3..];
    }
    to.extend_from_slice(rest);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadOptions;
    use std::io::Cursor;

    /// memcached 1.6.18 wrote `ts=1795704652.18147` a twentieth of a second after
    /// `ts=1795704651.963893`.
    #[test]
    fn microseconds_have_no_leading_zeros() {
        assert_eq!(micros(b"1795704652.18147"), Some(1_795_704_652_018_147));
        assert_eq!(micros(b"1786477627.620824"), Some(1_786_477_627_620_824));
        for wrong in [&b"1"[..], b"1.", b".5", b"1.1000000", b"1.2.3", b"18446744073709551615.1"] {
            assert_eq!(micros(wrong), None);
        }
    }

    /// A cache-aside client's miss and set are three lines and two requests. A gap in the numbers
    /// counts as lost, and an eviction is no request.
    #[test]
    fn a_store_swallows_its_own_fetch_and_gaps_are_loss() {
        let text = "OK\r\n\
            ts=10.000001 gid=5 type=item_get key=a%2Cb status=not_found clsid=0 cfd=30 size=0\n\
            ts=10.000002 gid=6 type=item_get key=a%2Cb status=not_found clsid=0 cfd=30 size=0\n\
            ts=10.000003 gid=7 type=item_store key=a%2Cb status=stored cmd=set ttl=60 clsid=1 \
            cfd=30 size=7\n\
            ts=10.000004 gid=8 type=eviction key=z fetch=yes ttl=-1 la=5 clsid=1 size=9\n\
            ts=10.000009 gid=12 type=item_get key=c status=found clsid=1 cfd=31 size=3\n";
        let reader = Box::new(Cursor::new(text.to_owned()));
        let mut source = (SPEC.open)(reader, &ReadOptions::default()).unwrap();
        let mut found = vec![];
        while let Some(access) = source.next() {
            let access = access.unwrap();
            let key = String::from_utf8(source.key().to_vec()).unwrap();
            found.push((access.time.0, access.op, key, access.value_size, access.ttl.0));
        }
        let expected = [
            (0, Op::Get, "a,b".to_owned(), 0, 0),
            (2, Op::Set, "a,b".to_owned(), 7, 60_000_000),
            (8, Op::Get, "c".to_owned(), 3, 0),
        ];
        assert_eq!(found, expected);
        assert_eq!(source.lost(), 3);
    }
}
