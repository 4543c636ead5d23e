//! memcached: what `stats` counts.

use super::{Look, Row, Source};
use crate::capture_command::memcached::Control;
use ::report::words::{count, percent, size};
use std::time::Instant;

pub(super) struct Memcached {
    server: Control,
    before: Option<(Instant, u64, u64)>,
}

impl Memcached {
    pub(super) const fn new(server: Control) -> Self {
        Self { server, before: None }
    }
}

impl Source for Memcached {
    fn look(&mut self) -> anyhow::Result<Look> {
        let stats = self.server.stats()?;
        let number = |name: &str| -> u64 {
            stats.get(name).and_then(|text| text.parse().ok()).unwrap_or_default()
        };
        let now = Instant::now();
        let (hits, misses) = (number("get_hits"), number("get_misses"));
        let since = self.before.replace((now, hits, misses));
        let mut row = Row {
            name: "all".into(),
            used: Some(number("bytes")),
            items: Some(number("curr_items")),
            ..Row::default()
        };
        if let Some((then, hits_then, misses_then)) = since {
            let seconds = now.duration_since(then).as_secs_f64().max(1e-3);
            let missed = misses.saturating_sub(misses_then) as f64;
            let reads = hits.saturating_sub(hits_then) as f64 + missed;
            row.reads_per_s = Some(reads / seconds);
            row.miss_ratio = (reads > 0.0).then(|| missed / reads);
        }
        let (used, limit) = (number("bytes"), number("limit_maxbytes"));
        let mut says = format!("{} of {} in use. ", size(used), size(limit));
        if hits + misses > 0 {
            says += &percent(misses as f64 / (hits + misses) as f64);
            says = format!("{says} of {} reads missed since it started.", count(hits + misses));
        }
        let version = stats.get("version").map_or("?", String::as_str);
        Ok(Look {
            server: format!("memcached {version}"),
            says,
            used,
            limit,
            rows: vec![row],
            events: vec![format!("{} items evicted since it started", count(number("evictions")))],
            lacks: Some(
                "This server does not tell tenants, why reads miss, or what misses cost: \
                 `larder advise --from` finds out."
                    .to_owned(),
            ),
        })
    }
}
