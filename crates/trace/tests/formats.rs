//! The promises of every format in the list: a valid sample is read whole, no bytes make a reader
//! panic or run forever, and a format reads back the traces that it writes.

use base::{Size, hash};
use proptest::prelude::*;
use std::io::{BufReader, Cursor, Read, Write};
use std::sync::{Arc, Mutex};
use trace::format::{self, FormatSpec};
use trace::{Access, Error, Micros, Op, ReadOptions, Source, Tick, Totals};

/// More calls than any sample or random bytes have requests, except for extents and repeats, whose
/// length is stated in the trace.
const CALLS_MAX: usize = 20_000;

fn open(spec: &FormatSpec, bytes: Vec<u8>) -> Result<Box<dyn Source>, Error> {
    (spec.open)(Box::new(Cursor::new(bytes)), &ReadOptions::default())
}

/// Reads a whole trace, including malformed records.
fn read(spec: &FormatSpec, bytes: Vec<u8>) -> (Vec<(Access, Vec<u8>)>, Vec<String>) {
    let mut source = match open(spec, bytes) {
        Ok(source) => source,
        Err(error) => return (vec![], vec![error.to_string()]),
    };
    let (mut found, mut errors) = (vec![], vec![]);
    for _ in 0..CALLS_MAX {
        match source.next() {
            None => break,
            Some(Ok(access)) => {
                let key = source.key().to_vec();
                assert_eq!(access.key, hash::bytes(0, &key), "{}: the key's hash", spec.name);
                found.push((access, key));
            }
            Some(Err(error)) => {
                let ends = !error.is_malformed();
                errors.push(error.to_string());
                assert!(!ends || source.next().is_none(), "{}: it has ended", spec.name);
            }
        }
    }
    (found, errors)
}

/// A few requests that every format with a writer can hold.
fn requests() -> Vec<(Access, Vec<u8>)> {
    [(0, "17", 100), (1, "4", 7), (1, "17", 100), (3, "99", 0), (9, "4", 8)]
        .into_iter()
        .map(|(seconds, key, size)| access(seconds * 1_000_000, key.as_bytes(), size))
        .collect()
}

fn access(time: u64, key: &[u8], value_size: u64) -> (Access, Vec<u8>) {
    let access = Access {
        time: Micros(time),
        key_size: key.len() as u32,
        value_size,
        size: Size::of(value_size),
        ..Access::get(hash::bytes(0, key), 0)
    };
    (access, key.to_vec())
}

/// A file whose bytes are still readable after its writer is gone.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn write(spec: &FormatSpec, requests: &[(Access, Vec<u8>)]) -> Option<Vec<u8>> {
    let file = Shared::default();
    let mut sink = spec.create?(Box::new(file.clone()), &Totals::default()).unwrap();
    for (access, key) in requests {
        sink.put(access, key).unwrap();
    }
    sink.finish().unwrap();
    let bytes = file.0.lock().unwrap().clone();
    Some(bytes)
}

/// A valid trace, and its number of requests.
fn sample(spec: &FormatSpec) -> (Vec<u8>, usize) {
    let text = match spec.name {
        "csv" => "# made\n0,17,2,100,0,get,0\n1000,k,1,7,3,set,60\n1000,17,2,100,0,delete,0\n",
        "columns" => "time,key,op,size\n0.5,a,get,10\n0.75,\"b\",set,20\n1,a,get,10\n",
        "twitter" => "0,nz:u:e,1W51,22,304,5,get,0\n0,q7,18,0,1,gets,0\n9,q7,18,75,1,add,86400\n",
        "msr" => {
            "128166372003061629,hm,1,Read,383496192,32768,413\n\
             128166372016382155,hm,1,Write,2822144,4096,127\n\
             128166372026382245,hm,0,Read,383496192,32768,30000\n"
        }
        "ibm" => {
            "1219008 REST.PUT.OBJECT 8d4fcda3d675bac9 1056\n\
             1221974 REST.HEAD.OBJECT 39d177fb735ac5df 528\n\
             1232437 REST.GET.OBJECT 93faec5b81d2a4ae 4096 0 1023\n"
        }
        "vscsi" => return (vscsi(1), 3),
        "vscsi-csv" => {
            "version,time,op,size,lbn\n1,5633898,2a,512,42932745\n1,5633898,28,6656,40409911\n\
             1,5633899,0,0,0\n1,5633899,28,512,42932745\n"
        }
        "keys32" => return ([7u32, 8, 7].iter().flat_map(|key| key.to_le_bytes()).collect(), 3),
        "keys64" => return ([7u64, 8, 7].iter().flat_map(|key| key.to_le_bytes()).collect(), 3),
        "mooncake" => {
            "{\"timestamp\": 0, \"input_length\": 900, \"output_length\": 5, \"hash_ids\": [46, \
             47]}\n\
             {\"timestamp\": 27.5, \"input_length\": 9, \"output_length\": 5, \"hash_ids\": [46]}\n"
        }
        "arc" => "2565 2 0 1\n17 1 0 2\n",
        "lirs" => "1\n2\n*\n1\n",
        "kvcache" => "key,op,size,op_count,key_size\n17,SET,82,1,40\n16,GET,169,2,78\n",
        "memcached-watch" => {
            "ts=10.000001 gid=5 type=item_get key=a%2Cb status=found clsid=1 cfd=30 size=4\n\
             ts=10.000003 gid=6 type=item_store key=c status=stored cmd=set ttl=60 clsid=1 cfd=30 \
             size=7\n\
             ts=10.000004 gid=7 type=deleted key=c cmd=delete clsid=1 cfd=30 size=7\n"
        }
        "monitor" => {
            "OK\n1339518083.107412 [0 127.0.0.1:60866] \"keys\" \"*\"\n\
             1339518090.420270 [0 127.0.0.1:60866] \"set\" \"x\\x00\" \"6\"\n\
             1339518096.506257 [0 127.0.0.1:60866] \"mget\" \"x\\x00\" \"y\"\n"
        }
        "monitor-trace" => {
            "OK\n1778474345309397,76,0,set,\"ke,y\",WRITE,1,string,32,160\n\
             1778474345309399,77,2,get,\"k\",READ,0,none,32,0\n\
             1778474345309400,78,2,del,\"k\",DELETE,1,string,32,60\n"
        }
        _ => {
            let requests = requests();
            let bytes = write(spec, &requests)
                .unwrap_or_else(|| panic!("{}: give it a sample in this test", spec.name));
            return (bytes, requests.len());
        }
    };
    (text.as_bytes().to_vec(), 3)
}

/// Three requests and a command that is none, in either version.
fn vscsi(version: u16) -> Vec<u8> {
    let mut bytes = vec![];
    let lines = [(0x2a, 512, 7u64), (0x28, 6656, 8), (0x35, 0, 0), (0x28, 512, 7)];
    for (at, (command, size, block)) in lines.into_iter().enumerate() {
        let (version, at) = ((version << 8) | 4, at as u64);
        let head = |bytes: &mut Vec<u8>| {
            for number in [9u32, size, 1] {
                bytes.extend(number.to_le_bytes());
            }
        };
        let kind = [u16::to_le_bytes(command), u16::to_le_bytes(version)].concat();
        if version >> 8 == 1 {
            head(&mut bytes);
            bytes.extend(kind);
        } else {
            bytes.extend(kind);
            head(&mut bytes);
        }
        bytes.extend(block.to_le_bytes());
        bytes.extend((5_633_898_000_000 + at).to_le_bytes());
        if version >> 8 == 2 {
            bytes.extend((at * 100).to_le_bytes());
        }
    }
    bytes
}

#[test]
fn both_versions_of_vscsi_are_read() {
    let spec = format::find("vscsi").unwrap();
    for version in [1, 2] {
        assert!((spec.recognises)(&vscsi(version)));
        let (found, errors) = read(spec, vscsi(version));
        assert!(errors.is_empty(), "{errors:?}");
        let all: Vec<_> = found
            .iter()
            .map(|(a, key)| (a.time.0, a.op, key.as_slice(), a.value_size, a.penalty.0))
            .collect();
        let penalty = if version == 2 { 100 } else { 0 };
        let expected = [
            (0, Op::Set, &b"7"[..], 512, 0),
            (1, Op::Get, &b"8"[..], 6656, penalty),
            (3, Op::Get, &b"7"[..], 512, 3 * penalty),
        ];
        assert_eq!(all, expected);
    }
    let error = read(spec, vec![7; 100]).1;
    assert!(error[0].contains("neither version"), "{error:?}");
}

/// With `--block-size`, a request for a range of a disk becomes one for each block that it touches.
#[test]
fn ranges_of_virtual_disks_are_split() {
    let text = "version,time,op,size,lbn\n1,5633898,2a,512,7\n1,5633899,28,6656,8\n\
                1,5633900,28,512,7\n";
    for (name, bytes) in
        [("vscsi", vscsi(1)), ("vscsi", vscsi(2)), ("vscsi-csv", text.as_bytes().to_vec())]
    {
        let spec = format::find(name).unwrap();
        let read = |block_size| {
            let options = ReadOptions { block_size, ..ReadOptions::default() };
            let mut source = (spec.open)(Box::new(Cursor::new(bytes.clone())), &options).unwrap();
            let mut found = vec![];
            while let Some(access) = source.next() {
                let size = access.unwrap().value_size;
                found.push((String::from_utf8(source.key().to_vec()).unwrap(), size));
            }
            (found, source.remark().map(str::to_owned))
        };
        // 512 bytes from 3 584 on, 6 656 bytes from 4 096 on, and the first request once more.
        let (found, remark) = read(Some(4096));
        let wanted = [("0", 4096), ("8", 4096), ("16", 4096), ("0", 4096)];
        let wanted = wanted.map(|(key, size)| (key.to_owned(), size));
        assert_eq!((found, remark), (wanted.to_vec(), None), "{name}");
        let (found, remark) = read(None);
        assert_eq!(found.len(), 3, "{name}");
        assert!(remark.unwrap().contains("--block-size 4kb splits them"), "{name}");
    }
}

#[test]
fn a_sample_is_read_whole() {
    for spec in format::ALL {
        let (bytes, requests) = sample(spec);
        let (found, errors) = read(spec, bytes);
        assert!(errors.is_empty(), "{}: {errors:?}", spec.name);
        assert_eq!(found.len(), requests, "{}", spec.name);
        assert_eq!(found[0].0.time, Micros(0), "{}: time starts with the first", spec.name);
        assert!(found.is_sorted_by_key(|(access, _)| access.time), "{}: time goes on", spec.name);
    }
}

/// A format that claims the bytes of another would silently misread them.
#[test]
fn nobody_claims_the_bytes_of_another() {
    for spec in format::ALL {
        let (bytes, _) = sample(spec);
        let claims: Vec<_> =
            format::ALL.iter().filter(|s| (s.recognises)(&bytes)).map(|s| s.name).collect();
        let alike = spec.name == "twitter" && claims == ["csv"];
        assert!(claims.is_empty() || claims[0] == spec.name || alike, "{}: {claims:?}", spec.name);
        for extension in spec.extensions {
            let by_name = format::detect(&format!("web.{extension}.zst"), b"").map(|s| s.name);
            assert_eq!(by_name, Some(spec.name), "{extension}");
        }
    }
}

/// A format without a fuzz target would be the one that panics.
#[test]
fn every_format_is_fuzzed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
    let mut targets = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        targets += &std::fs::read_to_string(entry.unwrap().path()).unwrap();
    }
    for spec in format::ALL {
        assert!(targets.contains(&format!("read_trace(\"{}\"", spec.name)), "{}", spec.name);
    }
}

/// Wherever a file is cut off, the reader reports it or reads the rest, and stops.
#[test]
fn a_sample_cut_off_anywhere_is_no_panic() {
    for spec in format::ALL {
        let (bytes, requests) = sample(spec);
        for len in 0..bytes.len() {
            let (found, _) = read(spec, bytes[..len].to_vec());
            assert!(found.len() <= requests, "{} cut to {len}", spec.name);
        }
    }
}

/// The requests do not depend on how the bytes arrive.
#[test]
fn a_sample_read_a_byte_at_a_time_is_the_same() {
    struct Slow(Cursor<Vec<u8>>);
    impl Read for Slow {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let most = to.len().min(1);
            self.0.read(&mut to[..most])
        }
    }
    for spec in format::ALL {
        let (bytes, _) = sample(spec);
        let slow = BufReader::with_capacity(1, Slow(Cursor::new(bytes.clone())));
        let mut source = (spec.open)(Box::new(slow), &ReadOptions::default()).unwrap();
        for (expected, key) in read(spec, bytes).0 {
            assert_eq!(source.next().unwrap().unwrap(), expected, "{}", spec.name);
            assert_eq!(source.key(), key, "{}", spec.name);
        }
        assert!(source.next().is_none());
    }
}

/// An error in the underlying reader is reported once and ends the trace.
#[test]
fn a_failing_disk_is_an_error_and_the_end() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk on fire"))
        }
    }
    for spec in format::ALL {
        let (bytes, _) = sample(spec);
        let reader = BufReader::new(Cursor::new(bytes).chain(Failing));
        let Ok(mut source) = (spec.open)(Box::new(reader), &ReadOptions::default()) else {
            continue;
        };
        let mut failed = false;
        while let Some(next) = source.next() {
            assert!(!failed, "{}: nothing comes after the failure", spec.name);
            failed = next.is_err_and(|error| {
                let why = std::error::Error::source(&error);
                why.is_some_and(|why| why.to_string().contains("disk on fire"))
            });
        }
        assert!(failed, "{}", spec.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for spec in format::ALL {
            read(spec, bytes.clone());
            (spec.recognises)(&bytes);
        }
    }

    /// Nearly valid traces reach further into a reader than noise does.
    #[test]
    fn no_damage_is_a_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..8),
    ) {
        for spec in format::ALL {
            let (mut bytes, _) = sample(spec);
            for (at, byte, how) in &damage {
                if bytes.is_empty() {
                    break;
                }
                let at = at.index(bytes.len());
                match how {
                    0 => bytes[at] = *byte,
                    1 => bytes.insert(at, *byte),
                    _ => { bytes.remove(at); }
                }
            }
            read(spec, bytes.clone());
            (spec.recognises)(&bytes);
        }
    }

    #[test]
    fn what_is_written_is_read_back(requests in prop::collection::vec(any_request(), 0..300)) {
        let requests = in_order_of_time(requests);
        for spec in format::ALL.iter().filter(|spec| spec.create.is_some()) {
            let bytes = write(spec, &requests).unwrap();
            let (found, errors) = read(spec, bytes);
            prop_assert!(errors.is_empty(), "{}: {errors:?}", spec.name);
            let expected: Vec<_> = requests.iter().map(|one| kept(spec.name, one)).collect();
            prop_assert_eq!(found, expected, "{}", spec.name);
        }
    }
}

fn any_request() -> impl Strategy<Value = (Access, Vec<u8>)> {
    let op = prop_oneof![Just(Op::Get), Just(Op::Set), Just(Op::Delete)];
    let next = prop_oneof![Just(Tick::NEVER), (0u64..1 << 40).prop_map(Tick)];
    // Some sizes exceed 4 GiB.
    let size = (0u64..1 << 20, 0u32..21).prop_map(|(size, shift)| size << shift);
    let numbers = (0u64..3_000_000, 0u32..40, size, 0u16..5, 0u64..100, 0u64..1 << 40);
    (numbers, op, next).prop_map(|((gap, key, value_size, tenant, ttl, penalty), op, next)| {
        let (access, key) = access(gap, key.to_string().as_bytes(), value_size);
        let (ttl, penalty) = (Micros::from_secs(ttl), Micros(penalty));
        (Access { op, tenant, ttl, penalty, next, ..access }, key)
    })
}

/// Gaps become times; the first is zero, because readers count from the first request.
fn in_order_of_time(mut requests: Vec<(Access, Vec<u8>)>) -> Vec<(Access, Vec<u8>)> {
    let mut now = 0;
    for (at, (access, _)) in requests.iter_mut().enumerate() {
        now += if at == 0 { 0 } else { access.time.0 };
        access.time = Micros(now);
    }
    requests
}

/// The part of a request that a format can hold.
fn kept(format: &str, (access, key): &(Access, Vec<u8>)) -> (Access, Vec<u8>) {
    let whole_seconds = Micros(access.time.0 / 1_000_000 * 1_000_000);
    let kept = match format {
        "compact" => *access,
        "columns" => Access { next: Tick::NEVER, ..*access },
        "csv" => Access { penalty: Micros(0), next: Tick::NEVER, ..*access },
        "lcs" => Access { time: whole_seconds, penalty: Micros(0), ..*access },
        "oracleGeneral" => Access {
            time: whole_seconds,
            key_size: access.key_size,
            next: access.next,
            // Sizes have four bytes.
            ..Access::get(access.key, access.value_size.min(u32::MAX.into()) as u32)
        },
        other => panic!("{other}: say here what it keeps"),
    };
    (kept, key.clone())
}

/// Characters of a key that a column cannot hold are written as in a URL, so the key is neither
/// lost nor split.
#[test]
fn a_key_with_a_comma_fits_the_common_format() {
    let spec = format::find("csv").unwrap();
    let requests = [access(0, b"a,b c\n", 1), access(5, b"", 1)];
    let (found, errors) = read(spec, write(spec, &requests).unwrap());
    assert!(errors.is_empty(), "{errors:?}");
    let keys: Vec<_> = found.iter().map(|(_, key)| key.as_slice()).collect();
    assert_eq!(keys, [&b"a%2Cb%20c%0A"[..], b"%"]);
}

/// Tenants keep their words, times to live keep their fractions, and a quote and a comma do not
/// split a key.
#[test]
fn columns_are_written_with_the_names_of_tenants() {
    let spec = format::find("columns").unwrap();
    let file = Shared::default();
    let mut sink = (spec.create.unwrap())(Box::new(file.clone()), &Totals::default()).unwrap();
    assert!(sink.name_tenant(0, "7") && sink.name_tenant(1, "we,b"));
    for (tenant, key) in [(0, &b"\"a\",b"[..]), (1, b" ")] {
        let (access, key) = access(9, key, 5);
        let access = Access { tenant, ttl: Micros(1_500_000), penalty: Micros(7), ..access };
        sink.put(&access, &key).unwrap();
    }
    sink.finish().unwrap();
    let bytes = file.0.lock().unwrap().clone();
    assert!((spec.recognises)(&bytes));
    let mut source = open(spec, bytes).unwrap();
    let mut found = vec![];
    while let Some(access) = source.next() {
        let access = access.unwrap();
        let key = String::from_utf8(source.key().to_vec()).unwrap();
        let name = source.tenant_name(access.tenant).map(str::to_owned);
        found.push((key, name, access.tenant, access.ttl.0, access.penalty.0));
    }
    let named = |key: &str, name: Option<&str>, tenant| {
        (key.to_owned(), name.map(str::to_owned), tenant, 1_500_000, 7)
    };
    let expected = [named("%22a%22%2Cb", None, 7), named("%20", Some("we%2Cb"), 8)];
    assert_eq!(found, expected);
}

/// Versions 1 and 2, and the short header of old files, built by hand from the layout.
#[test]
fn old_lcs_files_are_read() {
    let magic = 0x1234_5678_9abc_def0_u64.to_le_bytes();
    let spec = format::find("lcs").unwrap();
    for version in [1u64, 2] {
        let mut bytes = vec![0; 1024];
        bytes[..8].copy_from_slice(&magic);
        bytes[8..16].copy_from_slice(&version.to_le_bytes());
        bytes[1016..].copy_from_slice(&magic);
        for (seconds, object, next) in [(100u32, 7u64, 2i64), (103, 8, -1), (104, 7, -1)] {
            bytes.extend(seconds.to_le_bytes());
            bytes.extend(object.to_le_bytes());
            bytes.extend(512u32.to_le_bytes());
            if version == 2 {
                bytes.extend((5u32 << 8 | 3).to_le_bytes());
            }
            bytes.extend(next.to_le_bytes());
        }
        let (found, errors) = read(spec, bytes);
        assert!(errors.is_empty(), "{errors:?}");
        let all: Vec<_> = found.iter().map(|(a, key)| (a.time.0, key.as_slice(), a.next)).collect();
        let expected = [
            (0, &b"7"[..], Tick(2)),
            (3_000_000, &b"8"[..], Tick::NEVER),
            (4_000_000, &b"7"[..], Tick::NEVER),
        ];
        assert_eq!(all, expected);
        let (op, tenant) = if version == 2 { (Op::Set, 5) } else { (Op::Get, 0) };
        assert!(found.iter().all(|(a, _)| (a.op, a.tenant, a.value_size) == (op, tenant, 512)));
    }
}

/// The compact form must be small: a request for a popular object takes a few bytes.
#[test]
fn the_compact_form_is_compact() {
    let text = "zipf:requests=100000:keys=10000:prefix=some-service_user_:size=pareto/0/214/0.3";
    let mut source = trace::synth::open(text, &ReadOptions::default()).unwrap();
    let mut requests = vec![];
    while let Some(access) = source.next() {
        requests.push((access.unwrap(), source.key().to_vec()));
    }
    let spec = format::find("compact").unwrap();
    let compact = write(spec, &requests).unwrap();
    let csv = write(format::find("csv").unwrap(), &requests).unwrap();
    assert!(compact.len() < csv.len() / 10, "{} of {}", compact.len(), csv.len());
    let mut back = open(spec, compact).unwrap();
    for (access, key) in requests {
        assert_eq!(back.next().unwrap().unwrap(), access);
        assert_eq!(back.key(), key);
    }
    assert!(back.next().is_none());
}
