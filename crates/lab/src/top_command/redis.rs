//! Redis and Valkey: the counts in INFO. It tells reads and misses of all keys together, and the
//! number of keys by database.

use super::look::{Look, Source, TenantRow};
use crate::capture_command::redis::{Control, Fields, number};
use ::report::words::{count, percent, size};
use std::time::Instant;

pub(super) struct Redis {
    server: Control,
    before: Option<(Instant, u64, u64)>,
}

impl Redis {
    pub(super) const fn new(server: Control) -> Self {
        Self { server, before: None }
    }
}

impl Source for Redis {
    fn look(&mut self) -> anyhow::Result<Look> {
        let info = self.server.info()?;
        let now = Instant::now();
        let (hits, misses) = (count_of(&info, "keyspace_hits"), count_of(&info, "keyspace_misses"));
        let since = self.before.replace((now, hits, misses));
        let rates = since.map(|(then, hits_then, misses_then)| {
            let seconds = now.duration_since(then).as_secs_f64().max(1e-3);
            // CONFIG RESETSTAT begins these counts anew.
            let missed = misses.saturating_sub(misses_then) as f64;
            let reads = hits.saturating_sub(hits_then) as f64 + missed;
            (reads / seconds, (reads > 0.0).then(|| missed / reads))
        });
        Ok(look(&info, rates))
    }
}

fn count_of(info: &Fields, name: &str) -> u64 {
    number(info, name).unwrap_or_default()
}

fn look(info: &Fields, rates: Option<(f64, Option<f64>)>) -> Look {
    let word = |name: &str| info.get(name).map(String::as_str);
    let (name, version) = match word("valkey_version") {
        Some(version) => ("valkey", version),
        None => ("redis", word("redis_version").unwrap_or("?")),
    };
    let (used, limit) = (count_of(info, "used_memory"), count_of(info, "maxmemory"));
    let (hits, misses) = (count_of(info, "keyspace_hits"), count_of(info, "keyspace_misses"));
    let ratio = misses as f64 / (hits + misses).max(1) as f64;
    let mut says = match limit {
        0 => format!("{} in use, without a limit. ", size(used)),
        limit => format!("{} of {} in use. ", size(used), size(limit)),
    };
    if hits + misses > 0 {
        says += &percent(ratio);
        says = format!("{says} of {} reads missed since it started.", count(hits + misses));
    }
    let all = TenantRow {
        name: "all".into(),
        used: Some(used),
        reads_per_s: rates.map(|(reads, _)| reads),
        miss_ratio: rates.and_then(|(_, ratio)| ratio),
        ..TenantRow::default()
    };
    let mut databases: Vec<_> = info.iter().filter_map(database).collect();
    databases.sort_by_key(|(number, _)| *number);
    let databases = databases.into_iter().map(|(_, row)| row);
    let evicted = count_of(info, "evicted_keys");
    let policy = word("maxmemory_policy").unwrap_or("?");
    Look {
        server: format!("{name} {version}, {policy}"),
        says,
        used,
        limit,
        rows: std::iter::once(all).chain(databases).collect(),
        events: vec![format!("{} keys evicted since it started", count(evicted))],
        lacks: Some(
            "This server does not report tenants, causes of misses or miss costs: `larder advise \
             --from` finds them out, and liblarder_module.so adds them to the server."
                .to_owned(),
        ),
        ..Look::default()
    }
}

/// Number and row of a database, from a field such as `db0` with `keys=10,expires=1,…`.
fn database((name, value): (&String, &String)) -> Option<(u32, TenantRow)> {
    let number = name.strip_prefix("db")?.parse().ok()?;
    let items = value.strip_prefix("keys=")?.split(',').next()?.parse().ok();
    Some((number, TenantRow { name: name.clone(), items, ..TenantRow::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_is_read() {
        let info = [
            ("redis_version", "7.0.15"),
            ("used_memory", "1048576"),
            ("maxmemory", "2097152"),
            ("maxmemory_policy", "allkeys-lru"),
            ("keyspace_hits", "75"),
            ("keyspace_misses", "25"),
            ("evicted_keys", "1234"),
            ("db12", "keys=7,expires=0,avg_ttl=0"),
            ("db0", "keys=10,expires=1,avg_ttl=0"),
            ("db_other", "keys=1"),
        ];
        let info = info.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let look = look(&info.into_iter().collect(), Some((50.0, Some(0.2))));
        assert_eq!(look.server, "redis 7.0.15, allkeys-lru");
        assert_eq!(
            look.says,
            "1.00 MiB of 2.00 MiB in use. 25 % of 100 reads missed since it started."
        );
        let names: Vec<_> = look.rows.iter().map(|row| (row.name.as_str(), row.items)).collect();
        assert_eq!(names, [("all", None), ("db0", Some(10)), ("db12", Some(7))]);
        assert_eq!(look.rows[0].miss_ratio, Some(0.2));
        assert!(look.events[0].starts_with("1 234 keys"));
    }
}
