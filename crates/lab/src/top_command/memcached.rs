//! memcached: what `stats` counts.

use super::{Look, Row, Source};
use ::report::words::{count, percent, size};
use anyhow::{Context, bail};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const PORT: u16 = 11_211;
/// A server that says nothing for so long is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(10);

pub(super) struct Memcached {
    stream: BufReader<TcpStream>,
    before: Option<(Instant, u64, u64)>,
}

impl Memcached {
    pub(super) fn connect(place: &str) -> anyhow::Result<Self> {
        let place = place.trim_end_matches('/');
        let place = if place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
            place.to_owned()
        } else {
            format!("{place}:{PORT}")
        };
        let stream = TcpStream::connect(&place)
            .with_context(|| format!("cannot connect to {place}: is a server running there?"))?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        Ok(Self { stream: BufReader::new(stream), before: None })
    }

    fn stats(&mut self) -> anyhow::Result<HashMap<String, String>> {
        self.stream.get_mut().write_all(b"stats\r\n")?;
        let mut all = HashMap::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).context("memcached does not answer")? == 0 {
                bail!("memcached closed the connection");
            }
            let line = line.trim_end();
            if line == "END" {
                return Ok(all);
            }
            match line.strip_prefix("STAT ").and_then(|rest| rest.split_once(' ')) {
                Some((name, value)) => _ = all.insert(name.to_owned(), value.to_owned()),
                None => bail!("memcached answers stats with '{line}'"),
            }
        }
    }
}

impl Source for Memcached {
    fn look(&mut self) -> anyhow::Result<Look> {
        let stats = self.stats()?;
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
