//! `MONITOR TRACE` of Larder, with hits, sizes, tenants, times to live and penalties.
//!
//! A server without penalties omits the last columns.

use super::line::PartialLine;
use super::{Deed, Event, Parser};
use crate::format::monitor_trace::{self, TraceLine};
use base::{Micros, Op};

/// Reads the lines of a trace as they arrive.
#[derive(Debug, Default)]
pub struct TraceLines {
    line: PartialLine,
    key: Vec<u8>,
    malformed: u64,
}

impl Parser for TraceLines {
    fn feed(&mut self, bytes: &[u8], see: &mut dyn FnMut(&Event<'_>)) {
        let Self { line, key, malformed } = self;
        line.feed(bytes, |line| {
            let line = line.strip_prefix(b"+").unwrap_or(line);
            if line.is_empty() || line == b"OK" || line.starts_with(b"ts_us,") {
                return;
            }
            match monitor_trace::parse(line, key) {
                Ok(told) => see(&event(&told, key)),
                Err(_) => *malformed += 1,
            }
        });
    }

    fn malformed(&self) -> u64 {
        self.malformed + self.line.too_long
    }
}

fn event<'a>(told: &TraceLine<'a>, key: &'a [u8]) -> Event<'a> {
    let request = &told.request;
    let deed = match request.op {
        Op::Get => Deed::Read,
        Op::Delete => Deed::Delete,
        Op::Set if told.sets_life => Deed::Expire,
        Op::Set => Deed::Write,
    };
    let known = match deed {
        Deed::Read => told.hit,
        _ => deed == Deed::Write,
    };
    Event {
        db: told.db,
        size: known.then_some(request.value_size),
        found: (deed == Deed::Read).then_some(told.hit),
        ttl: match deed {
            Deed::Write | Deed::Expire => told.ttl,
            // The remaining time is not the time to live at the write.
            _ => None,
        },
        tenant: told.tenant,
        penalty: Micros(request.penalty.0),
        ..Event::new(request.micros, key, deed)
    }
}
