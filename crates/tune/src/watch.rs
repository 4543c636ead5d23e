//! The models of one pool, and which share of its keys they watch.
//!
//! Two things bound the share. A model holds so many keys at most, and lowers its rate by itself as
//! more come: that bounds memory. And the models of all pools together see so many requests a
//! second at most, or their time would tell on the throughput: that is the rate they are built
//! with. It is chosen anew when it is far off; then new models begin, and the last curves of the
//! old ones serve until the new ones have seen enough.

use crate::calibration::Calibration;
use crate::known::{KnownCurve, KnownPool, RECALL_EPOCHS};
use crate::snapshot::Candidate;
use crate::{Evictor, Reading, Recipe};
use base::{Access, Filter, Op};
use curve::{Bands, Bytes, MissRatioCurve, Model, Params, Remembered};
use std::collections::HashSet;

/// Keys that the models of all pools watch at most, and those of a single pool: from about 8 000
/// on the mean error of a curve is below half a percent.
const KEYS_MAX: usize = 98_304;
const KEYS_MAX_POOL: usize = 12_288;

/// Keys that the models of a pool may watch, however little memory they are given, unless the plant
/// is content with fewer.
const KEYS_FLOOR: usize = 4_096;

/// What a watched key costs: in each model, and in the observer, which knows keys of before too.
const KEY_BYTES_MODEL: u64 = 100;
const KEY_BYTES_OBSERVER: u64 = 90;

/// Sampled requests a second that the models of all pools together see, where the plant has time to
/// spare: two percent of a core, since each costs about five microseconds for four models.
const SAMPLES_PER_S: f64 = 4_000.0;

/// The same where the plant is busy: a quarter of a percent of a core.
const SAMPLES_PER_S_BUSY: f64 = 500.0;

/// Requests a second up to which a plant has time to spare, and from which on it is busy: a request
/// sent by itself takes a core some eight microseconds, so it is at four and at sixteen percent.
const SPARE_OPS_PER_S: f64 = 5_000.0;
const BUSY_OPS_PER_S: f64 = 20_000.0;

/// Samples for each request of a plant that is busier still: on several cores there is time for
/// more of them, and it stays at one percent.
const SAMPLES_PER_OP: f64 = 0.002;

/// Reads below which a curve is not used.
const READS_MIN: f64 = 400.0;

/// Reads that a curve rests on where the pool goes on as before, however long they took to come:
/// of fewer, chance makes more than a point, and the best of many divisions is the best by chance.
const READS_KEPT: f64 = 6_000.0;

/// The rate that a recipe which asks for one gets, however busy the plant is: DLRU's published one,
/// with which five miniatures take 32 ns a request. With less an interval would teach nothing.
const RATE_GRANTED: f64 = 1.0 / 200.0;

/// Keys below which the curve of a sample is not used; where every key is watched, few are enough.
const KEYS_MIN: usize = 256;

/// How far the curves of new models must reach, by those of the old ones: beyond what they have
/// seen there is nothing to gain, as far as they know.
const EXTENT_MIN: f64 = 0.8;

/// Epochs before new models replace the curves of old ones.
const WARM_EPOCHS: u32 = 2;

/// Epochs with requests before the rate may be raised again.
const RAISE_EPOCHS: u32 = 8;

/// What is left of the busiest epoch's requests in the next: the rate is not raised in a lull, for
/// what comes after it would find the models unprepared.
const PEAK_KEEP: f64 = 0.97;

/// The rate to begin with, before it is known how busy the pool is.
const FIRST_RATE: f64 = 1.0 / 64.0;

/// Below this rate nothing can be learned.
const RATE_MIN: f64 = 1.0 / 65_536.0;

/// Sampled requests a second that the models of all pools together may see, if the plant serves so
/// many requests.
pub(crate) fn samples_per_s(ops_per_s: f64) -> f64 {
    let busy = (ops_per_s - SPARE_OPS_PER_S) / (BUSY_OPS_PER_S - SPARE_OPS_PER_S);
    let least = SAMPLES_PER_S + (SAMPLES_PER_S_BUSY - SAMPLES_PER_S) * busy.clamp(0.0, 1.0);
    (ops_per_s * SAMPLES_PER_OP).clamp(least, SAMPLES_PER_S)
}

/// Keys that the models of one pool of `pools` watch at most under `recipe`, where all models may
/// take what the plant says. What it does not bound is bounded by what more keys would teach.
pub(crate) fn keys_max(recipe: &Recipe, pools: usize, reading: &Reading) -> usize {
    if recipe.rate.is_some() {
        // The number of keys is a matter of the rate, where the recipe names one: what the models
        // then hold is the share of the residents.
        return usize::MAX;
    }
    let of_key = KEY_BYTES_OBSERVER + KEY_BYTES_MODEL * recipe.evictors.len() as u64;
    let keys = |memory: Bytes| KEYS_MAX.min((memory.0 / of_key) as usize);
    let paid = reading.model_memory.map_or(KEYS_MAX, keys);
    let free = (KEYS_MAX / pools.max(1)).clamp(2 * KEYS_MIN, KEYS_MAX_POOL);
    let floor = reading.model_keys_min.unwrap_or(KEYS_FLOOR);
    (paid / pools.max(1)).max(floor).min(free)
}

#[derive(Debug)]
pub(crate) struct Watch {
    spec: &'static curve::Spec,
    evictors: &'static [Evictor],
    seed: u64,
    keys_max: usize,
    /// The memory of the pool.
    budget: Bytes,
    /// The rate the recipe asks for, raised where too few keys are watched with it.
    asked: Option<f64>,
    /// Epochs before the curves of the models are used.
    warm: u32,
    /// The rate the models were built with. They may have lowered it since.
    rate: f64,
    /// One for each policy; none before the first sample.
    models: Vec<Box<dyn Model>>,
    /// Reads before the models were built.
    unseen: u64,
    /// Watched keys, as far as they are counted.
    keys: HashSet<u64>,
    /// Reads watched, with the same weights as the models'.
    reads: f64,
    /// Reads shown to the models before they were counted.
    ahead: u64,
    /// Epochs with requests since the models began.
    age: u32,
    rate_is_known: bool,
    /// Requests a second of the busiest epoch, fading.
    peak_ops_per_s: f64,
    curves: Vec<Candidate>,
    calibration: Calibration,
    /// Whether the models have drawn no curve yet.
    is_new: bool,
    /// Policy and memory of the pool in the last epoch.
    place: Option<(Evictor, Bytes)>,
    /// What `curves` were shifted by.
    applied: Calibration,
    /// Reads that new curves must rest on before they replace those of an earlier run.
    recalled: Option<f64>,
    /// Whether curves come with what chance may have made of them.
    has_bands: bool,
}

/// Sizes of a curve at which its band is told.
const BANDS: u64 = 32;

impl Watch {
    /// The models that `recipe` asks for, of one pool, of which they watch `keys_max` keys.
    pub(crate) fn new(
        spec: &'static curve::Spec,
        recipe: &Recipe,
        keys_max: usize,
        budget: Bytes,
        seed: u64,
    ) -> Self {
        let mut watch = Self {
            spec,
            evictors: recipe.evictors,
            seed,
            keys_max,
            budget,
            asked: recipe.rate,
            warm: if recipe.rate.is_some() { 1 } else { WARM_EPOCHS },
            rate: 0.0,
            models: vec![],
            unseen: 0,
            keys: HashSet::new(),
            reads: 0.0,
            ahead: 0,
            age: 0,
            rate_is_known: false,
            peak_ops_per_s: 0.0,
            curves: vec![],
            calibration: Calibration::default(),
            is_new: true,
            place: None,
            applied: Calibration::default(),
            recalled: None,
            has_bands: false,
        };
        watch.begin(recipe.rate.unwrap_or(FIRST_RATE));
        watch
    }

    /// The same, whose curves come with what chance may have made of them: twice the work.
    pub(crate) fn with_bands(mut self) -> Self {
        self.has_bands = true;
        self.begin(self.rate);
        self
    }

    /// The pool has another size now.
    pub(crate) fn resize(&mut self, budget: Bytes) {
        if self.budget != budget {
            self.budget = budget;
            self.models.iter_mut().for_each(|model| model.resize(budget));
        }
    }

    /// The models may watch so many keys now. Where that is less than half as many as they may
    /// already, or more than twice, they begin anew.
    pub(crate) fn allow(&mut self, keys_max: usize) {
        if keys_max < self.keys_max / 2 || keys_max / 2 > self.keys_max {
            self.keys_max = keys_max;
            self.begin(self.rate);
        }
    }

    /// Begins anew. The models are built when the first sample comes: a pool that nobody asks
    /// anything of costs no more than this struct.
    fn begin(&mut self, rate: f64) {
        self.rate = rate;
        self.models = vec![];
        self.keys = HashSet::new();
        (self.reads, self.age, self.ahead, self.unseen) = (0.0, 0, 0, 0);
        self.is_new = true;
    }

    fn build(&mut self) {
        let build = |evictor: &Evictor| {
            let params = Params {
                k: u32::from(evictor.k),
                pool: evictor.pool,
                policy: policy::parse(&evictor.to_string()).ok(),
                rate: self.rate,
                keys_max: self.keys_max,
                seed: self.seed,
                sizes: vec![self.budget],
                ..Params::default()
            };
            if self.has_bands {
                return Box::new(Bands::new(self.spec, &params)) as Box<dyn Model>;
            }
            (self.spec.build)(&params)
        };
        self.models = self.evictors.iter().map(build).collect();
        let unseen = std::mem::take(&mut self.unseen);
        self.skip(unseen);
    }

    /// Adds what it knows of its pool.
    pub(crate) fn known(&self, known: KnownPool) -> KnownPool {
        KnownPool {
            peak_ops_per_s: self.peak_ops_per_s,
            rate: self.filter().rate(),
            reads: self.recalled.map_or(self.reads, |before| self.reads.max(2.0 * before)),
            curves: self.curves.iter().map(KnownCurve::of).collect(),
            models: self.remembered().map(|all| (self.spec.name.to_owned(), all)),
            ..known
        }
    }

    /// Shows the models what was sampled of the `gets` reads that the pool had since the last call.
    /// The others are told between the samples, as if they had come evenly: to models that tell the
    /// time by reads, samples alone would be a stretch of time that is too short, and the others at
    /// its end one in which nothing happens.
    pub(crate) fn learn(&mut self, accesses: &[Access], gets: u64) {
        let shown = accesses.iter().filter(|access| access.op == Op::Get).count() as u64;
        let seen = shown + std::mem::take(&mut self.ahead);
        let unseen = gets.saturating_sub(seen);
        self.ahead = seen.saturating_sub(gets);
        let mut told = 0;
        for (place, access) in (1..).zip(accesses) {
            let before = unseen * place / (accesses.len() as u64 + 1);
            self.skip(before - told);
            told = before;
            self.access(access);
        }
        self.skip(unseen - told);
    }

    fn skip(&mut self, gets: u64) {
        if self.models.is_empty() {
            self.unseen += gets;
        } else if gets > 0 {
            self.models.iter_mut().for_each(|model| model.skip(gets));
        }
    }

    /// Begins with the curves and the rate of an earlier run.
    pub(crate) fn recall(&mut self, known: &KnownPool) {
        self.budget = Bytes(known.budget);
        let curves = known.curves.iter();
        self.curves = curves.filter_map(|curve| curve.candidate(self.evictors)).collect();
        self.peak_ops_per_s = known.peak_ops_per_s;
        if known.rate >= RATE_MIN {
            self.rate_is_known = true;
            self.begin(known.rate.min(1.0));
        }
        self.recalled = (!self.curves.is_empty()).then_some(0.5 * known.reads);
        if self.remember(known) {
            (self.reads, self.age, self.recalled) = (known.reads, self.warm, None);
        }
    }

    /// What all the models have seen, if each can say it.
    fn remembered(&self) -> Option<Vec<Remembered>> {
        let known = self.models.iter().map(|model| model.remembered());
        if self.models.is_empty() { None } else { known.collect() }
    }

    /// Lets the models go on from what those of an earlier run have seen. Whether all of them do.
    fn remember(&mut self, known: &KnownPool) -> bool {
        let Some((name, all)) = &known.models else { return false };
        if name != self.spec.name || all.len() != self.evictors.len() {
            return false;
        }
        let rate = self.rate;
        self.build();
        let is_done = self.models.iter_mut().zip(all).all(|(model, one)| model.remember(one));
        if is_done {
            let objects = all.iter().flat_map(|one| &one.objects);
            self.keys = objects.map(|object| object.key).take(KEYS_MIN).collect();
        } else {
            self.begin(rate);
        }
        is_done
    }

    fn access(&mut self, access: &Access) {
        if self.models.is_empty() {
            self.build();
        }
        let read = access.op == Op::Get;
        if self.filter().keeps(access.key) {
            self.reads += f64::from(u8::from(read));
            if self.keys.len() < KEYS_MIN {
                self.keys.insert(access.key);
            }
        }
        self.models.iter_mut().for_each(|model| model.access(access));
    }

    /// Ends an epoch in which the pool had, smoothed, `ops_per_s` requests: takes the curves,
    /// forgets a little, and looks whether the rate still fits the samples it may see. To be called
    /// only where there were requests: in a lull nothing is learned or forgotten.
    pub(crate) fn epoch(&mut self, ops_per_s: f64, samples_per_s: f64, keep: f64) {
        self.peak_ops_per_s = (self.peak_ops_per_s * PEAK_KEEP).max(ops_per_s);
        self.take_curves(keep);
        if let Some(rate) = self.lower_rate(ops_per_s, samples_per_s) {
            self.lower(rate);
        } else if let Some(rate) = self.higher_rate(samples_per_s) {
            self.restart(rate);
        }
    }

    /// Watches at the rate of somebody else, who samples for it: at once where that is lower, for
    /// of other keys nothing is heard; and where it is far higher.
    pub(crate) fn follow(&mut self, rate: f64) {
        if rate < 0.999 * self.filter().rate() || rate >= 4.0 * self.rate {
            self.begin(rate);
        }
    }

    /// Holds the curves against an epoch of `reads`, of which `missed` found nothing, in which the
    /// pool held so much under this policy.
    pub(crate) fn check(&mut self, evictor: Evictor, held: Bytes, reads: f64, missed: f64) {
        self.place = Some((evictor, held));
        if self.asked.is_some() {
            // Miniatures of the size there is are held against each other.
            return;
        }
        let known = self.curves.iter().find(|known| known.evictor == evictor);
        if let Some(known) = known {
            let ratio = self.applied.unshifted(known.curve.at(held).0);
            self.calibration.note(reads, missed, ratio);
        }
    }

    /// The miss ratio to expect with so much memory under this policy.
    pub(crate) fn forecast(&self, evictor: Evictor, held: Bytes) -> Option<f64> {
        let known = self.curves.iter().find(|known| known.evictor == evictor)?;
        Some(known.curve.at(held).0)
    }

    /// Watches fewer keys: with the same models where they can forget the others.
    fn lower(&mut self, rate: f64) {
        let before = self.filter().rate();
        if self.models.is_empty() || !self.models.iter_mut().all(|model| model.lower(rate)) {
            return self.restart(rate);
        }
        (self.rate, self.rate_is_known) = (rate, true);
        self.reads *= rate / before;
        let filter = self.filter();
        self.keys.retain(|&key| filter.keeps(key));
    }

    /// Begins anew with another rate. The curves serve until new ones rest on half as many reads
    /// and reach as far: a model that has just begun takes every key for a new one.
    fn restart(&mut self, rate: f64) {
        self.rate_is_known = true;
        self.warm = WARM_EPOCHS;
        if self.asked.is_none() && !self.curves.is_empty() {
            self.recalled = Some(self.recalled.unwrap_or(0.0).max(0.5 * self.reads));
        }
        self.begin(rate);
    }

    /// Ends an epoch as far as the curves go: takes them, and forgets a little.
    pub(crate) fn take_curves(&mut self, keep: f64) {
        self.age += 1;
        let enough_keys = self.keys.len() >= KEYS_MIN || self.filter() == Filter::ALL;
        if self.age > RECALL_EPOCHS || self.recalled.is_some_and(|reads| self.reads >= reads) {
            self.recalled = None;
        }
        let is_enough = self.reads >= READS_MIN && enough_keys && self.recalled.is_none();
        let ended = keep > 0.0 || self.reads >= READS_MIN;
        let drawn: Vec<_> = if self.age >= self.warm && is_enough {
            self.models.iter().map(|model| model.curve()).collect()
        } else {
            vec![]
        };
        let farthest = drawn.iter().map(MissRatioCurve::extent).max().unwrap_or_default();
        let known = self.curves.iter().map(|known| known.curve.extent()).max().unwrap_or_default();
        let reaches = farthest.as_f64() >= EXTENT_MIN * known.as_f64();
        let is_late = self.age > RECALL_EPOCHS || self.calibration.is_off();
        if !drawn.is_empty() && (reaches || is_late || !self.is_new) {
            if std::mem::take(&mut self.is_new)
                && let Some((evictor, held)) = self.place
                && let Some(at) = self.evictors.iter().position(|known| *known == evictor)
            {
                self.calibration.rebase(drawn[at].at(held).0);
            }
            self.applied = self.calibration;
            let reads = self.reads;
            let known = self.evictors.iter().zip(&mut self.models).zip(&drawn);
            let known = known.map(|((&evictor, model), curve)| {
                let (groups, waits, end) = (model.groups(), model.waits(), curve.extent().0);
                let sizes = (0..=BANDS).map(|step| Bytes(end / BANDS * step)).collect::<Vec<_>>();
                let bands = model.bands(&sizes);
                let curve = self.calibration.apply(curve);
                Candidate { groups, waits, reads, bands, ..Candidate::new(evictor, curve) }
            });
            self.curves = known.collect();
        } else if keep > 0.0 {
            let (before, now) = (self.applied, self.calibration);
            for known in &mut self.curves {
                known.curve = now.renew(&before, &known.curve);
            }
            self.applied = now;
        } else if ended && drawn.is_empty() {
            // Of this epoch nothing is known, and earlier ones do not count.
            self.curves.clear();
        }
        // An interval in which too little was seen goes on, and where reads are few they are kept
        // for longer: forgotten as fast as they come they would never be enough. Where they no
        // longer say what comes, the sooner they are forgotten the better.
        let kept = if self.calibration.is_off() { READS_MIN } else { READS_KEPT };
        let keep = if keep > 0.0 { keep.max((kept / self.reads).min(1.0)) } else { keep };
        if ended {
            self.models.iter_mut().for_each(|model| model.forget(keep));
            self.reads *= keep;
            if !enough_keys && let Some(asked) = &mut self.asked {
                *asked = (4.0 * *asked).min(1.0);
            }
            if keep == 0.0 {
                self.keys.clear();
            }
        }
    }

    /// Learns in the middle of an epoch that there are `ops_per_s` requests, far more than the
    /// rate is made for: the models begin anew with a lower one. True if they did.
    pub(crate) fn overrun(&mut self, ops_per_s: f64, samples_per_s: f64) -> bool {
        self.peak_ops_per_s = self.peak_ops_per_s.max(ops_per_s);
        let Some(rate) = self.lower_rate(ops_per_s, samples_per_s) else { return false };
        self.lower(rate);
        true
    }

    /// The rate to begin anew with, if the present one is far too high.
    fn lower_rate(&self, ops_per_s: f64, samples_per_s: f64) -> Option<f64> {
        let in_time = self.granted(samples_per_s / ops_per_s.max(1e-9));
        let (wanted, now) = (octave(in_time), self.filter().rate());
        (now > 2.0 * in_time && wanted < now).then_some(wanted)
    }

    /// The rate there is time for, or what a recipe that asks for one gets all the same.
    fn granted(&self, in_time: f64) -> f64 {
        self.asked.map_or(in_time, |asked| in_time.max(asked.min(RATE_GRANTED)))
    }

    /// The rate to begin anew with, if the present one is far too low.
    fn higher_rate(&self, samples_per_s: f64) -> Option<f64> {
        let in_time = octave(self.granted(samples_per_s / self.peak_ops_per_s.max(1e-9)));
        let wanted = self.asked.map_or(in_time, |asked| asked.min(in_time));
        let now = self.filter().rate();
        // Models that lowered their rate themselves have all the keys they can hold.
        let has_room = now >= 0.99 * self.rate;
        let raise = if self.asked.is_some() {
            wanted >= 2.0 * now
        } else if self.rate_is_known {
            self.age >= RAISE_EPOCHS && wanted >= 4.0 * self.rate
        } else {
            wanted > self.rate
        };
        (raise && has_room).then_some(wanted)
    }

    /// What is known: a curve per policy, or nothing yet.
    pub(crate) fn curves(&self) -> &[Candidate] {
        &self.curves
    }

    /// The keys that are watched now.
    pub(crate) fn filter(&self) -> Filter {
        Filter::with_rate(self.models.first().map_or(self.rate, |model| model.rate()))
    }

    pub(crate) fn bytes(&self) -> Bytes {
        self.models.iter().map(|model| model.bytes()).sum()
    }
}

/// The whole octave below a rate: one that followed every wobble would never be warm.
pub(crate) fn octave(rate: f64) -> f64 {
    rate.min(1.0).log2().floor().exp2().max(RATE_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(prng: &mut base::Prng, count: u64, keys: u64) -> Vec<Access> {
        (0..count).map(|_| Access::get(base::hash::mix(prng.below(keys)), 10)).collect()
    }

    /// The published rate is no overrun on a busy server; every key is.
    #[test]
    fn what_a_recipe_asks_for_is_granted() {
        let recipe = crate::recipe::parse("dlru").unwrap();
        let spec = curve::find("miniature").unwrap();
        let mut watch = Watch::new(spec, &recipe, usize::MAX, Bytes(1 << 20), 1);
        assert!(!watch.overrun(260_000.0, samples_per_s(260_000.0)));
        assert!((watch.filter().rate() - RATE_GRANTED).abs() < 1e-6);
        let recipe = crate::recipe::parse("dlru:rate=1").unwrap();
        let mut watch = Watch::new(spec, &recipe, usize::MAX, Bytes(1 << 20), 1);
        assert!(watch.overrun(260_000.0, samples_per_s(260_000.0)));
        assert!((watch.filter().rate() - 1.0 / 256.0).abs() < 1e-6);
    }

    /// A loop over two thousand keys hits in a cache of all of them and in none that is smaller,
    /// however few looks there are at a sample of it.
    #[test]
    fn what_is_not_sampled_takes_its_time() {
        let recipe = crate::recipe::parse("lama:rate=0.25").unwrap();
        let spec = curve::find("aet").unwrap();
        let mut watch = Watch::new(spec, &recipe, usize::MAX, Bytes(10_000), 1);
        let round: Vec<_> = (0..2_000).map(|key| Access::get(base::hash::mix(key), 10)).collect();
        let mut requests = round.iter().cycle();
        for _ in 0..40 {
            let look: Vec<_> = requests.by_ref().take(1_400).copied().collect();
            let filter = watch.filter();
            let sampled = look.iter().filter(|access| filter.keeps(access.key)).copied();
            watch.learn(&sampled.collect::<Vec<_>>(), look.len() as u64);
        }
        watch.epoch(1_000.0, SAMPLES_PER_S, 0.5);
        let curve = &watch.curves()[0].curve;
        let (less, more) = (curve.at(Bytes(18_000)).0, curve.at(Bytes(22_000)).0);
        assert!(less > 0.95 && more < 0.1, "{less} {more}");
    }

    /// Intervals of 150 reads say nothing each; the third has enough together with those before.
    #[test]
    fn an_interval_of_few_reads_goes_on() {
        let recipe = crate::recipe::parse("dlru:rate=1").unwrap();
        let spec = curve::find("miniature").unwrap();
        let mut watch = Watch::new(spec, &recipe, usize::MAX, Bytes(1_000), 1);
        let mut prng = base::Prng::new(1);
        for interval in 1..=6 {
            watch.learn(&reads(&mut prng, 150, 400), 150);
            watch.epoch(1_000.0, SAMPLES_PER_S, 0.0);
            assert_eq!(watch.curves().is_empty(), interval < 3, "{interval}");
        }
        // And the next begins anew: each counts the misses of three, 100 of 400 keys fit.
        let misses: f64 = watch.curves()[0].groups.unwrap().iter().sum();
        assert!((0.6 * 450.0..0.9 * 450.0).contains(&misses), "{misses}");
    }

    /// With a sixth forgotten each epoch, 40 reads an epoch would come to 270 and no more.
    #[test]
    fn few_reads_are_kept_for_longer() {
        let recipe = crate::recipe::parse("kredis").unwrap();
        let spec = curve::find("krr").unwrap();
        let mut watch = Watch::new(spec, &recipe, usize::MAX, Bytes(1 << 20), 1);
        watch.begin(1.0);
        let mut prng = base::Prng::new(1);
        for epoch in 1..=20 {
            watch.learn(&reads(&mut prng, 40, 1_000), 40);
            watch.epoch(40.0, SAMPLES_PER_S, 0.85);
            assert_eq!(watch.curves().is_empty(), epoch < 10, "{epoch}");
        }
    }

    /// A busy server must not pay for its models; an idle one must not learn slowly.
    #[test]
    fn models_take_the_time_there_is() {
        assert_eq!(samples_per_s(0.0), SAMPLES_PER_S);
        assert_eq!(samples_per_s(5_000.0), SAMPLES_PER_S);
        assert_eq!(samples_per_s(100_000.0), SAMPLES_PER_S_BUSY);
        assert_eq!(samples_per_s(1e6), 2_000.0);
        assert_eq!(samples_per_s(1e9), SAMPLES_PER_S);
    }
}
