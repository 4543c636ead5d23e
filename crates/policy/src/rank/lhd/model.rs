//! The model of LHD: hits and ends of lifetimes by class and age, and their hit density.
//!
//! For each class, with h(a) lifetimes that ended in a hit at age a and v(a) that ended otherwise,
//!
//! ```text
//! density(a) = Σ h(y) / Σ (y - a + 1) · (h(y) + v(y)),    both sums over y ≥ a,
//! ```
//!
//! The density is the hits to come divided by the time to come, from one backward pass over the
//! ages.
//!
//! Ages fall into buckets that widen with the age: 2^P buckets an octave. The paper has buckets of
//! one width. On a loop over M objects, the worst case, an object may stay one bucket too long,
//! which costs the share bucket / M of the hits \[1, appendix\]. A loop longer than the range of
//! the buckets is not visible at all. With one width, both together need 1/ε² buckets and a width
//! that follows the number of objects. With widths in proportion to the age the loss is at most ε =
//! 2^-P for a loop of any length, with 32 · 2^P buckets and nothing to adjust.
//!
//! Lifetimes that still last count as well, as if they ended now. Without them every old object of
//! a young cache would seem to be hit in the end: objects never hit are still resident.

/// Buckets an octave, as a power of two: they cost at most 1/32 of the hits.
const PRECISION: u32 = 5;
/// Buckets that cover every age below 2^32 requests.
pub(super) const AGES: usize = (33 - PRECISION as usize) << PRECISION;
/// Classes by the ages of the last two hits.
pub(super) const HIT_CLASSES: usize = 16;
/// Classes by tenant.
pub(super) const APP_CLASSES: usize = 16;

/// Weight of the whole in each class, in lifetimes. With a lower weight, a class with few lifetimes
/// ranks by chance; with a much higher one, all classes are alike.
const PRIOR: f32 = 60.0;
/// Weight of the neighbours of a class in its counts: hit ages are a scale, and neighbours on it
/// behave alike. Short traces gain from it.
const NEIGHBOUR: f32 = 0.5;
/// Sum of two ages, in requests for each object cached, from which on the class is the slowest.
const REACH: u64 = 32;

const _: () = assert!(APP_CLASSES * HIT_CLASSES <= 256);

/// The bucket of an age in requests.
#[inline]
pub(super) const fn bucket(age: u32) -> usize {
    let msb = (age | 1).ilog2();
    let shift = msb.saturating_sub(PRECISION);
    ((shift << PRECISION) + (age >> shift)) as usize
}

/// Requests in the width of a bucket.
fn width(bucket: usize) -> f32 {
    let octave = bucket >> PRECISION;
    if octave < 2 { 1.0 } else { (1u64 << (octave - 1)) as f32 }
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    hits: f32,
    ends: f32,
}

/// An app class and a hit class: the row in the tables.
pub(super) type LifetimeClass = u8;

const fn row(class: LifetimeClass) -> usize {
    class as usize * AGES
}

/// Hits, ends and densities by app class, hit class and age.
#[derive(Clone, Debug)]
pub(super) struct DensityModel {
    /// Counts by app class; most caches have one.
    counts: [Option<Box<[Count]>>; APP_CLASSES],
    densities: Vec<f32>,
    /// Sums of two ages from here on belong to the slowest class.
    reach: u64,
}

impl DensityModel {
    /// A model without counts for `apps` app classes: density falls with age, and is lowest for
    /// objects never hit.
    pub(super) fn new(apps: usize) -> Self {
        let row = |class: usize| {
            let worth = (class % HIT_CLASSES + 1) as f32;
            let mut age = 0.0;
            (0..AGES).map(move |bucket| {
                age += width(bucket);
                worth / age
            })
        };
        Self {
            counts: Default::default(),
            densities: (0..apps * HIT_CLASSES).flat_map(row).collect(),
            reach: REACH << 12,
        }
    }

    /// The hit class of an object whose last two hits had ages of `sum` requests together; `None`
    /// stands for an object never hit. Each class spans a factor of two, relative to the number of
    /// objects.
    #[inline]
    pub(super) fn hit_class(&self, sum: Option<u64>) -> u8 {
        let Some(sum) = sum else { return 0 };
        let halvings = (self.reach / sum.max(1)).max(1).ilog2() as u8;
        1 + halvings.min(HIT_CLASSES as u8 - 2)
    }

    #[inline]
    pub(super) fn density(&self, class: LifetimeClass, bucket: usize) -> f32 {
        self.densities[row(class) + bucket]
    }

    pub(super) fn count_hit(&mut self, class: LifetimeClass, age: u32) {
        self.count(class, age).hits += 1.0;
    }

    pub(super) fn count_end(&mut self, class: LifetimeClass, age: u32) {
        self.count(class, age).ends += 1.0;
    }

    /// Lifetimes that ended at this age, in a hit and otherwise, over all classes.
    #[cfg(test)]
    pub(super) fn ended(&self, age: u32) -> (f32, f32) {
        let all = self.counts.iter().flatten().flat_map(|counts| counts.chunks(AGES));
        let at: Vec<Count> = all.map(|ages| ages[bucket(age)]).collect();
        (at.iter().map(|count| count.hits).sum(), at.iter().map(|count| count.ends).sum())
    }

    /// Adds lifetimes counted elsewhere.
    pub(super) fn add(&mut self, class: LifetimeClass, bucket: usize, hits: f32, ends: f32) {
        let count = self.count_at(class, bucket);
        count.hits += hits;
        count.ends += ends;
    }

    fn count(&mut self, class: LifetimeClass, age: u32) -> &mut Count {
        self.count_at(class, bucket(age))
    }

    fn count_at(&mut self, class: LifetimeClass, bucket: usize) -> &mut Count {
        let counts = self.counts[usize::from(class) / HIT_CLASSES]
            .get_or_insert_with(|| vec![Count::default(); HIT_CLASSES * AGES].into());
        &mut counts[usize::from(class) % HIT_CLASSES * AGES + bucket]
    }

    /// Multiplies the counts by `decay` and computes the densities anew. `lasting` are lifetimes
    /// that still last: class, age, and the number of items that each stands for, among `objects`
    /// in all.
    pub(super) fn learn(
        &mut self,
        decay: f32,
        objects: usize,
        lasting: impl Iterator<Item = (LifetimeClass, u32, f32)> + Clone,
    ) {
        for count in self.counts.iter_mut().flatten().flat_map(|counts| counts.iter_mut()) {
            count.hits *= decay;
            count.ends *= decay;
        }
        for (class, age, weight) in lasting.clone() {
            self.count(class, age).ends += weight;
        }
        let whole = self.aggregate();
        for (app, counts) in self.counts.iter().enumerate() {
            let Some(counts) = counts else { continue };
            for hit in 0..HIT_CLASSES {
                let into = row((app * HIT_CLASSES + hit) as LifetimeClass);
                let own = with_neighbours(counts, hit);
                densities(&own, &whole, &mut self.densities[into..][..AGES]);
            }
        }
        for (class, age, weight) in lasting {
            self.count(class, age).ends -= weight;
        }
        self.reach = REACH * (objects as u64).max(1);
    }

    /// The counts of all classes together.
    fn aggregate(&self) -> Vec<Count> {
        let mut whole = vec![Count::default(); AGES];
        for counts in self.counts.iter().flatten() {
            for (at, count) in counts.iter().enumerate() {
                whole[at % AGES].hits += count.hits;
                whole[at % AGES].ends += count.ends;
            }
        }
        whole
    }
}

/// The counts of a hit class with a part of its neighbours' counts. The class of objects never hit
/// stands alone.
fn with_neighbours(counts: &[Count], hit: usize) -> Vec<Count> {
    let of = |class: usize| &counts[class * AGES..][..AGES];
    let mut own = of(hit).to_vec();
    let beside = [hit.saturating_sub(1), hit + 1];
    for other in beside.into_iter().filter(|&class| hit > 0 && (1..HIT_CLASSES).contains(&class)) {
        for (count, other) in own.iter_mut().zip(of(other)) {
            count.hits += NEIGHBOUR * other.hits;
            count.ends += NEIGHBOUR * other.ends;
        }
    }
    own
}

/// Sums over all ages from one bucket on.
#[derive(Clone, Copy, Default)]
struct Tail {
    hits: f32,
    events: f32,
    time: f32,
}

impl Tail {
    /// Adds the next younger bucket. Its events count as in its middle.
    fn extend(&mut self, count: Count, width: f32) {
        let events = count.hits + count.ends;
        self.time += width * self.events + f32::midpoint(width, 1.0) * events;
        self.hits += count.hits;
        self.events += events;
    }
}

fn densities(own: &[Count], whole: &[Count], into: &mut [f32]) {
    let (mut tail, mut all) = (Tail::default(), Tail::default());
    for age in (0..own.len()).rev() {
        tail.extend(own[age], width(age));
        all.extend(whole[age], width(age));
        let weight = if all.events > 1e-5 { PRIOR / all.events } else { 0.0 };
        let time = tail.time + weight * all.time;
        into[age] = if time > 1e-5 { (tail.hits + weight * all.hits) / time } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(hits: [f32; 4], ends: [f32; 4]) -> Vec<Count> {
        hits.into_iter().zip(ends).map(|(hits, ends)| Count { hits, ends }).collect()
    }

    /// Three hits at age 1, one at age 3, and two evictions at age 3. By hand: from age 0 there are
    /// 4 hits in 18 request-lives, and so on.
    #[test]
    fn densities_of_a_hand_made_class() {
        let own = counts([0.0, 3.0, 0.0, 1.0], [0.0, 0.0, 0.0, 2.0]);
        let mut got = [0.0; 4];
        densities(&own, &counts([0.0; 4], [0.0; 4]), &mut got);
        let want = [2.0 / 9.0, 1.0 / 3.0, 1.0 / 6.0, 1.0 / 3.0];
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() < 1e-6, "{got} for {want}");
        }
    }

    #[test]
    fn a_class_without_data_is_like_all_the_others() {
        let whole = counts([0.0, 3.0, 0.0, 1.0], [0.0, 0.0, 0.0, 2.0]);
        let mut got = [0.0; 4];
        densities(&counts([0.0; 4], [0.0; 4]), &whole, &mut got);
        assert!((got[0] - 2.0 / 9.0).abs() < 1e-6, "{got:?}");
    }

    /// Every age has a bucket, buckets are adjacent, and none is wider than its age divided by 2^P.
    #[test]
    fn buckets_cover_all_ages_to_their_precision() {
        let mut start = 0u64;
        for at in 0..AGES {
            let width = width(at) as u64;
            assert_eq!(bucket(start as u32), at);
            assert_eq!(bucket((start + width - 1) as u32), at);
            assert!(width == 1 || width << PRECISION <= start, "{at}: {width} at {start}");
            start += width;
        }
        assert_eq!(start, 1 << 32);
    }
}
