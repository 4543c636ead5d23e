//! Redis and Valkey: what INFO counts. They tell reads and misses of all together, and keys by
//! database.

use super::{Look, Row, Source};
use crate::asking::{Asking, field};
use ::report::words::{count, percent, size};
use std::time::Instant;

pub(super) struct Redis {
    link: Asking,
    before: Option<(Instant, u64, u64)>,
}

impl Redis {
    pub(super) const fn new(link: Asking) -> Self {
        Self { link, before: None }
    }
}

impl Source for Redis {
    fn look(&mut self) -> anyhow::Result<Look> {
        let info = self.link.text(&["INFO"])?;
        let now = Instant::now();
        let (hits, misses) = (number(&info, "keyspace_hits"), number(&info, "keyspace_misses"));
        let since = self.before.replace((now, hits, misses));
        let rates = since.map(|(then, hits_then, misses_then)| {
            let seconds = now.duration_since(then).as_secs_f64().max(1e-3);
            // A CONFIG RESETSTAT begins them anew.
            let missed = misses.saturating_sub(misses_then) as f64;
            let reads = hits.saturating_sub(hits_then) as f64 + missed;
            (reads / seconds, (reads > 0.0).then(|| missed / reads))
        });
        Ok(look(&info, rates))
    }
}

fn number(info: &str, name: &str) -> u64 {
    field(info, name).and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn look(info: &str, rates: Option<(f64, Option<f64>)>) -> Look {
    let (name, version) = match field(info, "valkey_version") {
        Some(version) => ("valkey", version),
        None => ("redis", field(info, "redis_version").unwrap_or("?")),
    };
    let (used, limit) = (number(info, "used_memory"), number(info, "maxmemory"));
    let (hits, misses) = (number(info, "keyspace_hits"), number(info, "keyspace_misses"));
    let ratio = misses as f64 / (hits + misses).max(1) as f64;
    let mut says = match limit {
        0 => format!("{} in use, without a limit. ", size(used)),
        limit => format!("{} of {} in use. ", size(used), size(limit)),
    };
    if hits + misses > 0 {
        says += &percent(ratio);
        says = format!("{says} of {} reads missed since it started.", count(hits + misses));
    }
    let all = Row {
        name: "all".into(),
        used: Some(used),
        reads_per_s: rates.map(|(reads, _)| reads),
        miss_ratio: rates.and_then(|(_, ratio)| ratio),
        ..Row::default()
    };
    let databases = info.lines().filter_map(|line| {
        let (name, rest) = line.split_once(":keys=")?;
        let is_database = name.strip_prefix("db").is_some_and(|n| n.parse::<u32>().is_ok());
        let items = rest.split(',').next()?.parse().ok();
        is_database.then(|| Row { name: name.into(), items, ..Row::default() })
    });
    let evicted = number(info, "evicted_keys");
    let policy = field(info, "maxmemory_policy").unwrap_or("?");
    Look {
        server: format!("{name} {version}, {policy}"),
        says,
        used,
        limit,
        rows: std::iter::once(all).chain(databases).collect(),
        events: vec![format!("{} keys evicted since it started", count(evicted))],
        lacks: Some(
            "This server does not tell tenants, why reads miss, or what misses cost: \
             `larder advise --from` finds out."
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "# Server\r\nredis_version:7.0.15\r\nused_memory:1048576\r\n\
        maxmemory:2097152\r\nmaxmemory_policy:allkeys-lru\r\nkeyspace_hits:75\r\n\
        keyspace_misses:25\r\nevicted_keys:1234\r\ndb0:keys=10,expires=1,avg_ttl=0\r\n\
        db12:keys=7,expires=0,avg_ttl=0\r\ndb_other:keys=1\r\n";

    #[test]
    fn info_is_read() {
        let look = look(INFO, Some((50.0, Some(0.2))));
        assert_eq!(look.server, "redis 7.0.15, allkeys-lru");
        assert_eq!(
            look.says,
            "1.00 MiB of 2.00 MiB in use. 25 % of 100 reads missed since it started."
        );
        let names: Vec<_> = look.rows.iter().map(|row| (row.name.as_str(), row.items)).collect();
        assert_eq!(names, [("all", None), ("db0", Some(10)), ("db12", Some(7))]);
        assert_eq!(look.rows[0].miss_ratio, Some(0.2));
        assert!(look.events[0].starts_with("1 234 keys"));
        assert_eq!(field("a:1\r\nab:2\r\n", "ab"), Some("2"));
    }
}
