//! The most requested keys, counted in the batches that are timed anyway.
//!
//! The number of counted keys is bounded (Misra and Gries, 1982). When there are too many, the
//! median count is subtracted from all of them, and keys without a rest are forgotten. A count
//! loses less than the requests divided by half of [`KEYS_MAX`], so a key with a larger share
//! stays. Counts are halved from time to time, so that currently hot keys come to the front.

use base::TenantId;
use std::collections::HashMap;

/// The largest number of keys that a worker counts at once.
const KEYS_MAX: usize = 512;

/// The longest key that is counted, in bytes, because the table holds a copy of it.
const KEY_LEN_MAX: usize = 256;

/// The number of requests after which the counts are halved.
const HALVED_AFTER: u64 = 65_536;

/// The least number of requests of a tenant for which hot keys are reported.
const COUNTED_MIN: u64 = 500;

/// A key is hot from this share of its tenant's requests on. The loss of a count is far less.
const SHARE_MIN: f64 = 0.02;

/// The counts of a worker, or of all workers together.
#[derive(Debug, Default)]
pub(crate) struct TopKeys {
    keys: HashMap<(TenantId, Box<[u8]>), u64>,
    /// The number of requests of each tenant.
    requests: Vec<u64>,
}

impl TopKeys {
    /// Counts a request for a key.
    pub(crate) fn note(&mut self, tenant: TenantId, key: &[u8]) {
        let at = usize::from(tenant);
        if self.requests.len() <= at {
            self.requests.resize(at + 1, 0);
        }
        self.requests[at] += 1;
        if key.len() > KEY_LEN_MAX {
            return;
        }
        *self.keys.entry((tenant, key.into())).or_default() += 1;
        if self.keys.len() > KEYS_MAX {
            let mut counts: Vec<u64> = self.keys.values().copied().collect();
            let middle = counts.len() / 2;
            let median = *counts.select_nth_unstable(middle).1;
            self.keys.values_mut().for_each(|count| *count = count.saturating_sub(median));
            self.keys.retain(|_, count| *count > 0);
        }
        if self.requests.iter().sum::<u64>() > HALVED_AFTER {
            self.requests.iter_mut().for_each(|count| *count /= 2);
            self.keys.values_mut().for_each(|count| *count /= 2);
            self.keys.retain(|_, count| *count > 0);
        }
    }

    /// Adds the counts of another worker.
    pub(crate) fn add(&mut self, other: &Self) {
        for (key, count) in &other.keys {
            *self.keys.entry(key.clone()).or_default() += count;
        }
        self.requests.resize(self.requests.len().max(other.requests.len()), 0);
        for (sum, count) in self.requests.iter_mut().zip(&other.requests) {
            *sum += count;
        }
    }

    /// The hot keys of a tenant, each with its share of the tenant's requests, the hottest first.
    pub(crate) fn of(&self, tenant: TenantId) -> Vec<(&[u8], f64)> {
        let all = self.requests.get(usize::from(tenant)).copied().unwrap_or_default();
        if all < COUNTED_MIN {
            return vec![];
        }
        let own = self.keys.iter().filter(|((of, _), _)| *of == tenant);
        let shares = own.map(|((_, key), count)| (&**key, *count as f64 / all as f64));
        let mut hot: Vec<_> = shares.filter(|(_, share)| *share >= SHARE_MIN).collect();
        hot.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        hot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hot key is found among many others, with its share; the others are not reported.
    #[test]
    fn hot_keys_are_found() {
        let mut workers = [TopKeys::default(), TopKeys::default()];
        for at in 0..200_000u64 {
            let cold = format!("cold:{}", base::hash::mix(at) % 100_000);
            workers[at as usize % 2].note(1, if at % 10 < 3 { b"hot" } else { cold.as_bytes() });
            if at % 1_000 == 0 {
                workers[0].note(0, b"alone");
            }
        }
        let mut all = TopKeys::default();
        for worker in &workers {
            all.add(worker);
        }
        let hot = all.of(1);
        assert_eq!((hot.len(), hot[0].0), (1, &b"hot"[..]));
        assert!((hot[0].1 - 0.3).abs() < 0.01, "{hot:?}");
        assert!(all.of(0).is_empty() && all.of(9).is_empty(), "too few requests");
        assert!(workers.iter().all(|worker| worker.keys.len() <= KEYS_MAX));
        let end = workers[0].requests.iter().sum::<u64>();
        for at in 0..300_000u64 {
            workers[0].note(1, &at.to_be_bytes());
        }
        assert!(end <= HALVED_AFTER && workers[0].of(1).is_empty(), "it is hot no more");
    }
}
