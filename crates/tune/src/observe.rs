//! Converts the samples of the store into accesses for the models.
//!
//! A store sees a read that misses and, later, the write that fills it. For a model both are one
//! access. Counted separately, the fill would be a reuse at distance zero, seen in exactly the
//! caches that miss most. So the observer holds a miss until its fill comes, with the size.
//!
//! ```text
//!   hit                        read
//!   miss … write               read of the written size, when the write comes
//!   miss … nothing             the key is known: a read of its last size
//!                              else: read and removal; it misses at every size, and takes no room
//!   write without a miss       write
//!   removal                    removal
//! ```
//!
//! If classes, of penalties or of sizes, have their own pools and the class of a key changes, its
//! life in the old class ends with a removal.
//!
//! A second miss of a key before its fill belongs to the same demand (many clients may ask at
//! once), and is not a second access.

use base::{Access, Bytes, Micros, Op, Sample, Sighting, TenantId};
use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};

/// The longest wait of a miss for its fill: the longest penalty.
pub const FILL_WINDOW: Micros = Micros::from_secs(10);

/// The most misses that wait for their fill; beyond that the oldest count as never filled.
const PENDING_MAX: usize = 1 << 14;

/// The most keys whose size is remembered; beyond that all are forgotten. The size serves only
/// reads that are never filled.
const KNOWN_MAX: usize = 1 << 18;

#[derive(Clone, Copy, Debug)]
struct KnownKey {
    expires: Micros,
    size: u32,
    penalty_us: u32,
}

impl KnownKey {
    const fn penalty(self) -> Micros {
        Micros(self.penalty_us as u64)
    }
}

/// The property that divides a tenant's items into classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClassKind {
    /// None: all items are in one class.
    #[default]
    None,
    /// The cost of their misses.
    Penalties,
    /// Their size.
    Sizes,
}

/// Joins misses with their fills.
#[derive(Debug)]
pub struct Observer {
    /// The property by which pools differ, beside their tenants.
    pub classes: ClassKind,
    pending: HashMap<(TenantId, u64), Micros>,
    /// The pending misses by age, and some that are already filled.
    order: VecDeque<(Micros, TenantId, u64)>,
    /// By tenant and key, combined in one number.
    known: HashMap<u64, KnownKey>,
    known_max: usize,
}

impl Default for Observer {
    fn default() -> Self {
        Self {
            classes: ClassKind::None,
            pending: HashMap::new(),
            order: VecDeque::new(),
            known: HashMap::new(),
            known_max: KNOWN_MAX,
        }
    }
}

impl Observer {
    /// Allows `keys` watched keys at most. Earlier ones are remembered for a while.
    pub fn allow(&mut self, keys: usize) {
        self.known_max = keys.saturating_mul(2).min(KNOWN_MAX);
        if self.known.len() > self.known_max {
            self.known = HashMap::new();
        }
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> Bytes {
        let known = self.known.capacity() * size_of::<(u64, KnownKey)>();
        let pending = self.pending.capacity() * size_of::<((TenantId, u64), Micros)>();
        Bytes(
            (known + pending + self.order.capacity() * size_of::<(Micros, TenantId, u64)>()) as u64,
        )
    }

    /// Takes one sample; `out` receives the accesses that are now complete.
    pub fn see(&mut self, sample: &Sample, mut out: impl FnMut(Access)) {
        let name = (sample.tenant, sample.key);
        match sample.sighting {
            Sighting::Hit => {
                self.learn(sample, &mut out);
                out(access(sample, Op::Get));
            }
            Sighting::Miss => {
                if let Entry::Vacant(place) = self.pending.entry(name) {
                    place.insert(sample.time);
                    self.order.push_back((sample.time, sample.tenant, sample.key));
                }
            }
            Sighting::Write => {
                self.learn(sample, &mut out);
                let filled = self.pending.remove(&name).is_some();
                out(access(sample, if filled { Op::Get } else { Op::Set }));
            }
            Sighting::Delete => {
                if self.pending.remove(&name).is_some() {
                    self.never_filled(sample.time, sample.tenant, sample.key, &mut out);
                }
                let known = self.known.remove(&number(sample.tenant, sample.key));
                let penalty = known.map_or(sample.penalty, KnownKey::penalty);
                out(Access { penalty, ..access(sample, Op::Delete) });
            }
        }
        self.expire_pending(sample.time, out);
    }

    /// Gives up fills that are overdue.
    pub fn expire_pending(&mut self, now: Micros, mut out: impl FnMut(Access)) {
        while let Some(&(time, tenant, key)) = self.order.front() {
            let late = now.saturating_sub(time) > FILL_WINDOW;
            // It may have been filled and have missed again: then it waits at a later position.
            let waits = self.pending.get(&(tenant, key)) == Some(&time);
            if waits && !late && self.order.len() <= PENDING_MAX {
                break;
            }
            self.order.pop_front();
            if waits {
                self.pending.remove(&(tenant, key));
                self.never_filled(now, tenant, key, &mut out);
            }
        }
    }

    /// Number of misses that wait for their fill.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    fn learn(&mut self, sample: &Sample, out: &mut impl FnMut(Access)) {
        if self.known.len() >= self.known_max {
            self.known.clear();
        }
        let expires = match sample.ttl {
            Micros(0) => Micros(u64::MAX),
            ttl => sample.time + ttl,
        };
        let penalty_us = u32::try_from(sample.penalty.0).unwrap_or(u32::MAX);
        let known = KnownKey { expires, size: sample.size, penalty_us };
        let before = self.known.insert(number(sample.tenant, sample.key), known);
        let classes = self.classes;
        let moved = |before: &KnownKey| match classes {
            ClassKind::None => false,
            ClassKind::Penalties => class_of(before.penalty()) != class_of(sample.penalty),
            ClassKind::Sizes => before.size != sample.size,
        };
        if let Some(before) = before.filter(moved) {
            let (size, penalty) = (before.size, before.penalty());
            out(Access { penalty, size: size.into(), ..access(sample, Op::Delete) });
        }
    }

    fn never_filled(&self, time: Micros, tenant: TenantId, key: u64, out: &mut impl FnMut(Access)) {
        let known = self.known.get(&number(tenant, key)).filter(|known| known.expires > time);
        let (size, penalty) = known.map_or_else(Default::default, |k| (k.size, k.penalty()));
        out(Access { time, tenant, penalty, ..Access::get(key, size) });
        if known.is_none() {
            out(Access { time, tenant, penalty, ..Access::delete(key) });
        }
    }
}

/// A tenant's key as one number: a key is a hash already.
fn number(tenant: TenantId, key: u64) -> u64 {
    key ^ base::hash::mix(tenant.into())
}

/// The class of a penalty; 0 for an unknown penalty.
pub(crate) const fn class_of(penalty: Micros) -> u8 {
    match penalty {
        Micros(0) => 0,
        penalty => base::penalty::class_of(penalty),
    }
}

fn access(sample: &Sample, op: Op) -> Access {
    Access {
        time: sample.time,
        tenant: sample.tenant,
        op,
        ttl: sample.ttl,
        penalty: sample.penalty,
        ..Access::get(sample.key, sample.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ms: u64, key: u64, sighting: Sighting, size: u32) -> Sample {
        let time = Micros::from_millis(at_ms);
        Sample { time, key, tenant: 0, sighting, size, ttl: Micros(0), penalty: Micros(0) }
    }

    fn seen(samples: &[Sample]) -> Vec<(Op, u64, u32)> {
        let mut observer = Observer::default();
        let mut accesses = vec![];
        for sample in samples {
            observer.see(sample, |a| accesses.push((a.op, a.key, a.size.as_u32())));
        }
        observer.expire_pending(Micros::from_secs(3600), |a| {
            accesses.push((a.op, a.key, a.size.as_u32()));
        });
        assert_eq!(observer.pending(), 0);
        accesses
    }

    use Sighting::{Delete, Hit, Miss, Write};

    /// Counted separately, the fill would be a reuse at distance zero.
    #[test]
    fn a_miss_and_its_fill_are_one_read() {
        assert_eq!(
            seen(&[sample(0, 7, Miss, 0), sample(5, 7, Write, 90), sample(9, 7, Hit, 90)]),
            [(Op::Get, 7, 90), (Op::Get, 7, 90)]
        );
    }

    #[test]
    fn a_write_nobody_waited_for_is_a_write() {
        assert_eq!(
            seen(&[sample(0, 7, Write, 50), sample(1, 7, Write, 60)]),
            [(Op::Set, 7, 50), (Op::Set, 7, 60)]
        );
        // Too late to be a fill: first the read without a fill, then a write.
        assert_eq!(
            seen(&[sample(0, 7, Miss, 0), sample(10_001, 8, Hit, 9), sample(10_002, 7, Write, 60)]),
            [(Op::Get, 8, 9), (Op::Get, 7, 0), (Op::Delete, 7, 0), (Op::Set, 7, 60)]
        );
    }

    /// A look-up of a missing key must not look like a one-byte item that hits next time.
    #[test]
    fn what_was_never_there_leaves_nothing_behind() {
        assert_eq!(seen(&[sample(0, 7, Miss, 0)]), [(Op::Get, 7, 0), (Op::Delete, 7, 0)]);
    }

    /// A larger cache would have hit on an evicted item, whether or not a fill follows.
    #[test]
    fn what_was_evicted_is_read_with_its_size() {
        assert_eq!(
            seen(&[sample(0, 7, Write, 80), sample(1, 7, Miss, 0)]),
            [(Op::Set, 7, 80), (Op::Get, 7, 80)]
        );
        let mut dying = sample(0, 7, Write, 80);
        dying.ttl = Micros::from_millis(500);
        assert_eq!(
            seen(&[dying, sample(501, 7, Miss, 0)]),
            [(Op::Set, 7, 80), (Op::Get, 7, 0), (Op::Delete, 7, 0)],
            "expired, not evicted"
        );
    }

    #[test]
    fn a_crowd_that_misses_together_wants_once() {
        assert_eq!(
            seen(&[sample(0, 7, Miss, 0), sample(1, 7, Miss, 0), sample(2, 7, Write, 30)]),
            [(Op::Get, 7, 30)]
        );
    }

    #[test]
    fn a_removal_ends_the_wait() {
        assert_eq!(
            seen(&[sample(0, 7, Miss, 0), sample(1, 7, Delete, 0), sample(2, 7, Write, 30)]),
            [(Op::Get, 7, 0), (Op::Delete, 7, 0), (Op::Delete, 7, 0), (Op::Set, 7, 30)]
        );
    }

    /// The old class must not keep the item.
    #[test]
    fn who_changes_class_leaves_the_old_one() {
        let dear = Sample { penalty: Micros(2_000), ..sample(9, 7, Write, 90) };
        let cheap = Sample { penalty: Micros(120), ..sample(0, 7, Write, 90) };
        let mut observer = Observer { classes: ClassKind::Penalties, ..Observer::default() };
        let mut accesses = vec![];
        for sample in [cheap, sample(5, 7, Miss, 0), dear] {
            observer.see(&sample, |a| accesses.push((a.op, a.penalty.0)));
        }
        assert_eq!(accesses, [(Op::Set, 120), (Op::Delete, 120), (Op::Get, 2_000)]);
        let mut observer = Observer { classes: ClassKind::Sizes, ..Observer::default() };
        let mut accesses = vec![];
        for sample in [sample(0, 7, Write, 90), sample(1, 7, Hit, 90), sample(2, 7, Write, 500)] {
            observer.see(&sample, |a| accesses.push((a.op, a.size.get())));
        }
        assert_eq!(accesses, [(Op::Set, 90), (Op::Get, 90), (Op::Delete, 90), (Op::Set, 500)]);
    }

    #[test]
    fn memory_is_bounded_whatever_never_comes() {
        let mut observer = Observer::default();
        let mut count = 0;
        for key in 0..100_000 {
            observer.see(&sample(0, key, Miss, 0), |_| count += 1);
            assert!(observer.pending() <= PENDING_MAX && observer.order.len() <= PENDING_MAX);
        }
        assert!(count > 0);
    }
}
