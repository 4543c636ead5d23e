//! Decompresses any bytes as a stored value, with a dictionary of any bytes. The first two bytes
//! are the length of the dictionary.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((len, rest)) = bytes.split_first_chunk() else { return };
    let len = usize::from(u16::from_le_bytes(*len)).min(rest.len());
    let (dictionary, stored) = rest.split_at(len);
    if let Ok(plain) = store::decompress_stored(stored, dictionary) {
        assert!(plain.len() <= 64 << 10);
    }
});
