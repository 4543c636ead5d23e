//! Sizes that shift: memory freed by one size must serve another, also when other programs want the
//! processors and the thread that watches resident memory is late. `cargo x soak 130 shift` runs
//! longer, and compares hits. The test needs an optimised build, because the server would otherwise
//! be too slow.

use crate::client::Client;
use crate::process::serve;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const LIMIT: u64 = 256 << 20;
const PAGE: u64 = 4096;
/// Bytes that all writers together write at each range of sizes: more than memory holds.
const VOLUME: u64 = 3 * LIMIT / 2;
/// The longest value of each range, as a power of two; the shortest has 16 bytes.
const LONGEST: [u32; 4] = [10, 13, 16, 10];

/// Writes values of log-uniform sizes until `VOLUME` bytes were written at each range.
fn write(client: &mut Client, seed: u64, written: &AtomicU64) {
    let mut prng = base::Prng::new(seed);
    let body = "x".repeat(1 << 16);
    for (phase, longest) in LONGEST.into_iter().enumerate() {
        while written.load(Ordering::Relaxed) < (phase as u64 + 1) * VOLUME {
            let mut bytes = 0;
            let lines: Vec<_> = (0..16)
                .map(|_| {
                    let octave = 4 + prng.below(u64::from(longest) - 4);
                    let len = (1 << octave) + prng.below(1 << octave);
                    bytes += len;
                    format!("SET key:{longest}:{} {}", prng.below(1 << 21), &body[..len as usize])
                })
                .collect();
            client.ask_all(lines.into_iter());
            written.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

/// Peak of resident memory as a share of the limit, beside `busy` spinning threads.
fn peak(busy: u32) -> f64 {
    let server = serve(&format!("--maxmemory {LIMIT}"));
    let pid = Client::new(server.addr()).info("process_id");
    let (written, mut most) = (AtomicU64::new(0), 0);
    let is_written = || written.load(Ordering::Relaxed) >= LONGEST.len() as u64 * VOLUME;
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (mut client, written) = (Client::new(server.addr()), &written);
            scope.spawn(move || write(&mut client, seed, written));
        }
        for _ in 0..busy {
            scope.spawn(|| {
                while !is_written() {
                    std::hint::spin_loop();
                }
            });
        }
        while !is_written() {
            let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
            let pages = statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap();
            most = most.max(pages * PAGE);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let most = most as f64 / LIMIT as f64;
    println!("{busy} busy threads: resident memory {most:.3} x limit");
    most
}

#[test]
#[cfg_attr(debug_assertions, ignore = "measures an optimised server: bash .ci/run speed")]
fn resident_memory_stays_near_the_limit_when_sizes_shift() {
    for busy in [0, 2] {
        let peak = peak(busy);
        assert!(peak <= 1.05, "{busy} busy threads: {peak:.3} x limit");
    }
}
