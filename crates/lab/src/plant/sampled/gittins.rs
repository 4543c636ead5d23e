//! The Gittins rank on the simulated store: the choice of the item of a pool that is worth least.
//!
//! It is the policy of `policy::rank::gittins` with the store's bounds. Candidates are drawn among
//! the items of tenants that may lose one, half of them in proportion to their bytes; the newest
//! items are always candidates. The weight of a tenant's waiting is a factor of its price. A large
//! new item competes with the items of its pool.

use super::SampledPlant;
use super::item::{Candidate, Item};
use base::{Prng, Size};
use policy::rank::gittins::{LARGE, Lower, size_class};
use tune::Evictor;

/// Draws in proportion to bytes: mean number of items passed for each one drawn, and the maximum.
const PASSED: u64 = 8;
const PASSED_MAX: u64 = 32;
/// Largest variance of the sizes, by the square of their mean, with which they count as alike.
const ALIKE: f64 = 0.02;
impl SampledPlant {
    /// Class of a size, relative to the mean size.
    pub(super) fn size_class(&self, size: Size) -> u8 {
        let items: usize = self.members.iter().map(|member| member.places.len()).sum();
        let own = size.as_f32();
        size_class(own, if items == 0 { own } else { self.used.as_f64() as f32 / items as f32 })
    }

    /// Whether a new item is worth more than the items of its pool that would be evicted for it.
    pub(super) fn enters(&mut self, at: usize, item: &Item, pool: usize, is_read: bool) -> bool {
        let evictor = self.pools[pool].step.evictor;
        let (held, size) = (self.used.0, u64::from(item.size));
        let need = (held + size).saturating_sub(self.limit.0);
        let items: usize = self.members.iter().map(|member| member.places.len()).sum();
        let is_large = size as f64 * items as f64 >= LARGE as f64 * held as f64;
        let is_poor = self.members[at].used < self.members[at].bounds.min;
        if evictor != Evictor::gittins(evictor.k) || need == 0 || !is_large || is_poor {
            return true;
        }
        let price = self.prices.get(at).copied().unwrap_or(1.0);
        let Some(watching) = &mut self.watching else { return true };
        let past = watching.past_of(at, item.key, is_read, self.tick);
        let own = watching.rank(at, &Item { past, ..*item }, price, self.tick);
        let mut lower = Lower::than(own);
        for _ in 0..evictor.k {
            let Some(candidate) = self.draw(pool, at) else { break };
            lower.draw(candidate.rank, candidate.size.into());
        }
        let enters = lower.yields(need, held);
        if let Some(watching) = self.watching.as_mut().filter(|_| !enters) {
            watching.refuse(at, item.key, past);
        }
        enters
    }

    /// The candidate that is worth least, of `k` drawn from a pool for a write of `asker`.
    pub(super) fn lowest_of(&mut self, pool: usize, asker: usize, k: usize) -> Option<Candidate> {
        let items: usize = self.members.iter().map(|member| member.places.len()).sum();
        let mean = self.used.as_f64() / items.max(1) as f64;
        let differ = self.squares / items.max(1) as f64 > (1.0 + ALIKE) * mean * mean;
        let by_bytes = if differ { k / 2 } else { 0 };
        let mut lowest: Option<Candidate> = None;
        let mut consider = |candidate: Candidate| {
            if lowest.as_ref().is_none_or(|known| candidate.rank < known.rank) {
                lowest = Some(candidate);
            }
        };
        for _ in by_bytes..k {
            consider(self.draw(pool, asker)?);
        }
        for _ in 0..by_bytes {
            for _ in 0..PASSED_MAX {
                let candidate = self.draw(pool, asker)?;
                if is_drawn(&mut self.prng, f64::from(candidate.size) / mean) {
                    consider(candidate);
                    break;
                }
            }
        }
        let newest = self.watching.as_ref().map(|watching| watching.newest.clone());
        for (at, key) in newest.into_iter().flatten() {
            if self.may_lose(at, asker)
                && let Some(candidate) = self.candidate(at, key)
            {
                consider(candidate);
            }
        }
        lowest
    }
}

/// Whether an item is drawn, with a probability in proportion to its size by the mean size.
fn is_drawn(prng: &mut Prng, size: f64) -> bool {
    prng.below(1 << 20) as f64 * PASSED as f64 <= size * f64::from(1 << 20)
}
