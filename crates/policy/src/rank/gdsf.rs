//! GDSF: GreedyDual with sizes and frequencies, the standard to beat for objects of different
//! sizes.
//!
//! ```text
//! priority = L + uses · cost / size        L := priority of the last victim
//! ```
//!
//! L rises with every eviction, so an unused object falls behind without any decay. The priority is
//! fixed when the object is used and waits in a heap.
//!
//! A newcomer competes. If evicting all objects of no higher priority would not make room for it,
//! it is itself among the lowest, and nothing is evicted for it \[1\]. Then L rises to its
//! priority, as if it had entered and left at once. Otherwise a cache of favourites would never
//! open again.
//!
//! GDSF is not a rank of an item's metadata. It needs the L of the item's last use, which no other
//! policy stores. Over a sample it converges badly (the LHD paper's figure 7: not at 128
//! candidates). The live store has LHD for variable sizes instead.
//!
//! With `cost=1` the penalty counts, in milliseconds, a common scale for L.
//!
//! \[1\] Cherkasova. Improving WWW Proxies Performance with Greedy-Dual-Size-Frequency Caching
//! Policy. HP Labs 1998.

use crate::heap::Heap;
use crate::{Param, Policy, Slot, Spec};
use base::{Access, Bytes, Size, Tick};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "gdsf",
    params: &[Param::switch("cost", 0)],
    build: |params| {
        let worth: Worth = if params.get("cost") > 0.0 {
            |access| access.penalty.as_f64().max(1.0) * 1e-3 * per_byte(access)
        } else {
            per_byte
        };
        Box::new(GreedyDual { competes: true, ..GreedyDual::new(worth, 1.0, params.capacity) })
    },
    live: None,
};

/// The worth of one use of the accessed object.
pub(crate) type Worth = fn(&Access) -> f64;

fn per_byte(access: &Access) -> f64 {
    // The factor is arbitrary but common to all objects.
    1e6 / f64::from(access.size.max(Size::ONE))
}

/// The GreedyDual family: uses times worth, above a level that rises with the victims.
#[derive(Debug)]
pub(crate) struct GreedyDual {
    worth: Worth,
    /// Share of a victim's priority that the level rises to: 1 to age, 0 not to.
    ageing: f64,
    level: f64,
    /// Whether a newcomer may itself be refused.
    competes: bool,
    capacity: Bytes,
    bytes: u64,
    sizes: Vec<Size>,
    uses: Vec<u32>,
    heap: Heap,
    open: Vec<usize>,
}

impl GreedyDual {
    pub(crate) fn new(worth: Worth, ageing: f64, capacity: Bytes) -> Self {
        Self {
            worth,
            ageing,
            level: 0.0,
            competes: false,
            capacity,
            bytes: 0,
            sizes: vec![],
            uses: vec![],
            heap: Heap::default(),
            open: vec![],
        }
    }

    /// Whether evicting all objects of no higher priority makes room for this size.
    fn yields(&mut self, size: Size, priority: f64) -> bool {
        let mut need = (self.bytes + u64::from(size)).saturating_sub(self.capacity.0);
        let mut lower = self.heap.up_to(priority, &mut self.open);
        while need > 0 {
            let Some(slot) = lower.next() else { return false };
            need = need.saturating_sub(u64::from(self.sizes[slot as usize]));
        }
        true
    }

    fn charge(&mut self, slot: Slot, size: Size) {
        let old = std::mem::replace(&mut self.sizes[slot as usize], size);
        self.bytes = self.bytes - u64::from(old) + u64::from(size);
    }

    fn priority(&self, slot: Slot, access: &Access) -> f64 {
        self.level + f64::from(self.uses[slot as usize]) * (self.worth)(access)
    }
}

impl Policy for GreedyDual {
    fn takes(&mut self, incoming: &Access, _: Tick) -> bool {
        let priority = self.level + (self.worth)(incoming);
        let takes = !self.competes || self.yields(incoming.size, priority);
        if !takes {
            self.level = priority * self.ageing;
        }
        takes
    }

    fn on_insert(&mut self, slot: Slot, access: &Access, _: Tick) {
        if slot as usize >= self.uses.len() {
            self.uses.resize(slot as usize + 1, 0);
            self.sizes.resize(slot as usize + 1, Size::of(0));
        }
        self.charge(slot, access.size);
        self.uses[slot as usize] = 1;
        self.heap.push(slot, self.priority(slot, access));
    }

    fn on_hit(&mut self, slot: Slot, access: &Access, _: Tick) {
        let uses = &mut self.uses[slot as usize];
        *uses = uses.saturating_add(1);
        self.charge(slot, access.size);
        self.heap.change(slot, self.priority(slot, access));
    }

    fn on_remove(&mut self, slot: Slot, _: u64, evicted: bool, _: Tick) {
        if let Some((first, priority)) = self.heap.first()
            && evicted
            && first == slot
        {
            self.level = self.level.max(priority * self.ageing);
        }
        self.heap.remove(slot);
        self.charge(slot, Size::of(0));
    }

    fn on_resize(&mut self, capacity: Bytes) {
        self.capacity = capacity;
    }

    fn victim(&mut self, _: &Access, _: Tick) -> Slot {
        self.heap.first().expect("a victim is asked for only while something is resident").0
    }
}
