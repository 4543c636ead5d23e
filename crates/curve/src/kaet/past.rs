//! The windows of a trace, prepared to be solved for caches of any size and law. Everything that
//! does not depend on the size is computed once, such as the bin of each age when the window began.

use std::borrow::Cow;

use crate::track::{Ages, Hits, Live, Window, width};

/// Bins of ages are joined until they add this share to the younger bytes. Only the recency rank
/// matters, and it changes little within them.
const STEP: f64 = 0.04;
/// The youngest bytes, up to this share of all, are one bin.
const YOUNG: f64 = 2e-4;

/// A bin of ages: its width, and the age at its middle.
#[derive(Clone, Copy, Debug)]
pub(super) struct AgeBin {
    pub(super) width: f64,
    pub(super) middle: f64,
}

/// The position of the middle of a bin some time ago: in the bin `at`, at the share `passed` of its
/// width. `left` and `right` are the bins with the nearest middles, and `share` is the position
/// between these. An age from before the object's access refers to the row of ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Back {
    pub(super) at: usize,
    pub(super) passed: f64,
    pub(super) left: usize,
    pub(super) right: usize,
    pub(super) share: f64,
}

/// The changes between two snapshots.
#[derive(Default)]
pub(super) struct Stretch {
    /// Whether the cache is empty at its start.
    pub(super) is_first: bool,
    pub(super) ticks: f64,
    /// Number of bins of ages that can occur in it.
    pub(super) bins: usize,
    /// Live objects by age at its end.
    pub(super) live: Vec<Live>,
    pub(super) hits: Vec<Hits>,
    /// Reads that found a live object.
    pub(super) reads: f64,
    /// The position of each bin half a stretch before the end, and at the start.
    pub(super) half: Vec<Back>,
    pub(super) whole: Vec<Back>,
}

/// All windows of a trace.
pub(super) struct Past {
    pub(super) places: Vec<AgeBin>,
    pub(super) stretches: Vec<Stretch>,
}

impl Past {
    pub(super) fn of(ages: &Ages) -> Self {
        let (origin, windows) = ages.windows();
        let groups = groups(origin, &windows);
        // One more bin, for ages above the middle of the last.
        let last = groups.last().map_or(0, |group| group + 1);
        let mut places = vec![AgeBin { width: 0.0, middle: 0.0 }; last + 1];
        let mut edge = 0.0;
        for (at, group) in groups.iter().copied().chain([last]).enumerate() {
            places[group].width += width(at) as f64;
        }
        for place in &mut places {
            place.middle = edge + 0.5 * place.width;
            edge += place.width;
        }
        let live = |live: &[Live]| {
            let mut sums = vec![Live::default(); places.len()];
            for (live, &group) in live.iter().zip(&groups) {
                sums[group].objects += live.objects;
                sums[group].bytes += live.bytes;
            }
            sums
        };
        let mut stretches = vec![];
        // Only the live objects of a forgotten past are known, so it counts as a steady state.
        if !origin.is_empty() {
            let (ticks, bins, live) = (f64::INFINITY, places.len(), live(origin));
            stretches.push(Stretch { ticks, bins, live, ..Stretch::default() });
        }
        let mut clock = if origin.is_empty() { 0.0 } else { f64::INFINITY };
        for window in &windows {
            clock += window.ticks;
            let reached = places.partition_point(|place| place.middle < clock) + 2;
            let mut hits = vec![Hits::default(); places.len()];
            for (more, &group) in window.hits.iter().zip(&groups) {
                hits[group].reads += more.reads;
                hits[group].ages += more.ages;
            }
            stretches.push(Stretch {
                is_first: stretches.is_empty(),
                ticks: window.ticks,
                bins: reached.min(places.len()),
                live: live(&window.live),
                reads: hits.iter().map(|hits| hits.reads).sum(),
                hits,
                ..Stretch::default()
            });
        }
        for stretch in &mut stretches {
            stretch.half = back(&places, 0.5 * stretch.ticks);
            stretch.whole = back(&places, stretch.ticks);
        }
        Self { places, stretches }
    }

    /// The most bytes that were live at any snapshot.
    pub(super) fn most(&self) -> f64 {
        let bytes = |stretch: &Stretch| stretch.live.iter().map(|live| live.bytes).sum::<f64>();
        self.stretches.iter().map(bytes).fold(0.0, f64::max)
    }

    /// The mean size of live objects.
    pub(super) fn size_mean(&self) -> f64 {
        let live = self.stretches.iter().flat_map(|stretch| &stretch.live);
        let (objects, bytes) = live.fold((0.0, 0.0), |(objects, bytes), live| {
            (objects + live.objects, bytes + live.bytes)
        });
        bytes / f64::max(objects, 1.0)
    }
}

/// Assigns the bins of the histograms to groups that are solved as one bin.
fn groups(origin: &[Live], windows: &[Cow<Window>]) -> Vec<usize> {
    // The mean over the windows, with equal weights.
    let mut shares = vec![];
    let hits = windows.iter().map(|window| window.hits.len()).max();
    shares.resize(hits.unwrap_or(0), 0.0);
    for live in windows.iter().map(|window| &window.live[..]).chain([origin]) {
        let all: f64 = live.iter().map(|live| live.bytes).sum();
        shares.resize(shares.len().max(live.len()), 0.0);
        for (share, live) in shares.iter_mut().zip(live) {
            *share += live.bytes / all.max(1.0) / (windows.len() + 1) as f64;
        }
    }
    let (mut younger, mut group, mut bin) = (0.0, 0.0, 0);
    let join = |share: f64| {
        if group > 0.0 && group + share > (STEP * younger).max(YOUNG) {
            younger += group;
            group = 0.0;
            bin += 1;
        }
        group += share;
        bin
    };
    shares.into_iter().map(join).collect()
}

/// The position of each bin `ticks` ago.
fn back(places: &[AgeBin], ticks: f64) -> Vec<Back> {
    let ones = places.len();
    let mut at = 0;
    let look = |place: &AgeBin| {
        let then = place.middle - ticks;
        if then < 0.0 {
            return Back { at: 0, passed: 0.0, left: ones, right: ones, share: 0.0 };
        }
        let edge = |at: usize| places[at].middle - 0.5 * places[at].width;
        while at + 1 < places.len() && edge(at + 1) <= then {
            at += 1;
        }
        let passed = (then - edge(at)) / places[at].width;
        // Survival is known only at the middles of bins.
        let younger = then < places[at].middle;
        let left = if younger { at.saturating_sub(1) } else { at };
        let right = if younger { at } else { (at + 1).min(places.len() - 1) };
        let span = places[right].middle - places[left].middle;
        let share = ((then - places[left].middle) / span.max(0.5)).clamp(0.0, 1.0);
        Back { at, passed, left, right, share }
    };
    places.iter().map(look).collect()
}
