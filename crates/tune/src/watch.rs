//! The models of one pool, and the share of its keys that they watch.
//!
//! Two limits bound the share. A model holds a limited number of keys, and lowers its own rate when
//! more appear: that bounds memory. The models of all pools together see a limited number of
//! requests a second, or their time would lower the throughput. That limit sets the rate at which
//! they are built. A rate far off is chosen anew. Then new models begin, and the last curves of the
//! old ones serve until the new ones have seen enough.

use crate::calibration::Calibration;
use crate::known::{KnownCurve, KnownPool, RECALL_EPOCHS};
use crate::snapshot::Candidate;
use crate::{Evictor, Reading, Recipe};
use base::{Access, Filter, Op};
use curve::{Bands, Bytes, MissRatioCurve, Model, Params, Remembered};
use std::collections::HashSet;

/// The most keys that the models of all pools watch, and those of a single pool. From about 8 000
/// keys on the mean error of a curve is below half a percent.
const KEYS_MAX: usize = 98_304;
const KEYS_MAX_POOL: usize = 12_288;

/// Keys that the models of a pool may watch, however small their memory, unless the plant accepts
/// fewer.
const KEYS_FLOOR: usize = 4_096;

/// Bytes for a watched key: in each model, and in the observer, which also remembers earlier keys.
const KEY_BYTES_MODEL: u64 = 100;
const KEY_BYTES_OBSERVER: u64 = 90;

/// Sampled requests a second for the models of all pools together while the plant is not busy. They
/// take two percent of a core: each sample costs about five microseconds for four models.
const SAMPLES_PER_S: f64 = 4_000.0;

/// Sampled requests a second while the plant is busy: a quarter of a percent of a core.
const SAMPLES_PER_S_BUSY: f64 = 500.0;

/// Requests a second up to which the plant is not busy, and from which on it is busy. A single
/// request takes a core some eight microseconds, so these are four and sixteen percent.
const SPARE_OPS_PER_S: f64 = 5_000.0;
const BUSY_OPS_PER_S: f64 = 20_000.0;

/// Samples for each request of a still busier plant: several cores have time for more of them, and
/// their share stays at one percent.
const SAMPLES_PER_OP: f64 = 0.002;

/// The fewest reads behind a usable curve.
const READS_MIN: f64 = 400.0;

/// Reads that a curve rests on while the load stays the same, however old they are. With fewer,
/// chance makes more than a percentage point, and the best of many divisions is the best by chance.
const READS_KEPT: f64 = 6_000.0;

/// The rate that a recipe with a rate of its own gets, however busy the plant is. It is DLRU's
/// published rate, with which five miniatures take 32 ns a request. With a lower one an interval
/// would teach nothing.
const RATE_GRANTED: f64 = 1.0 / 200.0;

/// The fewest keys behind a usable curve of a sample; without sampling, fewer are enough.
const KEYS_MIN: usize = 256;

/// The least extent of the curves of new models, relative to the old ones: beyond the keys that
/// models have seen, their curves promise no gain.
const EXTENT_MIN: f64 = 0.8;

/// Epochs before new models replace the curves of old ones.
const WARM_EPOCHS: u32 = 2;

/// Epochs with requests before the rate may be raised again.
const RAISE_EPOCHS: u32 = 8;

/// Share of the peak rate of requests that remains in the next epoch. The rate is not raised in a
/// lull, since the load after it would find the models unprepared.
const PEAK_KEEP: f64 = 0.97;

/// The first rate, before the pool's load is known.
const FIRST_RATE: f64 = 1.0 / 64.0;

/// The lowest rate: below it models learn nothing.
const RATE_MIN: f64 = 1.0 / 65_536.0;

/// Sampled requests a second that the models of all pools together may see, if the plant serves
/// `ops_per_s` requests a second.
pub(crate) fn samples_per_s(ops_per_s: f64) -> f64 {
    let busy = (ops_per_s - SPARE_OPS_PER_S) / (BUSY_OPS_PER_S - SPARE_OPS_PER_S);
    let least = SAMPLES_PER_S + (SAMPLES_PER_S_BUSY - SAMPLES_PER_S) * busy.clamp(0.0, 1.0);
    (ops_per_s * SAMPLES_PER_OP).clamp(least, SAMPLES_PER_S)
}

/// The most keys that the models of one pool of `pools` watch under `recipe`, within the memory
/// that the plant allows. Without that limit, the benefit of more keys bounds them.
pub(crate) fn keys_max(recipe: &Recipe, pools: usize, reading: &Reading) -> usize {
    if recipe.rate.is_some() {
        // A rate in the recipe decides the number of keys: the models then hold that share of the
        // residents.
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
    /// Memory of the pool.
    budget: Bytes,
    /// The rate of the recipe, raised if it samples too few keys.
    asked: Option<f64>,
    /// Epochs before the curves of the models are used.
    warm: u32,
    /// The rate at which the models were built. They may have lowered it since.
    rate: f64,
    /// One model for each policy; empty before the first sample.
    models: Vec<Box<dyn Model>>,
    /// Reads of the pool before the models were built.
    unseen: u64,
    /// Watched keys, counted up to the number needed.
    keys: HashSet<u64>,
    /// Watched reads, with the same weights as in the models.
    reads: f64,
    /// Reads shown to the models before the pool's counter showed them.
    ahead: u64,
    /// Epochs with requests since the models began.
    age: u32,
    rate_is_known: bool,
    /// Requests a second in the busiest epoch, fading.
    peak_ops_per_s: f64,
    curves: Vec<Candidate>,
    calibration: Calibration,
    /// Whether the models have drawn no curve yet.
    is_new: bool,
    /// Policy and memory of the pool in the last epoch.
    place: Option<(Evictor, Bytes)>,
    /// The calibration that shifted `curves`.
    applied: Calibration,
    /// Reads that new curves must rest on before they replace the curves of an earlier run.
    recalled: Option<f64>,
    /// Whether curves come with bands of chance.
    has_bands: bool,
}

/// Number of sizes at which a curve has a band.
const BANDS: u64 = 32;

impl Watch {
    /// The models of `recipe` for one pool, with `keys_max` keys each.
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

    /// Lets curves come with bands of chance, for twice the work.
    pub(crate) fn with_bands(mut self) -> Self {
        self.has_bands = true;
        self.begin(self.rate);
        self
    }

    /// Changes the size of the pool.
    pub(crate) fn resize(&mut self, budget: Bytes) {
        if self.budget != budget {
            self.budget = budget;
            self.models.iter_mut().for_each(|model| model.resize(budget));
        }
    }

    /// Lets the models watch `keys_max` keys. They begin anew if that is less than half the present
    /// number, or more than twice.
    pub(crate) fn allow(&mut self, keys_max: usize) {
        if keys_max < self.keys_max / 2 || keys_max / 2 > self.keys_max {
            self.keys_max = keys_max;
            self.begin(self.rate);
        }
    }

    /// Begins anew. The models are built at the first sample: a pool without requests costs no more
    /// than this struct.
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

    /// Adds the state of the models to `known`.
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

    /// Shows the models the samples among the `gets` reads of the pool since the last call. The
    /// other reads are passed between the samples, evenly spread. Models tell the time by reads:
    /// for them the samples alone would be too short a time, and the other reads at the end a time
    /// without events.
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

    /// The memory of all the models, if each can export it.
    fn remembered(&self) -> Option<Vec<Remembered>> {
        let known = self.models.iter().map(|model| model.remembered());
        if self.models.is_empty() { None } else { known.collect() }
    }

    /// Lets the models continue from the memory of an earlier run. Returns whether all of them do.
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

    /// Ends an epoch in which the pool had, smoothed, `ops_per_s` requests a second: takes the
    /// curves, forgets a little, and adapts the rate to the allowed samples. Call it only after an
    /// epoch with requests: a lull teaches nothing and must forget nothing.
    pub(crate) fn epoch(&mut self, ops_per_s: f64, samples_per_s: f64, keep: f64) {
        self.peak_ops_per_s = (self.peak_ops_per_s * PEAK_KEEP).max(ops_per_s);
        self.take_curves(keep);
        if let Some(rate) = self.lower_rate(ops_per_s, samples_per_s) {
            self.lower(rate);
        } else if let Some(rate) = self.higher_rate(samples_per_s) {
            self.restart(rate);
        }
    }

    /// Adopts the rate of a sampler that serves this watch. A lower rate applies at once, since
    /// other keys no longer arrive; a higher one only if it is far higher.
    pub(crate) fn follow(&mut self, rate: f64) {
        if rate < 0.999 * self.filter().rate() || rate >= 4.0 * self.rate {
            self.begin(rate);
        }
    }

    /// Compares the curves with an epoch of `reads` reads, of which `missed` missed, while the pool
    /// held `held` bytes under this policy.
    pub(crate) fn check(&mut self, evictor: Evictor, held: Bytes, reads: f64, missed: f64) {
        self.place = Some((evictor, held));
        if self.asked.is_some() {
            // Miniatures of the present size are compared with each other instead.
            return;
        }
        let known = self.curves.iter().find(|known| known.evictor == evictor);
        if let Some(known) = known {
            let ratio = self.applied.unshifted(known.curve.at(held).0);
            self.calibration.note(reads, missed, ratio);
        }
    }

    /// The expected miss ratio with this memory under this policy.
    pub(crate) fn forecast(&self, evictor: Evictor, held: Bytes) -> Option<f64> {
        let known = self.curves.iter().find(|known| known.evictor == evictor)?;
        Some(known.curve.at(held).0)
    }

    /// Watches fewer keys, with the same models if they can forget the others.
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

    /// Begins anew with another rate. The old curves serve until new ones rest on half as many
    /// reads and reach as far: a new model takes every key for a new one.
    fn restart(&mut self, rate: f64) {
        self.rate_is_known = true;
        self.warm = WARM_EPOCHS;
        if self.asked.is_none() && !self.curves.is_empty() {
            self.recalled = Some(self.recalled.unwrap_or(0.0).max(0.5 * self.reads));
        }
        self.begin(rate);
    }

    /// The part of [`Watch::epoch`] for curves: takes them, and forgets a little.
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
            // This epoch gave no curve, and earlier ones do not count.
            self.curves.clear();
        }
        // An interval with too few reads continues, and few reads are kept for longer: forgotten at
        // the rate of arrival they would never be enough. Reads that no longer predict the load are
        // forgotten sooner.
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

    /// Reacts in the middle of an epoch to `ops_per_s` requests a second, if they are far more than
    /// the rate allows: the models begin anew at a lower rate. True if they did.
    pub(crate) fn overrun(&mut self, ops_per_s: f64, samples_per_s: f64) -> bool {
        self.peak_ops_per_s = self.peak_ops_per_s.max(ops_per_s);
        let Some(rate) = self.lower_rate(ops_per_s, samples_per_s) else { return false };
        self.lower(rate);
        true
    }

    /// The new rate, if the present one is far too high.
    fn lower_rate(&self, ops_per_s: f64, samples_per_s: f64) -> Option<f64> {
        let in_time = self.granted(samples_per_s / ops_per_s.max(1e-9));
        let (wanted, now) = (octave(in_time), self.filter().rate());
        (now > 2.0 * in_time && wanted < now).then_some(wanted)
    }

    /// The rate for the available time, or the rate granted to a recipe with its own.
    fn granted(&self, in_time: f64) -> f64 {
        self.asked.map_or(in_time, |asked| in_time.max(asked.min(RATE_GRANTED)))
    }

    /// The new rate, if the present one is far too low.
    fn higher_rate(&self, samples_per_s: f64) -> Option<f64> {
        let in_time = octave(self.granted(samples_per_s / self.peak_ops_per_s.max(1e-9)));
        let wanted = self.asked.map_or(in_time, |asked| asked.min(in_time));
        let now = self.filter().rate();
        // Models that lowered their rate themselves hold as many keys as they can.
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

    /// The present curves, one for each policy; empty before the first.
    pub(crate) fn curves(&self) -> &[Candidate] {
        &self.curves
    }

    /// The filter of the keys watched now.
    pub(crate) fn filter(&self) -> Filter {
        Filter::with_rate(self.models.first().map_or(self.rate, |model| model.rate()))
    }

    pub(crate) fn bytes(&self) -> Bytes {
        self.models.iter().map(|model| model.bytes()).sum()
    }
}

/// The power of two below a rate: a rate that followed every change would never be warm.
pub(crate) fn octave(rate: f64) -> f64 {
    rate.min(1.0).log2().floor().exp2().max(RATE_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(prng: &mut base::Prng, count: u64, keys: u64) -> Vec<Access> {
        (0..count).map(|_| Access::get(base::hash::mix(prng.below(keys)), 10)).collect()
    }

    /// DLRU's published rate is no overrun on a busy server; sampling every key is.
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

    /// A loop over two thousand keys hits in a cache of all its keys, and in no smaller one. The
    /// curve must show that, however few looks at a sample there are.
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

    /// Intervals of 150 reads are too short alone; the third has enough together with the two
    /// before.
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
        // The next interval begins anew: each counts the misses of three, and 100 of 400 keys fit.
        let misses: f64 = watch.curves()[0].groups.unwrap().iter().sum();
        assert!((0.6 * 450.0..0.9 * 450.0).contains(&misses), "{misses}");
    }

    /// If each epoch forgot a sixth, 40 reads an epoch would never exceed 270.
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

    /// Models must not slow a busy server, and must not learn slowly on an idle one.
    #[test]
    fn models_take_the_time_there_is() {
        assert_eq!(samples_per_s(0.0), SAMPLES_PER_S);
        assert_eq!(samples_per_s(5_000.0), SAMPLES_PER_S);
        assert_eq!(samples_per_s(100_000.0), SAMPLES_PER_S_BUSY);
        assert_eq!(samples_per_s(1e6), 2_000.0);
        assert_eq!(samples_per_s(1e9), SAMPLES_PER_S);
    }
}
