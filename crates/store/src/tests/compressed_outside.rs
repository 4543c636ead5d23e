//! Compressed items leave a store and come back as they are, with their dictionaries.

use super::compression::{document, misses, store};
use super::{at, audit, key, saved};
use crate::compression::dictionary::Dictionary;
use crate::compression::octaves::octave;
use crate::{
    Compression, CompressionSettings, DictionaryUse, HeldDictionary, Saved, Scope,
    SharedDictionary, Store, StoredForm, without_dictionary,
};
use std::collections::HashMap;

/// A store whose items have a dictionary that it got.
fn filled() -> Store {
    let store = store(2 << 20, Compression::Auto, 0.0);
    let samples: Vec<_> = (0..400).map(|n| document(n, 1)).collect();
    let samples: Vec<_> = samples.iter().map(Vec::as_slice).collect();
    let dictionary = Dictionary::trained(&samples, 4 << 10).unwrap();
    let of = octave(samples[0].len()).unwrap() as u8;
    let of = DictionaryUse { octave: of, ratio: 0.2 };
    store.restore_dictionary(0, &dictionary.raw, Some(of), at(0)).unwrap();
    misses(&store, 12_000, document);
    store
}

/// An item outside of a store.
struct Outside {
    key: Vec<u8>,
    value: Vec<u8>,
    form: StoredForm,
}

fn leave(store: &Store) -> Vec<Outside> {
    let mut all = vec![];
    store.scan_stored(Scope::ALL, 0, 1 << 20, at(0), |found, form| {
        let (key, value) = (found.key.to_vec(), found.item.value.to_vec());
        all.push(Outside { key, value, form });
    });
    all
}

/// Restores items. Returns the dictionaries, still held.
fn come_back(
    from: &Store,
    all: &[Outside],
    to: &Store,
) -> HashMap<SharedDictionary, HeldDictionary> {
    let mut held = HashMap::new();
    for item in all {
        let back = match &item.form {
            StoredForm::Plain => None,
            StoredForm::Compressed(None) => Some(without_dictionary(&item.value).unwrap()),
            StoredForm::Compressed(Some(dictionary)) => {
                let held = held.entry(dictionary.clone()).or_insert_with(|| {
                    let of = from.dictionary_use(0, dictionary);
                    to.restore_dictionary(0, dictionary.bytes(), of, at(0)).unwrap()
                });
                Some(held.adopt(&item.value).unwrap())
            }
        };
        let value = back.as_ref().unwrap_or(&item.value);
        let saved = Saved { is_compressed: back.is_some(), ..saved(value) };
        let done = to.restore(&key(to, 0, &item.key), &saved, at(0));
        assert_eq!(done, Ok(true));
    }
    held
}

fn number(name: &[u8]) -> u64 {
    std::str::from_utf8(name).unwrap().strip_prefix("key:").unwrap().parse().unwrap()
}

#[test]
fn items_come_back_in_their_form() {
    let from = filled();
    let (all, before) = (leave(&from), from.compression_stats(0));
    let with = all.iter().filter(|item| matches!(item.form, StoredForm::Compressed(Some(_))));
    assert!(with.count() > 500 && before.dictionaries > 0);
    for mode in [Compression::No, Compression::Always] {
        let to = store(0, mode, 1.0);
        // The numbers of dictionaries are others here.
        let other: Vec<u8> = (0..2_000u32).flat_map(u32::to_le_bytes).collect();
        let _other = to.restore_dictionary(0, &other, None, at(0)).unwrap();
        to.begin_restore(0);
        let held = come_back(&from, &all, &to);
        to.end_restore();
        let stats = to.compression_stats(0);
        let more = if mode == Compression::No { 0 } else { all.len() as u64 - before.items };
        assert_eq!(stats.items, before.items + more, "{mode:?}");
        assert_eq!((stats.reads, stats.dictionaries), (0, held.len() + 1));
        for item in &all {
            let value = to.peek(&key(&to, 0, &item.key), at(0), |item| item.value.to_vec());
            assert_eq!(value, Some(document(number(&item.key), 0)));
        }
        assert_eq!(to.compression_stats(0).corrupt, 0);
        audit(&to);
    }
}

/// A number stays while it is held, although no item has it, and while an item has it.
#[test]
fn a_dictionary_lives_as_long_as_it_is_held_or_used() {
    let from = filled();
    let to = store(2 << 20, Compression::Auto, 0.0);
    let items = leave(&from);
    let dictionary = |item: &Outside| match &item.form {
        StoredForm::Compressed(Some(dictionary)) => Some(dictionary.clone()),
        _ => None,
    };
    let shared = items.iter().find_map(dictionary).unwrap();
    let restore = || to.restore_dictionary(0, shared.bytes(), None, at(0)).unwrap();
    let (first, second) = (restore(), restore());
    assert_eq!(first.number, second.number, "the tenant has it already");
    drop(first);
    // The walks of a full store give up what nothing needs.
    let give_up = |names: &str| {
        for n in 0..6_000 {
            let name = format!("{names}:{n}");
            let noise = [&document(n, 0)[..100], &vec![n as u8; 400]].concat();
            to.set(&key(&to, 0, name.as_bytes()), &noise, None, at(1)).unwrap();
        }
        to.compress(at(1), 1 << 40);
        to.compression_stats(0).dictionaries
    };
    assert_eq!(give_up("a"), 1);
    drop(second);
    assert_eq!(give_up("b"), 0);
    audit(&to);
}

#[test]
fn what_is_no_dictionary_and_no_value_is_refused() {
    let store = store(0, Compression::No, 1.0);
    let restore = |bytes: &[u8]| store.restore_dictionary(0, bytes, None, at(0));
    assert!(restore(b"short").is_none());
    assert!(restore(&vec![b'x'; (32 << 10) + 1]).is_none(), "longer than any");
    assert!(store.restore_dictionary(9, &[b'x'; 100], None, at(0)).is_none(), "no such tenant");
    let held = restore(&[b'x'; 1_000]).unwrap();
    for bad in [&b""[..], b"12", b"12\xff3456", &[0, 0, 0b0110_0000, 1, 255, 0]] {
        assert_eq!((held.adopt(bad), without_dictionary(bad)), (None, None), "{bad:?}");
    }
    store.set_compression(CompressionSettings { mode: Compression::No, weight: 1.0 });
    audit(&store);
}
