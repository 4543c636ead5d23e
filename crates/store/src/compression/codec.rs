//! Compression and decompression of one value, with the buffers of the thread.
//!
//! A thread keeps one context of zstd for each direction, and buffers for values. A decompressed
//! value borrows a buffer until it is dropped.

use crate::compression::dictionary::{Dictionaries, Dictionary, LEVEL};
use crate::compression::form::{Corrupt, Form, MAGIC, NUMBER, PLAIN_MAX};
use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;
use zstd::zstd_safe::{CCtx, DCtx, DParameter, FrameFormat, compress_bound};

/// Buffers that a thread keeps.
const SPARE_MAX: usize = 2;

/// The contexts and buffers of a thread.
#[derive(Default)]
struct Codec {
    compressor: Option<CCtx<'static>>,
    decompressor: Option<DCtx<'static>>,
    spare: Vec<Vec<u8>>,
}

thread_local! {
    static CODEC: RefCell<Codec> = RefCell::default();
}

/// A decompressed value, in a buffer of the thread.
#[derive(Debug)]
pub(crate) struct Plain {
    buffer: Vec<u8>,
    len: usize,
}

impl Deref for Plain {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        // A thread that ends has no codec any more.
        _ = CODEC.try_with(|codec| {
            let spare = &mut codec.borrow_mut().spare;
            if spare.len() < SPARE_MAX {
                spare.push(buffer);
            }
        });
    }
}

impl Codec {
    fn decompress(&mut self, stored: &[u8], known: &Dictionaries) -> Result<Plain, Corrupt> {
        let Form { dictionary, plain_len: len, frame } = Form::of(stored)?;
        let dictionary = known.get(dictionary)?;
        let context = self.decompressor.get_or_insert_with(|| {
            let mut context = DCtx::create();
            let format = DParameter::Format(FrameFormat::Magicless);
            context.set_parameter(format).expect("zstd knows frames without a magic number");
            context
        });
        let mut buffer = self.spare.pop().unwrap_or_default();
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        let into = &mut buffer[..len];
        let written = match dictionary {
            Some(known) => context.decompress_using_ddict(into, frame, &known.decoder),
            None => context.decompress(into, frame),
        };
        if written == Ok(len) {
            return Ok(Plain { buffer, len });
        }
        self.spare.push(buffer);
        Err(Corrupt)
    }

    fn compress(
        &mut self,
        value: &[u8],
        dictionary: Option<(u16, &Dictionary)>,
    ) -> Option<Vec<u8>> {
        if value.len() > PLAIN_MAX {
            return None;
        }
        let context = self.compressor.get_or_insert_with(CCtx::create);
        let mut frame = self.spare.pop().unwrap_or_default();
        let len = compress_bound(value.len());
        if frame.len() < len {
            frame.resize(len, 0);
        }
        let written = match dictionary {
            Some((_, known)) => context.compress_using_cdict(&mut frame[..], value, &known.encoder),
            None => context.compress(&mut frame[..], value, LEVEL),
        };
        let number = dictionary.map_or(0, |(number, _)| number);
        let stored = written.ok().filter(|&len| len >= MAGIC).map(|len| {
            let mut stored = Vec::with_capacity(NUMBER + len - MAGIC);
            stored.extend_from_slice(&number.to_le_bytes());
            stored.extend_from_slice(&frame[MAGIC..len]);
            stored
        });
        self.spare.push(frame);
        self.spare.truncate(SPARE_MAX);
        // A header that `Form` does not know would never be read again.
        stored.filter(|stored| Form::of(stored).is_ok_and(|form| form.plain_len == value.len()))
    }
}

/// The plain value of a stored one.
///
/// # Errors
/// The stored value is corrupt, or its dictionary is none of these.
pub(crate) fn decompress(stored: &[u8], known: &Dictionaries) -> Result<Plain, Corrupt> {
    CODEC.with(|codec| codec.borrow_mut().decompress(stored, known))
}

/// Decompresses a stored value, as it is in an item, with a dictionary of these bytes for every
/// number of one. For tests of the stored form.
///
/// # Errors
/// The stored value is corrupt.
pub fn decompress_stored(stored: &[u8], dictionary: &[u8]) -> Result<Vec<u8>, Corrupt> {
    let dictionary = Dictionary::from_bytes(dictionary.to_vec()).ok_or(Corrupt)?;
    let (known, _) = Dictionaries::default().with(Arc::new(dictionary)).ok_or(Corrupt)?;
    decompress(stored, &known).map(|plain| plain.to_vec())
}

/// The stored form of a plain value; `None` if it is too long.
pub(crate) fn compress(value: &[u8], dictionary: Option<(u16, &Dictionary)>) -> Option<Vec<u8>> {
    CODEC.with(|codec| codec.borrow_mut().compress(value, dictionary))
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn document(n: usize) -> Vec<u8> {
        let many = n * 7_919 % 1_000;
        format!(r#"{{"id":{n},"name":"user-{many}","roles":["reader","writer"],"active":true}}"#)
            .into_bytes()
    }

    fn trained() -> (Dictionaries, Arc<Dictionary>) {
        let samples: Vec<_> = (0..600).map(document).collect();
        let samples: Vec<_> = samples.iter().map(Vec::as_slice).collect();
        let dictionary = Arc::new(Dictionary::trained(&samples, 4 << 10).expect("much in common"));
        let (all, number) = Dictionaries::default().with(Arc::clone(&dictionary)).unwrap();
        assert_eq!(number, 1);
        (all, dictionary)
    }

    #[test]
    fn a_dictionary_shrinks_short_values() {
        let (known, dictionary) = trained();
        let value = document(777);
        let with = compress(&value, Some((1, &dictionary))).unwrap();
        let without = compress(&value, None).unwrap();
        assert!(with.len() * 2 < without.len(), "{} of {}", with.len(), without.len());
        assert_eq!(&*decompress(&with, &known).unwrap(), &value[..]);
        assert_eq!(&*decompress(&without, &known).unwrap(), &value[..]);
        assert_eq!(decompress(&with, &known.without(1)).unwrap_err(), Corrupt);
    }

    #[test]
    fn a_bomb_is_refused() {
        let bomb = compress(&vec![0; PLAIN_MAX], None).unwrap();
        assert!(bomb.len() < 100, "{}", bomb.len());
        assert_eq!(decompress(&bomb, &Dictionaries::default()).unwrap().len(), PLAIN_MAX);
        // The same blocks under a header that claims 300 bytes.
        let mut small = bomb;
        small[NUMBER + 1..][..2].copy_from_slice(&44u16.to_le_bytes());
        assert_eq!(decompress(&small, &Dictionaries::default()).unwrap_err(), Corrupt);
        assert!(compress(&vec![0; PLAIN_MAX + 1], None).is_none());
    }

    #[test]
    fn a_claim_of_more_than_there_is_is_refused() {
        let mut stored = compress(&[7; 300], None).unwrap();
        stored[NUMBER + 1..][..2].copy_from_slice(&50_000u16.to_le_bytes());
        assert_eq!(decompress(&stored, &Dictionaries::default()).unwrap_err(), Corrupt);
    }

    #[test]
    fn bytes_after_the_frame_are_refused() {
        let mut stored = compress(&[7; 300], None).unwrap();
        stored.extend_from_slice(&[1, 2, 3]);
        assert_eq!(decompress(&stored, &Dictionaries::default()).unwrap_err(), Corrupt);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..<_>::default() })]

        #[test]
        fn a_value_comes_back(value in prop::collection::vec(0u8..4, 0..5_000), has: bool) {
            let (known, dictionary) = trained();
            let stored = compress(&value, has.then_some((1, &*dictionary))).unwrap();
            prop_assert_eq!(&*decompress(&stored, &known).unwrap(), &value[..]);
        }

        /// Whatever bytes change, the result is an error or a value of the claimed length.
        #[test]
        fn a_corrupt_frame_does_no_harm(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            cut in any::<prop::sample::Index>(), n in 0usize..100, has: bool,
        ) {
            let (known, dictionary) = trained();
            let mut stored =
                compress(&document(n), has.then_some((1, &*dictionary))).unwrap();
            for (at, byte) in changes {
                let at = at.index(stored.len());
                stored[at] = byte;
            }
            stored.truncate(cut.index(2 * stored.len()));
            if let Ok(plain) = decompress(&stored, &known) {
                prop_assert_eq!(plain.len(), Form::of(&stored).unwrap().plain_len);
            }
        }
    }
}
