//! A sample of the keys of a tenant that random draws by the server would rarely meet.
//!
//! A tenant with one key in a hundred has one of a hundred random keys of the server. The ring
//! keeps the tenant's own keys from their birth: all of them while there is room, then a sample in
//! which every key ever born has the same chance. A dead key is recognised when it is drawn.

use base::prng::Prng;

/// Bytes of a name beside its own.
const OVERHEAD: usize = 32;

/// Names of keys with their databases.
#[derive(Debug)]
pub(crate) struct Ring {
    names: Vec<(u16, Box<[u8]>)>,
    bytes: usize,
    bytes_max: usize,
    prng: Prng,
}

impl Ring {
    /// An empty ring for up to `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { names: vec![], bytes: 0, bytes_max, prng: Prng::new(1) }
    }

    /// Takes in a new key of a tenant that has `items`.
    pub(crate) fn push(&mut self, db: u16, key: &[u8], items: u64) {
        if self.bytes + key.len() + OVERHEAD <= self.bytes_max {
            self.bytes += key.len() + OVERHEAD;
            self.names.push((db, key.into()));
            return;
        }
        if self.names.is_empty() {
            return;
        }
        let at = self.prng.below(items.max(self.names.len() as u64)) as usize;
        if let Some((old_db, old)) = self.names.get_mut(at) {
            self.bytes = self.bytes + key.len() - old.len();
            (*old_db, *old) = (db, key.into());
        }
    }

    /// A random key, with the position by which [`Ring::forget`] removes it.
    pub(crate) fn draw(&mut self) -> Option<(usize, u16, Box<[u8]>)> {
        if self.names.is_empty() {
            return None;
        }
        let at = self.prng.below(self.names.len() as u64) as usize;
        let (db, name) = &self.names[at];
        Some((at, *db, name.clone()))
    }

    /// Removes a key that was drawn.
    pub(crate) fn forget(&mut self, at: usize) {
        if at < self.names.len() {
            let (_, name) = self.names.swap_remove(at);
            self.bytes -= name.len() + OVERHEAD;
        }
    }

    /// Whether the ring holds no key.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Old keys must be drawn as often as new ones, or old keys that no client reads would stay.
    #[test]
    fn a_full_ring_is_a_sample_of_all_that_were_born() {
        let mut ring = Ring::new(1_000 * (OVERHEAD + 4));
        for key in 0..10_000u32 {
            ring.push(0, &key.to_be_bytes(), u64::from(key) + 1);
        }
        assert!(ring.names.len() == 1_000 && ring.bytes <= ring.bytes_max);
        let old = ring
            .names
            .iter()
            .filter(|(_, name)| u32::from_be_bytes(name[..].try_into().unwrap()) < 5_000);
        let old = old.count();
        assert!((400..600).contains(&old), "{old} of 1000 are of the first half");
    }

    #[test]
    fn a_key_that_died_is_forgotten() {
        let mut ring = Ring::new(1 << 20);
        ring.push(3, b"a", 1);
        let (at, db, name) = ring.draw().unwrap();
        assert_eq!((db, &name[..]), (3, &b"a"[..]));
        ring.forget(at);
        assert!(ring.is_empty() && ring.bytes == 0 && ring.draw().is_none());
    }
}
