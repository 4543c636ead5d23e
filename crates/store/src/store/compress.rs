//! Compression by price: which pages are looked at, and when.
//!
//! One thread calls [`Store::compress`] again and again. While there is free memory, a call does
//! nothing. Otherwise it walks through the pages of one shard after the other, and compresses the
//! items for which that is worth it ([`decision`](crate::compression::decision)). A walk that
//! compressed nothing rests until its shard has been used for a while. After each call the thread
//! decides which new values writes compress (`on_write.rs`).

use crate::bytes::config::{Compression, CompressionSettings};
use crate::compression::codec::{compress, decompress};
use crate::compression::counts::{Forms, OnWrite};
use crate::compression::decision::{Facts, is_much};
use crate::compression::form::dictionary_of;
use crate::compression::octaves::{State, octave};
use crate::room::compress::{Lot, Picked, Shrunk};
use crate::room::compression_state::{Known, Sampling, Walk, Worker};
use crate::room::offer::{Judge, Offer, Verdict};
use crate::sync::shim::lock;
use crate::tenant::tenant::TenantShard;
use crate::{Now, Store};
use base::TenantId;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Free memory that compression makes, as a part of the limit; and bounds of it: this many pages
/// for each shard, and another part.
const HEADROOM: u64 = 64;
const HEADROOM_PAGES: u64 = 2;
const HEADROOM_MOST: u64 = 16;

/// Most pages that a call looks at, if its clock stands still.
const LOTS_MAX: usize = 256;
/// Most values of one page that become samples, so that samples come from many pages.
const SAMPLES_OF_LOT: usize = 24;

/// The judge of one lot.
struct LotJudge<'a> {
    known: &'a [Known],
    sampling: &'a mut Option<Sampling>,
    weight: f64,
    sampled: usize,
    is_short: bool,
    at_max: &'a [bool],
}

impl Judge for LotJudge<'_> {
    fn wants(&self, tenant: TenantId) -> bool {
        self.is_short || self.at_max.get(usize::from(tenant)).copied().unwrap_or_default()
    }

    fn judge(&mut self, offer: &Offer<'_>) -> Option<Verdict> {
        let at = octave(offer.len)?;
        let known = self.known.get(usize::from(offer.tenant))?;
        let octave = &known.octaves[at];
        // What a compressed item saves is known, what a plain one would save is the octave's mean.
        let mean = (f64::from(octave.ratio) * offer.len as f64) as usize;
        let stored = if offer.is_compressed { offer.stored } else { mean };
        let saved = offer.charge(offer.len).saturating_sub(offer.charge(stored));
        let facts = octave.complete(offer.facts, offer.len, saved, self.weight);
        let is_retired = offer.is_compressed && known.retired.contains(&offer.dictionary);
        let (is_work, wants_sample) = match octave.state {
            State::Unknown => (false, !offer.is_compressed && facts.is_worth()),
            State::Dense(_) if is_retired => return Some(Verdict::Plain),
            State::Dense(_) => return None,
            State::Ready(_) => {
                (is_retired || !offer.is_compressed && facts.is_worth(), known.is_due(at))
            }
        };
        let is_sample = wants_sample && self.has_room_for_a_sample(offer.tenant);
        if is_work || is_sample {
            return Some(Verdict::Work { facts, is_sample });
        }
        (offer.is_compressed && facts.is_too_hot()).then_some(Verdict::Plain)
    }
}

impl LotJudge<'_> {
    /// Counts a sample of a tenant, unless another tenant is sampled or the page has given enough.
    fn has_room_for_a_sample(&mut self, tenant: TenantId) -> bool {
        let sampling = self.sampling.get_or_insert_with(|| Sampling::of(tenant));
        let is_it = sampling.tenant == tenant;
        self.sampled += usize::from(is_it);
        is_it && self.sampled <= SAMPLES_OF_LOT
    }
}

/// Forgets which octaves were dense, for tenants that have made many writes since.
fn try_again(known: &mut [Known], writes: impl Iterator<Item = u64>) {
    for (known, writes) in known.iter_mut().zip(writes) {
        for octave in &mut known.octaves {
            if matches!(octave.state, State::Dense(until) if writes >= until) {
                octave.forget();
            }
        }
    }
}

impl Store {
    /// Sets whether items are compressed, and how many seconds of waiting a second of processor
    /// time counts as. Compressed items stay so until they are written.
    pub fn set_compression(&self, settings: CompressionSettings) {
        *lock(&self.compression.settings) = settings;
        let mut worker = lock(&self.compression.worker);
        for (tenant, known) in worker.tenants.iter_mut().enumerate() {
            self.set_forms(tenant as TenantId, known, Forms::default());
        }
        let all = settings.mode == Compression::Always;
        for shard in &self.shards {
            let on_write = if all { OnWrite::All } else { OnWrite::Nothing };
            shard.write_drained().contents_mut().on_write = on_write;
        }
    }

    /// Whether [`Store::compress`] may have anything to do: items are compressed by price, or a
    /// dictionary waits for its last item to leave.
    pub fn may_compress(&self) -> bool {
        let worker = lock(&self.compression.worker);
        let mode = lock(&self.compression.settings).mode;
        mode == Compression::Auto || worker.tenants.iter().any(|known| !known.retired.is_empty())
    }

    /// Compresses items if memory is short and they are worth it, for about `nanos` nanoseconds. To
    /// be called again and again, by one thread. Returns whether there is, or soon will be, more to
    /// do.
    pub fn compress(&self, now: Now, nanos: u64) -> bool {
        let mut worker = lock(&self.compression.worker);
        let worker = &mut *worker;
        let CompressionSettings { mode, weight } = *lock(&self.compression.settings);
        self.free_retired(worker);
        if mode != Compression::Auto {
            return false;
        }
        // What writes saw is of the form that they still have.
        for (at, known) in worker.tenants.iter_mut().enumerate() {
            self.count_new(at as TenantId, known);
        }
        let has_more = self.walk_pages(worker, weight, now, nanos);
        self.choose_forms(worker, weight);
        has_more
    }

    /// Walks through pages for about `nanos` nanoseconds. Returns whether there is more to do, or
    /// soon will be.
    fn walk_pages(&self, worker: &mut Worker, weight: f64, now: Now, nanos: u64) -> bool {
        let (began, mut resting) = ((self.nanos)(), 0);
        for round in 0..LOTS_MAX {
            let (is_short, at_max) = self.needs(1);
            if !is_short && !at_max.contains(&true) {
                // What this call freed is soon used.
                return round > 0;
            }
            worker.tenants.resize(worker.tenants.len().max(at_max.len()), Known::default());
            worker.walks.resize(self.shards.len(), Walk::default());
            let at = worker.next % self.shards.len();
            if self.step(worker, at, (is_short, &at_max), weight, now) {
                resting = 0;
            } else {
                worker.next += 1;
                resting += 1;
            }
            if resting >= self.shards.len() {
                return false;
            }
            if (self.nanos)().saturating_sub(began) >= nanos {
                break;
            }
        }
        true
    }

    /// Whether free memory is shorter than this many times the wanted headroom, and by tenant
    /// whether its max leaves it less than that.
    pub(super) fn needs(&self, times: u64) -> (bool, Vec<bool>) {
        let memory = &self.budget.memory;
        let limit = memory.effective();
        let pages = HEADROOM_PAGES * self.budget.page() * self.shards.len() as u64;
        let headroom = times * (limit / HEADROOM).max(pages).min(limit / HEADROOM_MOST);
        let is_short = limit < u64::MAX && memory.used().saturating_add(headroom) > limit;
        let accounts = &lock(&self.admin).accounts;
        let is_at_max =
            |max: u64, used: u64| max < u64::MAX && used + times * (max / HEADROOM) > max;
        (is_short, accounts.iter().map(|of| is_at_max(of.max(), of.used())).collect())
    }

    /// Looks at one page of a shard. Returns false if its walk is over, or rests.
    fn step(
        &self,
        worker: &mut Worker,
        at: usize,
        (is_short, at_max): (bool, &[bool]),
        weight: f64,
        now: Now,
    ) -> bool {
        let Worker { walks, tenants: known, sampling, .. } = worker;
        let walk = &mut walks[at];
        let lot = {
            let mut shard = self.shards[at].write_drained();
            let (contents, room) = shard.parts();
            if contents.clock.tick < walk.rests_until {
                return false;
            }
            let mut judge = LotJudge { known, sampling, weight, sampled: 0, is_short, at_max };
            let lot = room.next_lot(contents, &mut walk.position, now, &mut judge);
            if lot.is_none() {
                let items: usize = contents.tenants.iter().map(|of| of.table.len()).sum();
                walk.end(items as u64, contents.clock.tick);
                let sets = |of: &TenantShard| of.counters.sets * self.shards.len() as u64;
                try_again(known, contents.tenants.iter().map(sets));
            }
            lot
        };
        let Some(lot) = lot else { return false };
        if let Some(known) = worker.tenants.get_mut(usize::from(lot.of.tenant)) {
            known.note(lot.facts);
        }
        let shrunk = self.shrink(worker, &lot);
        if !lot.is_empty() {
            let mut shard = self.shards[at].write_drained();
            let (contents, room) = shard.parts();
            let Walk { changed, credit, .. } = &mut worker.walks[at];
            *changed += room.put_lot(contents, &self.around(), &lot, &shrunk, credit, now);
        }
        self.end_sampling(worker, now);
        true
    }

    /// Compresses the values of a lot, or keeps them as samples.
    fn shrink(&self, worker: &mut Worker, lot: &Lot) -> Vec<Shrunk> {
        let Worker { tenants, sampling, .. } = worker;
        if let Some(sampling) = sampling {
            sampling.lots += 1;
        }
        let Some(known) = tenants.get_mut(usize::from(lot.of.tenant)) else { return vec![] };
        let work = Arc::clone(&lock(&self.admin).work[usize::from(lot.of.tenant)]);
        let mut one = |item: &Picked| {
            let stored = &lot.values[item.value.clone()];
            let plain = item.is_compressed.then(|| decompress(stored, &known.dictionaries));
            let value = match &plain {
                Some(Ok(plain)) => &**plain,
                Some(Err(_)) => return Shrunk::Stays,
                None => stored,
            };
            let Some(at) = octave(value.len()) else { return Shrunk::Not };
            if let Some(sampling) = sampling
                && item.is_sample
            {
                let samples = &mut sampling.octaves[at];
                samples.bytes += value.len();
                samples.values.push(value.to_vec());
            }
            let State::Ready(number) = known.octaves[at].state else { return Shrunk::Stays };
            let is_done = item.is_compressed && dictionary_of(stored) == number;
            if is_done || !item.is_compressed && !item.facts.is_worth() {
                return Shrunk::Stays;
            }
            let began = (self.nanos)();
            let dictionary = known.dictionaries.get(number).ok().flatten();
            let stored = compress(value, dictionary.map(|known| (number, known)));
            let middle = (self.nanos)();
            let Some(stored) = stored else {
                return if item.is_compressed { Shrunk::Stays } else { Shrunk::Not };
            };
            // It is read once, to be sure, and to know how long a read takes.
            let plain = decompress(&stored, &known.dictionaries);
            let is_same = plain.is_ok_and(|plain| *plain == *value);
            let ended = (self.nanos)();
            work.writes.fetch_add(1, Relaxed);
            work.write_nanos.fetch_add(ended.saturating_sub(began), Relaxed);
            let nanos = [middle.saturating_sub(began), ended.saturating_sub(middle)];
            let octave = &mut known.octaves[at];
            octave.saw(value.len(), stored.len(), nanos);
            if item.is_compressed {
                // The old form goes with its dictionary.
                let is_short = is_same && stored.len() < value.len();
                return if is_short { Shrunk::To(stored) } else { Shrunk::Stays };
            }
            let saved = lot.saved(item, stored.len());
            let facts = Facts { saved, ..item.facts };
            if is_same && is_much(saved, item.charge()) && facts.is_worth() {
                Shrunk::To(stored)
            } else {
                Shrunk::Not
            }
        };
        lot.items.iter().map(&mut one).collect()
    }

    /// Gives up the retired dictionaries that no item uses any more.
    fn free_retired(&self, worker: &mut Worker) {
        for (at, known) in worker.tenants.iter_mut().enumerate() {
            known.held.retain(|(_, hold)| hold.strong_count() > 0);
            let Known { held, retired, forms, .. } = known;
            let unused = |&number: &u16| {
                let is_held = held.iter().any(|(held, _)| *held == number);
                let is_new = forms.contains(&Some(number));
                !is_held
                    && !is_new
                    && self.shards.iter().all(|shard| {
                        shard.write_drained().contents().tenants[at].compressed.uses(number) == 0
                    })
            };
            for number in retired.extract_if(.., |number| unused(number)).collect::<Vec<_>>() {
                let before = known.dictionaries.bytes();
                known.dictionaries = Arc::new(known.dictionaries.without(number));
                self.share(at as TenantId, &known.dictionaries);
                let bytes = before - known.dictionaries.bytes();
                lock(&self.admin).accounts[at].give(bytes);
                self.budget.memory.give(bytes);
            }
        }
    }
}
