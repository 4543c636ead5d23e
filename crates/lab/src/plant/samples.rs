//! Sampled requests of a simulated store, on their way to the pilot.

use base::{Access, Micros, Sample, Sighting};

/// Maximum number of samples kept for the pilot. Beyond it, the newest are dropped and counted.
const SAMPLES_MAX: usize = 1 << 16;

/// Queue of samples, of bounded length.
#[derive(Debug, Default)]
pub(super) struct SampleQueue {
    samples: Vec<Sample>,
    dropped: u64,
}

impl SampleQueue {
    /// Adds an event of a request at a time, for an item of a size and a penalty. A miss has no
    /// size.
    pub(super) fn push(
        &mut self,
        access: &Access,
        (sighting, time): (Sighting, Micros),
        size: u32,
        penalty: Micros,
    ) {
        if self.samples.len() >= SAMPLES_MAX {
            self.dropped += 1;
            return;
        }
        let size = if sighting == Sighting::Miss { 0 } else { size };
        let (key, tenant, ttl) = (access.key, access.tenant, access.ttl);
        self.samples.push(Sample { time, key, tenant, sighting, size, ttl, penalty });
    }

    /// Takes all samples, and the number of samples dropped so far.
    pub(super) fn take(&mut self) -> (Vec<Sample>, u64) {
        (std::mem::take(&mut self.samples), self.dropped)
    }
}
