//! Ages of objects when they are used again. The models of average eviction time (aet, eaet, kaet)
//! compute their curves from them.
//!
//! Time is counted in accesses to all keys, sampled or not. The *age* of an object is the time
//! since its last access. It is live until it is removed or expires, at that instant. The trace is
//! cut into windows, and each window keeps two histograms over ages: its reads, by the age of the
//! live object that they found, and the objects that are live at its end. The second histogram
//! gives the bytes used within the last T accesses, for every T, without the assumption that all
//! stretches of the trace are alike.
//!
//! When there are too many windows, two neighbours are joined. So their number, and with it the
//! memory, depends neither on the length of the trace nor on the number of keys. Windows near the
//! beginning are kept shorter, because caches fill there.
//!
//! Only sampled keys are tracked, but at the full stream's clock; each stands for 1/R keys.

use std::borrow::Cow;

use base::{Access, Micros, Op, Size};

use super::windows::{Hits, Live, WINDOWS_MAX, Window, bin};
use super::{Expiry, KeyMap, Sampler, map_bytes};
use crate::{AgeCounts, Params, Remembered, RememberedAges, RememberedObject};

/// Most windows. Fewer would blur a change of the working set, and more would take the models
/// longer to solve.
const WINDOWS: usize = 32;
/// Accesses in the first window.
const FIRST_WINDOW: f64 = 256.0;

#[derive(Clone, Copy, Debug)]
struct Life {
    last: f64,
    expires: Micros,
    size: Size,
}

#[derive(Clone, Debug)]
pub(crate) struct Ages {
    sampler: Sampler,
    lives: KeyMap<Life>,
    expiry: Expiry,
    /// Accesses to all keys since the beginning.
    clock: f64,
    /// Time of the last access to a sampled key.
    now: Micros,
    /// Whether the caller drops unsampled keys: then a sampled write stands for 1/R writes.
    skipped: bool,
    saw_others: bool,
    /// All reads, and the reads of sampled keys.
    reads: f64,
    sampled: f64,
    /// The live objects when the first window began.
    origin: Vec<Live>,
    windows: Vec<Window>,
    /// The current window.
    open: Window,
    /// Accesses after which the current window ends.
    length: f64,
}

impl Ages {
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            sampler: Sampler::new(params),
            lives: KeyMap::default(),
            expiry: Expiry::default(),
            clock: 0.0,
            now: Micros(0),
            skipped: false,
            saw_others: false,
            reads: 0.0,
            sampled: 0.0,
            origin: vec![],
            windows: vec![],
            open: Window::default(),
            length: FIRST_WINDOW,
        }
    }

    #[inline]
    pub(crate) fn access(&mut self, access: &Access) {
        if access.time >= self.expiry.next() {
            self.expire(access.time);
        }
        if self.sampler.keeps(access) {
            self.watch(access);
            return;
        }
        self.saw_others = true;
        match access.op {
            Op::Get => self.others(1.0, 1.0),
            Op::Set => self.others(1.0, 0.0),
            Op::Delete => {}
        }
    }

    pub(crate) fn skip(&mut self, gets: u64) {
        self.skipped = true;
        self.sampler.is_not_shown_all();
        self.saw_others |= gets > 0;
        self.others(gets as f64, gets as f64);
    }

    #[inline]
    fn others(&mut self, ticks: f64, reads: f64) {
        if self.open.ticks >= self.length {
            self.close();
        }
        self.clock += ticks;
        self.open.ticks += ticks;
        self.reads += reads;
    }

    fn close(&mut self) {
        let live = self.snapshot();
        let mut window = Window { live, ..std::mem::take(&mut self.open) };
        window.hits.shrink_to_fit();
        window.live.shrink_to_fit();
        self.windows.push(window);
        let all: f64 = self.windows.iter().map(|window| window.ticks).sum();
        self.length = (all / WINDOWS as f64).max(FIRST_WINDOW);
        if self.windows.len() > WINDOWS {
            self.merge(all);
        }
    }

    /// Joins the two neighbours that are the shortest together, relative to their distance from the
    /// beginning.
    fn merge(&mut self, all: f64) {
        let mut start = all / 8.0;
        let (mut best, mut least) = (0, f64::INFINITY);
        for (at, pair) in self.windows.windows(2).enumerate() {
            let length = (pair[0].ticks + pair[1].ticks) / start;
            if length < least {
                (best, least) = (at, length);
            }
            start += pair[0].ticks;
        }
        let next = self.windows.remove(best + 1);
        self.windows[best].join(&next);
    }

    /// The live objects by age.
    fn snapshot(&self) -> Vec<Live> {
        let mut snapshot = vec![];
        for life in self.lives.values() {
            let at = bin((self.clock - life.last).max(0.0) as u64);
            if at >= snapshot.len() {
                snapshot.resize(at + 1, Live::default());
            }
            snapshot[at].objects += 1.0;
            snapshot[at].bytes += f64::from(life.size);
        }
        snapshot
    }

    fn watch(&mut self, access: &Access) {
        self.now = access.time;
        if access.op == Op::Delete {
            self.lives.remove(&access.key);
            return;
        }
        let read = access.op == Op::Get;
        self.others(1.0, f64::from(u8::from(read)));
        if !read && self.skipped {
            let rest = 1.0 / self.sampler.rate() - 1.0;
            self.others(rest, 0.0);
        }
        self.sampled += f64::from(u8::from(read));
        let mut life = Life { last: self.clock, expires: Expiry::NEVER, size: access.size };
        let before = self.lives.get(&access.key).copied();
        if let Some(before) = before {
            if read {
                // The age just before this access.
                self.hit((self.clock - before.last - 1.0).max(0.0) as u64);
            }
            life.expires = before.expires;
        }
        if before.is_none() || !read {
            life.expires = Expiry::instant(access.time, access.ttl);
            self.expiry.push(life.expires, access.key);
            let lives = &self.lives;
            self.expiry.tidy(lives.len(), |when, key| {
                when == life.expires && key == access.key
                    || lives.get(&key).is_some_and(|life| life.expires == when)
            });
        }
        self.lives.insert(access.key, life);
        if self.sampler.is_full(self.lives.len()) {
            let factor = self.sampler.lower(self.lives.keys().copied());
            self.lowered(factor);
        }
    }

    /// Lowers the rate from here on.
    pub(crate) fn lower(&mut self, rate: f64) {
        let factor = self.sampler.lower_to(rate);
        self.lowered(factor);
    }

    /// Drops the keys that the sampler no longer watches, after its rate fell by `factor`.
    fn lowered(&mut self, factor: f64) {
        let sampler = &self.sampler;
        self.lives.retain(|&key, _| sampler.watches(key));
        self.scale(factor);
    }

    fn hit(&mut self, age: u64) {
        let at = bin(age);
        let hits = &mut self.open.hits;
        if at >= hits.len() {
            hits.resize(at + 1, Hits::default());
        }
        hits[at].reads += 1.0;
        hits[at].ages += age as f64;
    }

    fn expire(&mut self, now: Micros) {
        while let Some((when, key)) = self.expiry.pop(now) {
            if self.lives.get(&key).is_some_and(|life| life.expires == when) {
                self.lives.remove(&key);
            }
        }
    }

    /// Reduces the weight of all counts of sampled keys so far.
    fn scale(&mut self, factor: f64) {
        let windows = self.windows.iter_mut().chain([&mut self.open]);
        for live in windows.flat_map(|window| &mut window.live).chain(&mut self.origin) {
            live.objects *= factor;
            live.bytes *= factor;
        }
        self.scale_hits(factor);
    }

    fn scale_hits(&mut self, factor: f64) {
        for window in self.windows.iter_mut().chain([&mut self.open]) {
            for hits in &mut window.hits {
                hits.reads *= factor;
                hits.ages *= factor;
            }
        }
        self.sampled *= factor;
    }

    pub(crate) fn forget(&mut self, factor: f64) {
        // Snapshots of live objects keep their weight as long as their window counts at all.
        self.close();
        self.scale_hits(factor);
        self.reads *= factor;
        while let Some(window) = self.windows.first() {
            let weight: f64 = window.hits.iter().map(|hits| hits.reads).sum();
            if weight > self.sampled * 1e-4 {
                break;
            }
            self.origin = self.windows.remove(0).live;
        }
    }

    /// The state of the model, with ages and times to live relative to now.
    pub(crate) fn remembered(&self) -> Remembered {
        let object = |(&key, life): (&u64, &Life)| RememberedObject {
            key,
            size: life.size.as_u32(),
            left_us: match life.expires {
                Expiry::NEVER => 0,
                expires => expires.0.saturating_sub(self.now.0).max(1),
            },
            age: (self.clock - life.last).max(0.0) as u64,
        };
        let mut objects: Vec<_> = self.lives.iter().map(object).collect();
        objects.sort_by_key(|object| (object.age, object.key));
        Remembered {
            rate: self.sampler.rate(),
            sampled: self.sampled,
            reads: self.reads,
            objects,
            ages: Some(RememberedAges {
                skipped: self.skipped,
                saw_others: self.saw_others,
                origin: self.origin.clone(),
                windows: self.windows.clone(),
                open: self.open.clone(),
                length: self.length,
            }),
            ..Remembered::default()
        }
    }

    /// Continues from a remembered state, if the model has seen nothing yet. Returns whether it
    /// does.
    pub(crate) fn remember(&mut self, remembered: &Remembered) -> bool {
        let Some(ages) = remembered.ages.as_ref().filter(|_| remembered.is_sound()) else {
            return false;
        };
        if self.clock > 0.0 {
            return false;
        }
        self.sampler.resume(remembered.rate);
        self.clock = remembered.objects.iter().map(|object| object.age).max().unwrap_or(0) as f64;
        (self.sampled, self.reads) = (remembered.sampled, remembered.reads);
        (self.skipped, self.saw_others) = (ages.skipped, ages.saw_others);
        self.origin.clone_from(&ages.origin);
        self.windows.clone_from(&ages.windows);
        self.open.clone_from(&ages.open);
        self.length = ages.length;
        for object in &remembered.objects {
            if self.sampler.watches(object.key) {
                let expires = Expiry::instant(Micros(0), Micros(object.left_us));
                let last = self.clock - object.age as f64;
                self.lives.insert(object.key, Life { last, expires, size: object.size.into() });
                self.expiry.push(expires, object.key);
            }
        }
        true
    }

    /// The counts, divided by the rate at which the part was sampled.
    pub(crate) fn counted(&self) -> AgeCounts {
        let weight = 1.0 / self.sampler.rate_of_part();
        let (origin, windows) = self.windows();
        let mut origin = origin.to_vec();
        Live::scale(&mut origin, weight);
        let windows = windows.into_iter().map(|window| {
            let mut window = window.into_owned();
            Live::scale(&mut window.live, weight);
            for hits in &mut window.hits {
                hits.reads *= weight;
                hits.ages *= weight;
            }
            window
        });
        AgeCounts {
            sampled: self.sampled * weight,
            expected: self.reads() * weight,
            bytes: self.bytes_drawn() * weight,
            windows: windows.collect(),
            origin,
        }
    }

    /// Takes over these counts, if the model has seen nothing yet. Returns whether it does.
    pub(crate) fn take(&mut self, counts: &AgeCounts) -> bool {
        if self.clock > 0.0 || counts.windows.len() > WINDOWS_MAX {
            return false;
        }
        // If parts are missing, the present parts stand for them.
        let weight = 1.0 / counts.bytes;
        self.origin.clone_from(&counts.origin);
        self.windows.clone_from(&counts.windows);
        Live::scale(&mut self.origin, weight);
        for window in &mut self.windows {
            Live::scale(&mut window.live, weight);
        }
        (self.sampled, self.reads, self.saw_others) = (counts.sampled, counts.expected, true);
        true
    }

    pub(crate) fn rate(&self) -> f64 {
        self.sampler.rate()
    }

    /// The share of the bytes that was actually drawn: the divisor for sizes of the sample.
    pub(crate) fn bytes_drawn(&self) -> f64 {
        self.rate() * self.sampler.drawn().bytes
    }

    /// Reads that a sample of this rate should have.
    pub(crate) fn reads(&self) -> f64 {
        let expected = self.reads * self.rate() * self.sampler.drawn().keys;
        if self.saw_others { expected } else { self.sampled }
    }

    /// Reads of sampled keys.
    pub(crate) fn sampled(&self) -> f64 {
        self.sampled
    }

    /// Mean size in bytes of the live objects at the end, each counted once.
    pub(crate) fn size_mean(&self) -> f64 {
        let (_, windows) = self.windows();
        let live = windows.last().map_or(&[][..], |window| &window.live);
        let sum = |of: fn(&Live) -> f64| live.iter().map(of).sum::<f64>();
        sum(|live| live.bytes) / sum(|live| live.objects).max(1.0)
    }

    /// The live objects at the start, and the windows. The last of them ends now.
    pub(crate) fn windows(&self) -> (&[Live], Vec<Cow<'_, Window>>) {
        let mut windows: Vec<_> = self.windows.iter().map(Cow::Borrowed).collect();
        if self.open.ticks > 0.0 {
            let live = self.snapshot();
            windows.push(Cow::Owned(Window { live, ..self.open.clone() }));
        }
        (&self.origin, windows)
    }

    pub(crate) fn bytes(&self) -> usize {
        map_bytes::<Life>(self.lives.capacity())
            + self.expiry.bytes()
            + self.sampler.bytes()
            + self.windows.iter().chain([&self.open]).map(Window::memory).sum::<usize>()
            + self.origin.capacity() * size_of::<Live>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Prng;

    /// The snapshots contain objects of every age, and hits add up over the windows, however often
    /// windows are joined.
    #[test]
    fn windows_keep_all_counts() {
        let mut prng = Prng::new(6);
        let mut ages = Ages::new(&Params::default());
        let (mut live, mut hits) = (std::collections::HashMap::new(), 0.0);
        for tick in 0..100_000 {
            let key = base::hash::mix(prng.below(600).min(prng.below(600)));
            let access =
                Access { time: Micros(tick), ..Access::get(key, 1 + prng.below(9) as u32) };
            if prng.chance(0.2) {
                ages.access(&Access { op: Op::Delete, ..access });
                live.remove(&key);
            } else {
                ages.access(&access);
                hits += f64::from(u8::from(live.insert(key, access.size).is_some()));
            }
        }
        let (_, windows) = ages.windows();
        assert!((WINDOWS..=WINDOWS + 1).contains(&windows.len()), "{}", windows.len());
        let counted: f64 =
            windows.iter().flat_map(|window| &window.hits).map(|hits| hits.reads).sum();
        assert_eq!(counted, hits);
        let last = &windows[windows.len() - 1].live;
        assert_eq!(last.iter().map(|live| live.objects).sum::<f64>(), live.len() as f64);
        let bytes: u64 = live.values().map(|&size| u64::from(size)).sum();
        assert_eq!(last.iter().map(|live| live.bytes).sum::<f64>(), bytes as f64);
    }
}
