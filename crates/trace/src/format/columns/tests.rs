//! Headers, and columns that the user names.

use super::SPEC;
use crate::{Access, Charge, ReadOptions, Source};
use std::io::Cursor;

fn open(text: &str, options: &ReadOptions) -> Result<Box<dyn Source>, String> {
    let reader = Box::new(Cursor::new(text.to_owned()));
    (SPEC.open)(reader, options).map_err(|error| error.to_string())
}

fn with_columns(names: &str) -> ReadOptions {
    ReadOptions { columns: Some(names.into()), ..ReadOptions::default() }
}

fn accesses(source: &mut dyn Source) -> Vec<(String, Access)> {
    let mut found = vec![];
    while let Some(access) = source.next() {
        found.push((String::from_utf8_lossy(source.key()).into_owned(), access.unwrap()));
    }
    found
}

/// Sizes become 1 and tenants one if a header with other words is misread.
#[test]
fn a_header_is_understood_and_said() {
    let text = "object;bytes;service;colour\n\"a;\"\"b\";512;web;red\nc;7;cart;red\n";
    assert!((SPEC.recognises)(text.as_bytes()));
    let mut source = open(text, &ReadOptions::default()).unwrap();
    let remark = source.remark().unwrap().to_owned();
    for part in [
        "object is the key, bytes is the size in bytes, service is the tenant",
        "ignored: colour",
        "missing: time (requests are a millisecond apart), operation (all are reads)",
    ] {
        assert!(remark.contains(part), "{remark}");
    }
    let found = accesses(&mut *source);
    let all: Vec<_> = found.iter().map(|(key, a)| (key.as_str(), a.value_size, a.tenant)).collect();
    assert_eq!(all, [("a;\"b", 512, 0), ("c", 7, 1)]);
    assert_eq!((source.tenant_name(0), source.tenant_name(1)), (Some("web"), Some("cart")));
}

/// The error lists the names of the header, the meaning of each, and the fix.
#[test]
fn a_header_without_key_or_size_is_an_error() {
    for (text, parts) in [
        ("time,url,bytes\n0,a,5\n", ["the key", "url (unknown)"]),
        ("key,length\na,5\n", ["the size", "length (unknown)"]),
        ("a,b\n", ["the key", "a (unknown)"]),
        ("0,1\n", ["first line", "--columns time,key,size"]),
    ] {
        let error = open(text, &ReadOptions::default()).err().unwrap();
        for part in parts.into_iter().chain(["--columns", "penalty_ms"]) {
            assert!(error.contains(part), "{text}: {error}");
        }
    }
    for options in [
        ReadOptions { value_size: Some(9), ..ReadOptions::default() },
        ReadOptions { charge: Charge::One, ..ReadOptions::default() },
    ] {
        let mut source = open("key,length\na,5\n", &options).unwrap();
        assert!(source.remark().unwrap().contains("ignored: length"));
        assert_eq!(accesses(&mut *source).len(), 1);
    }
}

/// The form of libCacheSim: the names follow a `#`.
#[test]
fn a_header_may_stand_behind_a_hash() {
    let text = "# time,object,size,next_access_vtime\n5,17,100,3\n6,4,7,-1\n";
    assert!((SPEC.recognises)(text.as_bytes()));
    assert!(!(SPEC.recognises)(b"# made by hand, twice\n0,17,2,100,0,get,0\n"));
    let found = accesses(&mut *open(text, &ReadOptions::default()).unwrap());
    let all: Vec<_> = found.iter().map(|(k, a)| (k.as_str(), a.time.0, a.next.0)).collect();
    assert_eq!(all, [("17", 0, 3), ("4", 1_000_000, u64::MAX)]);
}

#[test]
fn named_columns_are_said_and_checked() {
    let options = with_columns("key,-,penalty_ms");
    let mut source = open("url,app,wait,more\na,x,1.5,9\nb,y,2,9\n", &options).unwrap();
    let remark = source.remark().unwrap().to_owned();
    for part in ["penalty_ms is the penalty of a miss in milliseconds", "1 more", "has 1)"] {
        assert!(remark.contains(part), "{remark}");
    }
    let found = accesses(&mut *source);
    let all: Vec<_> = found.iter().map(|(key, a)| (key.as_str(), a.penalty.0)).collect();
    assert_eq!(all, [("a", 1_500), ("b", 2_000)], "the names are no request");
    for (names, part) in [
        ("key,colour", "unknown column 'colour'"),
        ("key,id", "second column for the key"),
        ("time,size", "one column named key"),
    ] {
        let error = open("a,1\n", &with_columns(names)).err().unwrap();
        assert!(error.contains(part), "{names}: {error}");
    }
}

#[test]
fn of_two_columns_for_one_thing_the_plainer_name_counts() {
    let text = "id,key,size,object_size\n1,a,5,6\n";
    let mut source = open(text, &ReadOptions::default()).unwrap();
    assert!(source.remark().unwrap().contains("ignored: id, object_size"));
    let found = accesses(&mut *source);
    assert_eq!((found[0].0.as_str(), found[0].1.value_size), ("a", 5));
}
