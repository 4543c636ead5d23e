//! A trace with what only a look at the whole of it tells.

use crate::open::{Options, open, tenant_names};
use anyhow::{Context, Result, bail};
use base::hash::KeyMap;
use base::{Access, Micros, Op, Size, TenantId, Tick};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::sync::Arc;
use trace::Source;

/// Requests handed on at a time: half a mebibyte, which the cache keeps until all is known of it.
pub(super) const CHUNK: usize = 1 << 13;
/// Requests whose keys are looked up together: what is known of them fits the nearest cache.
const AT_ONCE: usize = 64;
/// Requests held in memory, at most: 64 bytes each, so 3 GiB.
const HELD_MAX: usize = 48 << 20;

/// Why a read misses, if it does: what an unbounded cache would have answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The first read of a key that was never written.
    First,
    /// Its time to live was over.
    Expired,
    /// It was removed by a request.
    Deleted,
    /// An unbounded cache holds it: more memory would help, or admission turned it away.
    Evicted,
}

/// Some requests in their order, each with its cause.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) accesses: Vec<Access>,
    pub(super) causes: Vec<Cause>,
}

impl Chunk {
    fn of(requests: usize) -> Self {
        Self { accesses: Vec::with_capacity(requests), causes: Vec::with_capacity(requests) }
    }
}

/// What is known of a key.
#[derive(Clone, Copy, Debug)]
struct Known {
    size: Size,
    alive: bool,
    expires: Micros,
}

const FOREVER: Micros = Micros(u64::MAX);

/// An unbounded cache that tells why a read would miss, and adds up the footprint.
#[derive(Debug, Default)]
pub(super) struct Annotator {
    known: KeyMap<Known>,
    footprint: u64,
}

impl Annotator {
    /// The causes of some requests in their order.
    fn see_all(&mut self, accesses: &[Access], causes: &mut Vec<Cause>) {
        for part in accesses.chunks(AT_ONCE) {
            // Most of the time goes to waiting for memory. These look-ups do not depend on each
            // other, so the processor waits for several at once, and finds all of them below.
            let size =
                |access: &Access| self.known.get(&access.key).map_or(0, |known| known.size.get());
            std::hint::black_box(part.iter().map(size).fold(0, u64::wrapping_add));
            causes.extend(part.iter().map(|access| self.see(access)));
        }
    }

    pub(super) fn see(&mut self, access: &Access) -> Cause {
        let expires = match access.ttl {
            Micros(0) => FOREVER,
            Micros(ttl) => Micros(access.time.0.saturating_add(ttl)),
        };
        let Some(known) = self.known.get_mut(&access.key) else {
            if access.op != Op::Delete {
                self.footprint += u64::from(access.size);
                let known = Known { size: access.size, alive: true, expires };
                self.known.insert(access.key, known);
            }
            return Cause::First;
        };
        if access.op == Op::Delete {
            known.alive = false;
            return Cause::Deleted;
        }
        let cause = match known {
            Known { alive: false, .. } => Cause::Deleted,
            Known { expires, .. } if *expires <= access.time => Cause::Expired,
            _ => Cause::Evicted,
        };
        if access.op == Op::Set || cause != Cause::Evicted {
            known.alive = true;
            known.expires = expires;
        }
        if access.size > known.size {
            self.footprint += access.size.get() - known.size.get();
            known.size = access.size;
        }
        cause
    }
}

/// A trace, ready to be played any number of times.
#[derive(Debug)]
pub(super) struct Feed {
    name: String,
    options: Options,
    /// None where the trace was too long to hold.
    held: Option<Vec<Arc<Chunk>>>,
    requests: u64,
    footprint: u64,
    keys: u64,
    lost: u64,
    has_penalties: bool,
    /// The words for tenants, where the trace has words.
    tenant_names: BTreeMap<TenantId, String>,
}

impl Feed {
    /// Reads the whole trace; with `foresight` each access is told when its key comes next.
    pub(super) fn read(name: &str, options: &Options, foresight: bool) -> Result<Self> {
        let bar = progress(&format!("reading {name}"), options.limit);
        let mut feed = Self {
            name: name.to_owned(),
            options: options.clone(),
            held: Some(vec![]),
            requests: 0,
            footprint: 0,
            keys: 0,
            lost: 0,
            has_penalties: false,
            tenant_names: BTreeMap::new(),
        };
        let (annotator, source) = chunks(name, options, |chunk| {
            let len = chunk.accesses.len();
            bar.inc(len as u64);
            feed.requests += len as u64;
            feed.has_penalties |= chunk.accesses.iter().any(|access| access.penalty.0 > 0);
            if feed.requests as usize > HELD_MAX {
                feed.held = None;
            }
            if let Some(held) = &mut feed.held {
                held.push(Arc::new(chunk));
            }
            Ok(())
        })?;
        bar.finish_and_clear();
        feed.footprint = annotator.footprint;
        feed.keys = annotator.known.len() as u64;
        (feed.lost, feed.tenant_names) = (source.lost(), tenant_names(&*source));
        if feed.requests == 0 {
            bail!("trace '{name}' holds no request");
        }
        if foresight {
            feed.look_ahead()?;
        }
        Ok(feed)
    }

    /// Sets [`Access::next`] of every access, in ticks of a cache that counts requests from 1.
    fn look_ahead(&mut self) -> Result<()> {
        let Some(held) = &mut self.held else {
            bail!(
                "trace '{}' is too long to know its future: with belady, name a --limit of at most \
                 {HELD_MAX} requests",
                self.name
            );
        };
        let mut next: KeyMap<u64> = KeyMap::default();
        let mut tick = self.requests;
        for chunk in held.iter_mut().rev() {
            let chunk = Arc::get_mut(chunk).context("a chunk is in use while it is read")?;
            for access in chunk.accesses.iter_mut().rev() {
                access.next = next.insert(access.key, tick).map_or(Tick::NEVER, Tick);
                tick -= 1;
            }
        }
        Ok(())
    }

    /// The chunks, where the trace is held.
    pub(super) fn held(&self) -> Option<&[Arc<Chunk>]> {
        self.held.as_deref()
    }

    /// Reads the trace again, a chunk at a time.
    pub(super) fn again(&self, mut each: impl FnMut(Arc<Chunk>) -> Result<()>) -> Result<()> {
        chunks(&self.name, &self.options, |chunk| each(Arc::new(chunk))).map(|_| ())
    }

    pub(super) const fn requests(&self) -> u64 {
        self.requests
    }

    /// The sum over all keys of the largest size each had.
    pub(super) const fn footprint(&self) -> u64 {
        self.footprint
    }

    pub(super) const fn keys(&self) -> u64 {
        self.keys
    }

    pub(super) fn tenant_name(&self, tenant: TenantId) -> Option<&str> {
        self.tenant_names.get(&tenant).map(String::as_str)
    }

    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }

    pub(super) const fn has_penalties(&self) -> bool {
        self.has_penalties
    }
}

/// Reads a trace in annotated chunks, to its end.
fn chunks(
    name: &str,
    options: &Options,
    mut each: impl FnMut(Chunk) -> Result<()>,
) -> Result<(Annotator, Box<dyn Source>)> {
    let mut source = open(name, options)?;
    let mut annotator = Annotator::default();
    let mut over = false;
    while !over {
        let mut chunk = Chunk::of(CHUNK);
        while chunk.accesses.len() < CHUNK && !over {
            match source.next() {
                Some(access) => {
                    chunk.accesses.push(access.with_context(|| format!("trace '{name}'"))?);
                }
                None => over = true,
            }
        }
        annotator.see_all(&chunk.accesses, &mut chunk.causes);
        if !chunk.accesses.is_empty() {
            each(chunk)?;
        }
    }
    Ok((annotator, source))
}

/// A bar on standard error, hidden where that is not a terminal.
pub(super) fn progress(what: &str, requests: Option<u64>) -> ProgressBar {
    let bar = requests.map_or_else(ProgressBar::no_length, ProgressBar::new);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {human_pos} requests {eta}") {
        bar.set_style(style);
    }
    bar.with_message(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: u64, access: Access) -> Access {
        Access { time: Micros(time), ..access }
    }

    #[test]
    fn misses_are_told_apart() {
        let mut annotator = Annotator::default();
        let ttl = |access: Access| Access { ttl: Micros(10), ..access };
        let steps = [
            (at(0, ttl(Access::get(1, 5))), Cause::First),
            (at(5, Access::get(1, 5)), Cause::Evicted),
            (at(10, Access::get(1, 5)), Cause::Expired),
            (at(99, Access::get(1, 9)), Cause::Evicted),
            (at(100, Access::delete(1)), Cause::Deleted),
            (at(101, Access::get(1, 5)), Cause::Deleted),
            (at(102, Access::get(1, 5)), Cause::Evicted),
            (at(103, Access::set(2, 7)), Cause::First),
            (at(104, Access::get(2, 7)), Cause::Evicted),
        ];
        for (access, cause) in steps {
            assert_eq!(annotator.see(&access), cause, "{access:?}");
        }
        assert_eq!(annotator.footprint, 9 + 7, "each key at its largest");
    }
}
