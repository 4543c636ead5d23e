//! Runs against servers in this process, which speak either protocol and return wrong values on
//! request.

use super::*;
use crate::backend::Backend;
use crate::order::{Lane, Merge, Order, Owner};
use crate::pace::Pace;
use crate::place::Place;
use base::{Access, Micros, Op};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use trace::{Error, Source};
use wire::address::Address;
use wire::{memcached, resp};

type Items = Arc<Mutex<HashMap<Vec<u8>, Vec<u8>>>>;

/// The protocols of the test servers.
const BOTH: [fn(Address) -> Place; 2] = [Place::Redis, Place::Memcached];

/// A server with unlimited memory. Every `lie`-th read is answered with a wrong value.
fn server(speaks: fn(Address) -> Place, lie: Option<u64>) -> (Place, Items) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = speaks(Address::loopback(listener.local_addr().unwrap().port()));
    let serve = match to {
        Place::Redis(_) => serve_resp,
        Place::Memcached(_) => serve_text,
    };
    let items = Items::default();
    let shared = items.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut held = Held { items: shared.clone(), lie, reads: 0 };
            thread::spawn(move || serve(stream.unwrap(), &mut held));
        }
    });
    (to, items)
}

/// The items of the server, for one connection.
struct Held {
    items: Items,
    lie: Option<u64>,
    reads: u64,
}

impl Held {
    fn get(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        self.reads += 1;
        let value = self.items.lock().unwrap().get(key).cloned()?;
        let lies = self.lie.is_some_and(|lie| self.reads.is_multiple_of(lie));
        Some(if lies { b"something else altogether".to_vec() } else { value })
    }

    fn set(&self, key: &[u8], value: &[u8]) {
        self.items.lock().unwrap().insert(key.to_vec(), value.to_vec());
    }
}

/// Adds the received bytes to `bytes`; returns false at the end of the stream.
fn hear(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> bool {
    let mut piece = [0; 4096];
    let got = stream.read(&mut piece).unwrap_or(0);
    bytes.extend_from_slice(&piece[..got]);
    got > 0
}

fn serve_resp(mut stream: TcpStream, held: &mut Held) {
    let (mut decoder, mut bytes, mut out) = (resp::Decoder::default(), vec![], vec![]);
    while hear(&mut stream, &mut bytes) {
        while let Some(command) = decoder.decode(&bytes, &resp::Limits::default()).unwrap() {
            let words: Vec<&[u8]> = command.iter_from(0).collect();
            let mut reply = resp::Encoder::new(&mut out, resp::Protocol::Resp2);
            match words[0] {
                b"GET" => match held.get(words[1]) {
                    Some(value) => reply.bulk(&value),
                    None => reply.null(),
                },
                b"SET" => {
                    held.set(words[1], words[2]);
                    if let [.., b"COST", us] = words[..] {
                        held.set(&[b"cost of ", words[1]].concat(), us);
                    }
                    reply.simple("OK");
                }
                _ => reply.error(b"ERR unknown command"),
            }
            let consumed = command.consumed;
            bytes.drain(..consumed);
        }
        stream.write_all(&out).unwrap();
        out.clear();
    }
}

fn serve_text(mut stream: TcpStream, held: &mut Held) {
    let (mut decoder, mut bytes, mut out) = (memcached::Decoder::default(), vec![], vec![]);
    let limits = memcached::Limits { data_max: 1 << 20, stranger: false };
    while hear(&mut stream, &mut bytes) {
        while let Some(request) = decoder.decode(&bytes, &limits).unwrap() {
            let words: Vec<&[u8]> = request.iter_from(0).collect();
            match (words[0], request.data) {
                (b"get", _) => {
                    if let Some(value) = held.get(words[1]) {
                        out.extend_from_slice(b"VALUE ");
                        out.extend_from_slice(words[1]);
                        out.extend_from_slice(format!(" 0 {}\r\n", value.len()).as_bytes());
                        out.extend_from_slice(&value);
                        out.extend_from_slice(b"\r\n");
                    }
                    out.extend_from_slice(b"END\r\n");
                }
                (b"set", memcached::Data::Block(value)) => {
                    held.set(words[1], value);
                    out.extend_from_slice(b"STORED\r\n");
                }
                _ => out.extend_from_slice(b"ERROR\r\n"),
            }
            let consumed = request.consumed;
            bytes.drain(..consumed);
        }
        stream.write_all(&out).unwrap();
        out.clear();
    }
}

/// `requests` reads of `keys` keys in turn; every tenth is a write.
struct Turns {
    requests: u64,
    keys: u64,
    at: u64,
    key: String,
}

impl Source for Turns {
    fn next(&mut self) -> Option<Result<Access, Error>> {
        if self.at == self.requests {
            return None;
        }
        let number = self.at % self.keys;
        self.key = format!("k{number}");
        self.at += 1;
        let op = if self.at.is_multiple_of(10) { Op::Set } else { Op::Get };
        Some(Ok(Access { op, time: Micros(self.at), ..Access::get(number, 100) }))
    }
    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }
}

fn lane(tenant: usize, requests: u64, keys: u64) -> Lane {
    let source = Box::new(Turns { requests, keys, at: 0, key: String::new() });
    Lane { source, requests: Some(requests), owner: Owner::Tenant(tenant) }
}

fn options(to: Place, backend: &str) -> Options {
    let tenant = |name: &str| ReplayTenant {
        name: name.into(),
        prefix: format!("{name}:"),
        db: 0,
        backend: Backend::parse(backend, &[]).unwrap(),
    };
    Options {
        to,
        tenants: vec![tenant("a"), tenant("b")],
        order: Order::new(vec![lane(0, 3_000, 97), lane(1, 1_000, 31)], Merge::InProportion(1)),
        requests: Some(4_000),
        connections: 1,
        depth: 1,
        pace: Pace::Closed,
        tells_costs: false,
        warmup: 0.0,
        seed: 1,
        interval: Duration::from_millis(5),
    }
}

/// With one connection for each tenant the result is exact: each key misses once, unless its first
/// request is a write.
#[test]
fn every_request_is_sent_once_and_misses_are_filled() {
    for (depth, speaks) in [1, 8].into_iter().zip(BOTH).chain([(8, BOTH[0]), (1, BOTH[1])]) {
        let (to, items) = server(speaks, None);
        let mut last = 0;
        let options = Options { depth, ..options(to, "delay:0") };
        let report = run_replay(options, &mut |progress| last = progress.requests).unwrap();
        assert_eq!((report.requests, last, report.errors), (4_000, 4_000, 0));
        let items = items.lock().unwrap();
        assert_eq!(items.len(), 97 + 31);
        assert!(items.keys().all(|key| key.starts_with(b"a:") || key.starts_with(b"b:")));
        let misses: Vec<u64> = report.tenants.iter().map(|tenant| tenant.misses).collect();
        assert_eq!(misses, [97 - 9, 31 - 3]);
        assert_eq!(report.tenants[0].gets, 2_700);
    }
}

#[test]
fn the_warmup_is_served_and_not_counted() {
    let (to, items) = server(Place::Redis, None);
    let options = Options { warmup: 0.5, ..options(to, "delay:0") };
    let report = run_replay(options, &mut |_| ()).unwrap();
    assert_eq!((report.requests, report.requests_warmup), (2_000, 2_000));
    assert_eq!(report.tenants.iter().map(|tenant| tenant.misses).sum::<u64>(), 0);
    assert_eq!(items.lock().unwrap().len(), 97 + 31);
}

/// The check of values must be able to fail.
#[test]
fn wrong_values_are_errors() {
    for speaks in BOTH {
        let (to, _) = server(speaks, Some(50));
        let report = run_replay(options(to, "delay:0"), &mut |_| ()).unwrap();
        assert!((50..=72).contains(&report.errors), "{}", report.errors);
        assert!(report.first_error.unwrap().contains("not what was written"));
    }
}

/// The protocol cannot express keys with blanks or of more than 250 bytes. Of tenant b only the ten
/// keys with one digit fit, and each keeps its own answer.
#[test]
fn keys_that_memcached_cannot_take_are_counted_and_not_sent() {
    let fits = |at: u64| at % 31 < 10;
    let long = (0..1_000).filter(|at| !fits(*at)).count() as u64;
    for (prefix, why, [errors, misses, held]) in [
        ("b".repeat(248), "1 to 250 bytes", [long, 9, 10]),
        ("b b".into(), "no spaces", [1_000, 0, 0]),
    ] {
        let (to, items) = server(Place::Memcached, None);
        let mut options = Options { depth: 8, ..options(to, "delay:0") };
        options.tenants[1].prefix = prefix;
        let report = run_replay(options, &mut |_| ()).unwrap();
        assert_eq!((report.requests, report.errors), (4_000, errors));
        let of = |at: usize| (report.tenants[at].errors, report.tenants[at].misses);
        assert_eq!([of(0), of(1)], [(0, 97 - 9), (errors, misses)]);
        let first = report.first_error.unwrap();
        assert!(first.contains("was not sent") && first.contains(why), "{first}");
        assert_eq!(items.lock().unwrap().len() as u64, 97 + held);
    }
}

/// A miss takes the time of its backend, and a hit does not.
#[test]
fn misses_wait_for_their_backend() {
    let (to, _) = server(Place::Redis, None);
    let options = Options { connections: 4, ..options(to, "delay:3ms") };
    let report = run_replay(options, &mut |_| ()).unwrap();
    for tenant in &report.tenants {
        assert!(tenant.penalty_us >= 3_000.0, "{tenant:?}");
        assert!(tenant.latency_us.p50 < 3_000.0, "{tenant:?}");
        assert!(tenant.latency_us.p999 >= 3_000.0, "{tenant:?}");
    }
}

/// A key that was written before its first read has no known cost.
#[test]
fn what_a_fetch_took_is_told() {
    let (to, items) = server(Place::Redis, None);
    let options = Options { connections: 4, tells_costs: true, ..options(to, "delay:3ms") };
    let report = run_replay(options, &mut |_| ()).unwrap();
    assert_eq!(report.errors, 0);
    let items = items.lock().unwrap();
    let costs: Vec<u64> = items
        .iter()
        .filter(|(key, _)| key.starts_with(b"cost of "))
        .map(|(_, us)| std::str::from_utf8(us).unwrap().parse().unwrap())
        .collect();
    assert!((100..=128).contains(&costs.len()), "{}", costs.len());
    assert!(costs.iter().all(|us| (3_000..1_000_000).contains(us)), "{costs:?}");
}

/// An open loop that counted from the time of sending would hide the stalls of a server.
#[test]
fn an_open_loop_counts_from_the_intended_times() {
    let (to, _) = server(Place::Redis, None);
    // One connection can answer at most 200 misses of 5 ms a second, so the run falls behind.
    let rate = 100_000.0;
    let options = Options { pace: Pace::Open(rate), ..options(to, "delay:5ms") };
    let report = run_replay(options, &mut |_| ()).unwrap();
    let worst = report.tenants[0].latency_us;
    assert!(worst.p50 > 50_000.0, "half of the requests wait for 88 misses: {worst:?}");
}

#[test]
fn a_paced_run_is_never_ahead_of_its_rate() {
    let (to, _) = server(Place::Redis, None);
    let options =
        Options { pace: Pace::ClosedAtMost { rate: 20_000.0, burst: 8 }, ..options(to, "delay:0") };
    let report = run_replay(options, &mut |_| ()).unwrap();
    assert!(report.seconds >= 3_992.0 / 20_000.0, "{}", report.seconds);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let to = Place::Redis(Address::loopback(1));
    let error = run_replay(options(to, "delay:0"), &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}
