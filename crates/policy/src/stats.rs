//! What a simulated cache counts.

/// Counts since the cache was made. Reads only: a write is neither a hit nor a miss.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Reads.
    pub gets: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Bytes read: the size of the object by each read, found or not.
    pub get_bytes: u64,
    /// Bytes read that were not found.
    pub miss_bytes: u64,
    /// Objects that left to make room.
    pub evictions: u64,
    /// Objects whose time was over when they were next asked for.
    pub expirations: u64,
    /// Objects that were not let in: larger than the policy takes, or turned away by admission.
    pub refusals: u64,
    /// Penalty of all reads, in microseconds, where penalties are known.
    pub get_penalty_us: f64,
    /// Penalty of the reads that missed.
    pub miss_penalty_us: f64,
}

impl Stats {
    /// Misses by reads.
    pub fn miss_ratio(&self) -> f64 {
        self.misses as f64 / self.gets.max(1) as f64
    }

    /// Bytes missed by bytes read.
    pub fn byte_miss_ratio(&self) -> f64 {
        self.miss_bytes as f64 / self.get_bytes.max(1) as f64
    }
}
