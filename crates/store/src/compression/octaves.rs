//! The octaves of lengths of a tenant: how far their values shrink, and how long that takes.
//!
//! An octave begins unknown. Some hundred of its values become samples: three quarters of them
//! train a dictionary, and the others show what it gains. From then on the ratio follows the values
//! that are compressed. If it decays, because the values have changed, new samples are due. Their
//! dictionary takes the place of the one in use if it shrinks them further by a tenth. An octave
//! whose samples hardly shrink is left alone, until the tenant has written as many values as it has
//! items.

use crate::compression::codec::compress;
use crate::compression::decision::Facts;
use crate::compression::dictionary::Dictionary;
use crate::compression::form::{COMPRESSIBLE, PLAIN_MAX, PLAIN_MIN};

/// The number of octaves.
pub(crate) const OCTAVES: usize = PLAIN_MAX.ilog2() as usize - PLAIN_MIN.ilog2() as usize + 1;

/// Samples of values whose lengths are in this octave and above get no dictionary: they have
/// repetitions enough in themselves.
pub(crate) const WITHOUT: usize = (16usize << 10).ilog2() as usize - PLAIN_MIN.ilog2() as usize;

/// Samples for a dictionary, and most bytes of them.
pub(crate) const SAMPLES: usize = 400;
pub(crate) const SAMPLES_BYTES: usize = 512 << 10;
/// Fewer samples tell nothing.
pub(crate) const SAMPLES_MIN: usize = 16;
/// One sample in this many does not train.
const HELD_OUT: usize = 4;

/// Range of a dictionary's length.
const BYTES_MIN: usize = 1 << 10;
pub(crate) const DICTIONARY_MAX: usize = 32 << 10;
/// Samples are this many times as long as their dictionary, at least.
const SAMPLED: usize = 8;
/// The dictionaries that new items use take at most this part of a tenant's memory.
pub(crate) const PART: u64 = 10;
/// The time until a dense octave is sampled again doubles this many times.
const TRIES_MAX: u32 = 10;

/// Values that shrink to more than this are left alone.
pub(crate) const RATIO_MAX: f32 = 0.85;
/// An octave is sampled anew when its ratio is this many times that of its samples.
const DECAY: f32 = 1.25;
/// Weight of a value in the means.
const WEIGHT: f32 = 1.0 / 64.0;
/// A time that is this many times the mean counts as no more than that.
const OUTLIER: f32 = 2.0;
/// Values from which on the ratio may be called decayed.
const SEEN_MIN: u32 = 256;
/// A dictionary takes the place of another if its samples shrink to this part of what they do now.
const BETTER: f32 = 0.9;

/// The octave of a length, if values of that length are compressed at all.
pub(crate) fn octave(len: usize) -> Option<usize> {
    COMPRESSIBLE.contains(&len).then(|| (len.ilog2() - PLAIN_MIN.ilog2()) as usize)
}

/// The knowledge about an octave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing: it needs samples.
    Unknown,
    /// Its values shrink, with this dictionary, or with none if that is 0.
    Ready(u16),
    /// Its values hardly shrink. It is left alone until the tenant has made this many writes.
    Dense(u64),
}

/// The values of one tenant in one octave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Octave {
    pub(crate) state: State,
    /// Bytes stored for each plain byte, lately and in the samples.
    pub(crate) ratio: f32,
    sampled: f32,
    /// Nanoseconds per byte.
    pub(crate) compress: f32,
    pub(crate) decompress: f32,
    seen: u32,
    /// Whether new samples are to show if another dictionary is better.
    pub(crate) is_due: bool,
    /// Samplings in a row that found the octave dense.
    tries: u32,
}

impl Default for Octave {
    /// The times are those of an ordinary processor, until they are measured.
    fn default() -> Self {
        let (ratio, compress, decompress) = (0.5, 3.0, 1.5);
        Self {
            state: State::Unknown,
            ratio,
            sampled: ratio,
            compress,
            decompress,
            seen: 0,
            is_due: false,
            tries: 0,
        }
    }
}

/// Values of an octave that writes compressed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) count: u64,
    pub(crate) plain: u64,
    pub(crate) stored: u64,
    pub(crate) nanos: u64,
}

/// How the values of an octave are stored while samples of them are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Practice<'a> {
    Plain,
    /// Compressed, with a dictionary or without one.
    Compressed(Option<&'a Dictionary>),
}

/// The result of sampling.
#[derive(Debug)]
pub(crate) struct Sampled {
    /// The dictionary, if it is worth its memory.
    pub(crate) dictionary: Option<Dictionary>,
    /// Bytes stored for each plain byte.
    pub(crate) ratio: f32,
    /// Bytes stored for each plain byte in the octave's form so far, if it has one.
    before: Option<f32>,
}

impl Sampled {
    /// The ratio of the samples as the octave is compressed so far, if that remains.
    pub(crate) fn remains(&self) -> Option<f32> {
        self.before.filter(|&before| before <= RATIO_MAX && self.ratio > BETTER * before)
    }
}

/// Trains on samples of one octave, whose values take `bytes` bytes in all. A dictionary may take
/// `most` bytes of memory, and must save more than it takes.
pub(crate) fn train(
    octave: usize,
    samples: &[Vec<u8>],
    (bytes, most): (u64, u64),
    now: Practice<'_>,
) -> Sampled {
    let (mut trained, mut tests) = (vec![], vec![]);
    for (at, sample) in samples.iter().enumerate() {
        let is_test = octave >= WITHOUT || at % HELD_OUT == 0;
        let into = if is_test { &mut tests } else { &mut trained };
        into.push(sample.as_slice());
    }
    let plain: usize = tests.iter().map(|value| value.len()).sum();
    let stored = |dictionary: Option<&Dictionary>| -> usize {
        let len = |value: &&[u8]| {
            compress(value, dictionary.map(|known| (1, known))).map_or(value.len(), |s| s.len())
        };
        tests.iter().map(len).sum()
    };
    let without = stored(None);
    let sampled: usize = trained.iter().map(|value| value.len()).sum();
    let len = DICTIONARY_MAX.min(most as usize).min(sampled / SAMPLED);
    let dictionary = (octave < WITHOUT && len >= BYTES_MIN)
        .then(|| Dictionary::trained(&trained, len))
        .flatten()
        // zstd's tables take several times the length of a short dictionary.
        .filter(|dictionary| dictionary.bytes() <= most);
    let with = dictionary.as_ref().map(|known| stored(Some(known)));
    let share = |bytes: usize| bytes as f32 / plain.max(1) as f32;
    let saves = |with: usize| bytes as f32 * (share(without) - share(with));
    let takes = dictionary.as_ref().map_or(0, Dictionary::bytes) as f32;
    let before = match now {
        Practice::Plain => None,
        Practice::Compressed(dictionary) => Some(share(stored(dictionary))),
    };
    match with.filter(|&with| saves(with) > takes) {
        Some(with) => Sampled { dictionary, ratio: share(with), before },
        None => Sampled { dictionary: None, ratio: share(without), before },
    }
}

impl Octave {
    /// Takes over what samples showed. `dictionary` is the number of their dictionary. The tenant
    /// has made this many writes, and has this many items.
    pub(crate) fn learn(&mut self, ratio: f32, dictionary: u16, writes: u64, items: u64) {
        self.expect(ratio);
        let is_dense = ratio > RATIO_MAX;
        let again = writes + (items << self.tries);
        self.state = if is_dense { State::Dense(again) } else { State::Ready(dictionary) };
        self.tries = if is_dense { TRIES_MAX.min(self.tries + 1) } else { 0 };
    }

    /// Forgets that its values were dense: new samples are to show how they are now.
    pub(crate) fn forget(&mut self) {
        (self.state, self.ratio) = (State::Unknown, Self::default().ratio);
    }

    /// Takes over the ratio that values are compressed to from now on.
    pub(crate) fn expect(&mut self, ratio: f32) {
        (self.ratio, self.sampled, self.seen, self.is_due) = (ratio, ratio, 0, false);
    }

    /// Keeps its dictionary, because new samples trained no better one. They are few, so the ratio
    /// of many values counts if it is higher.
    pub(crate) fn keep(&mut self, ratio: f32) {
        self.expect(ratio.max(self.ratio).min(RATIO_MAX));
    }

    /// Counts a value: its length, that of its stored form, and the nanoseconds of both directions.
    pub(crate) fn saw(&mut self, plain: usize, stored: usize, nanos: [u64; 2]) {
        let len = plain.max(1) as f32;
        let follow = |mean: &mut f32, value: f32| *mean += WEIGHT * (value - *mean);
        follow(&mut self.ratio, stored as f32 / len);
        self.seen = self.seen.saturating_add(1);
        for (mean, nanos) in [&mut self.compress, &mut self.decompress].into_iter().zip(nanos) {
            // A clock that stands still measures nothing, and a thread that had to wait for a
            // processor measures too much.
            if nanos > 0 {
                let most = OUTLIER * *mean;
                follow(mean, (nanos as f32 / len).min(most));
            }
        }
    }

    /// The facts of an item of `len` plain bytes with times and savings.
    pub(crate) fn complete(&self, offer: Facts, len: usize, saved: u64, weight: f64) -> Facts {
        let us = |per_byte: f32| f64::from(per_byte) * len as f64 / 1e3;
        let (compress_us, decompress_us) = (us(self.compress), us(self.decompress));
        Facts { saved, compress_us, decompress_us, weight, ..offer }
    }

    /// Counts values that writes compressed.
    pub(crate) fn saw_many(&mut self, seen: Seen) {
        if seen.count == 0 {
            return;
        }
        let len = seen.plain.max(1) as f32;
        let weight = 1.0 - (1.0 - WEIGHT).powi(i32::try_from(seen.count).unwrap_or(i32::MAX));
        self.ratio += weight * (seen.stored as f32 / len - self.ratio);
        self.seen = self.seen.saturating_add(u32::try_from(seen.count).unwrap_or(u32::MAX));
        if seen.nanos > 0 {
            let most = OUTLIER * self.compress;
            self.compress += weight * ((seen.nanos as f32 / len).min(most) - self.compress);
        }
    }

    /// Notes whether the values have changed, so that new samples are due. Returns whether that is
    /// news.
    pub(crate) fn note_decay(&mut self) -> bool {
        if self.seen < SEEN_MIN || !matches!(self.state, State::Ready(_)) {
            return false;
        }
        // What was an exception does not remain the rule.
        self.sampled = self.sampled.min(self.ratio * DECAY);
        let has_decayed = self.ratio > self.sampled * DECAY || self.ratio > RATIO_MAX;
        let is_news = has_decayed && !self.is_due;
        self.is_due |= has_decayed;
        is_news
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use base::Prng;

    fn documents(from: usize) -> Vec<Vec<u8>> {
        let make = |n: usize| {
            let text = format!(
                r#"{{"id":{n},"user":"user-{}","scopes":["read","write"],"theme":"dark"}}"#,
                n * 7_919 % 1_000
            );
            text.into_bytes()
        };
        (from..from + SAMPLES).map(make).collect()
    }

    #[test]
    fn octaves_begin_at_powers_of_two() {
        assert_eq!(
            [63, 64, 127, 128, 65_536, 65_537].map(octave),
            [None, Some(0), Some(0), Some(1), Some(OCTAVES - 1), None]
        );
    }

    #[test]
    fn documents_get_a_dictionary_and_noise_gets_none() {
        let shown = train(0, &documents(0), (10 << 20, 100 << 20), Practice::Plain);
        assert!(shown.dictionary.is_some() && shown.ratio < 0.5, "{shown:?}");
        for (bytes, most) in [(10 << 20, 10 << 10), (40 << 10, 100 << 20)] {
            let shown = train(0, &documents(0), (bytes, most), Practice::Plain);
            assert!(shown.dictionary.is_none(), "a small tenant pays for none");
        }
        let mut prng = Prng::new(1);
        let noise = |_| (0..200).map(|_| prng.below(256) as u8).collect();
        let shown = train(
            1,
            &(0..SAMPLES).map(noise).collect::<Vec<_>>(),
            (10 << 20, 100 << 20),
            Practice::Plain,
        );
        assert!(shown.dictionary.is_none() && shown.ratio > RATIO_MAX, "{shown:?}");
    }

    #[test]
    fn a_dictionary_remains_unless_another_is_better() {
        let room = (10 << 20, 100 << 20);
        let known = train(0, &documents(0), room, Practice::Plain).dictionary.unwrap();
        let again = train(0, &documents(900), room, Practice::Compressed(Some(&known)));
        let ratio = again.remains().expect("as good a dictionary");
        assert!(ratio < 0.5 && again.ratio > BETTER * ratio, "{again:?}");
        assert!(Sampled { before: Some(0.95), ..again }.remains().is_none(), "it hardly shrinks");
        let without = train(0, &documents(900), room, Practice::Compressed(None));
        assert!(without.remains().is_none() && without.ratio < 0.5, "{without:?}");
    }

    #[test]
    fn a_decayed_ratio_asks_for_new_samples() {
        let mut octave = Octave::default();
        octave.learn(0.3, 1, 0, 100);
        (0..1_000).for_each(|_| octave.saw(1_000, 310, [0, 0]));
        assert!(!octave.note_decay() && !octave.is_due && octave.state == State::Ready(1));
        (0..1_000).for_each(|_| octave.saw(1_000, 600, [2_000, 1_000]));
        assert!(octave.note_decay() && !octave.note_decay(), "news only once");
        assert!(octave.is_due && octave.state == State::Ready(1), "it serves until then");
        assert!((octave.compress - 2.0).abs() < 0.1 && (octave.decompress - 1.0).abs() < 0.1);
        octave.learn(0.9, 0, 77, 100);
        assert_eq!(octave.state, State::Dense(177));
        octave.learn(0.9, 0, 177, 100);
        assert_eq!(octave.state, State::Dense(377), "twice as many writes later");
    }
}
