//! The housekeeping thread: expired items, a lowered memory limit, the clock's offset, rates.

use crate::server::Server;
use crate::server::removal_events;
use crate::services::clock::SWEEP_PERIOD;
use crate::settings::config::Error;
use crate::settings::memory_limit;
use base::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use store::Compression;

/// The number of entries and buckets that one sweep visits.
const SWEEP_BUCKETS: usize = 16 << 10;
/// The largest number of sweeps in a row, while the store is above a lowered limit or more items
/// have expired than one sweep removes. This bounds the time, and allows for a million expired
/// items a second.
const SWEEPS_MAX: usize = 8;
/// The first values are sampled as soon as the processor time allows, to tell how far they would
/// shrink; later ones at this interval. Then the thread rests for this many times as long as a
/// sample took.
const SAMPLES_FIRST: u32 = 64;
const SAMPLE_EVERY: Duration = Duration::from_secs(5);
const SAMPLE_RESTS: u32 = 10_000;

/// Runs the rounds until the server ends.
pub(crate) fn run(server: &Arc<Server>) {
    let mut second = Instant::now();
    let mut last = rates(server);
    let (mut samples, mut sample_due) = (0u32, Instant::now());
    let mut corrupt = 0;
    while !server.process.is_stopping() {
        std::thread::park_timeout(SWEEP_PERIOD);
        server.clock.refresh();
        let began = Instant::now();
        for _ in 0..SWEEPS_MAX {
            let swept = server.store.sweep(server.clock.now(), SWEEP_BUCKETS);
            if swept.evicted == 0 && swept.expired < SWEEP_BUCKETS / 2 {
                break;
            }
        }
        let swept = began.elapsed().as_micros() as u64;
        server.stats.expire_us.fetch_add(swept, Ordering::Relaxed);
        removal_events::tell(server);
        if Instant::now() >= sample_due {
            sample_due = Instant::now() + sample(server, &mut samples);
        }
        let elapsed = second.elapsed();
        if elapsed < Duration::from_secs(1) {
            continue;
        }
        second = Instant::now();
        follow_memory(server);
        report_corrupt(server, &mut corrupt);
        server.observed.threads.look();
        let now = rates(server);
        for at in 0..now.len() {
            let rate = (now[at] - last[at]) as f64 / elapsed.as_secs_f64();
            server.stats.per_second[at].store(rate as u64, Ordering::Relaxed);
        }
        last = now;
    }
}

/// Samples a value while compression is off. Counts it, and returns the time to rest.
fn sample(server: &Server, samples: &mut u32) -> Duration {
    if server.view.now().settings.compression.mode != Compression::No {
        return SAMPLE_EVERY;
    }
    let began = Instant::now();
    *samples = samples.saturating_add(u32::from(server.store.sample_value(server.clock.now())));
    let least = if *samples < SAMPLES_FIRST { Duration::ZERO } else { SAMPLE_EVERY };
    least.max(SAMPLE_RESTS * began.elapsed())
}

/// Logs how many compressed values were found corrupt, if there are more than are `known`.
fn report_corrupt(server: &Server, known: &mut u64) {
    let corrupt = server.store.corrupt_values();
    if corrupt > *known {
        let new = corrupt - *known;
        tracing::error!("{new} compressed values were corrupt: they became misses");
        *known = corrupt;
    }
}

/// Commands, bytes received and bytes sent since the start.
fn rates(server: &Server) -> [u64; 3] {
    let mut sum = [0; 3];
    for worker in &server.stats.workers {
        sum[0] += worker.commands.iter().map(|command| command.calls.get()).sum::<u64>();
        sum[1] += worker.net_in.get();
        sum[2] += worker.net_out.get();
    }
    sum
}

/// Sets `maxmemory` again if it is a share and the memory has changed.
fn follow_memory(server: &Server) {
    let view = server.view.now();
    let Some(share) = view.settings.maxmemory_share else {
        return;
    };
    let bytes = memory_limit::bytes_of(share);
    if bytes == view.settings.maxmemory || bytes == Bytes(0) {
        return;
    }
    let changed = server.change(|settings| -> Result<(), Error> {
        settings.maxmemory = bytes;
        Ok(())
    });
    match changed {
        Ok(()) => tracing::info!("maxmemory is now {bytes}"),
        Err(error) => tracing::warn!("maxmemory does not change: {error}"),
    }
}
