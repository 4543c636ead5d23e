//! Dictionaries: the common parts of a tenant's values of similar length.
//!
//! A value of a few hundred bytes has hardly a repetition in itself, but shares most of its text
//! with other values. zstd trains a *dictionary* of such text from samples (`zdict`), and a
//! value then refers to it. A dictionary lives as long as an item uses it: items name it by its
//! place in the tenant's list, and the shards count the items of each place. A *retired* one is
//! used no more for new items, and its place is given up with its last item.

use crate::compression::form::{Corrupt, NUMBER};
use std::sync::Arc;
use zstd::zstd_safe::zstd_sys::{
    ZDICT_fastCover_params_t, ZDICT_isError, ZDICT_optimizeTrainFromBuffer_fastCover,
    ZDICT_params_t,
};
use zstd::zstd_safe::{CDict, DDict};

/// The level of compression: the fastest that finds most.
pub(crate) const LEVEL: i32 = 1;

/// Most dictionaries of a tenant.
pub(crate) const DICTIONARIES_MAX: usize = 256;

/// Bytes 4 to 8 of a trained dictionary: its number, which frames would repeat.
const ID: std::ops::Range<usize> = 4..8;

/// zstd's own settings count substrings in a table of 2^20 entries, which takes 10 MB for a moment.
/// Samples of at most a megabyte fill a table of 2^16 entries as well.
///
/// The length of the substrings that are counted, and the logarithm of the table's entries.
const SUBSTRING: u32 = 8;
const TABLE_LOG: u32 = 16;
/// Lengths of segments that are tried.
const STEPS: u32 = 4;
/// The part of the samples that trains; the others choose the length of the segments.
const TRAINS: f64 = 0.75;

/// The bytes of a dictionary for values like these samples, at most `bytes_max` long, for this
/// level of compression; `None` if the samples have nothing in common, or are too few.
fn train(samples: &[&[u8]], bytes_max: usize, level: i32) -> Option<Vec<u8>> {
    let (all, lens) = (samples.concat(), samples.iter().map(|sample| sample.len()));
    let lens: Vec<usize> = lens.collect();
    let mut bytes = vec![0u8; bytes_max];
    let mut settings = ZDICT_fastCover_params_t {
        k: 0,
        d: SUBSTRING,
        f: TABLE_LOG,
        steps: STEPS,
        nbThreads: 1,
        splitPoint: TRAINS,
        accel: 1,
        shrinkDict: 0,
        shrinkDictMaxRegression: 0,
        zParams: ZDICT_params_t { compressionLevel: level, notificationLevel: 0, dictID: 0 },
    };
    // SAFETY: the buffers are alive during the call, and their lengths are those that the call is
    // told: `lens` sums up to the length of `all`, and has an entry for each sample.
    let (len, is_error) = unsafe {
        let len = ZDICT_optimizeTrainFromBuffer_fastCover(
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            all.as_ptr().cast(),
            lens.as_ptr(),
            u32::try_from(lens.len()).ok()?,
            &raw mut settings,
        );
        (len, ZDICT_isError(len) != 0)
    };
    if is_error {
        return None;
    }
    bytes.truncate(len);
    Some(bytes)
}

/// A dictionary in the forms in which zstd uses it, and as bytes, which a file may keep.
pub(crate) struct Dictionary {
    pub(crate) raw: Box<[u8]>,
    pub(crate) encoder: CDict<'static>,
    pub(crate) decoder: DDict<'static>,
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dictionary").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

impl Dictionary {
    /// Trains a dictionary of at most `bytes_max` bytes; `None` if the samples have nothing in
    /// common, or are too few.
    pub(crate) fn trained(samples: &[&[u8]], bytes_max: usize) -> Option<Self> {
        Self::from_bytes(train(samples, bytes_max, LEVEL)?)
    }

    /// The dictionary with these bytes, as zstd writes them.
    pub(crate) fn from_bytes(mut bytes: Vec<u8>) -> Option<Self> {
        bytes.get_mut(ID)?.fill(0);
        let (encoder, decoder) = (CDict::try_create(&bytes, LEVEL)?, DDict::try_create(&bytes)?);
        Some(Self { raw: bytes.into(), encoder, decoder })
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        (self.raw.len() + self.encoder.sizeof() + self.decoder.sizeof()) as u64
    }
}

/// The dictionaries of a tenant by their numbers, which count from 1.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionaries(Vec<Option<Arc<Dictionary>>>);

impl Dictionaries {
    /// The dictionary with a number; `Ok(None)` for 0.
    ///
    /// # Errors
    /// There is none with this number.
    pub(crate) fn get(&self, number: u16) -> Result<Option<&Dictionary>, Corrupt> {
        let Some(at) = usize::from(number).checked_sub(1) else { return Ok(None) };
        self.0.get(at).and_then(Option::as_deref).map(Some).ok_or(Corrupt)
    }

    /// The dictionary with a number, shared.
    pub(crate) fn shared(&self, number: u16) -> Option<Arc<Dictionary>> {
        self.0.get(usize::from(number).checked_sub(1)?)?.clone()
    }

    /// The number of the first dictionary that is as `wanted` says.
    pub(crate) fn number(&self, wanted: impl Fn(&Arc<Dictionary>) -> bool) -> Option<u16> {
        let at = self.0.iter().position(|place| place.as_ref().is_some_and(&wanted))?;
        Some(at as u16 + 1)
    }

    /// The list with one more dictionary, and that one's number; `None` if the list is full.
    pub(crate) fn with(&self, dictionary: Arc<Dictionary>) -> Option<(Self, u16)> {
        let mut all = self.0.clone();
        let at = all.iter().position(Option::is_none).unwrap_or(all.len());
        if at >= DICTIONARIES_MAX {
            return None;
        }
        all.resize(all.len().max(at + 1), None);
        all[at] = Some(dictionary);
        Some((Self(all), at as u16 + 1))
    }

    /// The list without the dictionary with a number.
    pub(crate) fn without(&self, number: u16) -> Self {
        let mut all = self.0.clone();
        if let Some(place) = usize::from(number).checked_sub(1).and_then(|at| all.get_mut(at)) {
            *place = None;
        }
        Self(all)
    }

    /// The number of dictionaries.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// Bytes of all dictionaries.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().flatten().map(|dictionary| dictionary.bytes()).sum()
    }
}

const _: () = assert!(DICTIONARIES_MAX < 1 << (8 * NUMBER));
