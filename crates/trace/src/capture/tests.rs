//! Odd lines, odd pieces, and their effects.

use super::*;
use base::{Access, Micros, Op};
use proptest::prelude::*;

/// The events that a parser finds in a text, cut into pieces, and its count of malformed lines.
fn told(mut parser: impl Parser, text: &[u8], piece: usize) -> (Vec<String>, u64) {
    let mut found = vec![];
    let mut see = |event: &Event<'_>| {
        let Event { time_us, db, deed, size, found: hit, ttl, tenant, penalty, .. } = *event;
        let key = String::from_utf8_lossy(event.key);
        let ttl = ttl.map(|ttl| ttl.0);
        let more = format!("{tenant:?} {}", penalty.0);
        found.push(format!("{time_us} {db} {deed:?} {key:?} {size:?} {hit:?} {ttl:?} {more}"));
    };
    for bytes in text.chunks(piece) {
        parser.feed(bytes, &mut see);
    }
    parser.end(&mut see);
    (found, parser.malformed())
}

const MONITOR: &str = concat!(
    "+OK\r\n",
    "1.000000 [0 127.0.0.1:6] \"keys\" \"*\"\r\n",
    "1.000001 [0 127.0.0.1:6] \"SET\" \"x\\x00\\\"\" \"a\\\\\\n\\xff\" \"EX\" \"60\"\r\n",
    "1.000002 [3 [::1]:7] \"mget\" \"a\" \"\" \"b b\"\r\n",
    "1.000003 [0 lua] \"get\" \"k\"\r\n",
    "1.000004 [0 unix:/tmp/a b] \"mset\" \"p\" \"12\" \"q\" \"1234\"\r\n",
    "1.000005 [0 h:1] \"setex\" \"t\" \"9\" \"12345\"\n",
    "1.000006 [0 h:1] \"pexpire\" \"t\" \"1500\" \"NX\"\n",
    "1.000007 [0 h:1] \"persist\" \"t\"\n",
    "1.000008 [0 h:1] \"hset\" \"h\" \"f\" \"12\"\n",
    "1.000009 [0 h:1] \"zunion\" \"2\" \"u\" \"v\" \"WEIGHTS\" \"1\"\n",
    "1.000010 [0 h:1] \"set\" \"t\" \"v\" \"KEEPTTL\"\n",
    "1.000011 [0 h:1] \"unlink\" \"t\" \"u\"\n",
    "1.000012 [0 h:1] \"set\" \"t\" \"v\" \"PXAT\" \"31\"\n",
);

#[test]
fn monitor_is_read_in_any_pieces() {
    let expected = [
        r#"1000001 0 Write "x\0\"" Some(4) None Some(60000000) None 0"#,
        r#"1000002 3 Read "a" None None None None 0"#,
        r#"1000002 3 Read "" None None None None 0"#,
        r#"1000002 3 Read "b b" None None None None 0"#,
        r#"1000003 0 Read "k" None None None None 0"#,
        r#"1000004 0 Write "p" Some(2) None Some(0) None 0"#,
        r#"1000004 0 Write "q" Some(4) None Some(0) None 0"#,
        r#"1000005 0 Write "t" Some(5) None Some(9000000) None 0"#,
        r#"1000006 0 Expire "t" None None Some(1500000) None 0"#,
        r#"1000007 0 Expire "t" None None Some(0) None 0"#,
        r#"1000008 0 Change "h" Some(3) None None None 0"#,
        r#"1000009 0 Read "u" None None None None 0"#,
        r#"1000009 0 Read "v" None None None None 0"#,
        r#"1000010 0 Write "t" Some(1) None None None 0"#,
        r#"1000011 0 Delete "t" None None None None 0"#,
        r#"1000011 0 Delete "u" None None None None 0"#,
        r#"1000012 0 Write "t" Some(1) None Some(1) None 0"#,
    ];
    for piece in [1, 2, 5, 64, MONITOR.len()] {
        let (found, malformed) = told(Monitor::default(), MONITOR.as_bytes(), piece);
        assert_eq!(found, expected, "pieces of {piece}");
        assert_eq!(malformed, 0);
    }
}

/// A malformed line is skipped, and the lines around it are read.
#[test]
fn a_wrong_line_of_monitor_is_counted_and_passed_over() {
    let good = "1.5 [0 h:1] \"get\" \"k\"\n";
    for wrong in [
        "noise",
        "1.5 [0 h:1 \"get\" \"k\"",
        "x [0 h:1] \"get\" \"k\"",
        "1.5 [x h:1] \"get\" \"k\"",
        "1.5 [0 h:1] \"get\" \"k",
        "1.5 [0 h:1] \"get\" \"k\\",
        "1.5 [0 h:1] \"get\" \"\\x4",
        "1.5 [0 h:1] \"get\" \"\\xzz\"",
        "1.5 [0 h:1] \"get\" k",
        "1.5",
    ] {
        let text = format!("{good}{wrong}\n{good}");
        for piece in [1, 3, text.len()] {
            let (found, malformed) = told(Monitor::default(), text.as_bytes(), piece);
            assert_eq!((found.len(), malformed), (2, 1), "{wrong}");
        }
    }
    let endless = "1".repeat(10_000) + "\n" + good;
    assert_eq!(told(Monitor::default(), endless.as_bytes(), 7).0.len(), 1);
}

/// A value of eight megabytes is not held, and a key of one megabyte is cut.
#[test]
fn large_arguments_are_measured_and_dropped() {
    let value = "v".repeat(8 << 20);
    let key = |end: char| "k".repeat(1 << 20) + &end.to_string();
    let mut text = format!("1.5 [0 h:1] \"set\" \"a\" \"{value}\" \"PX\" \"5\"\n");
    for end in ['x', 'x', 'y'] {
        text += &["1.5 [0 h:1] \"get\" \"", &key(end), "\"\n"].concat();
    }
    let mut parser = Monitor::default();
    let (mut sizes, mut keys) = (vec![], vec![]);
    for bytes in text.as_bytes().chunks(4_099) {
        parser.feed(bytes, &mut |event| {
            sizes.push(event.size);
            keys.push(event.key.to_vec());
        });
    }
    assert_eq!(sizes, [Some(8 << 20), None, None, None]);
    assert!(keys.iter().all(|key| key.len() < 1_100));
    assert!(keys[1] == keys[2] && keys[2] != keys[3]);
    assert!(format!("{parser:?}").len() < 20_000, "nothing large is held");
}

#[test]
fn watch_drops_a_stores_own_fetch_and_counts_what_it_missed() {
    let text = "OK\r\n\
        ts=10.1 gid=5 type=item_get key=a%2Cb status=not_found clsid=0 cfd=30 size=0\n\
        ts=10.25000 gid=6 type=item_get key=a%2Cb status=not_found clsid=0 cfd=30 size=0\n\
        ts=10.25003 gid=7 type=item_store key=a%2Cb status=stored cmd=set ttl=60 cfd=30 size=7\n\
        ts=10.25004 gid=8 type=eviction key=z fetch=yes ttl=-1 la=5 clsid=1 size=9\n\
        skipped=12\r\n[skipped: 3]\n\
        ts=10.25005 gid=9 type=item_get key=c status=found clsid=1 cfd=31 size=3\n\
        ts=10.29005 gid=10 type=item_store key=c status=stored cmd=set ttl=0 cfd=31 size=4\n\
        ts=10.29006 gid=11 type=item_store key=c status=not_stored cmd=add ttl=0 cfd=31 size=4\n\
        ts=10.29007 gid=12 type=item_get key=%zz status=found clsid=1 cfd=31 size=3\n\
        noise\n\
        ts=10.29008 gid=13 type=deleted key=c cmd=delete clsid=1 cfd=31 size=4\n\
        ts=10.29009 gid=14 type=something_new key=c\n\
        ts=10.29010 gid=15 type=item_get key=n status=found clsid=1 cfd=31 size=0\n";
    let expected = [
        r#"10000001 0 Read "a,b" None Some(false) None None 0"#,
        r#"10025003 0 Write "a,b" Some(7) None Some(60000000) None 0"#,
        r#"10025005 0 Read "c" Some(3) Some(true) None None 0"#,
        r#"10029005 0 Write "c" Some(4) None Some(0) None 0"#,
        r#"10029008 0 Delete "c" None None None None 0"#,
        r#"10029010 0 Read "n" None Some(false) None None 0"#,
    ];
    for piece in [1, 3, text.len()] {
        let (found, malformed) = told(Watch::default(), text.as_bytes(), piece);
        assert_eq!((found, malformed), (expected.map(str::to_owned).to_vec(), 2), "{piece}");
    }
    let mut watch = Watch::default();
    watch.feed(text.as_bytes(), &mut |_| {});
    assert_eq!(watch.lost(), 15);
}

#[test]
fn a_trace_of_larder_keeps_what_it_tells() {
    let text = "+OK\r\n\
        +5,1,0,get,\"k,\\x00\",READ,0,string,3,0,web,,0\r\n\
        +9,2,0,set,\"k,\\x00\",WRITE,0,string,3,70,web,60000,0\r\n\
        +12,3,2,get,\"k\",READ,1,string,1,70,jobs,59000,2550\r\n\
        +13,4,0,expire,\"k\",WRITE,1,string,1,70,web,1000,0\r\n\
        +14,5,0,get,\"k\",READ,2\r\n\
        +15,6,0,del,\"k\",DELETE,1,string,1,70\r\n";
    let expected = [
        r#"5 0 Read "k,\0" None Some(false) None Some("web") 0"#,
        r#"9 0 Write "k,\0" Some(70) None Some(60000000) Some("web") 0"#,
        r#"12 2 Read "k" Some(70) Some(true) None Some("jobs") 2550"#,
        r#"13 0 Expire "k" None None Some(1000000) Some("web") 0"#,
        r#"15 0 Delete "k" None None None None 0"#,
    ];
    let (found, malformed) = told(TraceLines::default(), text.as_bytes(), 11);
    assert_eq!((found, malformed), (expected.map(str::to_owned).to_vec(), 1));
}

proptest! {
    #[test]
    fn no_bytes_are_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1usize..9,
    ) {
        told(Monitor::default(), &bytes, piece);
        told(Watch::default(), &bytes, piece);
        told(TraceLines::default(), &bytes, piece);
    }

    /// Nearly valid lines reach further into the parser, and their pieces make no difference.
    #[test]
    fn no_damage_is_a_panic(
        at in any::<prop::sample::Index>(), byte in any::<u8>(), piece in 1usize..40,
    ) {
        let mut bytes = MONITOR.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        prop_assert_eq!(
            told(Monitor::default(), &bytes, piece),
            told(Monitor::default(), &bytes, bytes.len())
        );
    }
}

/// A recorder that names the tenant by the part of the key before the colon.
fn recorder() -> Recorder {
    let owner = |event: &Event<'_>| {
        let name = event.key.split(|byte| *byte == b':').next().unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    };
    Recorder::new(Box::new(owner), 1_000)
}

fn at(time_us: u64, connection: u64, key: &str, deed: Deed) -> Event<'_> {
    Event { connection, host: 1, ..Event::new(time_us, key.as_bytes(), deed) }
}

fn set(time_us: u64, connection: u64, key: &str, size: u64) -> Event<'_> {
    let ttl = Some(Micros::from_secs(60));
    Event { size: Some(size), ttl, ..at(time_us, connection, key, Deed::Write) }
}

fn accesses(recorded: &Recorded) -> Vec<Access> {
    let mut found = vec![];
    let done: Result<(), ()> = recorded.each(usize::MAX, |access, _| {
        found.push(*access);
        Ok(())
    });
    done.unwrap();
    found
}

/// The write that answers a read is no request; its size and time to live, and the penalty, go to
/// the read.
#[test]
fn a_miss_is_one_request() {
    let mut recorder = recorder();
    for event in [
        at(1_000, 7, "a:1", Deed::Read),
        at(1_100, 8, "a:1", Deed::Read),
        set(3_000, 7, "a:1", 50),
        set(3_300, 8, "a:1", 50),
        at(9_000, 7, "a:1", Deed::Read),
        set(9_900, 9, "b:1", 70),
    ] {
        recorder.see(&event);
    }
    assert_eq!(recorder.fills().by_connection, 2);
    let recorded = recorder.finish();
    let all: Vec<_> = accesses(&recorded)
        .iter()
        .map(|a| (a.time.0, a.op, a.tenant, a.value_size, a.ttl.0, a.penalty.0))
        .collect();
    let life = 60_000_000;
    let expected = [
        (0, Op::Get, 0, 50, life, 2_000),
        (100, Op::Get, 0, 50, life, 2_000),
        (8_000, Op::Get, 0, 50, life, 2_050),
        (8_900, Op::Set, 1, 70, life, 0),
    ];
    // Of two measurements the higher counts as the lower, because it is above their 99th
    // percentile.
    assert_eq!(all[..2], expected[..2]);
    assert_eq!(all[3], expected[3]);
    assert!((2_000..=2_050).contains(&all[2].5), "{all:?}");
    let tenants = recorded.tenants();
    assert_eq!((tenants[0].name.as_str(), tenants[0].reads, tenants[0].misses), ("a", 3, 2));
    assert_eq!((tenants[1].writes, tenants[1].penalty_us), (1, None));
}

/// No write answers a read of another host, a read ten seconds earlier, a read before a removal, or
/// one of several reads of its host.
#[test]
fn not_every_write_answers_a_read() {
    let read = || at(0, 7, "a:1", Deed::Read);
    let cases = [
        (vec![read(), set(900, 8, "a:1", 5)], 1, "a shared pool of connections"),
        (vec![read(), Event { host: 2, ..set(900, 8, "a:1", 5) }], 0, "another host"),
        (vec![read(), set(10_000_001, 7, "a:1", 5)], 0, "much later"),
        (vec![read(), at(5, 9, "a:1", Deed::Delete), set(900, 7, "a:1", 5)], 0, "removed"),
        (vec![read(), at(5, 9, "a:1", Deed::Read), set(900, 8, "a:1", 5)], 0, "which of two?"),
        (vec![read(), at(5, 9, "a:1", Deed::Read), set(900, 9, "a:1", 5)], 1, "its own"),
        (vec![Event { found: Some(true), ..read() }, set(900, 7, "a:1", 5)], 0, "a hit"),
        (vec![Event { found: Some(false), ..read() }, set(900, 7, "a:1", 5)], 1, "a miss"),
        (vec![read(), set(900, 7, "a:1", 5), set(950, 7, "a:1", 5)], 1, "once"),
    ];
    for (events, fills, why) in cases {
        let mut recorder = recorder();
        for event in &events {
            recorder.see(event);
        }
        let found = recorder.fills();
        assert_eq!(found.by_connection + found.by_host, fills, "{why}");
        assert_eq!(recorder.len() as u64, events.len() as u64 - fills, "{why}");
    }
    let mut recorder = recorder();
    recorder.see(&read());
    recorder.pause();
    recorder.see(&set(900, 7, "a:1", 5));
    assert_eq!(recorder.fills(), Fills::default(), "nobody looked between them");
}

/// A read before the first write of its key gets the size of that write. A key that is only read
/// gets the server's answer, and the other keys get the mean of the answers. No size becomes one
/// byte.
#[test]
fn sizes_and_penalties_are_filled_in_and_counted() {
    let mut recorder = recorder();
    for key in ["a:asked", "a:mean", "a:later", "b:silent"] {
        recorder.see(&Event { host: 3, ..at(5, 1, key, Deed::Read) });
    }
    recorder.see(&set(1_000, 9, "a:later", 100));
    recorder.see(&at(1_500, 4, "a:miss", Deed::Read));
    recorder.see(&set(1_900, 4, "a:miss", 300));
    recorder.see(&Event { ttl: Some(Micros(30)), ..at(1_950, 4, "a:miss", Deed::Expire) });
    let asked = recorder.unsized_keys(9);
    assert_eq!(asked.len(), 3);
    let number = asked.iter().find(|(_, _, text)| text == b"a:asked").unwrap().0;
    recorder.set_size(number, 40);
    let recorded = recorder.finish();
    let all: Vec<_> =
        accesses(&recorded).iter().map(|a| (a.value_size, a.ttl.0, a.penalty.0)).collect();
    let life = 60_000_000;
    assert_eq!(
        all,
        [
            (40, 0, 400),
            (40, 0, 400),
            (100, life, 400),
            (40, 0, 400),
            (100, life, 0),
            (300, 480, 400)
        ]
    );
    let filled = recorded.filled();
    assert_eq!((filled.sizes_told, filled.sizes_asked, filled.sizes_mean), (3, 1, 2));
    assert_eq!((filled.penalties_measured, filled.penalties_of_tenant), (1, 3));
    assert_eq!((filled.penalties_of_all, filled.penalties_unknown), (1, 0));
}

/// One key in two databases is two objects, and a full recorder takes no more requests.
#[test]
fn databases_are_kept_apart() {
    let mut recorder = Recorder::new(Box::new(|event| format!("db{}", event.db)), 2);
    for db in [0, 3, 3] {
        recorder.see(&Event { db, ..at(5, 1, "k", Deed::Read) });
    }
    assert!(recorder.is_full() && recorder.len() == 2);
    let recorded = recorder.finish();
    assert_eq!(recorded.names(), ["db0", "db3"]);
    let mut keys = vec![];
    let done: Result<(), ()> = recorded.each(9, |_, key| {
        keys.push(String::from_utf8(key.to_vec()).unwrap());
        Ok(())
    });
    done.unwrap();
    assert_eq!(keys, ["k", "3/k"]);
}
