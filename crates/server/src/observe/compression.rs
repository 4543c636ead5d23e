//! The section Compression of INFO: compressed items and the work for them, in all and by tenant.

use crate::settings::config::{Settings, Value};
use std::fmt::Write;
use store::{CompressionStats, Store};

/// The lines of the section.
pub(crate) fn lines(names: &[String], settings: &Settings, store: &Store) -> String {
    let mode = settings.compression.mode.show();
    let mut text = format!("compression:{mode}\r\n");
    let mut sum = CompressionStats::default();
    let all = store.all_compression_stats();
    for stats in &all {
        sum += *stats;
    }
    for (name, value) in fields(&sum) {
        // Writing to a String does not fail.
        let _ = write!(text, "compression_{name}:{value}\r\n");
    }
    for (at, stats) in all.iter().enumerate() {
        let name = names.get(at).map_or("", String::as_str);
        let fields: Vec<_> =
            fields(stats).iter().map(|(name, value)| format!("{name}={value}")).collect();
        let _ = write!(text, "compression_tenant_{name}:{}\r\n", fields.join(","));
    }
    text
}

/// The fields of one tenant, or of all.
fn fields(stats: &CompressionStats) -> [(&'static str, String); 8] {
    let seconds = |nanos: u64| format!("{:.3}", nanos as f64 / 1e9);
    [
        ("items", stats.items.to_string()),
        ("plain_bytes", stats.plain.0.to_string()),
        ("stored_bytes", stats.stored.0.to_string()),
        ("ratio", format!("{:.3}", stats.ratio())),
        ("dictionary_bytes", stats.dictionary_bytes.0.to_string()),
        ("compress_seconds", seconds(stats.write_nanos)),
        ("decompress_seconds", seconds(stats.read_nanos)),
        ("corrupt", stats.corrupt.to_string()),
    ]
}
