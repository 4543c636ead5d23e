//! Counters of a simulated cache.

/// Counts since the cache was made. Hits and misses count reads only, not writes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Reads.
    pub gets: u64,
    /// Reads that did not find their object.
    pub misses: u64,
    /// Bytes read: the size of the object for each read, found or not.
    pub get_bytes: u64,
    /// Bytes of the reads that missed.
    pub miss_bytes: u64,
    /// Objects evicted to make room.
    pub evictions: u64,
    /// Objects found expired at their next request.
    pub expirations: u64,
    /// Objects refused: larger than the policy takes, or turned away by the admission filter.
    pub refusals: u64,
    /// Penalty of all reads, in microseconds, where penalties are known.
    pub get_penalty_us: f64,
    /// Penalty of the reads that missed.
    pub miss_penalty_us: f64,
}

impl Stats {
    /// Misses divided by reads.
    pub fn miss_ratio(&self) -> f64 {
        self.misses as f64 / self.gets.max(1) as f64
    }

    /// Bytes missed divided by bytes read.
    pub fn byte_miss_ratio(&self) -> f64 {
        self.miss_bytes as f64 / self.get_bytes.max(1) as f64
    }
}
