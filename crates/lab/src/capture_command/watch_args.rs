//! The arguments of watching, which every command that watches a server takes.

use super::windows::time;
use base::Micros;

/// How a server is watched.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Watch {
    /// Total duration, pauses included
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = time)]
    pub(super) span: Micros,
    /// Duration of a window, or `all` for a single one without pauses
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(super) window: String,
    /// From the start of one window to the start of the next
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub(super) every: Micros,
    /// Tenant that owns a key, as in `larder serve`: 'web match prefix web:', 'jobs match db 1';
    /// without any each database is a tenant
    #[arg(long, value_name = "LINE")]
    pub(crate) tenant: Vec<String>,
    /// Largest number of requests to record
    #[arg(long, value_name = "N", default_value_t = 5_000_000,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) requests: u32,
    /// Ask for the sizes of at most this many read-only keys, a thousand a second
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    pub(super) ask: usize,
}
