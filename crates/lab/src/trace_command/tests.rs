//! Tests of the command with files: written traces read back, errors name the broken part, and real
//! traces hold what their description says.

use super::copy::{Target, copy};
use super::stat::{Stat, Survey};
use load::open::{Options, open};
use std::fs;
use std::path::{Path, PathBuf};

fn stat(name: &str, options: &Options) -> Stat {
    let mut source = open(name, options).unwrap();
    let mut survey = Survey::default();
    while let Some(access) = source.next() {
        survey.add(&access.unwrap());
    }
    survey.stat(name, &*source)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const MADE: &str = "synth:zipf:keys=500:requests=5000:size=exponential/900:rate=100:set=0.1";

/// A trace stays the same through every format that is written, compressed or not.
#[test]
fn a_converted_trace_holds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let expected = stat(MADE, &Options::default());
    let files = ["a.csv.zst", "b.compact", "c.csv", "d.compact.zst", "e.lcs", "f.lcs.zst"];
    let mut from = MADE.to_owned();
    for file in files.into_iter().chain(["g.oracleGeneral.zst"]) {
        let path = folder.path().join(file);
        let target = Target::default();
        copy(&from, &Options::default(), text(&path), &target).unwrap();
        from = text(&path).to_owned();
        let found = stat(&from, &Options::default());
        let of = |stat: &Stat| (stat.requests, stat.keys, stat.bytes, stat.footprint_bytes);
        assert_eq!(of(&found), of(&expected), "{file}");
        assert_eq!(found.reuse_requests, expected.reuse_requests, "{file}");
        let keeps_operations = !file.contains("oracle");
        assert!(!keeps_operations || found.operations == expected.operations, "{file}");
    }
    // libCacheSim needs this: each request says when its object is requested next.
    let mut source = open(&from, &Options::default()).unwrap();
    let accesses: Vec<_> = std::iter::from_fn(|| source.next()).map(Result::unwrap).collect();
    for (at, access) in accesses.iter().enumerate() {
        let again = accesses[at + 1..].iter().position(|later| later.key == access.key);
        let expected = again.map_or(base::Tick::NEVER, |gap| base::Tick((at + 1 + gap) as u64));
        assert_eq!(access.next, expected);
    }
}

/// An error names a bad line by its number; with `skip_bad`, bad lines are counted.
#[test]
fn a_malformed_tail_is_named_or_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tail.csv");
    let good: Vec<_> = (0..990).map(|at| format!("{at},k{at},4,10,0,get,0\n")).collect();
    fs::write(&path, good.concat() + &"990,broken\n".repeat(10)).unwrap();
    let strict = Options::default();
    let output = folder.path().join("out.csv");
    let error = copy(text(&path), &strict, text(&output), &Target::default()).unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("line 991") && error.contains("key_size"), "{error}");
    assert!(error.contains("--skip-bad"), "{error}");
    let lenient = Options { skip_bad: true, ..Options::default() };
    let found = stat(text(&path), &lenient);
    assert_eq!((found.requests, found.skipped), (990, 10));
}

/// Half a trace must not look like a whole one; with `skip_bad`, its requests can be read.
#[test]
fn a_cut_off_compressed_file_is_an_error_or_ends_there() {
    let folder = tempfile::tempdir().unwrap();
    let made = "synth:uniform:keys=100000:requests=200000";
    let lenient = Options { skip_bad: true, ..Options::default() };
    for (name, damage) in [("cut.csv.zst", None), ("bad.csv.zst", Some(0xa5))] {
        let path = folder.path().join(name);
        copy(made, &Options::default(), text(&path), &Target::default()).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let half = bytes.len() / 2;
        match damage {
            None => bytes.truncate(half),
            Some(byte) => bytes[half..half + 64].fill(byte),
        }
        fs::write(&path, &bytes).unwrap();
        let mut source = open(text(&path), &Options::default()).unwrap();
        let last = std::iter::from_fn(|| source.next()).last().unwrap();
        assert!(last.is_err(), "{name}");
        let found = stat(text(&path), &lenient);
        assert!((1_000..199_000).contains(&found.requests), "{name}: {}", found.requests);
        let again = folder.path().join("again.compact");
        copy(text(&path), &lenient, text(&again), &Target::default()).unwrap();
        assert_eq!(stat(text(&again), &Options::default()).requests, found.requests, "{name}");
    }
}

#[test]
fn what_cannot_be_opened_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mystery.bin");
    fs::write(&path, [7; 100]).unwrap();
    let absent = folder.path().join("absent.csv");
    let named = Options { format: Some("cvs".into()), ..Options::default() };
    for (name, options, hint) in [
        (text(&path), Options::default(), "--format"),
        (text(&absent), Options::default(), "absent.csv"),
        (text(folder.path()), Options::default(), "directory"),
        (text(&path), named, "oracleGeneral"),
        ("synth:zopf", Options::default(), "zipf"),
    ] {
        let error = format!("{:#}", open(name, &options).err().unwrap());
        assert!(error.contains(hint), "{name}: {error}");
    }
}

/// Requests, keys, footprint in kilobytes and share of the keys with a single request, rounded as
/// in the description of the traces.
const REAL: [(&str, u64, u64, f64, f64); 15] = [
    ("c2k_web07", 76_118, 20_484, 167_800.0, 0.54),
    ("tencent_blk_2706", 100_001, 34_571, 472_500.0, 0.74),
    ("tencent_blk_3300", 100_001, 39_611, 6_900_000.0, 0.84),
    ("tencent_blk_1326", 100_001, 50_350, 578_200.0, 0.50),
    ("tencent_cbs_multi", 50_000, 44_687, 1_400_000.0, 0.96),
    ("adaptsize_req", 66_987, 36_815, 280_400.0, 0.81),
    ("meta_bigcache", 9_999, 3_125, 4_100_000.0, 0.81),
    ("hp_ajw", 44_519, 4_854, 29_000.0, 0.43),
    ("mooncake_synth", 121_877, 43_924, 179_900.0, 0.58),
    ("citibike", 300_000, 792, 202.8, 0.01),
    ("dns_domains", 99_991, 17_632, 1_800.0, 0.90),
    ("lirs_loop", 505_500, 1_011, 4_100.0, 0.00),
    ("lirs_multi1", 15_858, 2_606, 10_700.0, 0.35),
    ("lirs_2_pools", 100_000, 9_939, 40_700.0, 0.03),
    ("lirs_cpp", 9_047, 1_223, 5_000.0, 0.77),
];

#[test]
fn real_traces_hold_what_their_description_says() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !folder.exists() {
        skip::skip("traces", "shared/traces beside the repository");
        return;
    }
    for (name, requests, keys, kilobytes, once) in REAL {
        let path = folder.join(format!("{name}.csv.zst"));
        let found = stat(text(&path), &Options::default());
        assert_eq!((found.requests, found.keys), (requests, keys), "{name}");
        let footprint = found.footprint_bytes as f64 / 1000.0;
        assert!((footprint / kilobytes - 1.0).abs() < 0.03, "{name}: {footprint} kB");
        assert!(
            (found.one_hit_keys - once).abs() <= 0.005 + 1e-9,
            "{name}: {}",
            found.one_hit_keys
        );
        assert_eq!(found.compulsory_misses, keys, "{name}");
    }
}
