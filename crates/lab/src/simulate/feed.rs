//! A trace, with the facts that need a reading of the whole.

use super::annotator::Annotator;
use super::chunk::Chunk;
use super::spool::Spool;
use crate::compressed::CompressArgs;
use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use base::hash::KeyMap;
use base::{TenantId, Tick};
use load::open::{Options, open_with_part, tenant_names};
use std::collections::BTreeMap;

/// Requests handed on at a time: 128 KiB, which fit the cache of a core.
const CHUNK: usize = 1 << 11;

/// Facts about a trace that has been read.
#[derive(Clone, Debug)]
pub(super) struct Whole {
    /// Requests of any kind.
    pub(super) requests: u64,
    /// Sum over all keys of the largest size of each.
    pub(super) footprint: u64,
    /// Number of distinct keys.
    pub(super) keys: u64,
    /// Whether keys, footprint and causes of misses are estimates from a sample of the keys.
    pub(super) is_estimate: bool,
    /// Requests that are known to be missing from the trace.
    pub(super) lost: u64,
    pub(super) has_penalties: bool,
    /// Names of the tenants, where the trace has names.
    pub(super) tenant_names: BTreeMap<TenantId, String>,
}

/// Reads a trace in annotated chunks to its end. `each` takes a chunk and returns one to be filled.
/// The next request to a key is left out, even where the trace states it. The footprint is that of
/// plain values.
pub(super) fn read(
    name: &str,
    options: &Options,
    compress: CompressArgs,
    mut each: impl FnMut(Chunk) -> Result<Chunk>,
) -> Result<Whole> {
    let (mut source, part) = open_with_part(name, options)?;
    let bar = Progress::reading(&format!("reading {name}"), options.limit, part);
    let mut annotator = Annotator::default();
    let mut compressor = compress.compressor(options);
    let (mut chunk, mut requests, mut has_penalties) = (Chunk::default(), 0, false);
    let mut over = false;
    while !over {
        chunk.accesses.clear();
        chunk.causes.clear();
        source.read(&mut chunk.accesses, CHUNK).with_context(|| format!("trace '{name}'"))?;
        over = chunk.accesses.len() < CHUNK;
        for access in &mut chunk.accesses {
            access.next = Tick::NEVER;
            has_penalties |= access.penalty.0 > 0;
        }
        annotator.see_all(&chunk.accesses, &mut chunk.causes);
        compressor.compress(&mut chunk.accesses);
        requests += chunk.accesses.len() as u64;
        bar.add(chunk.accesses.len() as u64);
        chunk = each(chunk)?;
    }
    drop(bar);
    if requests == 0 {
        bail!("trace '{name}' has no requests");
    }
    compressor.warn(name);
    Ok(Whole {
        requests,
        footprint: annotator.footprint(),
        keys: annotator.keys(),
        is_estimate: annotator.is_estimate(),
        lost: source.lost(),
        has_penalties,
        tenant_names: tenant_names(&*source),
    })
}

/// A trace, ready to be played any number of times.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) whole: Whole,
    spool: Spool,
}

impl Feed {
    /// Reads the whole trace. With `foresight`, each access knows when its key is requested next.
    pub(super) fn read(
        name: &str,
        options: &Options,
        compress: CompressArgs,
        foresight: bool,
    ) -> Result<Self> {
        let mut spool = Spool::default();
        let whole = read(name, options, compress, |chunk| spool.push(&chunk).map(|()| chunk))?;
        let mut feed = Self { whole, spool };
        if foresight {
            feed.look_ahead()?;
        }
        Ok(feed)
    }

    /// Sets [`Access::next`] of every access, in ticks of a cache that counts requests from 1.
    fn look_ahead(&mut self) -> Result<()> {
        let mut next: KeyMap<u64> = KeyMap::default();
        let mut tick = self.whole.requests;
        let (mut ahead, mut buffer, mut chunk) = (Spool::default(), vec![], Chunk::default());
        for at in (0..self.spool.len()).rev() {
            self.spool.read(at, &mut buffer, &mut chunk)?;
            for access in chunk.accesses.iter_mut().rev() {
                access.next = next.insert(access.key, tick).map_or(Tick::NEVER, Tick);
                tick -= 1;
            }
            ahead.push(&chunk)?;
        }
        ahead.reverse();
        self.spool = ahead;
        Ok(())
    }

    /// Hands on the trace, a chunk at a time.
    pub(super) fn play(&self, mut each: impl FnMut(&Chunk)) -> Result<()> {
        let (mut buffer, mut chunk) = (vec![], Chunk::default());
        for at in 0..self.spool.len() {
            self.spool.read(at, &mut buffer, &mut chunk)?;
            each(&chunk);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foresight_knows_the_next_request_of_a_key() {
        let trace = "synth:zipf:keys=500:requests=20000:skew=0.8";
        let feed = Feed::read(trace, &Options::default(), CompressArgs::default(), true).unwrap();
        let mut all = vec![];
        feed.play(|chunk| all.extend_from_slice(&chunk.accesses)).unwrap();
        assert_eq!(all.len(), 20_000);
        for (tick, access) in (1..).zip(&all) {
            let next = (tick..).zip(&all[tick as usize..]).find(|(_, next)| next.key == access.key);
            assert_eq!(access.next, next.map_or(Tick::NEVER, |(before, _)| Tick(before + 1)));
        }
    }
}
