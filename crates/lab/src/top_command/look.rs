//! One look at a server, whatever its kind.

use serde::Serialize;

/// One look at a server.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Look {
    /// Name and version of the server, with its recipe or policy.
    pub(super) server: String,
    /// State of the server, in a sentence or two.
    pub(super) says: String,
    /// Memory in use, and its limit; 0 for none.
    pub(super) used: u64,
    pub(super) limit: u64,
    pub(super) rows: Vec<TenantRow>,
    /// Latest events, in the order of the screen.
    pub(super) events: Vec<String>,
    /// A sentence about the facts that this server does not tell.
    pub(super) lacks: Option<String>,
    /// Texts that have a page of their own.
    #[serde(skip)]
    pub(super) texts: Vec<TextPage>,
}

/// A text behind a key.
#[derive(Clone, Debug, Default)]
pub(super) struct TextPage {
    pub(super) key: char,
    pub(super) title: &'static str,
    pub(super) lines: Vec<String>,
}

/// A tenant, or a class or database in its place.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct TenantRow {
    pub(super) name: String,
    pub(super) used: Option<u64>,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
    pub(super) given: Option<u64>,
    pub(super) items: Option<u64>,
    pub(super) reads_per_s: Option<f64>,
    pub(super) miss_ratio: Option<f64>,
    pub(super) wait_ms_per_s: Option<f64>,
    pub(super) penalty_us: Option<f64>,
    /// Reasons for its misses, in lines.
    pub(super) why: Vec<String>,
    /// Causes of its misses, as shares of the reads.
    pub(super) causes: Vec<(String, f64)>,
    /// Findings about it, each with what to do.
    pub(super) advice: Vec<String>,
    /// Keys with a large share of its requests.
    pub(super) hot_keys: Vec<(String, f64)>,
    /// Its past, if the server remembers it; otherwise the screen remembers its looks.
    #[serde(skip)]
    pub(super) past: Option<Trend>,
}

/// The misses and the waiting of a tenant over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Trend {
    /// Its miss ratios.
    pub(super) misses: Vec<f64>,
    /// Its waiting, in milliseconds per second.
    pub(super) waits: Vec<f64>,
    /// Seconds between two values.
    pub(super) seconds: f64,
}

/// A server that can be read again and again.
pub(super) trait Source {
    /// Reads the server.
    ///
    /// # Errors
    /// The server does not answer.
    fn look(&mut self) -> anyhow::Result<Look>;
}
