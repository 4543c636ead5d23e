//! A model with a stack, and the parts that every stack needs: keys, sizes, sampling, expiry and
//! counts.

use std::fmt::Debug;

use base::{Access, Bytes, Micros, Op, Size};

use super::{Estimate, Expiry, KeyMap, Sampler, map_bytes};
use crate::{MissRatioCurve, Model, ModelCounts, Params, Remembered, RememberedObject};

/// Objects in an order such that a cache of any size holds the first ones, up to that many bytes.
pub(crate) trait Stack: Debug + Send {
    /// Accesses object `id`, which has `size` bytes from now on. Returns the size that a cache must
    /// have to hold it before this access, including its own bytes; `None` if it is not in the
    /// stack.
    fn access(&mut self, id: u32, size: Size) -> Option<u64>;
    /// The bytes of object `id` before its next access.
    fn size(&self, id: u32) -> Size;
    /// Deletes object `id`, which leaves a hole.
    fn remove(&mut self, id: u32);
    /// Drops the objects that are not to be kept, as if they had never been accessed.
    fn retain(&mut self, keep: &dyn Fn(u32) -> bool);
    /// Memory that the stack holds.
    fn bytes(&self) -> usize;
    /// The objects from the top down, or `None` for stacks that cannot list them.
    fn objects(&self) -> Option<Vec<u32>> {
        None
    }
    /// Adds an object that is not in the stack at its bottom.
    fn push_below(&mut self, _id: u32, _size: Size) {}
}

#[derive(Clone, Copy, Debug)]
struct StackObject {
    key: u64,
    expires: Micros,
}

/// The expiry time of a free id: no time to live ends at time 0.
const GONE: Micros = Micros(0);

#[derive(Debug)]
pub(crate) struct StackModel<S> {
    stack: S,
    sampler: Sampler,
    ids: KeyMap<u32>,
    objects: Vec<StackObject>,
    free: Vec<u32>,
    expiry: Expiry,
    estimate: Estimate,
    /// Time of the last request for a watched key.
    clock: Micros,
}

impl<S: Stack> StackModel<S> {
    /// Counts distances in buckets of a relative width of 2^-precision.
    pub(crate) fn new(params: &Params, precision: u32, stack: S) -> Self {
        Self {
            stack,
            sampler: Sampler::new(params),
            ids: KeyMap::default(),
            objects: vec![],
            free: vec![],
            expiry: Expiry::default(),
            estimate: Estimate::new(precision),
            clock: Micros(0),
        }
    }

    fn insert(&mut self, key: u64) -> u32 {
        let object = StackObject { key, expires: Expiry::NEVER };
        let id = if let Some(id) = self.free.pop() {
            self.objects[id as usize] = object;
            id
        } else {
            self.objects.push(object);
            (self.objects.len() - 1) as u32
        };
        self.ids.insert(key, id);
        id
    }

    fn release(&mut self, id: u32) {
        let object = &mut self.objects[id as usize];
        object.expires = GONE;
        self.ids.remove(&object.key);
        self.free.push(id);
    }

    fn expire(&mut self, now: Micros) {
        while let Some((when, id)) = self.expiry.pop(now) {
            if self.objects[id as usize].expires == when {
                self.stack.remove(id as u32);
                self.release(id as u32);
            }
        }
    }

    fn expires_at(&mut self, id: u32, when: Micros) {
        self.objects[id as usize].expires = when;
        self.expiry.push(when, u64::from(id));
        let objects = &self.objects;
        self.expiry.tidy(self.ids.len(), |when, id| objects[id as usize].expires == when);
    }

    /// Drops the keys that the sampler no longer watches, after its rate fell by `factor`.
    fn lowered(&mut self, factor: f64) {
        self.estimate.lower(factor);
        let (sampler, objects) = (&self.sampler, &self.objects);
        self.stack.retain(&|id| sampler.watches(objects[id as usize].key));
        let gone: Vec<u32> =
            self.ids.iter().filter(|(key, _)| !sampler.watches(**key)).map(|(_, id)| *id).collect();
        for id in gone {
            self.release(id);
        }
    }

    fn watch(&mut self, access: &Access) {
        self.clock = access.time;
        self.expire(access.time);
        let known = self.ids.get(&access.key).copied();
        if access.op == Op::Delete {
            if let Some(id) = known {
                self.stack.remove(id);
                self.release(id);
            }
            return;
        }
        let id = known.unwrap_or_else(|| self.insert(access.key));
        let before = if known.is_some() { u64::from(self.stack.size(id)) } else { 0 };
        let distance = self.stack.access(id, access.size);
        if access.op == Op::Get {
            // The bytes of other objects are a sample; the object's own bytes are not.
            let scaled = distance.map(|distance| {
                let others = distance.saturating_sub(before) as f64 / self.sampler.rate();
                before + others.round() as u64
            });
            self.estimate.read(scaled);
        }
        if known.is_none() || access.op == Op::Set {
            self.expires_at(id, Expiry::instant(access.time, access.ttl));
        }
        if self.sampler.is_full(self.ids.len()) {
            let factor = self.sampler.lower(self.ids.keys().copied());
            self.lowered(factor);
        }
    }
}

impl<S: Stack> Model for StackModel<S> {
    #[inline]
    fn access(&mut self, access: &Access) {
        if self.sampler.keeps(access) {
            self.watch(access);
        } else if access.op == Op::Get {
            self.estimate.others(1);
        }
    }

    fn skip(&mut self, gets: u64) {
        self.sampler.is_not_shown_all();
        self.estimate.others(gets);
    }

    fn curve(&self) -> MissRatioCurve {
        self.estimate.curve(self.sampler.rate(), self.sampler.drawn())
    }

    fn bytes(&self) -> Bytes {
        let objects = self.objects.capacity() * size_of::<StackObject>() + self.free.capacity() * 4;
        let keys = map_bytes::<u32>(self.ids.capacity());
        let counts = self.estimate.bytes() + self.expiry.bytes() + self.sampler.bytes();
        Bytes((self.stack.bytes() + objects + keys + counts) as u64)
    }

    fn forget(&mut self, factor: f64) {
        self.estimate.forget(factor);
    }

    fn rate(&self) -> f64 {
        self.sampler.rate()
    }

    fn lower(&mut self, rate: f64) -> bool {
        let factor = self.sampler.lower_to(rate);
        self.lowered(factor);
        true
    }

    fn counted(&self) -> Option<ModelCounts> {
        let (drawn, rate) = (self.sampler.drawn(), self.sampler.rate());
        let counts = self.estimate.counted(rate, drawn, self.sampler.rate_of_part());
        Some(ModelCounts::Distances(counts))
    }

    fn take(&mut self, counts: &ModelCounts) -> bool {
        match counts {
            ModelCounts::Distances(counts) if self.objects.is_empty() => self.estimate.take(counts),
            _ => false,
        }
    }

    fn remembered(&self) -> Option<Remembered> {
        let object = |id: u32| {
            let StackObject { key, expires } = self.objects[id as usize];
            let left = expires.0.saturating_sub(self.clock.0).max(1);
            let left_us = if expires == Expiry::NEVER { 0 } else { left };
            RememberedObject { key, size: self.stack.size(id).as_u32(), left_us, age: 0 }
        };
        let objects = self.stack.objects()?.into_iter().map(object).collect();
        let rest = Remembered { rate: self.sampler.rate(), objects, ..Remembered::default() };
        Some(self.estimate.remembered(rest))
    }

    fn remember(&mut self, remembered: &Remembered) -> bool {
        let is_new = self.objects.is_empty() && self.stack.objects().is_some();
        if !is_new || !remembered.is_sound() || !self.estimate.is_like(remembered) {
            return false;
        }
        self.sampler.resume(remembered.rate);
        self.estimate.remember(remembered);
        for object in &remembered.objects {
            if self.sampler.watches(object.key) && !self.ids.contains_key(&object.key) {
                let id = self.insert(object.key);
                self.stack.push_below(id, object.size.into());
                self.expires_at(id, Expiry::instant(Micros(0), Micros(object.left_us)));
            }
        }
        true
    }
}
