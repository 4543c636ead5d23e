//! The rank in the simulator: residents without gaps, and the candidates of an eviction.
//!
//! Entries are in no order (the last fills every gap), so a run of neighbours is as good as single
//! draws, and costs fewer cache lines. Draws by bytes use longer runs. Among the bytes of a run,
//! they draw those at equal distances from a random start, and the items that hold them. So an item
//! is drawn in proportion to its size, and never twice, however large.

use super::{
    IndexTable, KeyEvent, LARGE, Learner, LearnerOptions, Lower, Memory, Past, TENANTS, size_class,
};
use crate::rank::Dense;
use crate::{Params, Policy, Slot};
use base::hash::mix;
use base::{Access, Bytes, Filter, Op, Prng, Size, Tick};

/// Neighbours read at each draw.
const RUN: usize = 8;
/// Neighbours in one run of draws by bytes.
const WALK: usize = 64;
/// Residents passed for each item drawn by bytes.
const PASSED: usize = 8;
/// Bits of the fraction that counts the bytes between two draws.
const APART: u32 = 44;
/// Sizes whose variance, relative to the square of their mean, is below this count as equal.
const ALIKE: f64 = 0.02;

/// The entry of a resident: 24 bytes with its slot, so that a run of eight is three cache lines.
#[derive(Clone, Copy, Debug)]
struct GittinsResident {
    /// Tick of the last use, wrapping: ages beyond 2^32 requests are wrong.
    last: u32,
    /// Price per byte.
    worth: f32,
    size: Size,
    past: Past,
    tenant: u8,
    class: u8,
    /// Size class by the mean at its entry.
    size_class: u8,
}

impl GittinsResident {
    #[inline]
    fn rank(&self, table: &IndexTable, now: u32) -> f32 {
        let age = now.wrapping_sub(self.last);
        self.worth * table.index(u16::from(self.tenant), self.class, age)
    }

    fn resize(&mut self, size: Size) {
        self.worth *= bytes(self.size) / bytes(size);
        self.size = size;
    }
}

fn bytes(size: Size) -> f32 {
    size.max(Size::ONE).as_f32()
}

/// The sum of the residents' sizes, and the sum of their squares.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    sum: u64,
    squares: u128,
}

impl Sizes {
    fn add(&mut self, size: Size) {
        self.sum += size.get();
        self.squares += u128::from(size.get()).pow(2);
    }

    fn take(&mut self, size: Size) {
        self.sum -= size.get();
        self.squares -= u128::from(size.get()).pow(2);
    }

    /// The class of a size among this number of items.
    fn class_of(&self, size: Size, items: usize) -> u8 {
        let mean = self.sum as f32 / items.max(1) as f32;
        size_class(bytes(size), if items == 0 { bytes(size) } else { mean })
    }

    /// Whether the sizes of this number of items differ.
    fn differ(&self, items: usize) -> bool {
        self.squares as f64 * items as f64 > (1.0 + ALIKE) * (self.sum as f64).powi(2)
    }
}

/// The residents, the learnt state, and the memory of evicted keys.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a parameter of its own")]
pub(super) struct Gittins {
    table: IndexTable,
    learner: Learner,
    memory: Memory,
    dense: Dense<GittinsResident>,
    sizes: Sizes,
    /// The newest items, in a ring; a victim search skips slots that are empty.
    newest: Vec<Slot>,
    newest_at: usize,
    prng: Prng,
    k: usize,
    has_price: bool,
    by_tenant: bool,
    by_bytes: bool,
    /// The least share of the keys to watch; `None` to learn only from residents.
    watch_min: Option<Filter>,
    remembered: f64,
    /// Whether large newcomers compete.
    competes: bool,
    capacity: u64,
    evicted: u64,
}

impl Gittins {
    pub(super) fn new(params: &Params) -> Self {
        let is = |name| params.get(name) > 0.0;
        let watch_min = is("watch").then(|| Filter::with_rate(params.get("watch")));
        let least = watch_min.unwrap_or(Filter::ALL);
        let options = LearnerOptions {
            tail: is("tail"),
            stops: is("stop"),
            parts: is("parts"),
            profile: is("profile"),
            fast: is("fast"),
            recency: is("recency"),
            steady: is("steady"),
        };
        Self {
            table: IndexTable::default(),
            learner: Learner::with(TENANTS, options).watching(least),
            memory: Memory::default(),
            dense: Dense::default(),
            sizes: Sizes::default(),
            newest: vec![Slot::MAX; params.get("newest") as usize],
            newest_at: 0,
            prng: Prng::new(params.seed),
            k: params.get("k") as usize,
            has_price: is("cost"),
            by_tenant: is("tenants"),
            by_bytes: is("bytes"),
            watch_min,
            remembered: params.get("memory"),
            competes: is("compete"),
            capacity: params.capacity.0,
            evicted: 0,
        }
    }

    fn tenant(&self, access: &Access) -> u16 {
        if self.by_tenant { access.tenant } else { 0 }
    }

    /// Learns from a request, and computes the indices when they are due.
    #[inline]
    fn see(&mut self, access: &Access, now: Tick) {
        if self.learner.filter().keeps(access.key) {
            let kind = if access.op == Op::Set { KeyEvent::Write } else { KeyEvent::Read };
            let size_class = self.sizes.class_of(access.size, self.dense.len());
            self.learner.access(self.tenant(access), access.key, kind, now.0, size_class);
            self.learner.narrow();
        }
        if self.learner.is_due(now.0, self.dense.len()) {
            self.table = self.learner.learn(now.0, self.dense.len(), self.evicted);
        }
    }

    /// The entry of an object that enters.
    fn entry(&self, access: &Access, past: Past, now: Tick) -> GittinsResident {
        let last = now.0 as u32;
        let price = if self.has_price { access.penalty.0.max(1) as f32 } else { 1.0 };
        let size_class = self.sizes.class_of(access.size, self.dense.len());
        GittinsResident {
            last,
            worth: price / bytes(access.size),
            size: access.size,
            past,
            tenant: (self.tenant(access) % TENANTS as u16) as u8,
            class: past.class(last, size_class),
            size_class,
        }
    }

    /// Whether a newcomer is worth more than the items that would be evicted for it.
    fn enters(&mut self, access: &Access, now: Tick) -> bool {
        let (len, held, size) = (self.dense.len() as u64, self.sizes.sum, access.size.get());
        let need = (held + size).saturating_sub(self.capacity);
        let is_large = size as f64 * len as f64 >= LARGE as f64 * held as f64;
        if len == 0 || need == 0 || !is_large {
            return true;
        }
        let hash = mix(access.key);
        let known = self.memory.take(hash);
        let mut past = known.unwrap_or(Past::new(now.0));
        if known.is_some() && access.op == Op::Get {
            past.hit(now.0);
        }
        let own = self.entry(access, past, now).rank(&self.table, now.0 as u32);
        let mut lower = Lower::than(own);
        for _ in 0..self.k.div_ceil(RUN) {
            let start = self.prng.below(len) as usize;
            for (_, entry) in self.dense.run(start, RUN).into_iter().flatten() {
                lower.draw(entry.rank(&self.table, now.0 as u32), entry.size.get());
            }
        }
        let enters = lower.yields(need, held);
        // A refused object is remembered as if it had been resident, or it would be new for ever.
        if let Some(past) = if enters { known } else { Some(past) } {
            self.memory.insert(hash, past);
        }
        enters
    }
}

/// The lowest rank so far, and its slot.
struct Lowest<'a> {
    table: &'a IndexTable,
    now: u32,
    rank: f32,
    slot: Slot,
}

impl Lowest<'_> {
    #[inline]
    fn consider(&mut self, slot: Slot, entry: &GittinsResident) {
        let rank = entry.rank(self.table, self.now);
        if rank < self.rank {
            (self.rank, self.slot) = (rank, slot);
        }
    }
}

impl Policy for Gittins {
    fn on_miss(&mut self, incoming: &Access, now: Tick) {
        self.see(incoming, now);
    }

    fn takes(&mut self, incoming: &Access, now: Tick) -> bool {
        !self.competes || self.enters(incoming, now)
    }

    fn on_resize(&mut self, capacity: Bytes) {
        self.capacity = capacity.0;
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, now: Tick) {
        let mut past = Past::new(now.0);
        if self.remembered > 0.0 {
            self.memory.resize((self.remembered * (self.dense.len() + 1) as f64) as usize);
            if let Some(known) = self.memory.take(mix(access.key)) {
                past = known;
                if access.op == Op::Get {
                    past.hit(now.0);
                }
            }
        }
        let entry = self.entry(access, past, now);
        self.sizes.add(entry.size);
        self.dense.push(slot, entry);
        if !self.newest.is_empty() {
            self.newest[self.newest_at] = slot;
            self.newest_at = (self.newest_at + 1) % self.newest.len();
        }
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, now: Tick) {
        self.see(access, now);
        let entry = self.dense.get_mut(slot);
        entry.last = now.0 as u32;
        if access.op == Op::Get {
            entry.past.hit(now.0);
        }
        entry.class = entry.past.class(entry.last, entry.size_class);
        if entry.size != access.size {
            self.sizes.take(entry.size);
            self.sizes.add(access.size);
            entry.resize(access.size);
        }
    }

    fn on_remove(&mut self, slot: Slot, key: u64, evicted: bool, now: Tick) {
        let entry = self.dense.remove(slot);
        self.sizes.take(entry.size);
        if evicted {
            self.evicted += 1;
            self.memory.insert(mix(key), entry.past);
        }
        if (!evicted || self.watch_min.is_none()) && self.learner.filter().keeps(key) {
            self.learner.access(u16::from(entry.tenant), key, KeyEvent::Gone, now.0, 0);
        }
    }

    fn victim(&mut self, _: &Access, now: Tick) -> Slot {
        let Self { table, dense, prng, k, .. } = self;
        let len = dense.len();
        let first = dense.at(0).0;
        let mut lowest = Lowest { table, now: now.0 as u32, rank: f32::INFINITY, slot: first };
        if len <= *k {
            dense.iter().for_each(|(slot, entry)| lowest.consider(slot, entry));
            return lowest.slot;
        }
        let by_bytes = if self.by_bytes && self.sizes.differ(len) { *k / 2 } else { 0 };
        let mut left = *k - by_bytes;
        while left > 0 {
            let start = prng.below(len as u64) as usize;
            for (slot, entry) in dense.run(start, left.min(RUN)).into_iter().flatten() {
                lowest.consider(*slot, entry);
            }
            left = left.saturating_sub(RUN);
        }
        let scale = (1 << APART) / (self.sizes.sum * PASSED as u64).div_ceil(len as u64).max(1);
        for _ in 0..(by_bytes * PASSED).div_ceil(WALK) {
            let start = prng.below(len as u64) as usize;
            let mut passed = prng.next_u64() >> (u64::BITS - APART);
            for part in dense.run(start, WALK) {
                // First finds the drawn items, without a branch that a processor could not predict.
                let (mut drawn, mut n) = ([0u8; WALK], 0);
                for (at, (_, entry)) in part.iter().enumerate() {
                    let before = passed >> APART;
                    passed = passed.wrapping_add(entry.size.get().wrapping_mul(scale));
                    drawn[n % WALK] = at as u8;
                    n += usize::from(passed >> APART != before);
                }
                for &at in &drawn[..n] {
                    let (slot, entry) = &part[usize::from(at)];
                    lowest.consider(*slot, entry);
                }
            }
        }
        for &slot in &self.newest {
            if let Some(entry) = dense.get(slot) {
                lowest.consider(slot, entry);
            }
        }
        lowest.slot
    }
}
