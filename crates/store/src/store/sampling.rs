//! Learning from samples: a dictionary for each octave of lengths, and its gain.
//!
//! Samples come from the pages that the walk looks at, a few from each, until there are enough or
//! the walk has looked at many pages. The values of an octave with a dictionary are sampled again
//! once they shrink less than they did: the better dictionary of both remains, and the walk
//! compresses the items of a *retired* one anew, so that its memory becomes free.

use crate::compression::dictionary::{Dictionaries, Dictionary};
use crate::compression::form::PLAIN_MIN;
use crate::compression::octaves::{OCTAVES, Octave, PART, Practice, SAMPLES_MIN, State, train};
use crate::room::compression_state::{SAMPLED_LOTS, Worker};
use crate::sync::shim::lock;
use crate::{Now, Store};
use base::TenantId;
use std::ops::Range;
use std::sync::Arc;

/// The samples of an octave take at most this part of all memory.
const SAMPLED_PART: u64 = 64;

/// The part of the lengths in this range that lie in an octave.
fn share(lengths: Range<u64>, octave: usize) -> f64 {
    let least = (PLAIN_MIN as u64) << octave;
    let both = lengths.end.min(2 * least).saturating_sub(lengths.start.max(least));
    both as f64 / (lengths.end - lengths.start).max(1) as f64
}

impl Store {
    /// Trains for the octaves that have enough samples, or all that there are.
    pub(super) fn end_sampling(&self, worker: &mut Worker, now: Now) {
        let Some(mut sampling) = worker.sampling.take() else { return };
        let most = (self.budget.memory.effective() / SAMPLED_PART) as usize;
        for octave in 0..OCTAVES {
            let samples = &mut sampling.octaves[octave];
            let are_all = sampling.lots >= SAMPLED_LOTS && samples.values.len() >= SAMPLES_MIN;
            if are_all || samples.are_enough(octave, most) {
                let values = std::mem::take(samples).values;
                self.train(worker, (sampling.tenant, octave), &values, now);
            }
        }
        worker.sampling = (sampling.lots < SAMPLED_LOTS).then_some(sampling);
    }

    /// Learns from samples what compression gains in an octave, unless a dictionary came with
    /// restored items meanwhile.
    fn train(
        &self,
        worker: &mut Worker,
        (tenant, octave): (TenantId, usize),
        samples: &[Vec<u8>],
        now: Now,
    ) {
        let known = &worker.tenants[usize::from(tenant)];
        let now_used = match known.octaves[octave] {
            Octave { state: State::Unknown, .. } => None,
            Octave { state: State::Ready(number), is_due: true, .. } => Some(number),
            _ => return,
        };
        let replaced = now_used.unwrap_or(0);
        let stats = self.tenant_stats(tenant);
        let most = (stats.used.0 / PART).saturating_sub(known.remaining_bytes(replaced));
        let bytes = self.bytes_of_octave(tenant, octave, replaced, samples);
        let practice = now_used.map_or(Practice::Plain, |number| {
            Practice::Compressed(known.dictionaries.get(number).ok().flatten())
        });
        let sampled = train(octave, samples, (bytes, most), practice);
        let known = &mut worker.tenants[usize::from(tenant)];
        if let Some(ratio) = sampled.remains() {
            known.octaves[octave].keep(ratio);
            return;
        }
        known.retired.extend(now_used.filter(|&number| number > 0));
        worker.wake();
        let number = sampled
            .dictionary
            .and_then(|dictionary| self.add_dictionary(worker, tenant, dictionary, now));
        let known = &mut worker.tenants[usize::from(tenant)];
        let (writes, items) = (stats.counters.sets, stats.len.items);
        known.octaves[octave].learn(sampled.ratio, number.unwrap_or(0), writes, items);
    }

    /// Plain bytes of a tenant's values of an octave: those in chunks for its lengths, and those
    /// that are compressed with this dictionary, if they are as long as the samples.
    fn bytes_of_octave(
        &self,
        tenant: TenantId,
        at: usize,
        dictionary: u16,
        samples: &[Vec<u8>],
    ) -> u64 {
        let sampled: usize = samples.iter().map(Vec::len).sum();
        let (mut bytes, mut compressed) = (0, 0);
        for shard in &self.shards {
            let shard = shard.write_drained();
            let tenant = shard.contents().tenant(tenant);
            let pages = &tenant.pages;
            let mut below = 0;
            for class in 0..pages.classes().large() {
                let chunk = pages.classes().chunk(class);
                bytes += (pages.held[class].bytes as f64 * share(below..chunk, at)) as u64;
                below = chunk;
            }
            compressed += if dictionary > 0 { tenant.compressed.uses(dictionary) } else { 0 };
        }
        bytes + compressed * (sampled / samples.len().max(1)) as u64
    }

    /// Gives a tenant one more dictionary. Its memory is charged.
    pub(crate) fn add_dictionary(
        &self,
        worker: &mut Worker,
        tenant: TenantId,
        dictionary: Dictionary,
        now: Now,
    ) -> Option<u16> {
        let bytes = dictionary.bytes();
        let known = &mut worker.tenants[usize::from(tenant)];
        let (all, number) = known.dictionaries.with(Arc::new(dictionary))?;
        self.take_for_lessons(bytes, now);
        lock(&self.admin).accounts[usize::from(tenant)].take(bytes);
        known.dictionaries = Arc::new(all);
        self.share(tenant, &known.dictionaries);
        Some(number)
    }

    /// Shows a tenant's dictionaries to all shards.
    pub(super) fn share(&self, tenant: TenantId, all: &Arc<Dictionaries>) {
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            shard.contents_mut().tenant_mut(tenant).compressed.known = Arc::clone(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_counts_for_the_octaves_of_its_lengths() {
        let shares = |lengths: Range<u64>| [0, 1, 2].map(|octave| share(lengths.clone(), octave));
        assert_eq!(shares(0..64), [0.0; 3]);
        assert_eq!(shares(64..128), [1.0, 0.0, 0.0]);
        assert_eq!(shares(96..256), [0.2, 0.8, 0.0]);
        assert_eq!(shares(100..100), [0.0; 3], "no length");
    }
}
