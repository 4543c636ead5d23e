//! The promises of every generator in the list, and of each one alone.

use std::collections::{HashMap, HashSet};
use trace::synth::{self, COMMON};
use trace::{Access, Micros, Op, ReadOptions};

fn generate(text: &str) -> Vec<(Access, String)> {
    let mut source = synth::open(text, &ReadOptions::default()).unwrap();
    let mut all = vec![];
    while let Some(access) = source.next() {
        all.push((access.unwrap(), String::from_utf8(source.key().to_vec()).unwrap()));
    }
    all
}

fn error(text: &str) -> String {
    synth::open(text, &ReadOptions::default()).err().map(|error| error.to_string()).unwrap()
}

fn distinct(all: &[(Access, String)]) -> usize {
    all.iter().map(|(access, _)| access.key).collect::<HashSet<_>>().len()
}

#[test]
fn the_seed_decides_everything() {
    for spec in synth::ALL {
        let text = |seed| {
            format!(
                "synth:{}:requests=2000:seed={seed}:size=exponential/300:set=0.1:arrivals=poisson",
                spec.name
            )
        };
        let (once, again, other) = (generate(&text(1)), generate(&text(1)), generate(&text(2)));
        assert_eq!(once, again, "{}", spec.name);
        assert_ne!(once, other, "{}", spec.name);
        assert_eq!(once.len(), 2000, "{}", spec.name);
        assert!(once.is_sorted_by_key(|(access, _)| access.time), "{}", spec.name);
    }
}

/// An object keeps one size, one key and one penalty, or simulations would be meaningless.
#[test]
fn an_object_never_changes() {
    for spec in synth::ALL {
        let text = format!(
            "{}:requests=5000:keys=50:size=lognormal/300/1:penalty=uniform/1/999\
             :key-size=uniform/1/40",
            spec.name
        );
        let mut seen = HashMap::new();
        for (access, key) in generate(&text) {
            let now = (access.value_size, access.key_size, access.penalty, key);
            assert_eq!(now.1 as usize, now.3.len(), "{}", spec.name);
            assert_eq!(*seen.entry(access.key).or_insert(now.clone()), now, "{}", spec.name);
        }
    }
}

#[test]
fn every_default_is_a_value() {
    for spec in synth::ALL {
        generate(&format!("{}:requests=10", spec.name));
        for param in spec.params.iter().chain(COMMON) {
            assert!(!param.about.is_empty(), "{} {}", spec.name, param.name);
        }
    }
}

#[test]
fn errors_name_what_is_known() {
    for (text, hint) in [
        ("zopf", "zipf"),
        ("zipf:kexs=3", "keys="),
        ("zipf:keys", "name=value"),
        ("zipf:keys=3:keys=4", "keys is given twice"),
        ("zipf:key-size=3:key_size=4", "key-size is given twice"),
        ("zipf:keys=-3", "whole number"),
        ("zipf:keys=0", "at least 1"),
        ("zipf:skew=nan", "number"),
        ("zipf:size=gauss/1/2", "lognormal"),
        ("zipf:set=0.7:delete=0.7", "at most 1"),
        ("zipf:arrivals=never", "poisson"),
        ("zipf:prefix=a,b", "comma"),
        ("phases:begin=0.9:end=0.1", "swap"),
        ("ycsb:workload=g", "one of a, b"),
        ("periodic:shape=round", "sine"),
        ("mix", "parts"),
        ("mix:zipf+nothing", "unknown generator"),
        ("mix:keys=3:zipf", "requests=N"),
    ] {
        let error = error(text);
        assert!(error.contains(hint), "{text}: {error}");
    }
}

#[test]
fn patterns_ask_for_what_they_promise() {
    let all = generate("loop:keys=7:requests=70");
    assert_eq!(distinct(&all), 7);
    assert!(all.iter().zip(&all[7..]).all(|(a, b)| a.0.key == b.0.key));

    let all = generate("uniform:keys=100:requests=10000");
    assert_eq!(distinct(&all), 100);

    // Three tenths of the requests are scans, over keys that are requested once.
    let all = generate("scan:keys=10:requests=100000:share=0.3:length=1000");
    let mut counts: HashMap<u64, u32> = HashMap::new();
    for (access, _) in &all {
        *counts.entry(access.key).or_default() += 1;
    }
    let once = counts.values().filter(|count| **count == 1).count();
    assert!((28_000..=32_000).contains(&once), "{once}");

    // The first and the third phase share no key; the second has keys of both.
    let all = generate("phases:keys=100:requests=9000");
    let keys = |range: std::ops::Range<usize>| {
        all[range].iter().map(|(access, _)| access.key).collect::<HashSet<_>>()
    };
    let (first, second, third) = (keys(0..2990), keys(3010..5990), keys(6010..9000));
    assert!(
        first.is_disjoint(&third) && !second.is_disjoint(&first) && !second.is_disjoint(&third)
    );

    let all = generate("two-phase:keys=100:loop=30:requests=1000:cycles=2");
    let keys: Vec<_> = all.iter().map(|(_, key)| key.parse::<u64>().unwrap()).collect();
    assert!(keys[..250].iter().all(|key| *key < 100));
    assert!(keys[250..500].iter().zip(0..).all(|(key, at)| *key == 100 + at % 30));
    assert!(keys[500..750].iter().all(|key| *key < 100));
}

/// Half a period at a hundred requests a second, half at ten.
#[test]
fn a_periodic_load_has_peaks_and_valleys() {
    let all = generate("periodic:rate=100:period=10:valley=0.1:requests=5500");
    let second = |access: &Access| access.time.0 / 1_000_000;
    let mut counts = [0u32; 100];
    for (access, _) in &all {
        counts[second(access).min(99) as usize] += 1;
    }
    assert!(counts[1..4].iter().all(|n| (99..=101).contains(n)), "{counts:?}");
    assert!(counts[6..9].iter().all(|n| (9..=11).contains(n)), "{counts:?}");
    assert!(counts[11..14].iter().all(|n| (99..=101).contains(n)), "{counts:?}");
    // A valley without requests ends where the next peak begins.
    let all = generate("periodic:rate=100:period=10:valley=0:requests=1000");
    let late = all.iter().filter(|(access, _)| second(access) % 10 >= 5).count();
    assert!(late <= 2, "{late}");
    assert_eq!(second(&all[999].0), 14);
    // Gaps longer than a period cause no endless loop.
    let all = generate("periodic:rate=0.001:period=0.01:valley=0:requests=3:shape=sine");
    assert!((3_900_000_000..4_100_000_000).contains(&all[2].0.time.0), "{:?}", all[2].0.time);
}

#[test]
fn ycsb_has_the_shares_of_its_workloads() {
    let n = 100_000;
    let sets = |workload: &str| {
        let all = generate(&format!("ycsb:workload={workload}:keys=1000:requests={n}"));
        assert!(
            all.iter().all(|(access, key)| key.starts_with("user") && access.value_size == 1000)
        );
        let sets = all.iter().filter(|(access, _)| access.op == Op::Set).count();
        (sets as f64 / f64::from(n), distinct(&all))
    };
    // A scan of E stands for 50.5 requests on average (a little less at the end of the records), a
    // read-modify-write of F for two, one of them a write.
    for (workload, share) in
        [("a", 0.5), ("b", 0.05), ("c", 0.0), ("d", 0.05), ("e", 0.00105), ("f", 1.0 / 3.0)]
    {
        let (found, keys) = sets(workload);
        let tolerance = 0.005 + share * 0.02;
        assert!((found - share).abs() < tolerance, "{workload}: {found}, not {share}");
        assert!(keys <= 1000 || matches!(workload, "d" | "e"), "{workload}: {keys}");
    }
}

/// Sizes and gaps match the paper's fits, and one request in 31 writes.
#[test]
fn etc_is_like_the_paper() {
    let all = generate("etc:keys=200000:skew=0:requests=200000");
    let n = all.len() as f64;
    let mean = |of: &dyn Fn(&Access) -> f64| all.iter().map(|(a, _)| of(a)).sum::<f64>() / n;
    let values = mean(&|access| access.value_size as f64);
    assert!((values - 194.4).abs() < 12.0, "{values}");
    let keys = mean(&|access| f64::from(access.key_size));
    assert!((keys - 36.2).abs() < 0.5, "{keys}");
    let gap = all[all.len() - 1].0.time.0 as f64 / (n - 1.0);
    assert!((gap - 18.97).abs() < 0.3, "{gap}");
    let sets = mean(&|access| f64::from(u8::from(access.op == Op::Set)));
    assert!((sets - 1.0 / 31.0).abs() < 0.002, "{sets}");
}

/// A mix keeps the rates of its parts, gives each part a tenant, and mixes no keys.
#[test]
fn a_mix_is_joined_by_time() {
    let all = generate("mix:requests=4000:zipf:keys=10:rate=3000+loop:keys=10:rate=1000");
    assert_eq!(all.len(), 4000);
    assert!(all.is_sorted_by_key(|(access, _)| access.time));
    let of = |tenant| all.iter().filter(|(access, _)| access.tenant == tenant).count();
    assert!((2990..=3010).contains(&of(1)) && of(1) + of(2) == 4000, "{} {}", of(1), of(2));
    assert!(all.iter().all(|(a, key)| key.starts_with(if a.tenant == 1 { "t1_" } else { "t2_" })));
}

#[test]
fn a_sequence_goes_on_in_time() {
    let all = generate("sequence:loop:keys=3:requests=10+zipf:keys=5:requests=20");
    assert_eq!(all.len(), 30);
    assert!(all.is_sorted_by_key(|(access, _)| access.time));
    assert!(all[..10].iter().all(|(_, key)| key.starts_with("p1_")));
    assert!(all[10..].iter().all(|(_, key)| key.starts_with("p2_")));
    assert!(all[29].0.time > Micros(25_000));
}
