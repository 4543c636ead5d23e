//! Training of dictionaries, in memory that a small cache can spare.
//!
//! zstd's own settings count substrings in a table of 2^20 entries, which takes 10 MB for a
//! moment, and a small cache would evict items for it. Samples of at most a megabyte fill a table
//! of 2^16 entries as well.

use zstd::zstd_safe::zstd_sys::{
    ZDICT_fastCover_params_t, ZDICT_isError, ZDICT_optimizeTrainFromBuffer_fastCover,
    ZDICT_params_t,
};

/// The length of the substrings that are counted, and the logarithm of the table's entries.
const SUBSTRING: u32 = 8;
const TABLE_LOG: u32 = 16;
/// Lengths of segments that are tried.
const STEPS: u32 = 4;
/// The part of the samples that trains; the others choose the length of the segments.
const TRAINS: f64 = 0.75;

/// The bytes of a dictionary for values like these samples, at most `bytes_max` long, for this
/// level of compression; `None` if the samples have nothing in common, or are too few.
pub(crate) fn train(samples: &[&[u8]], bytes_max: usize, level: i32) -> Option<Vec<u8>> {
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
