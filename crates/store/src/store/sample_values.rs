//! How far values would shrink: a few sampled values, whether or not the store compresses.
//!
//! A sampled value is compressed beside some values of its tenant of about the same length, which
//! stand for a dictionary. Nothing of them is kept but sums, in which older samples count less.

use crate::bytes::stats::ValueSamples;
use crate::compression::codec::compress;
use crate::compression::dictionary::Dictionary;
use crate::compression::form::plain_len;
use crate::compression::octaves::octave;
use crate::items::trees::trees::has_tree;
use crate::sync::shim::lock;
use crate::{Now, Scope, Store};
use base::TenantId;

/// Values that stand for a dictionary, and most bytes of them.
const BESIDE: usize = 12;
const BESIDE_BYTES: usize = 8 << 10;
/// The part of the sums that each new sample of a tenant replaces.
const FADES: f64 = 1.0 / 128.0;

/// An item that was drawn.
struct Drawn {
    tenant: TenantId,
    /// Its value; empty unless it is plain and of a length that is compressed.
    value: Vec<u8>,
    /// Bytes of its contents without the value.
    head: u64,
    /// Bytes charged for it.
    charge: u64,
    /// Bytes of the plain value and of the stored one, if it is compressed already.
    compressed: Option<(usize, usize)>,
}

impl Store {
    /// Draws an item of the whole store, and notes how far its value shrinks. It takes some tens of
    /// microseconds, most of them without a lock. The caller must rest between two calls. Returns
    /// whether there is an item.
    pub fn sample_value(&self, now: Now) -> bool {
        let Some(drawn) = self.draw_value(Scope::ALL, now) else { return false };
        let Drawn { tenant, value, head, charge, .. } = &drawn;
        let (plain, stored) = match drawn.compressed {
            Some(lens) => lens,
            None if value.is_empty() => (0, 0),
            None => (value.len(), self.shrunk(*tenant, value, now)),
        };
        let with = |len: usize| self.sizes.charge(head + len as u64);
        let [before, after] = match plain {
            0 => [*charge; 2],
            _ => [with(plain), with(stored).min(with(plain))],
        };
        let mut all = lock(&self.compression.samples);
        let len = all.len().max(usize::from(*tenant) + 1);
        all.resize(len, ValueSamples::default());
        let sums = &mut all[usize::from(*tenant)];
        let add = |sum: &mut f64, bytes: u64| *sum += bytes as f64 - FADES * *sum;
        sums.items += 1;
        sums.values += u64::from(plain > 0);
        add(&mut sums.charged, before);
        add(&mut sums.charged_compressed, after);
        if plain > 0 {
            add(&mut sums.plain, plain as u64);
            add(&mut sums.stored, stored as u64);
        }
        true
    }

    /// How far the sampled values of a tenant shrink.
    pub fn value_samples(&self, tenant: TenantId) -> ValueSamples {
        lock(&self.compression.samples).get(usize::from(tenant)).copied().unwrap_or_default()
    }

    /// Bytes of a compressed value, beside others of its tenant.
    fn shrunk(&self, tenant: TenantId, value: &[u8], now: Now) -> usize {
        let mut beside = vec![];
        for _ in 0..BESIDE {
            let Some(drawn) = self.draw_value(Scope::tenant(tenant), now) else { break };
            if octave(drawn.value.len()) == octave(value.len()) && drawn.value != value {
                beside.extend(drawn.value);
            }
            if beside.len() >= BESIDE_BYTES {
                break;
            }
        }
        beside.truncate(BESIDE_BYTES);
        let dictionary = Dictionary::from_bytes(beside);
        let len = |dictionary: Option<&Dictionary>| {
            let number = dictionary.map(|known| (1, known));
            compress(value, number).map_or(value.len(), |stored| stored.len())
        };
        len(None).min(len(dictionary.as_ref())).min(value.len())
    }

    /// A random item of `scope`.
    fn draw_value(&self, scope: Scope, now: Now) -> Option<Drawn> {
        let count = self.shards.len();
        let first = {
            let mut shard = self.shards[0].write_drained();
            shard.contents_mut().clock.prng.below(count as u64) as usize
        };
        for at in 0..count {
            let mut shard = self.shards[(first + at) % count].write_drained();
            let Some((tenant, place)) = shard.contents_mut().draw(scope, now) else { continue };
            let of = shard.contents().tenant(tenant);
            let item = of.table.get(place);
            let (stored, contents) = (item.value(), item.contents());
            let is_plain = !item.is_compressed() && !has_tree(item.kind());
            let shown = is_plain && octave(stored.len()).is_some();
            let compressed = || (plain_len(stored), stored.len());
            return Some(Drawn {
                tenant,
                value: if shown { stored.to_vec() } else { vec![] },
                head: contents - stored.len() as u64,
                charge: of.pages.classes().charge(contents) + of.trees.bytes_of(item),
                compressed: item.is_compressed().then(compressed),
            });
        }
        None
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use crate::{Compression, CompressionSettings, Config, Now, Store, ValueSamples};
    use base::Prng;

    fn sampled(mode: Compression, value: impl Fn(u64) -> Vec<u8>) -> ValueSamples {
        let store = Store::new(Config { seed: 3, ..Config::default() });
        store.set_compression(CompressionSettings { mode, weight: 1.0 });
        let now = Now { unix_ms: 1_000, micros: base::Micros(0) };
        for n in 0..500u64 {
            let name = n.to_le_bytes();
            store.set(&store.key(0, 0, &name), &value(n), None, now).unwrap();
        }
        let before = store.tenant_stats(0).counters;
        assert!((0..100).all(|_| store.sample_value(now)));
        assert_eq!(store.tenant_stats(0).counters, before, "samples are no requests");
        store.value_samples(0)
    }

    fn document(n: u64) -> Vec<u8> {
        let many = n * 7_919 % 1_000;
        let text = format!(r#"{{"id":{n},"name":"user-{many}","roles":["reader","writer"],"#);
        format!(r#"{text}"active":true,"theme":"dark","score":{}}}"#, many * many).into_bytes()
    }

    fn noise(n: u64) -> Vec<u8> {
        let mut prng = Prng::new(n);
        (0..400).map(|_| prng.below(256) as u8).collect()
    }

    #[test]
    fn documents_shrink_and_noise_does_not() {
        let samples = sampled(Compression::No, document);
        assert_eq!((samples.items, samples.values), (100, 100));
        assert!(samples.ratio() < 0.6, "{samples:?}");
        // The header of an item and its key do not shrink.
        assert!(samples.charge_ratio() > samples.ratio() && samples.charge_ratio() < 0.8);
        let samples = sampled(Compression::No, noise);
        assert!(samples.ratio() > 0.95 && samples.charge_ratio() > 0.95, "{samples:?}");
    }

    #[test]
    fn compressed_values_count_as_they_are() {
        let long = |n| document(n).repeat(4);
        let samples = sampled(Compression::Always, long);
        assert!(samples.values == 100 && samples.ratio() < 0.5, "{samples:?}");
    }

    #[test]
    fn short_and_missing_values_have_no_ratio() {
        let samples = sampled(Compression::No, |_| vec![b'x'; 20]);
        assert_eq!((samples.items, samples.values), (100, 0));
        assert_eq!((samples.ratio(), samples.charge_ratio()), (1.0, 1.0));
        assert_eq!(ValueSamples::default().ratio(), 1.0);
    }
}
