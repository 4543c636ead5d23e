//! Runs both parsers on mutated requests, on a stable toolchain: for a few seconds among the tests,
//! and for half an hour each with `cargo x parsers`. (`fuzz/` has the same checks for libFuzzer,
//! which is guided by coverage.) `FUZZ_SECONDS` sets the time in CPU seconds, so that a busy
//! machine takes longer and tries as many inputs. A finding's message contains its seed.

#[allow(unreachable_pub, reason = "the fuzz targets use it too")]
mod check;

use base::Prng;
use std::time::{Duration, Instant};

/// Parts of requests, valid and invalid, from which inputs are made.
const WORDS: &[&[u8]] = &[
    b"*1\r\n$4\r\nPING\r\n",
    b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n",
    b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
    b"*0\r\n",
    b"*-1\r\n",
    b"$-1\r\n",
    b"$0\r\n\r\n",
    b"$4096\r\n",
    b"$4097\r\n",
    b"*2147483647\r\n",
    b"*99999999999999999999\r\n",
    b"GET k\r\n",
    b"SET 'a b' \"\\x00\\n\"\r\n",
    b"\"open\r\n",
    b"%2\r\n+a\r\n:1\r\n",
    b"~1\r\n_\r\n",
    b">2\r\n$1\r\na\r\n#t\r\n",
    b",1.5\r\n",
    b"=7\r\ntxt:abc\r\n",
    b"(12345678901234567890\r\n",
    b"-ERR no\r\n",
    b"set k 1 0 5\r\nvalue\r\n",
    b"set k 1 0 4097\r\n",
    b"set k 1 0 18446744073709551615\r\n",
    b"cas k 0 0 1 99 noreply\r\nx\r\n",
    b"get a b c\r\n",
    b"mg k v t f c O1 k q\r\n",
    b"ms k 5 T0 F1 I\r\nvalue\r\n",
    b"ms azEy 1 b\r\nx\r\n",
    b"md k\r\nmn\r\n",
    b"incr k 1\r\n",
    b"append k 0 0 0\r\n\r\n",
    b"\x80\x01",
    b"\r\n",
    b"\n",
    b" ",
    b"\0",
    b"-1",
    b"00",
    b"9223372036854775807",
];

fn input(prng: &mut Prng) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..3).map(|_| prng.next_u64() as u8).collect();
    for _ in 0..=prng.below(8) {
        bytes.extend_from_slice(WORDS[prng.below(WORDS.len() as u64) as usize]);
    }
    for _ in 0..prng.below(6) {
        let at = prng.below(bytes.len() as u64) as usize;
        match prng.below(6) {
            0 => bytes[at] = prng.next_u64() as u8,
            1 => bytes[at] ^= 1 << prng.below(8),
            2 => bytes.truncate(at.max(3)),
            3 => bytes.insert(at, b"\r\n*$0129 -+"[prng.below(11) as usize]),
            4 => drop(bytes.remove(at)),
            _ => {
                let piece = bytes[at..].to_vec();
                let to = prng.below(bytes.len() as u64) as usize;
                bytes.splice(to..to, piece);
            }
        }
        if bytes.is_empty() {
            return bytes;
        }
    }
    bytes
}

/// The CPU time of this thread so far. If the system does not report it, the time on the clock
/// since `begun`.
fn worked(begun: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| begun.elapsed(), Duration::from_nanos)
}

/// Runs `check` on random inputs for a time, and prints the number of inputs.
fn fuzz(name: &str, check: fn(&[u8])) {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(2));
    let (begun, mut seed) = (Instant::now(), 0);
    while worked(begun) < time {
        for _ in 0..1_000 {
            seed += 1;
            let bytes = input(&mut Prng::new(seed));
            let checked = std::panic::catch_unwind(|| check(&bytes));
            assert!(checked.is_ok(), "{name}: seed {seed}: {:?}", bytes.escape_ascii().to_string());
        }
    }
    let (cpu, clock) = (worked(begun).as_secs(), begun.elapsed().as_secs());
    println!("{name}: {seed} inputs in {cpu} s of processor time ({clock} s), no finding");
}

#[test]
fn resp() {
    fuzz("resp", check::resp);
}

#[test]
fn memcached() {
    fuzz("memcached", check::memcached);
}

/// The inputs must reach both requests and errors, or the checks above could not fail.
#[test]
fn inputs_reach_requests_and_errors() {
    let (mut commands, mut errors) = (0, 0);
    for seed in 0..2_000 {
        let bytes = input(&mut Prng::new(seed));
        let mut decoder = wire::resp::Decoder::default();
        match decoder.decode(bytes.get(3..).unwrap_or_default(), &wire::resp::Limits::default()) {
            Ok(Some(command)) if command.len() > 1 => commands += 1,
            Err(_) => errors += 1,
            Ok(_) => {}
        }
    }
    assert!(commands > 300 && errors > 100, "{commands} commands, {errors} errors");
}
