//! Which new values writes compress: the compression thread decides, and the shards know.
//!
//! Values arrive faster than the thread walks. While memory is short, it therefore leaves to the
//! writes what it would do soon anyway ([`counts`](crate::compression::counts)).

use crate::Store;
use crate::compression::counts::{Forms, OnWrite};
use crate::compression::form::PLAIN_MIN;
use crate::compression::octaves::{Octave, RATIO_MAX, State};
use crate::room::compression_state::{Known, Worker};
use base::TenantId;

/// The length of a typical value of an octave.
fn typical_len(octave: usize) -> usize {
    3 * (PLAIN_MIN << octave) / 2
}

impl Store {
    /// Decides which new values writes compress: those whose octave would be worth it for an item
    /// of average use, while memory is short. It still counts as short when the thread has just
    /// made the headroom.
    pub(super) fn choose_forms(&self, worker: &mut Worker, weight: f64) {
        let (is_short, at_max) = self.needs(2);
        let mut has_decayed = false;
        for (at, known) in worker.tenants.iter_mut().enumerate() {
            let tenant = at as TenantId;
            has_decayed |= known.note_decay();
            let needs = is_short || at_max.get(at).copied().unwrap_or_default();
            let is_worth = |at: usize, octave: &Octave| {
                let len = typical_len(at);
                let saved = len.saturating_sub((f64::from(octave.ratio) * len as f64) as usize);
                octave.ratio <= RATIO_MAX
                    && known.average.is_some_and(|facts| {
                        octave.complete(facts, len, saved as u64, weight).is_worth()
                    })
            };
            let forms = std::array::from_fn(|at| match known.octaves[at].state {
                State::Ready(number) if needs && is_worth(at, &known.octaves[at]) => Some(number),
                _ => None,
            });
            self.set_forms(tenant, known, forms);
        }
        if has_decayed {
            worker.wake();
        }
    }

    /// Takes over what writes saw of the values that they compressed.
    pub(super) fn count_new(&self, tenant: TenantId, known: &mut Known) {
        if known.forms == Forms::default() {
            return;
        }
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            let new = &mut shard.contents_mut().tenant_mut(tenant).compressed.new;
            let Some(new) = new else { continue };
            for (octave, seen) in known.octaves.iter_mut().zip(std::mem::take(&mut new.seen)) {
                octave.saw_many(seen);
            }
        }
    }

    /// Tells the shards the form of a tenant's new values.
    pub(super) fn set_forms(&self, tenant: TenantId, known: &mut Known, forms: Forms) {
        if known.forms == forms {
            return;
        }
        known.forms = forms;
        let compresses = forms != Forms::default();
        for shard in &self.shards {
            let mut shard = shard.write_drained();
            let contents = shard.contents_mut();
            let new = &mut contents.tenant_mut(tenant).compressed.new;
            if compresses {
                new.get_or_insert_default().forms = forms;
            } else {
                *new = None;
            }
            if contents.on_write != OnWrite::All {
                let any = contents.tenants.iter().any(|tenant| tenant.compressed.new.is_some());
                contents.on_write = if any { OnWrite::ByOctave } else { OnWrite::Nothing };
            }
        }
    }
}
