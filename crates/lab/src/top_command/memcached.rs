//! memcached: the counts in `stats`, for the server and for each size class.

use super::look::{Look, Source, TenantRow};
use crate::attach_command::told::{ClassStats, MemcachedStats, PAGE};
use crate::capture_command::memcached::Control;
use ::report::words::{count, percent, size, span};
use std::time::Instant;

pub(super) struct Memcached {
    server: Control,
    before: Option<(Instant, MemcachedStats)>,
}

impl Memcached {
    pub(super) const fn new(server: Control) -> Self {
        Self { server, before: None }
    }
}

impl Source for Memcached {
    fn look(&mut self) -> anyhow::Result<Look> {
        let told = MemcachedStats::ask(&mut self.server)?;
        let now = Instant::now();
        let (hits, misses) = (told.hits, told.misses);
        let before = self.before.replace((now, told.clone()));
        let since = before
            .as_ref()
            .map(|(then, before)| (now.duration_since(*then).as_secs_f64().max(1e-3), before));
        let mut all = TenantRow {
            name: "all".into(),
            used: Some(told.used),
            items: Some(told.items),
            ..TenantRow::default()
        };
        if let Some((seconds, before)) = since {
            let missed = misses.saturating_sub(before.misses) as f64;
            let reads = hits.saturating_sub(before.hits) as f64 + missed;
            all.reads_per_s = Some(reads / seconds);
            all.miss_ratio = (reads > 0.0).then(|| missed / reads);
        }
        let classes = told.classes.iter().map(|class| {
            let before =
                since.and_then(|(seconds, told)| Some((seconds, told.class(class.number)?)));
            row(class, before)
        });
        let mut says = format!("{} of {} in use. ", size(told.used), size(told.limit));
        if hits + misses > 0 {
            says += &percent(misses as f64 / (hits + misses) as f64);
            says = format!("{says} of {} reads missed since it started.", count(hits + misses));
        }
        let evicted = told.classes.iter().map(|class| class.evicted).sum();
        Ok(Look {
            server: format!("memcached {}", told.version),
            says,
            used: told.used,
            limit: told.limit,
            rows: std::iter::once(all).chain(classes).collect(),
            events: vec![
                format!("{} items evicted since it started", count(evicted)),
                format!("{} pages moved between classes", count(told.moved)),
            ],
            lacks: Some(
                "This server does not report tenants, causes of misses or miss costs: `larder \
                 advise --from` finds them out, and `larder attach` divides its pages."
                    .to_owned(),
            ),
            ..Look::default()
        })
    }
}

/// A row for a size class. Its reads are hits alone: a miss has no class.
fn row(class: &ClassStats, before: Option<(f64, &ClassStats)>) -> TenantRow {
    let per_s = |(seconds, before): (f64, &ClassStats)| {
        class.hits.saturating_sub(before.hits) as f64 / seconds
    };
    TenantRow {
        name: format!("up to {}", size(class.share)),
        used: Some(class.pages * PAGE),
        items: Some(class.items),
        reads_per_s: before.map(per_s),
        why: vec![
            format!("{} pages, {} free chunks.", count(class.pages), count(class.free)),
            format!(
                "{} items were evicted; the next victim was used {} ago.",
                count(class.evicted),
                span(class.age_s)
            ),
            "memcached does not report the size class of a miss.".to_owned(),
        ],
        ..TenantRow::default()
    }
}
