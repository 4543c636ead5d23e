//! The effect of compression: compressed items, and the work for them.

use crate::Store;
use crate::bytes::stats::CompressionStats;
use crate::sync::shim::lock;
use base::{Bytes, TenantId};
use std::sync::atomic::Ordering::Relaxed;

impl Store {
    /// Corrupt values found so far, each of which became a miss.
    pub fn corrupt_values(&self) -> u64 {
        lock(&self.admin).work.iter().map(|work| work.corrupt.load(Relaxed)).sum()
    }

    /// The compressed items of a tenant, and the work for them; all zero for an unknown number.
    pub fn compression_stats(&self, tenant: TenantId) -> CompressionStats {
        self.all_compression_stats().get(usize::from(tenant)).copied().unwrap_or_default()
    }

    /// The compressed items of each tenant, and the work for them.
    pub fn all_compression_stats(&self) -> Vec<CompressionStats> {
        let work = lock(&self.admin).work.clone();
        let mut all = vec![CompressionStats::default(); work.len()];
        for shard in &self.shards {
            for (stats, tenant) in all.iter_mut().zip(&shard.write_drained().contents().tenants) {
                let compressed = &tenant.compressed;
                stats.items += compressed.items;
                stats.plain += Bytes(compressed.plain);
                stats.stored += Bytes(compressed.stored);
                stats.dictionaries = compressed.known.len();
                stats.dictionary_bytes = Bytes(compressed.known.bytes());
            }
        }
        for (stats, work) in all.iter_mut().zip(&work) {
            stats.reads = work.reads.load(Relaxed);
            stats.read_nanos = work.read_nanos.load(Relaxed);
            stats.writes = work.writes.load(Relaxed);
            stats.write_nanos = work.write_nanos.load(Relaxed);
            stats.corrupt = work.corrupt.load(Relaxed);
        }
        all
    }
}
