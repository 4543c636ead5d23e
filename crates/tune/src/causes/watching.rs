//! The watched keys of all tenants, within a bound.

use super::watched::{KeyState, SIZES, Watched, WatchedKey};
use base::{Bytes, Causes, Filter, Micros, Sample, TenantId};

/// Watched keys of all tenants together: they give a share to about half a percentage point.
pub(super) const KEYS_MAX: usize = 14_000;

/// Memory of the models, in bytes, for each watched key.
const MODELS_PER_KEY: u64 = 320;

/// The most items of a cache that counts as empty, and the time for which it counts as new. The
/// rate of sampling is found in this time. Earlier misses are few, unless values were written
/// without a read.
const EMPTY_MAX: u64 = 1_000;
const FRESH: Micros = Micros::from_secs(30);

/// The state of the cache at the first look.
#[derive(Clone, Copy, Debug, Default)]
enum Start {
    #[default]
    Unseen,
    /// It held items, so some keys may have been read before.
    Filled(Micros),
    /// It was empty: a key never seen since was never there.
    Empty(Micros),
}

/// A tenant's filter and counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TenantTap {
    pub(crate) tenant: TenantId,
    /// The filter that chooses the tenant's sampled keys.
    pub(crate) tap: Filter,
    pub(crate) items: u64,
    /// Reads of any key that missed, since the start.
    pub(crate) misses: u64,
}

/// Misses by cause, for every tenant.
#[derive(Debug, Default)]
pub(crate) struct Watching {
    pub(super) of: Vec<Watched>,
    start: Start,
}

impl Watching {
    /// Takes in the tenants' samples since the last look.
    pub(crate) fn look(
        &mut self,
        samples: &[Sample],
        tenants: &[TenantTap],
        memory: Option<Bytes>,
        now: Micros,
    ) {
        let keys_max =
            memory.map_or(KEYS_MAX, |memory| KEYS_MAX.min((memory.0 / MODELS_PER_KEY) as usize));
        if matches!(self.start, Start::Unseen) {
            let items: u64 = tenants.iter().map(|seen| seen.items).sum();
            self.start = if items < EMPTY_MAX { Start::Empty(now) } else { Start::Filled(now) };
        }
        let (began, is_fresh) = match self.start {
            Start::Unseen => (now, false),
            Start::Filled(began) => (began, false),
            Start::Empty(began) => (began, now.saturating_sub(began) < FRESH),
        };
        let count = tenants.iter().map(|seen| usize::from(seen.tenant) + 1).max();
        if count.unwrap_or(0) > self.of.len() {
            self.of.resize_with(count.unwrap_or(0), Watched::default);
        }
        let room = keys_max / tenants.len().max(1);
        for &TenantTap { tenant, tap, items, misses } in tenants {
            let own = &mut self.of[usize::from(tenant)];
            own.was_loaded |= items > misses + EMPTY_MAX;
            let is_fresh = is_fresh && !own.was_loaded;
            own.grow(room);
            own.follow(tap, now, began, is_fresh);
            if items == 0 {
                // All items were removed at once.
                own.keys.values_mut().for_each(|known| match known.state {
                    KeyState::Held(expires) if expires > now => known.state = KeyState::Removed,
                    _ => {}
                });
            }
        }
        for sample in samples {
            if let Some(own) = self.of.get_mut(usize::from(sample.tenant)) {
                own.see(sample);
            }
        }
        while self.of.iter().map(|own| own.keys.len()).sum::<usize>() > keys_max {
            // All tenants with about as many at once: there may be thousands of tenants.
            let most = self.of.iter().map(|own| own.keys.len()).max().unwrap_or_default();
            for own in self.of.iter_mut().filter(|own| 2 * own.keys.len() > most) {
                own.shrink(now, began);
            }
        }
    }

    /// Misses of a tenant so far, by cause, scaled from the sampled ones.
    pub(crate) fn misses(&self, tenant: TenantId) -> Causes {
        self.of.get(usize::from(tenant)).map_or(Causes::default(), |own| own.misses)
    }

    /// Number of sampled misses of a tenant behind these counts.
    pub(crate) fn counted(&self, tenant: TenantId) -> u64 {
        self.of.get(usize::from(tenant)).map_or(0, |own| own.counted)
    }

    /// Share of the reads of expired keys that would be saved if items lived twice as long. It is
    /// about a half where keys are read often: each of their items expires once all the same.
    pub(crate) fn twice_the_ttl(&self, tenant: TenantId) -> Option<f64> {
        let (left, all) = self.of.get(usize::from(tenant))?.late;
        (all > 0).then(|| (1.0 - left as f64 / all as f64).max(0.0))
    }

    /// Sampled hits of a tenant by size: at `n`, sizes from 2ⁿ bytes to below twice that.
    pub(crate) fn hits_by_size(&self, tenant: TenantId) -> [u32; SIZES] {
        self.of.get(usize::from(tenant)).map_or([0; SIZES], |own| own.hits)
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> Bytes {
        let keys: usize = self.of.iter().map(|own| own.keys.capacity()).sum();
        let own = self.of.capacity() * size_of::<Watched>();
        Bytes((keys * (size_of::<(u64, WatchedKey)>() + 1) + own) as u64)
    }
}
