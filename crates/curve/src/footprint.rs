//! Footprint: LRU from the mean number of distinct bytes in windows of every length [1], as in LAMA
//! [2].
//!
//! Consider all windows of w accesses in a trace of n. A window misses an object if it lies
//! entirely in a gap between two of its accesses, before its first, or after its last. A gap of g
//! free accesses holds g - w + 1 windows. So
//!
//! ```text
//!   fp(w) = Σ s - 1/(n-w+1) · Σ over gaps s·max(0, gap - w)
//! ```
//!
//! with the size s of the object. The length of a gap is t for a reuse after t accesses, f for a
//! first access at f (from 1), and n + 1 - l for a last access at l. A read that reuses an object
//! after t accesses hits in a cache of fp(t) bytes. (The first and last gaps make the footprint
//! exact for a finite trace, where `aet` is exact only for an endless one. But it is one window,
//! and `eaet` has many.)
//!
//! Gaps are counted together with the sum of their lengths, so a sum over the gaps longer than w is
//! exact at the edges of bins. All classes of one trace may share its clock, and then their
//! footprints add up: see [`Footprint::natural`].
//!
//! A footprint cannot express a deletion or the end of a time to live. An object is in a window if
//! it is accessed in it, whatever happens to it later. The next access counts as a first access,
//! and the object's memory stays in use. If there are many deletions, use `eaet`. The model cannot
//! forget a past window without its first and last accesses either: it can only forget everything.
//!
//! [1] Xiang, Ding, Luo, Bao. HOTL: a Higher Order Theory of Locality. ASPLOS '13.
//! [2] Hu, Wang, Li, Zhou, Luo, Ding, Jiang, Wang. LAMA: Optimized Locality-aware Memory
//!     Allocation for Key-value Cache. ATC '15, section 3.3.

use base::{Access, Bytes, Micros, MissRatio, Op, Size};

use crate::track::{Expiry, KeyMap, Sampler, bin, map_bytes, width};
use crate::{MissRatioCurve, Model, Params, Spec};

/// The registry entry.
pub const SPEC: Spec = Spec {
    name: "footprint",
    predicts: Params::lru,
    build: |params| Box::new(Footprint::new(params)),
};

#[derive(Clone, Copy, Debug)]
struct ObjectSpan {
    first: u64,
    last: u64,
    size: Size,
    expires: Micros,
    /// Whether it was deleted: then its next read misses.
    gone: bool,
}

/// Gaps of similar length, weighted by the size of the object.
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    bytes: f64,
    /// Bytes times length.
    area: f64,
    /// Reads that ended such a gap and found the object.
    reads: f64,
}

/// The footprint of all accesses so far.
#[derive(Clone, Debug)]
pub struct Footprint {
    sampler: Sampler,
    objects: KeyMap<ObjectSpan>,
    gaps: Vec<Gaps>,
    clock: u64,
    sampled: f64,
    reads: f64,
    saw_others: bool,
}

/// The footprint at the edge of a bin, in bytes of the sample.
struct Edge {
    window: f64,
    bytes: f64,
    hits: f64,
}

impl Footprint {
    /// Creates a footprint without accesses.
    pub fn new(params: &Params) -> Self {
        Self {
            sampler: Sampler::new(params),
            objects: KeyMap::default(),
            gaps: vec![],
            clock: 0,
            sampled: 0.0,
            reads: 0.0,
            saw_others: false,
        }
    }

    /// Counts accesses to other classes, so that a class follows the clock of the whole cache.
    pub fn pass(&mut self, accesses: u64) {
        self.clock += accesses;
    }

    /// The mean number of distinct bytes in windows of `accesses`.
    pub fn at(&self, accesses: u64) -> Bytes {
        Bytes((between(&self.edges(), accesses as f64) / self.sampler.rate()).round() as u64)
    }

    /// The part of `capacity` that each class takes without any partitioning: in one LRU list for
    /// all (with pages of a byte), or in a memcached that assigns pages until they are used up. A
    /// class has whole pages, and at least one if it is accessed at all. All classes must have seen
    /// the same clock (LAMA, equation 6, which has no pages).
    pub fn natural(classes: &[Self], capacity: Bytes, page: Bytes) -> Vec<Bytes> {
        let page = page.as_f64().max(1.0);
        let edges: Vec<_> = classes.iter().map(|class| (class.edges(), class.rate())).collect();
        let parts = |window: f64| -> Vec<f64> {
            let whole = |(class, (edges, rate)): (&Self, &(Vec<Edge>, f64))| {
                let pages = (between(edges, window) / rate / page).ceil();
                page * if class.objects.is_empty() { 0.0 } else { pages.max(1.0) }
            };
            classes.iter().zip(&edges).map(whole).collect()
        };
        let (mut low, mut high) =
            (0.0, classes.iter().map(|class| class.clock as f64).fold(0.0, f64::max));
        for _ in 0..64 {
            let middle = 0.5 * (low + high);
            let sum: f64 = parts(middle).iter().sum();
            if sum < capacity.as_f64() { low = middle } else { high = middle }
        }
        parts(low).into_iter().map(|part| Bytes(part.round() as u64)).collect()
    }

    fn edges(&self) -> Vec<Edge> {
        let end = self.clock + 1;
        let mut gaps = self.gaps.clone();
        let mut all = 0.0;
        for object in self.objects.values() {
            let bytes = f64::from(object.size);
            all += bytes;
            count(&mut gaps, object.first, bytes);
            count(&mut gaps, end - object.last, bytes);
        }
        let (mut bytes, mut area) = (0.0, 0.0);
        for gap in &gaps {
            bytes += gap.bytes;
            area += gap.area;
        }
        let mut edges = vec![Edge { window: 0.0, bytes: 0.0, hits: 0.0 }];
        let (mut window, mut hits) = (0.0, 0.0);
        for (at, gap) in gaps.iter().enumerate() {
            // Gaps up to the longest length of this bin are no longer than the window.
            window += width(at) as f64;
            bytes -= gap.bytes;
            area -= gap.area;
            hits += gap.reads;
            let last = window - 1.0;
            let windows = end as f64 - last;
            if last >= 1.0 && windows >= 1.0 {
                let missed = (area - last * bytes).max(0.0);
                edges.push(Edge { window: last, bytes: (all - missed / windows).max(0.0), hits });
            }
        }
        edges.push(Edge { window: self.clock as f64, bytes: all, hits });
        edges
    }
}

fn between(edges: &[Edge], window: f64) -> f64 {
    let after = edges.partition_point(|edge| edge.window <= window);
    let Some(right) = edges.get(after) else { return edges.last().map_or(0.0, |last| last.bytes) };
    let left = &edges[after - 1];
    let share = (window - left.window) / (right.window - left.window);
    left.bytes + (right.bytes - left.bytes) * share
}

fn count(gaps: &mut Vec<Gaps>, length: u64, bytes: f64) -> &mut Gaps {
    let at = bin(length);
    if at >= gaps.len() {
        gaps.resize(at + 1, Gaps::default());
    }
    let gap = &mut gaps[at];
    gap.bytes += bytes;
    gap.area += bytes * length as f64;
    gap
}

impl Model for Footprint {
    fn access(&mut self, access: &Access) {
        let read = access.op == Op::Get;
        if !self.sampler.keeps(access) {
            self.clock += u64::from(access.op != Op::Delete);
            self.reads += f64::from(u8::from(read));
            self.saw_others = true;
            return;
        }
        if access.op == Op::Delete {
            if let Some(object) = self.objects.get_mut(&access.key) {
                object.gone = true;
            }
            return;
        }
        self.clock += 1;
        let now = self.clock;
        self.reads += f64::from(u8::from(read));
        self.sampled += f64::from(u8::from(read));
        let expires = Expiry::instant(access.time, access.ttl);
        let new = ObjectSpan { first: now, last: now, size: access.size, expires, gone: false };
        let object = self.objects.entry(access.key).or_insert(new);
        if object.last < now {
            let live = !object.gone && object.expires > access.time;
            let gap = count(&mut self.gaps, now - object.last, f64::from(object.size));
            gap.reads += f64::from(u8::from(live && read));
            let expires = if live && read { object.expires } else { expires };
            *object = ObjectSpan { first: object.first, expires, ..new };
        }
        if self.sampler.is_full(self.objects.len()) {
            let factor = self.sampler.lower(self.objects.keys().copied());
            let sampler = &self.sampler;
            self.objects.retain(|&key, _| sampler.watches(key));
            for gap in &mut self.gaps {
                gap.bytes *= factor;
                gap.area *= factor;
                gap.reads *= factor;
            }
            self.sampled *= factor;
        }
    }

    fn skip(&mut self, gets: u64) {
        self.sampler.is_not_shown_all();
        self.clock += gets;
        self.reads += gets as f64;
        self.saw_others |= gets > 0;
    }

    fn curve(&self) -> MissRatioCurve {
        let drawn = self.sampler.drawn();
        let rate = self.sampler.rate() * drawn.bytes;
        let expected = self.reads * self.sampler.rate() * drawn.keys;
        let reads = if self.saw_others { expected } else { self.sampled };
        MissRatioCurve::new(self.edges().into_iter().filter(|edge| edge.bytes >= 1.0).map(|edge| {
            let misses = (self.sampled - edge.hits).max(0.0);
            (Bytes((edge.bytes / rate).ceil() as u64), MissRatio::of(misses, reads))
        }))
    }

    fn bytes(&self) -> Bytes {
        let gaps = self.gaps.capacity() * size_of::<Gaps>();
        Bytes(
            (map_bytes::<ObjectSpan>(self.objects.capacity()) + gaps + self.sampler.bytes()) as u64,
        )
    }

    /// First and last accesses belong to one window, which cannot have less weight. A factor below
    /// a half starts anew; a larger one changes nothing.
    fn forget(&mut self, factor: f64) {
        if factor < 0.5 {
            self.objects.values_mut().for_each(|object| {
                object.first = 1;
                object.last = 0;
            });
            self.gaps.clear();
            self.clock = 0;
            (self.sampled, self.reads) = (0.0, 0.0);
        }
    }

    fn rate(&self) -> f64 {
        self.sampler.rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(trace: &str) -> Footprint {
        let mut footprint = Footprint::new(&Params::default());
        for key in trace.bytes() {
            footprint.access(&Access::get(base::hash::mix(key.into()), 60));
        }
        footprint
    }

    /// Mean distinct objects in windows of 1, 2, 3 … accesses, counted by hand.
    #[test]
    fn small_examples() {
        for (trace, means) in [
            ("abcca", vec![1.0, 7.0 / 4.0, 7.0 / 3.0, 3.0, 3.0]),
            ("abccca", vec![1.0, 8.0 / 5.0, 2.0, 7.0 / 3.0, 3.0, 3.0]),
            ("abcabcabcabcabc", vec![1.0, 2.0, 3.0, 3.0]),
        ] {
            let footprint = of(trace);
            for (window, mean) in (1..).zip(means) {
                let bytes: f64 = 60.0 * mean;
                assert_eq!(footprint.at(window), Bytes(bytes.round() as u64), "{trace} {window}");
            }
        }
    }

    /// (abc)…: a cache of three objects always hits, a cache of two never does.
    #[test]
    fn a_loop_hits_when_it_fits() {
        let curve = of(&"abc".repeat(1_000)).curve();
        assert_eq!(curve.at(Bytes(120)), MissRatio(1.0));
        assert!(curve.at(Bytes(180)).0 < 0.002);
    }

    /// One class never accesses a key twice, and the other walks a loop of three keys, in turn. A
    /// cache of four objects is shared two and two, and no access hits. (LAMA, figure 1.)
    #[test]
    fn nature_gives_half_to_a_scan() {
        let mut classes = [0, 1].map(|_| Footprint::new(&Params::default()));
        for at in 0..30_000 {
            for (class, key) in [(0, 1_000 + at), (1, at % 3)] {
                classes[class].access(&Access::get(base::hash::mix(key), 60));
                classes[1 - class].pass(1);
            }
        }
        let parts = Footprint::natural(&classes, Bytes(240), Bytes(1));
        assert!(parts.iter().all(|part| (118..=120).contains(&part.0)), "{parts:?}");
        assert!(classes[1].curve().at(parts[1]).0 > 0.99);
        assert!(classes[1].curve().at(Bytes(180)).0 < 0.01);
    }

    /// Two classes have as many objects, and one has twice the accesses. Their parts of one LRU
    /// list add up to the list, and the busier class has the larger part.
    #[test]
    fn natural_parts_add_up() {
        let mut prng = base::Prng::new(3);
        let mut classes = [0, 1].map(|_| Footprint::new(&Params::default()));
        for _ in 0..60_000 {
            let class = usize::from(prng.chance(2.0 / 3.0));
            let key = base::hash::mix(prng.below(1_000) + 10_000 * class as u64);
            classes[class].access(&Access::get(key, 1));
            classes[1 - class].pass(1);
        }
        let parts = Footprint::natural(&classes, Bytes(1_000), Bytes(1));
        assert!((995..=1_000).contains(&(parts[0].0 + parts[1].0)), "{parts:?}");
        // 1 - e^(-t) and 1 - e^(-2t) of 1 000 add up to 1 000 where e^(-t) is 0.618.
        assert!((parts[0].0 as f64 - 382.0).abs() < 15.0, "{parts:?}");
    }

    /// Parts are whole pages: one page for a class with a single object, none for a class without
    /// accesses.
    #[test]
    fn natural_parts_are_whole_pages() {
        let mut classes = [0, 1, 2, 3].map(|_| Footprint::new(&Params::default()));
        for at in 0..10_000_u64 {
            let class = usize::from(at == 5_000) + usize::from(at % 3 == 0 && at != 5_000) * 2;
            for (number, footprint) in classes.iter_mut().enumerate().take(3) {
                if number == class {
                    footprint.access(&Access::get(base::hash::mix(at % 500), 1));
                } else {
                    footprint.pass(1);
                }
            }
        }
        let page = Bytes(100);
        let parts = Footprint::natural(&classes, Bytes(600), page);
        assert!(parts.iter().all(|part| part.0 % page.0 == 0), "{parts:?}");
        assert_eq!((parts[1], parts[3]), (page, Bytes(0)), "{parts:?}");
        let sum = parts.iter().copied().sum::<Bytes>();
        assert!(sum <= Bytes(600) && sum >= Bytes(500), "{parts:?}");
    }
}
