//! One burst of watching a memcached: its lines, as samples.
//!
//! Watching costs the server a third of its CPU time, so it is watched for a while and then left
//! alone. The server sends every request; this module drops the lines whose key is not sampled. A
//! watcher that is too slow gets fewer lines. A model of a stream with holes would see reuses that
//! are too far apart, so a burst with too many holes is worth nothing.

use super::plant::Heard;
use crate::capture_command::memcached;
use anyhow::{Context, bail};
use base::{Filter, Micros, Sample, Sighting, hash};
use load::{Address, Bounds};
use std::collections::{HashMap, HashSet};
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use trace::capture::{Deed, Event, Parser, Watch};

/// Maximum share of the lines that may be missing from a burst.
pub(super) const DROPS_MAX: f64 = 0.01;
/// Bytes read at a time, and the longest wait for them.
const CHUNK: usize = 1 << 18;
const LOOK: Duration = Duration::from_millis(20);
/// Maximum number of samples kept of a burst.
const SAMPLES_MAX: usize = 1 << 20;
/// Maximum number of misses that wait for their fill.
const OPEN_MAX: usize = 1 << 16;

/// A burst under way.
#[derive(Debug)]
pub(super) struct Burst {
    stream: TcpStream,
    parser: Watch,
    ends: Instant,
    buffer: Vec<u8>,
    listener: Listener,
}

/// Turns watched requests into samples.
#[derive(Debug)]
struct Listener {
    filter: Filter,
    /// Bytes that an item takes of its page, by class.
    shares: HashMap<u8, u32>,
    /// Start of the burst on the plant's clock, and its length.
    begun: Micros,
    length: Micros,
    /// Time of the first line on the server's clock.
    first_us: Option<u64>,
    open: HashSet<u64>,
    heard: Heard,
}

impl Burst {
    /// Begins to watch.
    ///
    /// # Errors
    /// The server refuses to be watched.
    pub(super) fn begin(
        to: &Address,
        filter: Filter,
        shares: HashMap<u8, u32>,
        begun: Micros,
        length: Micros,
    ) -> anyhow::Result<Self> {
        let (stream, arrived, _) = memcached::open(to, Bounds::STRANGER)?;
        stream.set_read_timeout(Some(LOOK)).context("could not set the read timeout")?;
        let heard = Heard::default();
        let listener =
            Listener { filter, shares, begun, length, first_us: None, open: HashSet::new(), heard };
        let ends = Instant::now() + Duration::from_micros(length.0);
        let mut burst =
            Self { stream, parser: Watch::default(), ends, buffer: vec![0; CHUNK], listener };
        let Self { parser, listener, .. } = &mut burst;
        parser.feed(&arrived, &mut |event| listener.see(event));
        Ok(burst)
    }

    /// Reads the bytes that have arrived. Returns whether the burst is over.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) fn listen(&mut self) -> anyhow::Result<bool> {
        let Self { stream, parser, buffer, listener, .. } = self;
        match stream.read(buffer) {
            Ok(0) => bail!("the server closed the connection"),
            Ok(got) => parser.feed(&buffer[..got], &mut |event| listener.see(event)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                _ => bail!("the connection was lost ({error})"),
            },
        }
        Ok(Instant::now() >= self.ends)
    }

    /// Ends the burst and returns its samples and counts.
    pub(super) fn end(mut self) -> Heard {
        let Self { parser, listener, .. } = &mut self;
        parser.end(&mut |event| listener.see(event));
        self.listener.heard.skipped = self.parser.lost();
        self.listener.heard
    }
}

impl Listener {
    fn see(&mut self, event: &Event<'_>) {
        self.heard.lines += 1;
        let key = hash::bytes(0, event.key);
        let sighting = match (event.deed, event.found) {
            (Deed::Read, Some(true)) => Sighting::Hit,
            (Deed::Read, _) => Sighting::Miss,
            (Deed::Delete, _) => Sighting::Delete,
            (Deed::Write | Deed::Change, _) => Sighting::Write,
            (Deed::Expire, _) => return,
        };
        match sighting {
            Sighting::Miss if self.open.len() < OPEN_MAX => _ = self.open.insert(key),
            Sighting::Write if self.open.remove(&key) => {
                *self.heard.filled.entry(event.class.unwrap_or(0)).or_default() += 1;
            }
            _ => {}
        }
        if !self.filter.keeps(key) || self.heard.samples.len() >= SAMPLES_MAX {
            return;
        }
        let size = event.class.and_then(|class| self.shares.get(&class)).copied();
        let size = match sighting {
            Sighting::Hit | Sighting::Write => match size {
                Some(size) => size,
                // The class is new since the burst began: the next burst knows it.
                None => return,
            },
            Sighting::Miss | Sighting::Delete => 0,
        };
        let first = *self.first_us.get_or_insert(event.time_us);
        let since = Micros(event.time_us.saturating_sub(first)).min(self.length);
        let (time, ttl) = (self.begun + since, event.ttl.unwrap_or(Micros(0)));
        let penalty = Micros(0);
        self.heard.samples.push(Sample { time, key, tenant: 0, sighting, size, ttl, penalty });
    }
}

/// Whether a burst misses too many lines to be worth anything.
pub(super) fn has_holes(lines: u64, dropped: u64) -> bool {
    dropped as f64 > DROPS_MAX * (lines + dropped) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A miss, its fill with one more look for the key, a hit and a removal become samples. A key
    /// that is not sampled leaves only the count of its fill.
    #[test]
    fn lines_become_samples() {
        let heard = |filter| {
            let shares = HashMap::from([(3, 152)]);
            let (begun, length) = (Micros(1_000), Micros(50));
            let (open, heard) = (HashSet::new(), Heard::default());
            let mut listener =
                Listener { filter, shares, begun, length, first_us: None, open, heard };
            let text = "ts=10.7 gid=1 type=item_get key=a status=not_found clsid=0 cfd=1 size=0\n\
                ts=10.9 gid=2 type=item_get key=a status=not_found clsid=0 cfd=1 size=0\n\
                ts=10.9 gid=3 type=item_store key=a status=stored cmd=set ttl=0 clsid=3 cfd=1 \
                size=90\n\
                ts=10.20 gid=4 type=item_get key=a status=found clsid=3 cfd=1 size=90\n\
                ts=10.99 gid=5 type=deleted key=a cmd=delete clsid=3 cfd=1 size=90\n";
            let mut parser = Watch::default();
            parser.feed(text.as_bytes(), &mut |event| listener.see(event));
            parser.end(&mut |event| listener.see(event));
            listener.heard
        };
        let all = heard(Filter::ALL);
        let seen: Vec<_> =
            all.samples.iter().map(|s| (s.time.0 - 1_000, s.sighting, s.size)).collect();
        let expected = [
            (0, Sighting::Miss, 0),
            (2, Sighting::Write, 152),
            (13, Sighting::Hit, 152),
            (50, Sighting::Delete, 0),
        ];
        assert_eq!(seen, expected);
        assert_eq!((all.lines, all.filled[&3]), (4, 1));
        let none = heard(Filter::NONE);
        assert!(none.samples.is_empty() && none.filled[&3] == 1);
    }

    #[test]
    fn one_line_in_a_hundred_may_be_missing() {
        assert!(!has_holes(0, 0) && !has_holes(9_900, 100));
        assert!(has_holes(9_900, 101) && has_holes(0, 1));
    }
}
